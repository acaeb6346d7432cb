"""Forgetting over HTTP: nothing from before is shown, written or brought back, anywhere."""

import json
import time

from given import message, notes

from shortterm.scope import Scope
from shortterm.work import NotesWork, ScopeWork, TurnWork


def contents(found):
    current = found["current"]
    return current and [line["content"] for line in current["lines"]]


def captured(place, turn_id, channel="c"):
    """The messages that a container sent about a turn and notes a minute ago."""
    ago = time.time_ns() // 1_000_000 - 60_000
    scopes = (
        ScopeWork(Scope("user", place.ids["userId"], channel, "7")),
        ScopeWork(Scope("server", place.ids["serverId"], channel, "7"), live=True),
    )
    server_id = place.ids["serverId"]
    return (
        TurnWork(1, turn_id, ago, scopes, server_id=server_id, captured_at=ago),
        NotesWork(1, "notes", ago, scopes, notes(ago, "old"), server_id=server_id),
    )


def test_a_forgotten_user_is_gone_from_rows_and_memory(place):
    place.post()
    place.put(summary="tides")
    place.until_written()
    answer = place.until_forgotten()
    assert answer["status"] == "forgotten"
    assert answer["forgottenAt"] <= time.time_ns() // 1_000_000
    assert place.recall(scope="user")["current"] is None
    assert set(place.counts()) == {"server:c"}
    assert place.request("GET", f"/v1/users/{place.ids['userId']}/export")[1]["rows"] == []


def test_another_warm_container_shows_nothing_of_a_forgotten_user(place):
    said = [message("mine", authorId=place.ids["userId"]), message("theirs", authorId="v")]
    place.post(simplifiedMessages=said)
    with place.elsewhere():
        place.post(simplifiedMessages=said)
        assert contents(place.recall(scope="user")) == ["mine", "theirs", "hi"]
    place.until_forgotten()
    with place.elsewhere():
        assert place.recall(scope="user")["current"] is None
        assert contents(place.recall()) == ["theirs", "hi"]
    assert contents(place.recall()) == ["theirs", "hi"]


def test_no_queued_or_redelivered_work_brings_a_forgotten_row_back(place):
    place.post()
    place.until_written()
    place.until_forgotten()
    place.redeliver(*captured(place, f"{place.name}-1"), *captured(place, f"{place.name}-late"))
    assert place.counts() == {"server:c": 0}
    assert place.recall(scope="user")["current"] is None


def test_a_new_turn_starts_afresh(place):
    for _ in range(3):
        place.post(serverId=None)
    place.put(serverId=None, summary="tides")
    place.until_written()
    place.until_forgotten()
    place.post(serverId=None, simplifiedMessages=[message("again")])
    place.until_counted({"user:c": 1})
    direct = place.ids | {"personaId": "7"}
    del direct["serverId"]
    for _ in range(2):
        query = "&".join(f"{name}={value}" for name, value in direct.items())
        current = place.request("GET", f"/v1/memories?{query}")[1]["current"]
        assert (current["summary"], current["turnsSinceRefresh"]) == (None, 1)
        assert current["lastRefreshedTurn"] == 0
        place.restart()


def test_a_forgotten_channel_is_gone_whoever_spoke_there(place):
    place.post()
    place.post(userId="v" + place.name)
    place.post(channelId="kept")
    with place.elsewhere():
        place.post()
    place.until_written()
    place.until_forgotten(lambda: place.request("DELETE", "/v1/channels/c/memories"))
    place.redeliver(*captured(place, f"{place.name}-1"), *captured(place, f"{place.name}-late"))
    assert set(place.counts()) == {"user:kept", "server:kept"}
    for scope in ("server", "user"):
        assert place.recall(scope=scope)["current"] is None
        with place.elsewhere():
            assert place.recall(scope=scope)["current"] is None


def test_while_the_database_is_away_nothing_is_forgotten_and_the_bot_is_told_when_to_try(
    place, stack
):
    place.post()
    place.until_written()
    stack.postgres.kill()
    try:
        status, answer = place.forget_user()
        assert status == 503
        assert answer == {"title": "The database is away: try again", "status": 503}
        assert place.recall(scope="user")["current"] is not None
    finally:
        place.after_an_outage(stack.postgres.start)


def test_what_was_forgotten_stays_so_when_postgres_and_containers_come_back(place, stack):
    place.post()
    place.until_written()
    place.until_forgotten()
    stack.postgres.kill()
    stack.postgres.start()
    place.restart()
    place.redeliver(*captured(place, f"{place.name}-late"))
    assert place.recall(scope="user")["current"] is None
    assert set(place.counts()) == {"server:c"}


def test_the_janitor_takes_what_nobody_needs_any_more(place, stack):
    place.post()
    place.post(channelId="kept")
    place.put(channelId="kept", summary="tides")
    place.until_written()
    place.sql(
        "UPDATE short_term_memories SET last_turn_at = now() - interval '91 days',"
        " summary_updated_at = now() - interval '91 days',"
        " updated_at = now() - interval '91 days' WHERE owner_id = %s",
        place.ids["serverId"],
    )
    place.sql(
        "UPDATE applied_turns SET applied_at = now() - interval '16 days' WHERE turn_id = %s",
        f"{place.name}-1",
    )
    outcome = stack.pools["writer"].invoke(b'{"action": "tidy"}')
    tidied = json.loads(outcome.payload)
    assert (tidied["rows"], tidied["ledger"], tidied["complete"]) == (1, 1, True)
    assert set(place.counts()) == {"user:c", "user:kept", "server:kept"}


def test_a_malformed_request_to_forget_names_the_field(place):
    status, answer = place.request("DELETE", "/v1/users/a:b/memories")
    assert (status, answer["field"]) == (400, "userId")
