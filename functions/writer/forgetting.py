"""What a batch must not bring back: the tombstones that its scopes meet, and what they cover."""

from collections.abc import Sequence
from typing import Any

import msgspec
from psycopg import Connection

from shortterm.tombstone import Tombstone
from shortterm.work import Work

# Only what was set after the oldest capture of the batch can cover any of it: most often none. Of a
# subject that was forgotten often, the last time covers all. Ids of users and of channels go in one
# array: what a tombstone covers, it says itself. The ms are rounded down, as a clock does.
_TOMBSTONES = """
SELECT
    max(number), subject, subject_id, floor(extract(epoch FROM max(forgotten_at)) * 1000)::bigint
FROM tombstones
WHERE forgotten_at >= to_timestamp(%(oldest)s / 1000.0::float8)
    AND subject_id = ANY (string_to_array(%(subject_ids)s, ','))
GROUP BY subject, subject_id
"""


def tombstones(connection: Connection[Any], works: Sequence[Work]) -> list[Tombstone]:
    """Return the tombstones of the users and channels in `works`, the last one of each."""
    scopes = {it.scope for work in works for it in work.scopes}
    users = {it.owner_id for it in scopes if it.kind == "user"}
    subject_ids = users | {it.channel_id for it in scopes}
    parameters = {
        "oldest": min((work.known_at for work in works), default=0),
        "subject_ids": ",".join(subject_ids),
    }
    found = connection.execute(_TOMBSTONES, parameters).fetchall()
    return [Tombstone(*row) for row in found]


def without_forgotten(works: Sequence[Work], tombstones: Sequence[Tombstone]) -> list[Work]:
    """Return `works` without the scopes that `tombstones` cover, each in its place. Pure.

    Forgetting goes by the time of the capture. Work that loses every scope stays, with none.
    """
    if not tombstones:
        return list(works)
    return [_stripped(work, tombstones) for work in works]


def _stripped(work: Work, tombstones: Sequence[Tombstone]) -> Work:
    scopes = tuple(
        it
        for it in work.scopes
        if not any(tombstone.covers(it.scope, work.known_at) for tombstone in tombstones)
    )
    return work if len(scopes) == len(work.scopes) else msgspec.structs.replace(work, scopes=scopes)
