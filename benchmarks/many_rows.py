"""Ten million rows of 200,000 servers and 2,000,000 users, as a quarter of a year leaves them."""

from typing import Any, NamedTuple

from psycopg import Connection, sql

from shortterm.scope import Scope

SERVERS = 200_000
CHANNELS = 1_600_000
USERS = 2_000_000
ROWS = 10_000_000
SERVER_ROWS = 2_000_000
GIANT_ROWS = 20_000
GIANT_LIVE = 50
TURNS = 3_000_000
TOMBSTONES = 2_000

GIANT = "1600000000000000000"
# Every id is the first of its kind plus a number.
_SERVER = 1_200_000_000_000_000_000
_CHANNEL = 1_100_000_000_000_000_000
_USER = 1_300_000_000_000_000_000
_GIANT_CHANNEL = 1_500_000_000_000_000_000

# What a server that loses everything anyway can do without, and room to be filled quickly.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    "shared_buffers": "4GB",
    "maintenance_work_mem": "1GB",
}

# Each number stands for one row, and they come in no order, so that no owner's rows lie together.
# The giant's rows are the first; then those of the servers, few of which have many channels, with
# one persona or two in each; then four of each user: three of channels, and the last of a channel
# or of a direct message. Every twentieth channel is private, every tenth a thread, every other of
# those under a private one. Three rows in a hundred were alive within a day. Some have outlived the
# retention: two in a hundred long ago, and only for their summary.
_FILL = """
WITH numbers AS (
    SELECT mod(i * 7368787, %(rows)s) AS n FROM generate_series(0, %(rows)s::bigint - 1) AS i
),
kinds AS (
    SELECT n, 'giant' AS kind, 0::bigint AS owner, 0::bigint AS nth, 0::bigint AS channel,
        '7' AS persona_id
    FROM numbers
    WHERE n < %(giant_rows)s
    UNION ALL
    SELECT n, 'server', 0, 0, mod(n, %(channels)s),
        CASE WHEN n < %(channels)s THEN '7' ELSE '8' END
    FROM numbers
    WHERE n >= %(giant_rows)s AND n < %(server_rows)s
    UNION ALL
    SELECT n, 'user', owner, nth,
        mod(owner * CASE WHEN nth < 2 THEN 7919 ELSE 104729 END + nth, %(channels)s),
        CASE WHEN nth < 2 THEN '7' ELSE '8' END
    FROM (
        SELECT n, mod(n - %(server_rows)s, %(users)s) AS owner,
            (n - %(server_rows)s) / %(users)s AS nth
        FROM numbers
        WHERE n >= %(server_rows)s
    ) AS of_users
),
places AS (
    SELECT
        n, kind, owner, channel, persona_id,
        kind <> 'giant' AND NOT (kind = 'user' AND nth = 3 AND mod(owner, 4) = 0) AS is_in_server,
        kind = 'giant' AS is_giant,
        floor(%(servers)s * power(channel / %(channels)s::float8, 2))::bigint AS server
    FROM kinds
),
memories AS (
    SELECT
        CASE WHEN kind = 'user' THEN 'user' ELSE 'server' END AS scope,
        CASE
            WHEN is_giant THEN %(giant)s
            WHEN kind = 'user' THEN (%(user)s + owner)::text
            ELSE (%(server)s + server)::text
        END AS owner_id,
        CASE
            WHEN is_giant THEN (%(giant_channel)s + n)::text
            WHEN is_in_server THEN (%(channel)s + channel)::text
            ELSE 'direct.' || owner
        END AS channel_id,
        persona_id,
        CASE WHEN is_giant THEN %(giant)s WHEN is_in_server THEN (%(server)s + server)::text END
            AS server_id,
        CASE WHEN is_in_server AND mod(channel, 10) = 3 THEN (%(channel)s + channel - 3)::text END
            AS parent_channel_id,
        is_in_server AND mod(channel, 20) = 0 AS is_private,
        CASE WHEN mod(n, 10) < 3 THEN left(repeat(md5(n::text), 10), 300) END AS summary,
        mod(n, 10) = 1 AS is_told,
        mod(n, 7) AS turns,
        now() - CASE
            WHEN is_giant AND n < %(giant_live)s THEN interval '6 hours' * random()
            WHEN is_giant THEN interval '2 days' + interval '78 days' * random()
            WHEN mod(n, 50) = 1 THEN interval '91 days' + interval '300 days' * random()
            ELSE interval '90.5 days' * power(random(), 1.3)
        END AS last_turn_at
    FROM places
)
INSERT INTO short_term_memories (
    scope, owner_id, channel_id, persona_id, persona_lineage_id, server_id, parent_channel_id,
    is_private, summary, summary_updated_at, categories, category_times, refreshed_at,
    turns_since_refresh, last_turn_at, created_at, updated_at
)
SELECT
    scope, owner_id, channel_id, persona_id, '3', server_id, parent_channel_id,
    is_private, summary, CASE WHEN summary IS NOT NULL THEN last_turn_at END,
    CASE WHEN is_told THEN '{"mood": "calm", "plans": "a trip to the sea"}'::jsonb ELSE '{}' END,
    CASE WHEN is_told THEN '{"mood": 1796000000000, "plans": 1796000000000}'::jsonb ELSE '{}' END,
    CASE WHEN summary IS NOT NULL THEN last_turn_at END,
    turns, last_turn_at, last_turn_at, last_turn_at
FROM memories
"""
_LEDGER = """
INSERT INTO applied_turns (turn_id, applied_at)
SELECT (1700000000000000000 + i)::text, now() - interval '15.5 days' * (1 - i / %(turns)s::float8)
FROM generate_series(0, %(turns)s::bigint - 1) AS i
"""
_TOMBSTONES = """
INSERT INTO tombstones (subject, subject_id, forgotten_at)
SELECT 'user', (1800000000000000000 + i)::text, now()
FROM generate_series(1, %(tombstones)s::bigint) AS i
"""
_INDEXES = """
SELECT indexname, indexdef FROM pg_indexes
WHERE tablename = 'short_term_memories'
    AND indexname NOT IN (SELECT conname FROM pg_constraint WHERE conindid <> 0)
"""


