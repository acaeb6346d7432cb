"""SQS on one machine: what moto would lose."""

import subprocess
import sys

from local.functions import CODE

# In a process of its own: the mend is for the server's process only.
_ARRIVES_WHILE_ANOTHER_IS_DELETED = """
from threading import Thread
from moto.sqs.models import sqs_backends
import local.sqs_server

local.sqs_server.mend()
backend = sqs_backends["123456789012"]["us-east-1"]
queue = backend.create_queue("q", {})
sender = Thread(target=backend.send_message, args=("q", "new"))

class Messages(list):
    def __iter__(self):
        yield from super().__iter__()
        if not sender.ident:
            sender.start()
            sender.join(0.3)

backend.send_message("q", "old")
(old,) = queue._messages
old.mark_received(30)
queue._messages = Messages([old])
queue.delete_message(old.receipt_handle)
sender.join()
print([message.body for message in queue._messages])
"""


def test_a_message_that_arrives_while_another_is_deleted_is_kept():
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _ARRIVES_WHILE_ANOTHER_IS_DELETED],
        cwd=CODE,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "['new']\n", done.stderr
