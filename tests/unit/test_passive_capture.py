"""The use case as the seed tells it: what a turn leaves in memory and on its way to the queue."""

import pytest
from faults import FakeQueue, unreachable
from given import NOW, Clock, memory, message, response, said, turn

from capture.outbox import Outbox
from capture.passive_capture import Captured, Skipped, capture
from capture.rules import SkipReason
from shortterm.scope import Scope
from shortterm.work import ScopeWork, decode

CANARY = "CANARY-7f3a"


class Bench:
    def __init__(self):
        self.clock = Clock()
        self.memory = memory(self.clock)
        self.queue = FakeQueue()
        self.outbox = Outbox(self.queue, "https://queue", capacity=100)

    def capture(self, **fields):
        return capture(
            turn(**fields),
            self.memory,
            self.outbox,
            request_id="request",
            now=self.clock.now,
            max_lines=10,
        )

    @property
    def work(self):
        return [decode(body) for body in self.queue.bodies]


@pytest.fixture
def bench():
    return Bench()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"isStopResponse": True}, SkipReason.STOP_RESPONSE),
        ({"simplifiedMessages": []}, SkipReason.NO_MESSAGES),
        ({"privacyLevel": "FULL"}, SkipReason.PRIVACY_FULL),
        ({"personaResponses": []}, SkipReason.NO_PERSONA_TEXT),
    ],
)
def test_a_skip_leaves_no_entry_no_message_and_no_count(bench, fields, reason):
    assert bench.capture(**fields) == Skipped(reason)
    assert (bench.memory.size().entries, bench.queue.requests, len(bench.outbox)) == (0, 0, 0)
    bench.capture()
    assert bench.memory.get(Scope("server", "s", "c", "7")).turns_since_refresh == 1


def test_a_guild_turn_is_remembered_under_both_scopes_and_queued_as_one_message(bench):
    captured = bench.capture()
    assert isinstance(captured, Captured)
    assert [it.scope.key for it in captured.entries] == [
        "shortterm:user:u:c:7",
        "shortterm:server:s:c:7",
    ]
    assert captured.queued
    (work,) = bench.work
    assert (work.turn_id, work.occurred_at, work.server_id) == ("t1", NOW, "s")
    assert work.scopes == (
        ScopeWork(Scope("user", "u", "c", "7")),
        ScopeWork(Scope("server", "s", "c", "7"), live=True),
    )


def test_every_entry_of_a_turn_holds_the_same_window(bench):
    responses = [response("a", personaId=1), response("b", personaId=2)]
    captured = bench.capture(personaResponses=responses)
    assert len(captured.entries) == 4
    assert len({id(it.window) for it in captured.entries}) == 1
    assert said(captured.entries[0].window) == ["hello", "a", "b"]


def test_no_text_and_no_name_is_in_the_message(bench):
    bench.capture(
        serverName=CANARY,
        channelName=CANARY,
        simplifiedMessages=[message(CANARY, authorName=CANARY, personaName=CANARY)],
        personaResponses=[response(CANARY, personaName=CANARY)],
    )
    assert len(bench.queue.bodies) == 1
    assert CANARY not in bench.queue.bodies[0]


def test_the_message_stays_small_however_long_the_dialogue(bench):
    bench.capture(simplifiedMessages=[message("👍" * 4_000)] * 10)
    assert len(bench.queue.bodies[0]) < 1_000


def test_a_turn_without_id_takes_the_requests(bench):
    assert bench.capture(turnId=None).turn_id == "request"
    assert bench.work[0].turn_id == "request"


@pytest.mark.parametrize(
    ("occurred_at", "counted"), [(None, NOW), (NOW + 99_999, NOW), (NOW - 5, NOW - 5), (0, 0)]
)
def test_a_time_in_the_future_or_none_counts_as_now(bench, occurred_at, counted):
    bench.capture(occurredAt=occurred_at)
    assert bench.work[0].occurred_at == counted


