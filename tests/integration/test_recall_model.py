"""Two containers, a writer and Postgres, at random: no read shows what is private or forgotten."""

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from faults import FakeQueue
from given import Clock, memory, message, response, turn
from psycopg.conninfo import make_conninfo

from capture import refresh
from capture.attach import attach
from capture.durable import Durable
from capture.forgetting import forget
from capture.outbox import Outbox
from capture.passive_capture import capture
from capture.query import ContextQuery, MemoriesQuery
from capture.recall import Question, Recollection, recall
from capture.remembered import Remembered
from shortterm.settings import DatabaseSettings
from shortterm.work import Work, decode
from writer import store

# Each channel, and the one that it is a thread of.
CHANNELS = {"p": None, "q": None, "a": None, "b": None, "t1": "p", "t2": "p", "u1": "q"}
USERS = "uvw"
PERSONAS = ["7", "8"]
READS = 60
# The server's limit of a statement stays: only this machine may be slow.
PATIENCE_S = 3.0


class Town:
    """A server whose turns come to either container; what is true of it is written down here."""

    def __init__(self, seed: int, capture_url: str, writer: psycopg.Connection[Any]) -> None:
        self.chance = random.Random(seed)  # noqa: S311
        self.clock = Clock(time.time_ns() // 1_000_000)
        self.queue = FakeQueue()
        self.containers = [
            (
                memory(self.clock),
                Outbox(self.queue, "https://queue", capacity=100),
                Durable(DatabaseSettings(capture_url), since=0, clock=self.clock),
            )
            for _ in range(2)
        ]
        self.delivered: list[Work] = []
        self.private: set[str] = set()
        self.told: dict[str, tuple[str, str, int]] = {}
        self.forgotten: dict[tuple[str, str], int] = {}
        self._writer = writer
        self._number = 0

    def happen(self) -> None:
        self.clock.now += self.chance.randint(2, 5)
        acts = [self._say, self._sum_up, self._write, self._forget]
        self.chance.choices(acts, weights=[50, 10, 30, 10])[0]()

    def _say(self) -> None:
        memory, outbox, _ = self.chance.choice(self.containers)
        channel, text, author = self._something()
        flag = None if CHANNELS[channel] else self.chance.random() < 0.5
        said = turn(
            turnId=text,
            userId=self.chance.choice(USERS),
            channelId=channel,
            parentChannelId=CHANNELS[channel],
            isPrivateChannel=flag,
            simplifiedMessages=[message(text, authorId=author)],
            personaResponses=[response("hi", personaId=self.chance.choice(PERSONAS))],
        )
        capture(said, memory, outbox, request_id="r", now=self.clock(), max_lines=10)
        (self.private.add if flag else self.private.discard)(channel)

    def _sum_up(self) -> None:
        memory, outbox, durable = self.chance.choice(self.containers)
        channel, text, user = self._something()
        told = {
            "userId": user,
            "serverId": "s",
            "channelId": channel,
            "parentChannelId": CHANNELS[channel],
            "personaId": self.chance.choice(PERSONAS),
            "summary": text,
        }
        attach(refresh.decode(json.dumps(told)), memory, durable, outbox, now=self.clock())

    def _something(self) -> tuple[str, str, str]:
        """A channel, a text that is never told again, and whose it is."""
        self._number += 1
        channel = self.chance.choice(list(CHANNELS))
        text, user = f"words-{self._number}", self.chance.choice(USERS)
        self.told[text] = (channel, user, self.clock())
        return channel, text, user

    def _write(self) -> None:
        """Deliver what is queued, and some of what was delivered before, in any order."""
        new = [decode(body) for body in self.queue.bodies]
        self.queue.bodies.clear()
        self.delivered += new
        batch = new + self.chance.sample(self.delivered, min(len(self.delivered), 3))
        self.chance.shuffle(batch)
        store.apply(self._writer, batch)

    def _forget(self) -> None:
        self._write()
        memory, _, durable = self.chance.choice(self.containers)
        kind = self.chance.choice(["user", "channel"])
        subject = self.chance.choice(list(USERS if kind == "user" else CHANNELS))
        self.forgotten[kind, subject] = forget(kind, subject, memory, durable, now=self.clock())
        self.clock.now = max(self.clock.now, self.forgotten[kind, subject] + 1)
        if kind == "channel":
            self.private.discard(subject)

    def recall(self) -> Recollection:
        """Ask either container anything from a public channel, with all work written."""
        self._write()
        memory, _, durable = self.chance.choice(self.containers)
        asked = {
            "user_id": self.chance.choice(USERS),
            "server_id": "s",
            "channel_id": self.chance.choice(["here", *CHANNELS]),
            "persona_id": self.chance.choice(["7", None]),
            "scope": self.chance.choice(["server", "user"]),
        }
        limit = self.chance.choice([1, 2, 3, 50])
        if self.chance.random() < 0.5:
            question = Question(ContextQuery(**asked), limit, for_prompt=True, at=self.clock())
        else:
            question = Question(MemoriesQuery(**asked), limit, for_prompt=False, at=self.clock())
        return recall(question, memory, durable, withhold=False)

    def wrong(self, entry: Remembered) -> Iterator[str]:
        """Say what of `entry` must not be shown in a public channel."""
        if {entry.channel_id, CHANNELS[entry.channel_id]} & self.private:
            yield f"{entry.key} is private"
        for text in (entry.summary, *(it.content for it in entry.lines)):
            channel, user, at = self.told.get(text or "", ("", "", self.clock.now))
            if self.forgotten.get(("channel", channel), -1) >= at:
                yield f"{text} was forgotten with {channel}"
            # What is told of a server's entry is the server's, whoever told it.
            is_theirs = text != entry.summary or entry.scope == "user"
            if is_theirs and self.forgotten.get(("user", user), -1) >= at:
                yield f"{text} was forgotten with {user}"

    def close(self) -> None:
        for _, _, durable in self.containers:
            if durable._database._opened is not None:
                durable._database._opened.close()


# The first three showed a private channel that came up for a forgotten one.
@pytest.mark.parametrize("seed", [21, 29, 31, *range(5)])
def test_whatever_happened_a_public_channel_sees_nothing_private_and_nothing_forgotten(
    database_url, writer_url, monkeypatch, seed
):
    monkeypatch.setattr("capture.durable.READ_S", PATIENCE_S)
    capture_url = make_conninfo(database_url, user="stm_capture")
    with psycopg.connect(writer_url, autocommit=True) as writer:
        town = Town(seed, capture_url, writer)
        try:
            for _ in range(READS):
                for _ in range(town.chance.randint(1, 6)):
                    town.happen()
                found = town.recall()
                assert found.durable == "fresh"
                shown = [it for it in (found.current, *found.others) if it is not None]
                assert [wrong for it in shown for wrong in town.wrong(it)] == []
        finally:
            town.close()
