"""What capture asks Postgres: each statement answers with one JSON document, in one round trip."""


def _in_short(statement: str) -> str:
    """Return `statement` on one line: psycopg reads up to 4,096 characters once, more each time."""
    return " ".join(statement.split())


# Whether a channel is private by what the last turn of its server said: one probe of an index.
_IS_PRIVATE_NOW = """
            coalesce((
                SELECT held.is_private
                FROM short_term_memories AS held
                WHERE held.channel_id = {channel} AND held.scope = 'server'
                ORDER BY held.last_turn_at DESC NULLS LAST
                LIMIT 1
            ), false)"""

# The last sign of life; migration 0003 keeps the hour of it.
_LIVE_AT = """
        coalesce(
            greatest(
                m.last_turn_at,
                CASE WHEN m.summary IS NOT NULL THEN m.summary_updated_at END,
                CASE WHEN m.categories <> '{}' THEN m.refreshed_at END
            ),
            m.created_at
        )"""

# In the order of the fields of capture.row.Row.
_ROW = """
    json_build_array(
        m.scope, m.owner_id, m.channel_id, m.persona_id,
        m.server_id, m.parent_channel_id, m.persona_lineage_id, m.is_private,
        m.summary, round(extract(epoch FROM m.summary_updated_at) * 1000)::bigint,
        m.categories, m.category_times,
        m.turns_since_refresh, m.last_refreshed_turn,
        round(extract(epoch FROM m.last_turn_at) * 1000)::bigint,
        round(extract(epoch FROM {live_at}) * 1000)::bigint,
        {is_hidden}
    )"""

# So many tombstones come at once; the next read goes on from there.
MOST_TOMBSTONES = 5_000

# The tombstones that a container has not seen: earlier ones than its memory cannot concern it.
_TOMBSTONES = f"""
    SELECT coalesce(json_agg(json_build_object(
        'number', number, 'subject', subject, 'subject_id', subject_id,
        'forgotten_at', trunc(extract(epoch FROM forgotten_at) * 1000)::bigint
    ) ORDER BY number), '[]')
    FROM (
        SELECT * FROM tombstones
        WHERE number > %(obeyed)s AND forgotten_at >= to_timestamp(%(since)s / 1000.0::float8)
        ORDER BY number
        LIMIT {MOST_TOMBSTONES}
    ) AS unseen"""


# The rows that the container's entries need for the merge, however old, and of the owner's others
# that are alive the newest which the asker may see. When a user's rows are read in a guild, the
# live row of the asked channel comes, too. An entry without a row yet may be of a channel that is
# known as private, or of a thread of one: those channels are told apart. OFFSET 0 keeps the first
# part a probe for each: joined, all rows of the owner would be read.
def _read(*, of_others: str, visible: str) -> str:
    return _in_short(f"""
WITH wanted AS MATERIALIZED (
    SELECT channel_id, nullif(persona, '') AS persona_id, persona
    FROM unnest(
        string_to_array(%(channel_ids)s, ','), string_to_array(%(personas)s, ',')
    ) AS entry (channel_id, persona)
),
found AS (
    SELECT m.*, true AS is_wanted
    FROM wanted
    CROSS JOIN LATERAL (
        SELECT *
        FROM short_term_memories AS held
        WHERE held.scope = %(kind)s
            AND held.owner_id = %(owner_id)s
            AND held.channel_id = wanted.channel_id
            AND held.persona_id IS NOT DISTINCT FROM wanted.persona_id
        OFFSET 0
    ) AS m
    UNION ALL
    SELECT m.*, true
    FROM short_term_memories AS m
    WHERE %(kind)s = 'user'
        AND m.scope = 'server'
        AND m.owner_id = %(server_id)s::text
        AND m.channel_id = %(channel_id)s
        AND m.persona_id IS NOT DISTINCT FROM %(persona_id)s::text
    UNION ALL
    SELECT m.*, false
    FROM short_term_memories AS m
    WHERE m.scope = %(kind)s
        AND m.owner_id = %(owner_id)s
        AND m.live_hour >= date_trunc(
            'hour', to_timestamp(%(oldest)s / 1000.0::float8) AT TIME ZONE 'UTC'
        )
        AND m.channel_id <> %(channel_id)s
        AND (%(everywhere)s OR m.server_id IS NOT DISTINCT FROM %(server_id)s::text)
        AND (%(lineage_id)s::text IS NULL OR m.persona_lineage_id = %(lineage_id)s)
        {of_others}
        AND {_LIVE_AT} > to_timestamp(
            CASE WHEN m.summary IS NULL THEN %(alive_since)s ELSE %(summary_alive_since)s END
            / 1000.0::float8
        )
        AND (m.channel_id, coalesce(m.persona_id, '')) NOT IN (
            SELECT channel_id, persona FROM wanted
        )
),
visible AS (
    SELECT m.*, {_LIVE_AT} AS live_at, privacy.is_hidden
    FROM found AS m
    CROSS JOIN LATERAL (
        SELECT NOT (
            %(sees_private)s AND m.server_id IS NOT DISTINCT FROM %(server_id)s::text
        ) AND (
            m.is_private
            OR {_IS_PRIVATE_NOW.format(channel="m.channel_id")}
            OR (m.parent_channel_id IS NOT NULL
                AND {_IS_PRIVATE_NOW.format(channel="m.parent_channel_id")})
        ) AS is_hidden
    ) AS privacy
    WHERE m.is_wanted OR NOT privacy.is_hidden
),
shown AS (
    SELECT *
    FROM {visible}
    ORDER BY is_wanted DESC, live_at DESC
    LIMIT %(most)s
)
SELECT json_build_object(
    'rows', (
        SELECT coalesce(json_agg({_ROW.format(live_at="m.live_at", is_hidden="m.is_hidden")}), '[]')
        FROM shown AS m
    ),
    'privateChannels', ARRAY(
        SELECT channel
        FROM unnest(string_to_array(%(channels)s, ',')) AS channel
        WHERE {_IS_PRIVATE_NOW.format(channel="channel")}
    ),
    'tombstones', ({_TOMBSTONES})
)::text
""")


