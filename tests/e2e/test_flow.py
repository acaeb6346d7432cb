"""A conversation on its way: bot -> API -> capture -> SQS -> writer -> Postgres, and back."""

import json
import os
import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from waiting import until


def test_a_turn_is_captured_recalled_and_counted(place):
    status, answer = place.post()
    assert status == 202
    assert (answer["status"], answer["queued"]) == ("captured", True)
    lines = place.recall()["current"]["lines"]
    assert [(it["role"], it["content"]) for it in lines] == [("user", "hello"), ("model", "hi")]
    place.until_counted({"user:c": 0, "server:c": 1})


def test_a_turn_posted_twice_counts_once(place):
    place.post(turnId=f"{place.name}-same")
    place.post(turnId=f"{place.name}-same")
    place.post()
    place.until_counted({"user:c": 0, "server:c": 2})


def test_a_turn_delivered_again_by_sqs_counts_once(place, stack):
    place.post()
    place.until_counted({"user:c": 0, "server:c": 1})
    scope = {"ownerId": place.ids["serverId"], "channelId": "c", "personaId": "7"}
    again = {
        "version": 1,
        "turnId": f"{place.name}-1",
        "occurredAt": 1796000000000,
        "scopes": [{"scope": {"kind": "server", **scope}, "live": True}],
    }
    for _ in range(3):
        stack.sqs_client.send_message(QueueUrl=stack.queue_url, MessageBody=json.dumps(again))
    place.post()
    place.until_counted({"user:c": 0, "server:c": 2})


def test_a_direct_message_has_one_row(place):
    place.post(serverId=None)
    place.until_counted({"user:c": 1})


def test_a_skipped_turn_leaves_no_trace(place):
    for fields in ({"privacyLevel": "FULL"}, {"isStopResponse": True}, {"personaResponses": []}):
        assert place.post(channelId="quiet", **fields)[1]["status"] == "skipped"
    place.post()
    place.until_counted({"user:c": 0, "server:c": 1})
    assert place.recall(channelId="quiet")["current"] is None


def test_a_poison_message_goes_to_the_dead_letter_queue_and_the_others_are_applied(place, stack):
    poison = f"not work: {uuid.uuid4()}"
    stack.sqs_client.send_message(QueueUrl=stack.queue_url, MessageBody=poison)
    place.post()
    place.post()
    place.until_counted({"user:c": 0, "server:c": 2})
    found = []

    def dead() -> bool:
        answer = stack.sqs_client.receive_message(QueueUrl=stack.dlq_url, MaxNumberOfMessages=10)
        found.extend(it["Body"] for it in answer.get("Messages", []))
        return poison in found

    until(dead, lambda: found)
    assert all(body.startswith("not work") for body in found)


def test_rows_outlive_a_container_and_its_memory_does_not(place):
    place.post()
    place.until_counted({"user:c": 0, "server:c": 1})
    place.restart()
    answer = place.recall()
    assert (answer["current"]["lines"], answer["memory"]["state"]) == ([], "cold")
    assert place.post()[1]["queued"]
    place.until_counted({"user:c": 0, "server:c": 2})


def test_two_containers_are_two_memories_and_nothing_is_counted_twice(place, stack):
    """The first container stops in the middle of a turn, so that the second one gets the next."""
    pool = stack.pools["capture"]
    for container in pool.containers:
        container.kill()
    first = place.recall()["memory"]["container"]
    (busy,) = pool.containers
    os.kill(busy.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as bot:
        slow = bot.submit(place.post, channelId="slow")
        try:
            until(lambda: pool.idle == 0)
            other = place.recall()["memory"]
            place.post(channelId="other")
        finally:
            os.kill(busy.pid, signal.SIGCONT)
        assert slow.result()[0] == 202
    assert other["container"] != first
    assert other["state"] == "cold"
    place.until_counted({"user:slow": 0, "server:slow": 1, "user:other": 0, "server:other": 1})


def test_several_bots_at_once_lose_no_turn(place):
    with ThreadPoolExecutor(4) as bots:
        answers = list(bots.map(lambda n: place.post(channelId=f"c{n % 3}"), range(30)))
    assert {status for status, _ in answers} == {202}
    assert all(answer["queued"] for _, answer in answers)
    expected = {f"{kind}:c{n}": 10 * (kind == "server") for n in range(3) for kind in KINDS}
    place.until_counted(expected)


KINDS = ("user", "server")


def test_a_queue_that_hangs_delays_the_bot_by_a_bound_and_loses_nothing(place, stack):
    os.kill(stack.sqs.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        status, answer = place.post()
        waited = time.monotonic() - started
    finally:
        os.kill(stack.sqs.pid, signal.SIGCONT)
    assert (status, answer["status"], answer["queued"]) == (202, "captured", False)
    # One try: a second to connect and two to read, and the machine's own slowness.
    assert waited < 6
    assert place.recall()["current"] is not None
    assert place.post()[1]["queued"]
    place.until_counted({"user:c": 0, "server:c": 2})


def test_while_postgres_is_away_the_work_waits_in_the_queue(place, stack):
    stack.postgres.kill()
    try:
        assert place.post()[1]["queued"]
        assert place.recall()["current"] is not None
    finally:
        place.after_an_outage(stack.postgres.start)
    place.until_counted({"user:c": 0, "server:c": 1})


def test_a_malformed_request_is_a_problem_document_and_stores_nothing(place):
    status, answer = place.post(userId=5)
    assert status == 400
    assert answer["field"] == "userId"
    status, answer = place.request("POST", "/v1/turns", b"\xff\xfe{}")
    assert (status, answer["field"]) == (400, "body")
    assert place.recall()["current"] is None
