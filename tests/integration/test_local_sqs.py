"""SQS on one machine: what moto would lose."""

import subprocess
import sys
from typing import Any

import pytest

from local.functions import CODE

# In a process of its own: the mend is for the server's process only.
_WHILE_ONE_IS_DELETED = """
from threading import Thread
from moto.sqs.models import sqs_backends
import local.sqs_server

local.sqs_server.mend()
backend = sqs_backends["123456789012"]["us-east-1"]
queue = backend.create_queue("q", {{}})
for body in ("deleted", "poison", "kept"):
    backend.send_message("q", body)
deleted, poison, kept = queue._messages
deleted.mark_received(30)
sender = Thread(target=backend.send_message, args=("q", "new"))

class Messages(list):
    def __iter__(self):
        yield from super().__iter__()
        if not happened:
            happened.append(True)
            {happens}

happened = []
queue._messages = Messages(queue._messages)
queue.delete_message(deleted.receipt_handle)
if sender.ident:
    sender.join()
print([message.body for message in queue._messages])
"""


def left(happens: str) -> Any:
    """What is left in a queue when something happens while one of its messages is deleted."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _WHILE_ONE_IS_DELETED.format(happens=happens)],
        cwd=CODE,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.strip() or done.stderr


@pytest.mark.parametrize(
    ("happens", "kept"),
    [
        ("sender.start(); sender.join(0.3)", ["poison", "kept", "new"]),
        ("queue._messages.remove(poison)", ["kept"]),
    ],
    ids=["another arrives", "a dead letter is taken out"],
)
def test_while_one_message_is_deleted_no_other_is_lost(happens, kept):
    assert left(happens) == str(kept)