READ = _read(of_others="", visible="visible")

# The asked persona's and the newest: a channel with many personas must not keep the others out.
ROWS_OF_A_CHANNEL = 2

# For a prompt, which tells one entry of a channel, and only what there is something to tell of.
READ_FOR_PROMPT = _read(
    of_others="AND (m.summary IS NOT NULL OR m.categories <> '{}')",
    visible=f"""(
        SELECT *, row_number() OVER (
            PARTITION BY is_wanted, channel_id
            ORDER BY persona_id IS NOT DISTINCT FROM %(persona_id)s::text DESC, live_at DESC
        ) AS place
        FROM visible
    ) AS ranked
    WHERE is_wanted OR place <= {ROWS_OF_A_CHANNEL}""",
)

# The rows of at most two scopes of one channel and persona: a user's, and the server's.
READ_SCOPES = f"""
SELECT json_build_object(
    'rows', (
        SELECT coalesce(json_agg({_ROW.format(live_at=_LIVE_AT, is_hidden="false")}), '[]')
        FROM short_term_memories AS m
        WHERE (m.scope, m.owner_id) IN (('user', %(user_id)s), ('server', %(server_id)s::text))
            AND m.channel_id = %(channel_id)s
            AND m.persona_id IS NOT DISTINCT FROM %(persona_id)s::text
    ),
    'tombstones', ({_TOMBSTONES})
)::text
"""

# Every row of a user, however old, in the order of their keys, from behind a key.
EXPORT = f"""
SELECT json_build_object(
    'rows', coalesce(
        (
            SELECT json_agg({_ROW.format(live_at="m.live_at", is_hidden="false")})
            FROM (
                SELECT m.*, {_LIVE_AT} AS live_at
                FROM short_term_memories AS m
                WHERE m.scope = 'user'
                    AND m.owner_id = %(user_id)s
                    AND (m.channel_id, coalesce(m.persona_id, ''))
                        > (%(after_channel_id)s, %(after_persona_id)s)
                ORDER BY m.channel_id, coalesce(m.persona_id, '')
                LIMIT %(most)s
            ) AS m
        ),
        '[]'
    ),
    'tombstones', ({_TOMBSTONES})
)::text
"""

# The trigger deletes the rows and tells the number and the time (migration 0003).
FORGET = """
INSERT INTO tombstones (subject, subject_id, forgotten_at)
VALUES (%(subject)s, %(subject_id)s, to_timestamp(%(now)s / 1000.0::float8))
RETURNING json_build_object(
    'number', number, 'subject', subject, 'subject_id', subject_id,
    'forgotten_at', trunc(extract(epoch FROM forgotten_at) * 1000)::bigint
)::text
"""
