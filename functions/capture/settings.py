"""What an operator can set for the capture function, each an environment variable in capitals."""

from typing import Annotated, Literal

from msgspec import Meta

from shortterm.settings import EntrySettings

# Whether memory alone, which cannot know who was forgotten elsewhere, answers without the database.
WithoutDatabase = Literal["serve", "withhold"]


class Settings(EntrySettings, frozen=True, kw_only=True):
    """Checked by `shortterm.settings.load` when the container starts.

    The database is read as the role `stm_capture`.
    """

    work_queue_url: str
    # Never 0 or negative: a slice that keeps "the last 0" keeps everything.
    max_messages_per_channel: Annotated[int, Meta(ge=1, le=100)] = 10
    # At least what the largest turn that the API accepts needs.
    memory_max_bytes: Annotated[int, Meta(ge=32 * 2**20)] = 128 * 2**20
    outbox_max_messages: Annotated[int, Meta(ge=1, le=100_000)] = 1_000
    recall_without_database: WithoutDatabase = "serve"
