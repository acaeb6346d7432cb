"""The only module that asks Postgres: reads rows and tombstones, and sets tombstones."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from capture import statements
from capture.patience import BoundedDatabase
from capture.row import Row
from shortterm.scope import Scope
from shortterm.settings import DatabaseSettings
from shortterm.tombstone import Subject, Tombstone
from shortterm.wire import Private

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")

# What a read may take: on the server, and with the way there and back.
READ_STATEMENT_MS = 300
READ_S = 0.33
# Forgetting waits for the writers that are at work, and then for what it deletes; nobody waits for
# an export with a prompt.
PATIENT_STATEMENT_MS = 10_000
PATIENT_S = 12.0

# One plan, made once: planning the read takes longer than running it. It goes by index whatever it
# is asked, and even if it was made while the table was small: it has to serve when it is not any
# more. Nothing here is large enough to be compiled.
_SESSION = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off"


class Wanted(Private, frozen=True):
    """Which rows a read asks for; times in ms since the epoch.

    Those of `scopes`, all of the asked one's owner, and up to `limit` rows of other channels that
    are alive and may be seen; `for_prompt` of so many channels, and only those with a summary or
    categories. And which of `channels` are private.
    """

    asked: Scope
    server_id: str | None
    lineage_id: str | None
    everywhere: bool
    sees_private: bool
    for_prompt: bool
    scopes: tuple[Scope, ...]
    channels: tuple[str, ...]
    limit: int
    alive_since: int
    summary_alive_since: int


class Page(Private, frozen=True):
    """Rows, and the tombstones that go before them, all as of one moment."""

    rows: tuple[Row, ...]
    tombstones: tuple[Tombstone, ...]

    @property
    def may_be_behind(self) -> bool:
        """Whether there may be tombstones after these."""
        return len(self.tombstones) >= statements.MOST_TOMBSTONES


class Reading(Page, frozen=True):
    """What a recall found, and which of the wanted channels are private.

    In a guild the live row of the asked channel is among `rows`, whosever rows are read.
    """

    private_channels: frozenset[str]


class Durable:
    """The rows behind the memory, for as long as the database is there.

    A read waits for no longer than READ_S, unless a connection has to be made.
    `since` is when this container's memory began, `clock` tells the time, both in ms.
    """

    def __init__(self, settings: DatabaseSettings, *, since: int, clock: Callable[[], int]) -> None:
        self._since = since
        self._database = BoundedDatabase(
            settings, statement_timeout_ms=READ_STATEMENT_MS, options=_SESSION, clock=clock
        )

    def read(self, wanted: Wanted, *, obeyed: int) -> Reading:
        """Return the wanted rows, and the tombstones after the one that was `obeyed` last.

        Raises Away.
        """
        asked = wanted.asked
        statement, others = statements.READ, wanted.limit
        if wanted.for_prompt:
            statement, others = statements.READ_FOR_PROMPT, others * statements.ROWS_OF_A_CHANNEL
        parameters = {
            "kind": asked.kind,
            "owner_id": asked.owner_id,
            "channel_id": asked.channel_id,
            "persona_id": asked.persona_id,
            "server_id": wanted.server_id,
            "lineage_id": wanted.lineage_id,
            "everywhere": wanted.everywhere,
            "sees_private": wanted.sees_private,
            "channel_ids": ",".join(it.channel_id for it in wanted.scopes),
            "personas": ",".join(it.persona_id or "" for it in wanted.scopes),
            "channels": ",".join(wanted.channels),
            # The live row of the asked channel comes beside them.
            "most": others + len(wanted.scopes) + 1,
            "oldest": min(wanted.alive_since, wanted.summary_alive_since),
            "alive_since": wanted.alive_since,
            "summary_alive_since": wanted.summary_alive_since,
            **self._unseen(obeyed),
        }
        return self._ask(statement, parameters, Reading)

    def rows_of(self, scopes: Iterable[Scope], *, obeyed: int) -> Page:
        """Return the rows of a user's and a server's scope of one channel and persona.

        Raises Away.
        """
        owners = {it.kind: it for it in scopes}
        one = next(iter(owners.values()))
        parameters = {
            "user_id": owners["user"].owner_id,
            "server_id": owners["server"].owner_id if "server" in owners else None,
            "channel_id": one.channel_id,
            "persona_id": one.persona_id,
            **self._unseen(obeyed),
        }
        return self._ask(statements.READ_SCOPES, parameters, Page)

    def export(self, user_id: str, after: Scope | None, *, most: int, obeyed: int) -> Page:
        """Return up to `most` rows of a user in the order of their keys, from behind `after`.

        Raises Away.
        """
        parameters = {
            "user_id": user_id,
            "after_channel_id": after.channel_id if after else "",
            "after_persona_id": (after and after.persona_id) or "",
            "most": most,
            **self._unseen(obeyed),
        }
        return self._wait_for(statements.EXPORT, parameters, Page)

    def forget(self, subject: Subject, subject_id: str, *, now: int) -> Tombstone:
        """Set a tombstone, which takes the rows with it, and return it once it is committed.

        Raises Away: then it may have been set or not, and is to be asked for again.
        """
        parameters = {"subject": subject, "subject_id": subject_id, "now": now}
        return self._wait_for(statements.FORGET, parameters, Tombstone)

    def _unseen(self, obeyed: int) -> dict[str, int]:
        return {"obeyed": obeyed, "since": self._since}

    def _ask(self, statement: str, parameters: dict[str, Any], kind: type[T]) -> T:
        return self._database.run(lambda it: _one(it, statement, parameters, kind), READ_S)

    def _wait_for(self, statement: str, parameters: dict[str, Any], kind: type[T]) -> T:
        def act(connection: "Connection[Any]") -> T:
            with connection.transaction():
                limit = f"SET LOCAL statement_timeout = {PATIENT_STATEMENT_MS}"
                connection.execute(limit.encode())
                return _one(connection, statement, parameters, kind)

        return self._database.run(act, PATIENT_S)


def _one(
    connection: "Connection[Any]", statement: str, parameters: dict[str, Any], kind: type[T]
) -> T:
    """Return the one JSON document that `statement` answers with, decoded."""
    found = connection.execute(statement.encode(), parameters, prepare=True).fetchone()
    return msgspec.json.decode(found[0] if found else "", type=kind)