class Place(NamedTuple):
    """Where a user spoke: the user's scope and the server's."""

    server_id: str
    user_scope: Scope
    server_scope: Scope

    @property
    def scopes(self) -> tuple[Scope, Scope]:
        return self.user_scope, self.server_scope


def place(user: int) -> Place:
    """Return the first place of the user of that number; both scopes have a row."""
    channel = user * 7919 % CHANNELS
    server = int(SERVERS * (channel / CHANNELS) ** 2)
    return _place(_USER + user, _CHANNEL + channel, _SERVER + server)


def new_place(number: int) -> Place:
    """Return a place that nobody has seen, by its number from 1 on."""
    return _place(_USER + USERS + number, _CHANNEL + CHANNELS + number, _SERVER + SERVERS + number)


def _place(user: int, channel: int, server: int) -> Place:
    user_id, server_id, place = str(user), str(server), (str(channel), "7")
    return Place(server_id, Scope("user", user_id, *place), Scope("server", server_id, *place))


def giant(number: int) -> Scope:
    """Return a scope of the giant guild; the first GIANT_LIVE are alive."""
    return Scope("server", GIANT, str(_GIANT_CHANNEL + number), "7")


def fill(connection: Connection[Any]) -> None:
    """Fill the migrated tables. `connection` is the superuser's, in autocommit mode."""
    connection.execute(_TOMBSTONES, {"tombstones": TOMBSTONES})
    connection.execute(_LEDGER, {"turns": TURNS})
    # Made anew once the rows are there, which is much quicker.
    indexes = connection.execute(_INDEXES).fetchall()
    for name, _ in indexes:
        connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
    connection.execute(
        _FILL,
        {
            "rows": ROWS,
            "server_rows": SERVER_ROWS,
            "giant_rows": GIANT_ROWS,
            "giant_live": GIANT_LIVE,
            "servers": SERVERS,
            "channels": CHANNELS,
            "users": USERS,
            "giant": GIANT,
            "server": _SERVER,
            "channel": _CHANNEL,
            "user": _USER,
            "giant_channel": _GIANT_CHANNEL,
        },
    )
    for _, definition in indexes:
        connection.execute(definition)
    connection.execute("VACUUM ANALYZE")
