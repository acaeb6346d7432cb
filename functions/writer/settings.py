"""What an operator can set for the writer function, each an environment variable in capitals."""

from typing import Annotated

from msgspec import Meta

from shortterm.settings import EntrySettings

Days = Annotated[float, Meta(gt=0, le=3_660)]


class Settings(EntrySettings, frozen=True, kw_only=True):
    """The database, as the role `stm_writer`, and what the janitor leaves of it.

    The life of an entry is the capture function's: a tombstone must outlive that, too.
    """

    row_retention_days: Days = 90
    # A message lives for 14 days at most, in the queue and then in the dead-letter queue: as long
    # the ledger must know its turn, and a tombstone must keep it from bringing a row back.
    ledger_retention_days: Days = 15
    tombstone_retention_days: Days = 15
