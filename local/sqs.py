"""SQS by a moto server: the work queue and its dead-letter queue, in that process's memory."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from local.errors import CannotRun
from local.functions import REGION
from local.lifeline import Lifeline
from local.loopback import HOST, free_port

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

WORK_QUEUE = "shortterm-work"
DEAD_LETTER_QUEUE = "shortterm-work-dlq"
# A script, not a module of this package: importing moto here would take a while.
_SERVER = Path(__file__).with_name("sqs_server.py")
_START_S = 30
_FORTNIGHT = "1209600"
_DEPTH: "list[QueueAttributeNameType]" = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
]


class Sqs:
    """One moto server. What was queued is gone when it stops."""

    def __init__(
        self, lifeline: Lifeline, log: Path, *, visibility_timeout: int, max_receive_count: int
    ) -> None:
        self._lifeline = lifeline
        self._log = log
        self._visibility_timeout = visibility_timeout
        self._max_receive_count = max_receive_count
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.queue_url = ""
        self.dlq_url = ""

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self._port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise CannotRun("SQS has not been started")
        return self._process.pid

    def start(self) -> None:
        """Returns when both queues exist; a second start comes up empty on the same port."""
        self._process = self._lifeline.spawn(
            [sys.executable, "-P", str(_SERVER), "-H", HOST, "-p", str(self._port)],
            env={"PATH": "/usr/bin:/bin", "LANG": "en_US.UTF-8", "AWS_DEFAULT_REGION": REGION},
            cwd=self._log.parent,
            log=self._log,
        )
        client = sqs_client(self.endpoint)
        self._wait_until_listening(self._process)
        try:
            self._create_queues(client)
        finally:
            client.close()

    def kill(self) -> None:
        """SIGKILL; may be called when it is gone already."""
        if self._process:
            self._process.kill()
            self._process.wait()

    stop = kill  # moto keeps nothing that a gentler end would save

    def _wait_until_listening(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + _START_S
        while process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection((HOST, self._port), timeout=1).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        raise CannotRun(f"SQS did not start; its log is {self._log}")

    def _create_queues(self, client: "SQSClient") -> None:
        self.dlq_url = client.create_queue(
            QueueName=DEAD_LETTER_QUEUE, Attributes={"MessageRetentionPeriod": _FORTNIGHT}
        )["QueueUrl"]
        attributes = client.get_queue_attributes(QueueUrl=self.dlq_url, AttributeNames=["QueueArn"])
        redrive = {
            "deadLetterTargetArn": attributes["Attributes"]["QueueArn"],
            "maxReceiveCount": self._max_receive_count,
        }
        self.queue_url = client.create_queue(
            QueueName=WORK_QUEUE,
            Attributes={
                "VisibilityTimeout": str(self._visibility_timeout),
                "RedrivePolicy": json.dumps(redrive),
            },
        )["QueueUrl"]


def sqs_client(endpoint: str) -> "SQSClient":
    """A client that reports trouble at once; whoever polls has a back-off of its own."""
    import boto3
    from botocore.config import Config

    client: SQSClient = boto3.client(
        "sqs",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106 (moto asks for one and checks nothing)
        config=Config(
            retries={"total_max_attempts": 1},
            connect_timeout=2,
            read_timeout=15,
            max_pool_connections=50,
        ),
    )
    return client


def depth(client: "SQSClient", queue_url: str) -> int:
    """Return how many messages are in a queue: waiting, in flight or delayed."""
    attributes = client.get_queue_attributes(QueueUrl=queue_url, AttributeNames=_DEPTH)
    return sum(map(int, attributes["Attributes"].values()))
