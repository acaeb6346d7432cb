"""Moto's server, mended: messages get lost there while another one is deleted, and it is slow.

Moto deletes by going through the list of messages and putting a list of the others in its place.
What arrives meanwhile is not in the new list; when a dead letter is taken out meanwhile, the
message behind it is passed over, or the dead letter stays. And it reckons up the whole queue for
every message that it hands out.
"""

import sys
import time
from contextlib import suppress

from moto.server import main
from moto.sqs.exceptions import ReceiptHandleIsInvalid
from moto.sqs.models import Message, Queue, SQSBackend


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


def _is_message_kept(self: SQSBackend, queue_name: str, message: Message) -> bool:
    kept_s = self.get_queue(queue_name).message_retention_period  # type: ignore[attr-defined]
    sent_at = message.sent_timestamp or 0
    return bool(sent_at + kept_s * 1_000 > time.time() * 1_000)


def mend() -> None:
    """From now on no queue of this process loses anything, or looks at all for each."""
    Queue.delete_message = _delete_message  # type: ignore[method-assign]
    SQSBackend.is_message_valid_based_on_retention_period = (  # type: ignore[method-assign]
        _is_message_kept
    )


if __name__ == "__main__":
    mend()
    main(sys.argv[1:])
