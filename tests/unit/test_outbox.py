"""The outbox: one bounded try, and nothing lost but what no longer fits."""

import boto3
import pytest
from faults import (
    FakeQueue,
    accepting,
    broken,
    closed,
    refusing_each,
    refusing_first_for_good,
    refusing_first_two,
    throttled,
    too_slow,
    unreachable,
)
from given import Clock, attachment, notes, work
from moto import mock_aws

from capture.outbox import (
    BATCH_BYTES,
    CONNECT_TIMEOUT_S,
    LONGEST_REST_MS,
    READ_TIMEOUT_S,
    REST_MS,
    SLOW_S,
    Outbox,
    sqs_client,
)
from shortterm.work import decode


@pytest.fixture
def queue():
    return FakeQueue()


@pytest.fixture
def outbox(queue, clock):
    return Outbox(queue, "https://queue", capacity=100, clock=clock)


def turns(queue):
    return [decode(body).turn_id for body in queue.bodies]


def test_a_turn_is_one_message_in_its_owners_group(outbox, queue):
    assert outbox.send(work("t1"))
    assert turns(queue) == ["t1"]
    assert queue.groups == ["s"]


@pytest.mark.parametrize("fault", [unreachable, too_slow, throttled, broken, refusing_each])
def test_what_could_not_be_sent_waits_and_goes_with_the_next_turn(outbox, queue, fault):
    queue.then(fault)
    assert not outbox.send(work("t1"))
    assert len(outbox) == 1
    assert outbox.send(work("t2"))
    assert turns(queue) == ["t1", "t2"]
    assert len(outbox) == 0


@pytest.mark.parametrize("fault", [unreachable, throttled, refusing_each])
def test_a_fault_that_shows_at_once_costs_one_request_a_turn(outbox, queue, fault):
    queue.default = fault
    for number in range(15):
        outbox.send(work(f"t{number}"))
    assert queue.requests == 15


def test_a_connection_that_was_closed_meanwhile_costs_no_turn_its_place(outbox, queue):
    queue.then(closed)
    assert outbox.send(work("t1"))
    assert turns(queue) == ["t1"]


def test_a_queue_that_closes_every_connection_is_tried_twice_a_turn(outbox, queue):
    queue.default = closed
    for number in range(5):
        assert not outbox.send(work(f"t{number}"))
    assert queue.requests == 10
    assert len(outbox) == 5


def test_a_connection_that_was_closed_after_a_wait_is_not_tried_again(queue, clock):
    watch = Clock(0)

    def close_late(entries):
        watch.now += SLOW_S
        return closed(entries)

    queue.then(close_late)
    outbox = Outbox(queue, "https://queue", capacity=100, clock=clock, stopwatch=watch)
    assert not outbox.send(work("t1"))
    assert queue.requests == 1


@pytest.fixture
def hanging(queue, clock):
    """An outbox whose queue hangs; returns it, and a way to let the queue answer again."""
    watch = Clock(0)

    def hang(entries):
        watch.now += READ_TIMEOUT_S
        return too_slow(entries)

    queue.default = hang
    return Outbox(queue, "https://queue", capacity=1_000, clock=clock, stopwatch=watch)


def test_a_queue_that_hung_twice_in_a_row_is_left_alone(hanging, queue, clock):
    for number in range(15):
        assert not hanging.send(work(f"t{number}"))
    assert queue.requests == 2
    assert len(hanging) == 15
    clock.now += REST_MS - 1
    hanging.send(work("t15"))
    assert queue.requests == 2


def test_after_the_rest_one_turn_tries_and_takes_along_what_waits(hanging, queue, clock):
    for number in range(5):
        hanging.send(work(f"t{number}"))
    queue.default = accepting
    clock.now += REST_MS
    assert hanging.send(work("t5"))
    assert turns(queue) == [f"t{number}" for number in range(6)]


def test_in_a_long_outage_few_turns_pay_for_a_try(hanging, queue, clock):
    for number in range(600):
        hanging.send(work(f"t{number}"))
        clock.now += 1_000
    assert queue.requests < 30


def test_the_rest_never_gets_longer_than_its_bound(hanging, queue, clock):
    for number in range(100):
        hanging.send(work(f"t{number}"))
        clock.now += LONGEST_REST_MS
    assert queue.requests == 100


def test_a_success_ends_an_outage(hanging, queue, clock):
    hang = queue.default
    hanging.send(work("t1"))
    hanging.send(work("t2"))
    clock.now += REST_MS
    queue.default = accepting
    assert hanging.send(work("t3"))
    queue.then(hang)
    assert not hanging.send(work("t4"))
    assert hanging.send(work("t5"))


def test_a_queue_that_hangs_now_and_then_is_not_left_alone(hanging, queue):
    hang, queue.default = queue.default, accepting
    for number in range(10):
        queue.then(hang)
        assert not hanging.send(work(f"a{number}"))
        assert hanging.send(work(f"b{number}"))


def test_the_order_of_turns_is_kept_over_a_long_outage(outbox, queue):
    queue.default = unreachable
    for number in range(50):
        outbox.send(work(f"t{number:02}"))
    queue.default = FakeQueue().default
    assert outbox.send(work("t50"))
    assert turns(queue) == [f"t{number:02}" for number in range(51)]


