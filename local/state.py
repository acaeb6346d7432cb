"""The state directory: whose it is, what lies where, and how others find a running stack."""

import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any, Self

from local.errors import CannotRun
from local.functions import Endpoints


class StateInUse(CannotRun):
    """A live stack holds this state directory."""


class State:
    """Held by one process at a time; the kernel lets go of it however that process ends."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.logs = self.directory / "logs"
        self.postgres = self.directory / "postgres"
        self._stack_file = self.directory / "stack.json"
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Raises StateInUse, or CannotRun when the directory cannot be used."""
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            lock = (self.directory / "lock").open("ab")
        except OSError as error:
            raise CannotRun(f"cannot use {self.directory}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise StateInUse(f"a stack is already running on {self.directory}") from None
        self._lock = lock
        self._stack_file.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack_file.unlink(missing_ok=True)
        if self._lock:
            self._lock.close()

    def log_of(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def publish(self, api_url: str, endpoints: Endpoints) -> None:
        """Say that the stack is ready, all at once."""
        content = {
            "api_url": api_url,
            "database_url": endpoints.database_url,
            "queue_url": endpoints.queue_url,
            "dlq_url": endpoints.dlq_url,
            "sqs_endpoint": endpoints.sqs_endpoint,
            "region": endpoints.region,
            "pid": os.getpid(),
        }
        draft = self._stack_file.with_suffix(".tmp")
        draft.write_text(json.dumps(content, indent=2) + "\n")
        draft.replace(self._stack_file)

    def endpoints(self) -> Endpoints:
        """Where the stack that holds this directory has its parts; CannotRun until it is ready."""
        try:
            content: dict[str, Any] = json.loads(self._stack_file.read_text())
        except (OSError, ValueError):
            raise CannotRun(f"the stack on {self.directory} is not ready yet") from None
        return Endpoints(**{name: content[name] for name in Endpoints.__slots__})
