"""Reading back over HTTP, with two containers of which one may know nothing: what each can tell."""

import os
import signal
import time

from given import message


def contents(entry):
    return [line["content"] for line in entry["lines"]]


def channels(found):
    return [it["channelId"] for it in found["others"]]


def state(found):
    return found["memory"]["state"], found["durable"]


def test_what_is_durable_is_read_after_every_container_is_gone(place):
    place.post()
    place.post()
    place.put(summary="tides", categories={"mood": "calm"})
    place.post()
    place.until_counted({"user:c": 0, "server:c": 1})
    place.restart()
    found = place.recall()
    assert state(found) == ("cold", "fresh")
    current = found["current"]
    assert (current["summary"], current["categories"]) == ("tides", {"mood": "calm"})
    assert (current["turnsSinceRefresh"], current["lastRefreshedTurn"]) == (1, 2)
    assert current["lines"] == []


def test_a_container_says_that_another_one_saw_a_later_turn(place):
    place.post()
    with place.elsewhere():
        place.post(simplifiedMessages=[message("later")])
    place.until_written()
    assert state(place.recall()) == ("stale", "fresh")
    with place.elsewhere():
        assert state(place.recall()) == ("warm", "fresh")


def test_channels_that_this_container_never_saw_come_with_their_summary(place):
    with place.elsewhere():
        place.post(channelId="a")
        place.put(channelId="a", summary="tides")
    place.until_written()
    (other,) = place.recall()["others"]
    assert (other["channelId"], other["summary"], other["lines"]) == ("a", "tides", [])


def test_a_summary_is_read_at_once_where_it_was_attached_and_elsewhere_once_it_is_written(place):
    place.post()
    status, answer = place.put(summary="tides")
    assert (status, answer["status"], answer["queued"]) == (200, "attached", True)
    assert place.recall()["current"]["summary"] == "tides"
    place.until_written()
    with place.elsewhere():
        assert place.recall()["current"]["summary"] == "tides"


def test_the_newest_telling_stands_whatever_the_order_and_the_container(place):
    now = place.post()[1] and time.time_ns() // 1_000_000
    place.put(summary="new", occurredAt=now)
    with place.elsewhere():
        place.put(summary="old", categories={"mood": "calm"}, occurredAt=now - 1_000)
        place.until_written()
        assert place.recall()["current"]["summary"] == "new"
    current = place.recall()["current"]
    assert (current["summary"], current["categories"]) == ("new", {"mood": "calm"})


def test_the_cadence_starts_anew_once_however_often_the_same_request_comes(place):
    for _ in range(3):
        place.post()
    place.until_counted({"user:c": 0, "server:c": 3})
    told_at = time.time_ns() // 1_000_000
    place.put(summary="tides", occurredAt=told_at)
    place.post()
    with place.elsewhere():
        place.put(summary="tides", occurredAt=told_at)
    place.put(summary="tides", occurredAt=told_at)
    place.until_counted({"user:c": 0, "server:c": 1})
    current = place.recall()["current"]
    assert (current["turnsSinceRefresh"], current["lastRefreshedTurn"]) == (1, 3)


def test_an_empty_summary_clears_it_everywhere(place):
    place.post()
    place.put(summary="tides")
    place.put(summary="", categories={"mood": "calm"})
    place.until_written()
    with place.elsewhere():
        current = place.recall()["current"]
        assert (current["summary"], current["categories"]) == (None, {"mood": "calm"})


def test_more_categories_than_are_kept_are_refused_and_nothing_is_half_applied(place):
    place.put(categories={f"c{number}": "text" for number in range(5)})
    place.until_written()
    with place.elsewhere():
        status, answer = place.put(summary="tides", categories={"c5": "text"})
    assert (status, answer["field"]) == (400, "categories")
    current = place.recall()["current"]
    assert (current["summary"], len(current["categories"])) == (None, 5)


def test_the_nudge_is_due_after_five_turns_whichever_container_saw_them(place):
    place.post()
    with place.elsewhere():
        for _ in range(4):
            place.post()
    place.until_written()
    for scope in ("server", "user"):
        nudge = place.recall("context", scope=scope)["nudge"]
        assert nudge == {"due": True, "turnsSinceRefresh": 5, "refreshCadence": 5}
    place.put(summary="tides")
    assert place.recall("context")["nudge"]["due"] is False


