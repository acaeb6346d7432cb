"""Moto's server, mended: a message that arrives while another is deleted gets lost there.

Moto deletes by building the list of the others and putting it in the old one's place, and does not
take the lock under which messages are added.
"""

import sys

from moto.server import main
from moto.sqs.models import Queue

_delete_message = Queue.delete_message


def _delete_message_alone(self: Queue, receipt_handle: str) -> None:
    with self._messages_lock:
        _delete_message(self, receipt_handle)


def mend() -> None:
    """From now on no queue of this process loses what arrives."""
    Queue.delete_message = _delete_message_alone  # type: ignore[method-assign]


if __name__ == "__main__":
    mend()
    main(sys.argv[1:])
