"""Reading back: what is current, which others come, and what stays private."""

import json

import msgspec
import pytest
from given import HOUR, NOW, summarize, window
from recalling import answered, ask, channels, keep, recalled

from capture.room import MAX_ANSWER_BYTES
from shortterm.scope import Scope
from shortterm.work import ScopeWork


def test_an_entry_is_answered_in_full(held):
    place = {"server_name": "Harbour", "channel_name": "general", "parent_channel_id": "p"}
    keep(held, "c", lineage="3", **place)
    summarize(held, Scope("server", "s", "c", "7"), "tides", mood="calm")
    assert ask(held)["current"] == {
        "key": "shortterm:server:s:c:7",
        "scope": "server",
        "ownerId": "s",
        "serverId": "s",
        "serverName": "Harbour",
        "channelId": "c",
        "channelName": "general",
        "parentChannelId": "p",
        "isPrivateChannel": False,
        "personaId": "7",
        "personaLineageId": "3",
        "lines": [{"role": "user", "speaker": "Ann", "content": "words", "timestamp": NOW}],
        "summary": "tides",
        "categories": {"mood": "calm"},
        "turnsSinceRefresh": 0,
        "lastRefreshedTurn": 1,
        "updatedAt": NOW,
    }


def test_a_container_that_saw_nothing_of_the_owner_says_that_it_is_cold(held):
    keep(held, "c", server="another")
    assert ask(held) == {
        "current": None,
        "others": [],
        "memory": {"container": "box", "since": 1, "state": "cold"},
        "durable": "fresh",
    }


def test_a_container_that_saw_something_of_the_owner_is_warm(held):
    keep(held, "elsewhere")
    answer = ask(held)
    assert answer["current"] is None
    assert answer["memory"]["state"] == "warm"


def test_current_is_the_asked_channel_and_persona(held):
    keep(held, "c", persona="8", text="other persona")
    keep(held, "c", text="asked")
    assert ask(held)["current"]["lines"][0]["content"] == "asked"
    assert channels(ask(held)) == []
    assert ask(held, personaId=None)["current"] is None


def test_others_are_the_other_channels_newest_first(held, clock):
    for channel in ("a", "b", "c"):
        keep(held, channel)
        clock.now += 1
    assert channels(ask(held)) == ["b", "a"]


def test_others_are_narrowed_to_a_lineage_when_asked(held):
    keep(held, "a", persona="7", lineage="3")
    keep(held, "b", persona="8", lineage="4")
    assert sorted(channels(ask(held))) == ["a", "b"]
    assert channels(ask(held, personaLineageId="4")) == ["b"]


@pytest.mark.parametrize(("limit", "count"), [("0", 0), ("2", 2), ("200", 5)])
def test_others_are_limited(held, limit, count):
    for number in range(5):
        keep(held, f"c{number}")
    assert len(ask(held, limit=limit)["others"]) == count


def test_server_memory_is_shared_by_its_users_and_user_memory_is_not(held):
    keep(held, "c", user="v")
    assert ask(held)["current"] is not None
    assert ask(held, scope="user")["current"] is None


def test_another_servers_memory_is_never_this_servers(held):
    keep(held, "a", server="s2")
    assert ask(held)["others"] == []


def test_the_users_memory_in_a_guild_stays_in_that_server(held):
    keep(held, "a")
    keep(held, "b", server="s2")
    keep(held, "d", server=None)
    assert channels(ask(held, scope="user")) == ["a"]


def test_a_direct_message_stays_in_direct_messages(held):
    keep(held, "a")
    keep(held, "d", server=None)
    assert channels(ask(held, serverId=None)) == ["d"]


def test_other_servers_are_included_when_asked(held, clock):
    for channel, server in [("a", "s"), ("b", "s2"), ("d", None)]:
        keep(held, channel, server=server)
        clock.now += 1
    everywhere = {"scope": "user", "includeOtherServers": "true"}
    assert channels(ask(held, **everywhere)) == ["d", "b", "a"]
    assert channels(ask(held, serverId=None, includeOtherServers="true")) == ["d", "b", "a"]


def test_a_private_channel_is_shown_only_to_a_private_channel(held):
    keep(held, "a", is_private=True)
    assert channels(ask(held)) == []
    assert channels(ask(held, isPrivateChannel="true")) == ["a"]


def test_a_public_channel_is_shown_to_a_private_one(held):
    keep(held, "a")
    assert channels(ask(held, isPrivateChannel="true")) == ["a"]


def test_the_current_channel_too_is_shown_only_if_the_asker_knows_that_it_is_private(held):
    keep(held, "c", is_private=True)
    assert ask(held)["current"] is None
    assert ask(held, isPrivateChannel="true")["current"] is not None


