"""What one container answers while another, the queue and the rows know something else."""

import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from faults import FakeQueue
from given import HOUR, Clock, memory, message, response, turn
from psycopg.conninfo import make_conninfo

from capture import refresh
from capture.attach import Attached, attach
from capture.durable import Durable
from capture.outbox import Outbox
from capture.passive_capture import capture
from capture.query import MemoriesQuery
from capture.recall import Question, Recollection, recall
from shortterm.settings import DatabaseSettings
from shortterm.work import decode
from writer import store


class Container:
    """One of several of server s: its memory, its outbox, its connection to the rows."""

    def __init__(self, name: str, url: str, clock: Clock) -> None:
        self.name = name
        self.clock = clock
        self.queue = FakeQueue()
        self.memory = memory(clock)
        self.outbox = Outbox(self.queue, "https://queue", capacity=100)
        self.durable = Durable(DatabaseSettings(url), since=0, clock=clock)

    def say(
        self, channel: str, text: str, *, user: str = "u", lineage: str | None = None, **fields: Any
    ) -> None:
        said = turn(
            turnId=f"{self.name}-{text.replace(' ', '-')}",
            userId=user,
            channelId=channel,
            simplifiedMessages=[message(text)],
            personaResponses=[response("ok", personaId="7", personaLineageId=lineage)],
            **fields,
        )
        capture(said, self.memory, self.outbox, request_id="r", now=self.clock.now, max_lines=10)
        self.clock.now += 1_000

    def put(self, channel: str, **fields: Any) -> Attached:
        told = {"userId": "u", "serverId": "s", "channelId": channel, "personaId": "7"} | fields
        body = json.dumps(told)
        attached = attach(
            refresh.decode(body), self.memory, self.durable, self.outbox, now=self.clock.now
        )
        self.clock.now += 1_000
        return attached

    def write(self, writer: psycopg.Connection[Any]) -> None:
        """Have the writer apply what this container has sent."""
        works = [decode(body) for body in self.queue.bodies]
        self.queue.bodies.clear()
        store.apply(writer, works)

    def recall(self, **asked: Any) -> Recollection:
        """Ask from a public channel."""
        place = {"user_id": "u", "server_id": "s", "channel_id": "here", "persona_id": "7"}
        question = Question(MemoriesQuery(**place | asked), 50, for_prompt=False, at=self.clock())
        return recall(question, self.memory, self.durable, withhold=False)

    def words(self, **asked: Any) -> list[str]:
        """All that is told, and none of it without the rows."""
        found = self.recall(**asked)
        assert found.durable == "fresh"
        entries = [it for it in (found.current, *found.others) if it is not None]
        summaries = [it.summary for it in entries if it.summary]
        return summaries + [line.content for it in entries for line in it.lines]


@pytest.fixture
def writer(writer_url) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(writer_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def containers(database_url, monkeypatch) -> Iterator[tuple[Container, Container]]:
    # Only this machine may be slow: the server's limit of a statement stays.
    monkeypatch.setattr("capture.durable.READ_S", 3.0)
    clock = Clock(time.time_ns() // 1_000_000 - 14 * HOUR)
    url = make_conninfo(database_url, user="stm_capture")
    here, there = Container("here", url, clock), Container("there", url, clock)
    yield here, there
    for it in (here, there):
        if it.durable._database._opened is not None:
            it.durable._database._opened.close()


def test_what_is_summed_up_of_a_private_channel_is_hidden_before_it_has_a_row(containers, writer):
    here, there = containers
    there.say("c", "private words", user="v", isPrivateChannel=True)
    there.write(writer)
    here.put("c", summary="of private words", personaId=None)
    assert here.words(scope="user") == []
    assert here.words(scope="server") == []


@pytest.mark.parametrize("scope", ["user", "server"])
def test_lines_of_a_channel_that_is_private_by_now_are_hidden_before_they_have_a_row(
    containers, writer, scope
):
    here, there = containers
    here.say("c", "earlier words")
    there.say("c", "private words", user="v", isPrivateChannel=True)
    there.write(writer)
    assert here.words(scope=scope) == []


def test_a_lineage_brings_up_no_thread_whose_parent_only_memory_knows(containers, writer):
    here, there = containers
    there.say("p", "in private", user="v", isPrivateChannel=True)
    there.say("t", "posted without its parent", lineage="3")
    there.write(writer)
    here.say("t", "thread words", parentChannelId="p")
    assert "thread words" not in here.words()
    assert "thread words" not in here.words(persona_lineage_id="3")


@pytest.mark.parametrize("held", [True, False], ids=["held here", "held elsewhere"])
def test_a_summary_that_is_taken_away_at_13_hours_is_gone_before_its_row_is_written(
    containers, writer, held
):
    here, there = containers
    teller = here if held else there
    teller.say("c", "words")
    teller.put("c", summary="secret")
    teller.write(writer)
    here.clock.now += 13 * HOUR
    assert "secret" in here.words(channel_id="c")
    here.put("c", summary="")
    assert here.words(channel_id="c") == []


def test_an_older_summary_does_not_stand_where_a_newer_removal_was_told(containers):
    here, _ = containers
    told_at = here.clock.now
    here.put("c", summary="", occurredAt=told_at)
    assert not here.put("c", summary="old", occurredAt=told_at - 1_000).stands
    assert here.words(channel_id="c") == []


def test_what_only_knows_a_removal_is_no_entry_of_an_answer(containers):
    here, _ = containers
    here.put("c", summary="")
    found = here.recall(channel_id="c")
    assert (found.current, found.others) == (None, ())


def test_what_only_knows_a_removal_leaves_its_rows_turns_to_be_told(containers, writer):
    here, there = containers
    there.say("c", "words")
    there.write(writer)
    here.put("c", summary="")
    found = here.recall(channel_id="c")
    assert found.current is not None
    assert found.current.lines == ()
    assert found.state == "stale"
