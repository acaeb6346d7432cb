"""Moto's server, mended: messages get lost there while another one is deleted.

Moto deletes by going through the list of messages and putting a list of the others in its place.
What arrives meanwhile is not in the new list; when a dead letter is taken out meanwhile, the
message behind it is passed over, or the dead letter stays.
"""

import sys
from contextlib import suppress

from moto.server import main
from moto.sqs.exceptions import ReceiptHandleIsInvalid
from moto.sqs.models import Queue


def _delete_message(self: Queue, receipt_handle: str) -> None:
    if receipt_handle in self.deleted_messages:
        return
    for message in list(self._messages):
        if message.had_receipt_handle(receipt_handle):
            self.pending_messages.discard(message)
            self.deleted_messages.update(filter(None, message.all_receipt_handles))
            # Taken out of the one list that there is, in one step; gone if it became a dead letter.
            with suppress(ValueError):
                self._messages.remove(message)
            return
    raise ReceiptHandleIsInvalid


def mend() -> None:
    """From now on no queue of this process loses anything."""
    Queue.delete_message = _delete_message  # type: ignore[method-assign]


if __name__ == "__main__":
    mend()
    main(sys.argv[1:])
