"""One function container: one process of the function under the real runtime client."""

import os
import sys
import threading
import uuid
from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from datetime import UTC, datetime
from pathlib import Path

from local.functions import ACCOUNT_ID, Function
from local.layout import Layout, layout
from local.lifeline import Lifeline
from local.outcome import Failure, Outcome, exited, timed_out
from local.runtime_api import RuntimeApi

# Lambda allows ten seconds; a busy laptop that has yet to compile everything gets more.
_INIT_S = 30


class Container:
    """Runs one event at a time. After a time-out or a crash it is dead, as on Lambda."""

    def __init__(
        self,
        function: Function,
        settings: Mapping[str, str],
        *,
        code: Path,
        lifeline: Lifeline,
        log: Path | None = None,
    ) -> None:
        """Starts the process and does not wait for it; `settings` is the function's environment.

        `code` is a checkout, or built artifacts (see `local.layout`).
        """
        self.function = function
        self._log = log
        self._log_start = log.stat().st_size if log and log.exists() else 0
        region = settings["AWS_REGION"]
        self._api = RuntimeApi(
            f"arn:aws:lambda:{region}:{ACCOUNT_ID}:function:{function.full_name}"
        )
        place = layout(code, function.name)
        self._process = lifeline.spawn(
            [*place.python, "-m", "awslambdaric", function.handler],
            env={**_lambda_environment(function, place, self._api.address), **settings},
            cwd=place.task_root,
            log=log,
        )
        self._gone = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return not self._gone.is_set()

    def wait_until_ready(self) -> Failure | None:
        """Wait for the function's imports; the failure if they failed."""
        try:
            failure = self._api.started.result(_INIT_S)
        except FutureTimeoutError:
            message = f"{self.function.name} did not start within {_INIT_S} seconds"
            failure = Failure("init", "Sandbox.Timedout", message)
        if failure:
            self.kill()
        return failure

    def invoke(self, event: bytes) -> Outcome:
        """Run one event to its end, at the latest to the function's time-out."""
        failure = self.wait_until_ready()
        if failure:
            return failure
        seconds = self.function.timeout_seconds
        invocation = self._api.submit(event, seconds)
        if self._gone.is_set():  # it may have gone before it could be told of this event
            self._api.give_up(self._last_words())
        try:
            return invocation.outcome.result(seconds)
        except FutureTimeoutError:
            self.kill()
            return timed_out(invocation.request_id, seconds)

    def kill(self) -> None:
        """SIGKILL, as when Lambda takes a container away; returns when it is gone."""
        self._process.kill()
        self._watcher.join()

    def _watch(self) -> None:
        self._process.wait()
        self._gone.set()
        self._api.give_up(self._last_words())
        self._api.close()

    def _last_words(self) -> Failure:
        started = self._api.started
        if started.done() and started.result() is None:
            return exited("failed", self._process.returncode)
        return exited("init", self._process.returncode, self._last_log_line())

    def _last_log_line(self) -> str:
        if self._log is None:
            return ""
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _lambda_environment(function: Function, place: Layout, runtime_api: str) -> dict[str, str]:
    """What Lambda sets for every function, and nothing of this machine's own environment."""
    return {
        "AWS_LAMBDA_RUNTIME_API": runtime_api,
        "AWS_LAMBDA_FUNCTION_NAME": function.full_name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.full_name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": f"{datetime.now(UTC):%Y/%m/%d}/[$LATEST]{uuid.uuid4().hex}",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info.major}.{sys.version_info.minor}",
        "LAMBDA_TASK_ROOT": str(place.task_root),
        "_HANDLER": function.handler,
        "PYTHONPATH": os.pathsep.join(map(str, place.path)),
        "PYTHONSAFEPATH": "1",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
    }
