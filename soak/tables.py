"""What Postgres holds: the harness's own rule for poison before a run, the findings after it."""

import time

import psycopg

from soak.audit import Row
from soak.poison import REFUSED_OWNER
from soak.stream import ScopeId

# A writer that was just killed may have left a session that is about to notice.
_NOTICE_S = 5
_REFUSE = (
    "ALTER TABLE short_term_memories"
    f" ADD CONSTRAINT soak_refuses CHECK (owner_id <> '{REFUSED_OWNER}')"
)
_ROWS = """
SELECT
    scope, owner_id, channel_id, persona_id,
    turns_since_refresh + last_refreshed_turn, persona_lineage_id,
    round(extract(epoch FROM last_turn_at) * 1000)::bigint
FROM short_term_memories
"""
_OPEN = """
SELECT FROM pg_stat_activity
WHERE backend_type = 'client backend' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
"""


class Tables:
    """Read as the superuser."""

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url

    def refuse_poison(self) -> None:
        """Let Postgres refuse the rows of an owner that only poison has."""
        with psycopg.connect(self._database_url) as connection:
            connection.execute(_REFUSE.encode())

    def rows(self) -> list[tuple[ScopeId, Row]]:
        with psycopg.connect(self._database_url) as connection:
            found = connection.execute(_ROWS).fetchall()
        return [(ScopeId(*row[:4]), Row(*row[4:])) for row in found]

    def ledger(self) -> set[str]:
        with psycopg.connect(self._database_url) as connection:
            return {
                turn_id for (turn_id,) in connection.execute("SELECT turn_id FROM applied_turns")
            }

    def open_transactions(self) -> int:
        """How many transactions of others stay open."""
        ends = time.monotonic() + _NOTICE_S
        with psycopg.connect(self._database_url, autocommit=True) as connection:
            while (count := connection.execute(_OPEN).rowcount) and time.monotonic() < ends:
                time.sleep(0.1)
        return count
