"""An export: what is durable about a user page by page, and what this container remembers."""

import json

import msgspec
import pytest
from faults import FakeRows
from given import NOW, SERVERS, USERS, notes, row, summarize, window

from capture import export as module
from capture.container import Container
from capture.dialogue import Line
from capture.export import export
from capture.query import ExportQuery
from capture.window import Window, pack
from shortterm.scope import Scope
from shortterm.tombstone import Tombstone
from shortterm.wire import Mismatch
from shortterm.work import ScopeWork

GUILD = [ScopeWork(USERS), ScopeWork(SERVERS, live=True)]


def exported(held, *rows, after=None):
    found = rows[0] if rows and isinstance(rows[0], FakeRows) else FakeRows(*rows)
    here = Container("box", since=1)
    answer = export("u", ExportQuery(after), held, found, here, now=NOW)
    return json.loads(msgspec.json.encode(answer))


def of_user(channel, **fields):
    return row(Scope("user", "u", channel, "7"), **fields)


def channels(found):
    return [it["channelId"] for it in found["rows"]]


def said(entries):
    return [[line["content"] for line in it["lines"]] for it in entries]


def test_a_row_is_exported_whole(held):
    known = of_user(
        "c",
        told=notes(NOW, "tides", mood="calm"),
        parent_channel_id="p",
        persona_lineage_id="3",
        is_private=True,
        turns_since_refresh=2,
        last_refreshed_turn=5,
    )
    assert exported(held, known)["rows"] == [
        {
            "key": "shortterm:user:u:c:7",
            "serverId": "s",
            "channelId": "c",
            "parentChannelId": "p",
            "isPrivateChannel": True,
            "personaId": "7",
            "personaLineageId": "3",
            "summary": "tides",
            "summaryToldAt": NOW,
            "categories": {"mood": "calm"},
            "categoryToldAt": {"mood": NOW},
            "turnsSinceRefresh": 2,
            "lastRefreshedTurn": 5,
            "lastTurnAt": NOW,
        }
    ]


def test_the_users_entries_come_with_all_their_lines(held):
    held.remember("t1", GUILD, window("theirs", author="v", server_id="s"))
    memory = exported(held)["memory"]
    assert (memory["container"], memory["since"]) == ("box", 1)
    assert said(memory["entries"]) == [["theirs"]]
    assert memory["said"] == []


def test_of_shared_channels_only_the_users_own_lines_come(held):
    lines = tuple(Line("user", "Ann", f"of {it}", NOW, it) for it in "uv")
    held.remember("t1", GUILD[1:], Window(pack(lines), len(lines), NOW, NOW, server_id="s"))
    held.remember("t2", [ScopeWork(Scope("server", "s", "d"))], window("theirs", author="v"))
    summarize(held, SERVERS, "about others", mood="calm")
    (entry,) = exported(held)["memory"]["said"]
    assert said([entry]) == [["of u"]]
    assert (entry["summary"], entry["categories"]) == (None, {})


def test_a_channel_where_others_only_named_the_user_is_none_where_the_user_spoke(held):
    held.remember("t1", GUILD[1:], window("ask u", author="v", server_id="s"))
    assert exported(held)["memory"]["said"] == []


def test_it_says_what_it_cannot_see(held):
    assert any("other containers" in it for it in exported(held)["notIncluded"])


def test_what_the_user_said_in_another_users_entry_names_nobody_else(held):
    theirs = Scope("user", "v", "dm", "7")
    summarize(held, theirs, "about them")
    held.remember("t1", [ScopeWork(theirs, live=True)], window("mine", author="u"))
    found = exported(held)["memory"]
    assert said(found["said"]) == [["mine"]]
    assert found["said"][0]["key"] == "shortterm:user:u:dm:7"
    assert "about them" not in json.dumps(found)
    assert '"v"' not in json.dumps(found)


def test_rows_come_page_by_page_and_memory_with_the_first(held, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 2)
    rows = [of_user(channel) for channel in "abc"]
    first = exported(held, *rows)
    assert (channels(first), first["next"]) == (["a", "b"], "shortterm:user:u:b:7")
    second = exported(held, *rows, after=first["next"])
    assert channels(second) == ["c"]
    assert "next" not in second
    assert ("memory" in first, "memory" in second) == (True, False)


def test_a_full_last_page_has_no_next(held, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 2)
    assert "next" not in exported(held, of_user("a"), of_user("b"))


def test_a_row_without_persona_can_be_the_last_of_a_page(held, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 1)
    rows = [row(Scope("user", "u", channel)) for channel in "ab"]
    first = exported(held, *rows)
    assert channels(exported(held, *rows, after=first["next"])) == ["b"]


def test_rows_that_have_no_room_come_with_the_next_page(held, monkeypatch):
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 2_400)
    rows = [of_user(channel, told=notes(NOW, "x" * 500)) for channel in "ab"]
    first = exported(held, *rows)
    assert (channels(first), first["next"]) == (["a"], "shortterm:user:u:a:7")


def test_memory_that_has_no_room_is_said_to_be_cut(held, monkeypatch):
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 2_000)
    assert "truncated" not in exported(held)
    held.remember("t1", GUILD, window("x" * 2_000))
    found = exported(held)
    assert (found["truncated"], found["memory"]["entries"]) == (True, [])


def test_what_was_forgotten_elsewhere_is_not_handed_out(held):
    held.remember("t1", GUILD, window("mine", author="u", server_id="s"))
    rows = FakeRows()
    rows.tombstones = (Tombstone(1, "user", "u", NOW),)
    memory = exported(held, rows)["memory"]
    assert (memory["entries"], memory["said"]) == ([], [])


def test_the_lines_of_others_who_were_forgotten_are_not_handed_out(held):
    held.remember("t1", GUILD, window("theirs", author="v", server_id="s"))
    rows = FakeRows()
    rows.tombstones = (Tombstone(1, "user", "v", NOW),)
    assert said(exported(held, rows)["memory"]["entries"]) == [[]]


@pytest.mark.parametrize(
    "after",
    ["", "c", "shortterm:user:v:c:7", "shortterm:server:u:c:7", "shortterm:user:u",
     "shortterm:user:u:c:7:8"],
)  # fmt: skip
def test_a_next_that_is_none_of_this_user_is_refused(held, after):
    with pytest.raises(Mismatch) as caught:
        exported(held, of_user("c"), after=after)
    assert caught.value.field == "after"