def test_what_failed_in_a_batch_keeps_its_place(outbox, queue):
    queue.then(unreachable, unreachable, refusing_first_two)
    for turn_id in ("t1", "t2", "t3"):
        outbox.send(work(turn_id))
    assert turns(queue) == ["t3"]
    outbox.send(work("t4"))
    assert turns(queue) == ["t3", "t1", "t2", "t4"]


def test_a_turn_that_sqs_refuses_for_good_is_not_queued(outbox, queue):
    queue.then(refusing_first_for_good)
    assert not outbox.send(work("t1"))
    assert len(outbox) == 0


def test_a_slow_queue_is_not_asked_again_to_catch_up(queue):
    watch = Clock(0)
    outbox = Outbox(queue, "https://queue", capacity=100, stopwatch=watch)

    def slowly(entries):
        watch.now += 1
        return accepting(entries)

    queue.then(*[unreachable] * 30)
    for number in range(30):
        outbox.send(work(f"t{number}"))
    queue.default = slowly
    requests = queue.requests
    assert not outbox.send(work("t30"))
    assert queue.requests == requests + 1


def test_a_quick_queue_is_caught_up_with_in_one_turn(queue):
    outbox = Outbox(queue, "https://queue", capacity=100, stopwatch=lambda: 0.0)
    queue.then(*[unreachable] * 30)
    for number in range(30):
        outbox.send(work(f"t{number}"))
    assert outbox.send(work("t30"))
    assert len(turns(queue)) == 31


def test_when_too_many_wait_the_oldest_is_dropped_and_counted(queue, emitted):
    outbox = Outbox(queue, "https://queue", capacity=2)
    queue.then(unreachable, unreachable, unreachable)
    for turn_id in ("t1", "t2", "t3"):
        outbox.send(work(turn_id))
    assert len(outbox) == 2
    assert emitted()["WorkDropped"] == 1


def test_a_full_outbox_loses_nothing_more_once_the_queue_is_back(queue):
    outbox = Outbox(queue, "https://queue", capacity=2)
    queue.then(unreachable, unreachable)
    for turn_id in ("t1", "t2", "t3"):
        outbox.send(work(turn_id))
    assert turns(queue) == ["t1", "t2", "t3"]


def test_no_request_is_larger_than_sqs_takes(outbox, queue):
    sizes = []

    def measuring(entries):
        sizes.append(sum(len(it["MessageBody"]) for it in entries))
        return accepting(entries)

    queue.then(*[throttled] * 9)
    queue.default = measuring
    for _ in range(10):
        outbox.send(attachment(notes(summary="x" * 50_000)))
    assert len(queue.bodies) == 10
    assert max(sizes) < BATCH_BYTES


def test_when_too_much_waits_the_oldest_is_dropped(outbox, queue, monkeypatch):
    monkeypatch.setattr("capture.outbox.MAX_BYTES", 100_000)
    queue.default = throttled
    for _ in range(3):
        outbox.send(attachment(notes(summary="x" * 40_000)))
    assert len(outbox) == 2


def test_what_sqs_refuses_for_good_does_not_block_the_others(outbox, queue, emitted):
    queue.then(unreachable, refusing_first_for_good)
    outbox.send(work("t1"))
    assert outbox.send(work("t2"))
    assert turns(queue) == ["t2"]
    assert len(outbox) == 0
    assert emitted()["WorkDropped"] == 1


def test_the_metrics_tell_what_was_queued_and_what_was_deferred(outbox, queue, emitted):
    queue.then(unreachable)
    outbox.send(work("t1"))
    outbox.send(work("t2"))
    counted = emitted()
    assert (counted["WorkQueued"], counted["WorkDeferred"]) == (2, 1)


def test_the_client_tries_once_and_gives_up_soon():
    config = sqs_client().meta.config
    assert (config.connect_timeout, config.read_timeout) == (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
    assert (CONNECT_TIMEOUT_S, READ_TIMEOUT_S) == (1, 2)
    assert config.retries["total_max_attempts"] == 1


@mock_aws
def test_sqs_takes_what_the_outbox_sends():
    client = boto3.client("sqs")
    url = client.create_queue(QueueName="work")["QueueUrl"]
    assert Outbox(client, url, capacity=10).send(work("t1", lineage="3"))
    (message,) = client.receive_message(QueueUrl=url, AttributeNames=["All"])["Messages"]
    assert decode(message["Body"]) == work("t1", lineage="3")
    assert message["Attributes"]["MessageGroupId"] == "s"


@mock_aws
def test_a_queue_that_does_not_exist_is_a_deferral():
    outbox = Outbox(boto3.client("sqs"), "https://sqs.eu-west-1.amazonaws.com/1/none", capacity=10)
    assert not outbox.send(work("t1"))
    assert len(outbox) == 1


def test_what_waits_is_told_until_nothing_does(outbox, queue, emitted):
    queue.then(unreachable, unreachable)
    told = []
    for number in range(4):
        outbox.send(work(f"t{number}"))
        told.append(emitted().get("WorkWaiting"))
    assert told == [1, 2, 0, None]
