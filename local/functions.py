"""Which functions there are, and what each is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

ACCOUNT_ID = "123456789012"
REGION = "us-east-1"
CODE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    timeout_seconds: float
    memory_mb: int
    database_role: str

    @property
    def handler(self) -> str:
        return f"{self.name}.app.handler"

    @property
    def full_name(self) -> str:
        return f"shortterm-{self.name}"


FUNCTIONS: Mapping[str, Function] = {
    function.name: function
    for function in (
        Function("capture", timeout_seconds=20, memory_mb=512, database_role="stm_capture"),
        Function("writer", timeout_seconds=30, memory_mb=256, database_role="stm_writer"),
        Function("schema", timeout_seconds=60, memory_mb=256, database_role="postgres"),
    )
}


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a running stack's parts are."""

    database_url: str
    queue_url: str
    dlq_url: str
    sqs_endpoint: str
    region: str = REGION


def settings_of(function: Function, endpoints: Endpoints) -> dict[str, str]:
    """The function's own environment; only capture sends to the queue."""
    settings = {
        "AWS_REGION": endpoints.region,
        "AWS_DEFAULT_REGION": endpoints.region,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "POWERTOOLS_SERVICE_NAME": function.name,
        "LOG_LEVEL": "INFO",
        "DATABASE_URL": as_role(endpoints.database_url, function.database_role),
    }
    if function.name == "capture":
        settings["WORK_QUEUE_URL"] = endpoints.queue_url
        settings["AWS_ENDPOINT_URL_SQS"] = endpoints.sqs_endpoint
    return settings


def as_role(database_url: str, role: str) -> str:
    """The same database for another role; local Postgres trusts whoever reaches its socket."""
    parts = urlsplit(database_url)
    _, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{role}@{host}"))