def test_when_a_turn_was_captured_is_told_whenever_it_occurred(bench):
    """Forgetting goes by it: a late turn that comes after a forgetting is no forgotten one."""
    captured = bench.capture(occurredAt=NOW - 5_000)
    assert {it.window.captured_at for it in captured.entries} == {NOW}
    assert (bench.work[0].captured_at, bench.work[0].occurred_at) == (NOW, NOW - 5_000)


def test_the_memory_is_kept_when_the_queue_is_away(bench):
    bench.queue.then(unreachable)
    assert not bench.capture().queued
    assert bench.memory.size().entries == 2


def test_what_waited_goes_with_the_next_turn(bench):
    bench.queue.then(unreachable)
    bench.capture(turnId="t1")
    assert bench.capture(turnId="t2").queued
    assert [it.turn_id for it in bench.work] == ["t1", "t2"]


def test_a_turn_posted_twice_is_queued_twice_for_the_ledger_to_tell(bench):
    bench.capture()
    bench.capture()
    assert [it.turn_id for it in bench.work] == ["t1", "t1"]
    assert bench.memory.get(Scope("server", "s", "c", "7")).turns_since_refresh == 1


def test_a_turn_posted_again_after_a_time_out_does_not_replace_a_newer_one(bench):
    bench.capture(turnId="t1", simplifiedMessages=[message("one")])
    bench.clock.now += 1_000
    bench.capture(turnId="t2", simplifiedMessages=[message("two")])
    bench.clock.now += 1_000
    again = bench.capture(turnId="t1", simplifiedMessages=[message("one")])
    assert said(again.entries[0].window) == ["two", "hi"]
    assert bench.work[2].occurred_at == NOW


def test_names_of_places_are_cleaned_like_those_of_speakers(bench):
    captured = bench.capture(serverName="Har\ud83dbour\n", channelName="\u202e")
    window = captured.entries[0].window
    assert (window.server_name, window.channel_name) == ("Har\ufffdbour", None)


def test_a_skip_because_of_an_annotation_counts_no_turn(bench):
    only = "[System: Reactions on this message: x]"
    assert bench.capture(personaResponses=[response(only)]) == Skipped(SkipReason.NO_PERSONA_TEXT)
    assert bench.queue.requests == 0


def test_responses_without_and_with_the_same_persona_count_once(bench):
    responses = [response("a"), response("b", personaId=5), response("c", personaId=5)]
    bench.capture(personaResponses=responses)
    assert bench.memory.size().entries == 2
    assert bench.memory.get(Scope("server", "s", "c", "5")).turns_since_refresh == 1


def test_a_history_posted_again_and_longer_leaves_the_newest_ten_lines(bench):
    history = [message(f"m{number}") for number in range(8)]
    bench.capture(turnId="t1", simplifiedMessages=history)
    reply = message("hi", "persona", personaName="Mara")
    captured = bench.capture(
        turnId="t2",
        simplifiedMessages=[*history, reply, message("and?")],
        personaResponses=[response("well", personaId="7")],
    )
    lines = captured.entries[0].window.lines({})
    assert [it.content for it in lines] == [*(f"m{n}" for n in range(1, 8)), "hi", "and?", "well"]


@pytest.mark.parametrize("told", [True, False])
def test_a_thread_in_a_private_channel_is_private_told_or_known(bench, told):
    if not told:
        bench.capture(turnId="t0", channelId="p", isPrivateChannel=True)
    bench.capture(turnId="t1", channelId="thread", parentChannelId="p", isPrivateChannel=told)
    assert bench.work[-1].is_private
    assert bench.work[-1].parent_channel_id == "p"
    assert bench.memory.get(Scope("user", "u", "thread", "7")).window.is_private


def test_one_user_in_many_places_is_remembered_in_each(bench):
    bench.capture(turnId="t1")
    bench.capture(turnId="t2", serverId="s2", channelId="c2")
    bench.capture(turnId="t3", serverId=None, channelId="dm")
    assert len(list(bench.memory.of_owner("user", "u"))) == 3
    assert bench.memory.get(Scope("user", "u", "dm", "7")).turns_since_refresh == 1