def test_a_context_tells_the_current_channel_apart_from_the_others(place):
    place.post(channelId="a", channelName="tides", simplifiedMessages=[message("Boots?")])
    place.post(channelName="general", serverName="Harbour")
    place.put(summary="They wait.")
    found = place.recall("context")
    assert found["text"] == (
        "[This channel #general on Harbour, just now]\n"
        "Summary: They wait.\n"
        "Ann (just now): hello\n"
        "Mara (just now): hi\n"
        "\n"
        "[Another channel #tides, just now]\n"
        "Ann (just now): Boots?\n"
        "Mara (just now): hi"
    )
    assert place.recall("context") == found
    superseding = place.recall("context", renderMode="supersede", maxChannels="0")["text"]
    assert superseding == ("[This channel #general on Harbour, just now]\nSummary: They wait.")


def test_a_restart_does_not_forget_that_a_thread_was_private(place):
    place.post(channelId="p", isPrivateChannel=True)
    place.until_written()
    place.restart()
    place.post(channelId="thread", parentChannelId="p")
    assert channels(place.recall()) == []
    place.until_written()
    place.restart()
    assert channels(place.recall()) == []
    assert sorted(channels(place.recall(isPrivateChannel="true"))) == ["p", "thread"]


def test_a_container_that_never_saw_the_parent_takes_an_unmarked_thread_as_private(place):
    with place.elsewhere():
        place.post(channelId="p", isPrivateChannel=True)
        place.until_written()
    place.post(channelId="thread", parentChannelId="p")
    assert channels(place.recall()) == []


def test_memory_of_another_server_comes_only_when_asked_for_and_never_what_was_private(place):
    place.post(channelId="a", serverId=f"other{place.name}")
    place.post(channelId="b", serverId=f"other{place.name}", isPrivateChannel=True)
    place.until_written()
    everywhere = {"scope": "user", "includeOtherServers": "true", "isPrivateChannel": "true"}
    for _ in range(2):
        assert channels(place.recall(scope="user")) == []
        assert channels(place.recall(**everywhere)) == ["a"]
        place.restart()


def test_an_export_holds_rows_and_memory_and_says_what_it_cannot_see(place):
    place.post(simplifiedMessages=[message("hello", authorId=place.ids["userId"])])
    place.put(summary="tides")
    place.until_written()
    status, found = place.request("GET", f"/v1/users/{place.ids['userId']}/export")
    assert status == 200
    (row,) = found["rows"]
    assert (row["channelId"], row["summary"]) == ("c", "tides")
    (entry,) = found["memory"]["entries"]
    assert contents(entry) == ["hello", "hi"]
    (said,) = found["memory"]["said"]
    assert contents(said) == ["hello"]
    assert any("other containers" in it for it in found["notIncluded"])


def test_without_the_database_a_read_answers_promptly_and_says_so(place, stack):
    place.post()
    place.recall()
    stack.postgres.kill()
    try:
        began = time.monotonic()
        found = place.recall()
        waited = time.monotonic() - began
    finally:
        place.after_an_outage(stack.postgres.start)
    assert state(found) == ("warm", "unavailable")
    assert found["current"]["lines"]
    assert waited < 1
    place.until_written()


def test_a_database_that_hangs_delays_a_read_by_a_bound(place, stack):
    """Only the first one waits: then the database is left alone for a while."""
    place.restart()
    place.post()
    assert place.recall()["durable"] == "fresh"
    backends = place.sql(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'shortterm-capture'"
    )
    for (pid,) in backends:
        os.kill(pid, signal.SIGSTOP)
    try:
        waits = []
        for _ in range(3):
            began = time.monotonic()
            assert place.recall()["durable"] == "unavailable"
            waits.append(time.monotonic() - began)
    finally:
        for (pid,) in backends:
            os.kill(pid, signal.SIGCONT)
        place.restart()
    assert max(waits) < 1
    assert sum(waits[1:]) < 0.2
