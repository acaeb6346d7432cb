"""What goes over the wire of a summary's outcome, where the rows could not be read."""

import msgspec
import pytest
from given import NOW, SERVERS, USERS, notes, row

from capture.answer import attached
from capture.attach import Attached

WHOLE = {
    "summaryCharacters": 5,
    "categories": {"mood": "calm"},
    "turnsSinceRefresh": 2,
    "lastRefreshedTurn": 7,
}


@pytest.mark.parametrize(
    ("without_database", "is_verified", "told"),
    [
        ("serve", True, WHOLE),
        ("serve", False, WHOLE),
        ("withhold", True, WHOLE),
        ("withhold", False, {}),
    ],
)
def test_only_what_may_have_been_forgotten_elsewhere_is_withheld(
    without_database, is_verified, told
):
    known = notes(NOW, "tides", mood="calm")
    entries = [
        row(it, told=known, turns_since_refresh=2, last_refreshed_turn=7).entry
        for it in (USERS, SERVERS)
    ]
    outcome = Attached(
        entries, told_at=NOW, stands=True, is_verified=is_verified, is_cut=False, queued=True
    )
    answer = msgspec.json.decode(msgspec.json.encode(attached(outcome, without_database)))
    assert answer == {
        "status": "attached",
        "occurredAt": NOW,
        "truncated": False,
        "scopes": [{"key": it.key} | told for it in (USERS, SERVERS)],
        "queued": True,
    }