@pytest.mark.parametrize("order", [("p", "thread"), ("thread", "p")])
def test_a_thread_under_a_private_channel_is_private_too(held, order):
    for channel in order:
        place = {"is_private": True} if channel == "p" else {"parent_channel_id": "p"}
        keep(held, channel, **place)
    assert channels(ask(held)) == []
    assert sorted(channels(ask(held, isPrivateChannel="true"))) == ["p", "thread"]


def test_what_was_private_in_another_server_is_never_shown(held):
    keep(held, "a", server="s2", is_private=True)
    everywhere = {"scope": "user", "includeOtherServers": "true", "isPrivateChannel": "true"}
    assert channels(ask(held, **everywhere)) == []


def test_what_was_public_is_private_once_its_channel_is(held):
    keep(held, "a", user="u")
    keep(held, "a", user="v", is_private=True)
    assert channels(ask(held, scope="user")) == []
    assert channels(ask(held, scope="user", isPrivateChannel="true")) == ["a"]


def test_what_was_private_stays_so_when_its_channel_becomes_public(held, clock):
    keep(held, "a", user="u", is_private=True)
    clock.now += 1
    keep(held, "a", user="v")
    assert channels(ask(held, scope="user")) == []
    assert channels(ask(held)) == ["a"]


def test_a_thread_stays_private_when_nothing_of_its_channel_is_held_any_more(held, clock):
    keep(held, "p", is_private=True)
    clock.now += 6 * HOUR
    keep(held, "thread", parent_channel_id="p")
    clock.now += 7 * HOUR
    assert channels(ask(held)) == []


def test_an_expired_entry_is_not_answered(held, clock):
    keep(held, "c")
    clock.now += 12 * HOUR
    assert ask(held)["current"] is None
    assert ask(held)["memory"]["state"] == "cold"


def test_an_answer_that_lambda_could_not_send_is_cut_and_says_so(held):
    for number in range(8):
        keep(held, f"c{number}", text="x" * (MAX_ANSWER_BYTES // 4))
    answer = ask(held)
    assert answer["truncated"] is True
    assert len(answer["others"]) == 3


@pytest.mark.parametrize("text", ["x", '"', "\x01", "👍"])
def test_no_answer_is_too_large_for_lambda_however_it_is_escaped(held, text):
    long = [text * 60_000] * 100
    scopes = [ScopeWork(Scope("server", "s", channel, "7"), None, live=True) for channel in "ca"]
    held.remember("t1", scopes, window(*long, server_id="s"))
    found = answered(held)
    body = msgspec.json.encode(found).decode()
    assert len(json.dumps({"body": body}, ensure_ascii=False).encode()) < 6 * 2**20
    assert found.truncated is True
    lines = json.loads(body)["current"]["lines"]
    assert 0 < len(lines) < 100


def test_of_too_many_lines_the_newest_are_answered_in_their_order(held):
    numbered = [f"{number:03}" + "x" * 60_000 for number in range(100)]
    scopes = [ScopeWork(Scope("server", "s", "c", "7"), None, live=True)]
    held.remember("t1", scopes, window(*numbered, server_id="s"))
    numbers = [int(line["content"][:3]) for line in ask(held)["current"]["lines"]]
    assert numbers == list(range(numbers[0], 100))
    assert 0 < numbers[0] < 99


def test_an_answer_in_full_is_not_called_truncated(held):
    keep(held, "c")
    assert "truncated" not in ask(held)


def told(held, **asked):
    """Which channels and personas a prompt is told of, the newest first."""
    found = recalled(held, for_prompt=True, **asked)
    return [(it.channel_id, it.persona_id) for it in found.others]


def test_a_channel_of_many_personas_keeps_no_other_channel_out_of_a_prompt(held, clock):
    for channel, persona in [("x", "7"), ("y", "7"), *(("lounge", str(n)) for n in range(10, 40))]:
        clock.now += 1
        keep(held, channel, persona=persona)
    assert told(held, limit="2") == [("lounge", "39"), ("y", "7")]


def test_a_prompt_is_told_of_the_asked_persona_though_others_were_there_since(held, clock):
    for persona in ("7", "8", "9"):
        clock.now += 1
        keep(held, "lounge", persona=persona)
    assert told(held, limit="1") == [("lounge", "9"), ("lounge", "7")]
    assert told(held, limit="1", personaId="8") == [("lounge", "9"), ("lounge", "8")]


def test_what_the_asker_may_not_see_is_not_told_of_the_asked_persona_either(held, clock):
    keep(held, "lounge", lineage="3", persona="7")
    clock.now += 1
    keep(held, "lounge", lineage="4", persona="8")
    assert told(held, personaLineageId="4") == [("lounge", "8")]
