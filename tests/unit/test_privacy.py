"""What was said leaves the capture function by the read that asks for it, and by no other way.

What a bot attaches on purpose is in the message to the writer, too, and in no other place.
"""

import importlib
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import msgspec
import psycopg
import pytest
from botocore.exceptions import ClientError
from given import LAMBDA_CONTEXT, attachment, message, notes, response, sqs, turn_fields

from shortterm.telemetry import logger

CANARY = "CANARY-7f3a"
NOTED = {"userId": "u", "channelId": "c"}
ASKED = {"userId": ["u"], "channelId": ["c"]}
SPOKEN = {
    "serverName": CANARY,
    "channelName": CANARY,
    "simplifiedMessages": [message(CANARY, authorName=CANARY, personaName=CANARY)],
    "personaResponses": [response(CANARY, personaName=CANARY, personaId="7")],
}


@pytest.fixture
def debugging(monkeypatch):
    """Everything is on that an operator may switch on to see more."""
    for name in ("POWERTOOLS_DEV", "POWERTOOLS_DEBUG", "POWERTOOLS_LOGGER_LOG_EVENT"):
        monkeypatch.setenv(name, "true")
    level = logger.log_level
    logger.setLevel("DEBUG")
    yield
    logger.setLevel(level)


@pytest.fixture(params=["as deployed", "debugging"])
def watching(request):
    """As deployed, and with everything on."""
    if request.param == "debugging":
        request.getfixturevalue("debugging")


def test_no_text_and_no_name_leaves_by_any_other_way_than_the_read(
    watching, app, call, post, monkeypatch, capfd, caplog, logged
):
    caplog.set_level("DEBUG")
    spoken = SPOKEN
    answers = [
        post(**spoken),
        post(**spoken | {"privacyLevel": "FULL"}),
        post(**spoken | {"privacyLevel": CANARY}),
        post(**spoken | {"userId": CANARY + " "}),
        post(**spoken | {CANARY: CANARY, "isStopResponse": CANARY}),
        post(json.dumps(turn_fields(**spoken))[:-1]),
        post(json.dumps(turn_fields(**spoken)).replace("{", f'{{"{CANARY}":1,"{CANARY}":2,', 1)),
        call("recall", path=f"/v1/{CANARY}"),
        call("recall", multiValueQueryStringParameters={CANARY: [CANARY]}),
        call("recall", multiValueQueryStringParameters={"userId": [CANARY + " "]}),
        call("health"),
        call("summary", body=json.dumps({"userId": CANARY + " ", "summary": CANARY})),
        call("summary", body=json.dumps(NOTED | {"summary": [CANARY]})),
        call("summary", body=json.dumps(NOTED | {"categories": {CANARY: [CANARY]}})),
        call("summary", body=json.dumps(NOTED | {"categories": {CANARY: CANARY}})[:-2]),
        call("context", multiValueQueryStringParameters={"renderMode": [CANARY]}),
        call("export", path=f"/v1/users/{CANARY} /export"),
        call("export", multiValueQueryStringParameters={"after": [CANARY]}),
        call("forget-user", path=f"/v1/users/{CANARY} /memories"),
        call("forget-channel", multiValueQueryStringParameters={CANARY: [CANARY]}),
    ]

    def broken(*_):
        raise ValueError(CANARY)

    monkeypatch.setattr(app.memory, "remember", broken)
    answers.append(post(**spoken))
    monkeypatch.setattr(app, "capture", broken)
    answers.append(post(**spoken))
    monkeypatch.setattr(app.memory, "of_owner", broken)
    answers.append(call("recall"))

    printed = capfd.readouterr()
    assert "202" in str(answers)
    assert CANARY not in str(answers)
    assert CANARY not in printed.out + printed.err + caplog.text + logged()
    assert "TurnsSkipped" in printed.out
    assert "A turn could not be remembered" in logged()


def _errors() -> Iterator[Exception]:
    """Errors as they come, each saying what was said in all the ways that it has."""
    yield ValueError(CANARY)
    yield KeyError(CANARY)
    yield UnicodeEncodeError("utf-8", CANARY, 0, 1, CANARY)
    yield msgspec.ValidationError(f"Invalid value '{CANARY}' - at `$.{CANARY}`")
    yield psycopg.DataError(f"invalid input: {CANARY}")
    yield psycopg.OperationalError(f"DETAIL: {CANARY}")
    yield ClientError({"Error": {"Code": "Denied", "Message": CANARY}}, "SendMessageBatch")
    yield ExceptionGroup(CANARY, [ValueError(CANARY)])
    yield RecursionError(CANARY)
    yield MemoryError(CANARY)
    chained = ValueError(CANARY)
    chained.__cause__ = chained.__context__ = KeyError(CANARY)
    chained.add_note(CANARY)
    yield chained


def _broken_where(app: Any) -> Iterator[tuple[Any, str]]:
    yield app, "capture"
    yield app, "recall"
    yield app, "render"
    yield app, "export"
    yield app.answer, "captured"
    yield app.answer, "attached"
    yield app.answer, "memories"
    yield app.answer, "health"
    yield app.turn, "decode"
    yield app.query, "decode"
    yield app.memory, "remember"
    yield app.memory, "note"
    yield app.memory, "get"
    yield app.memory, "of_owner"
    yield app.memory, "size"
    yield app.durable, "_ask"
    yield app.durable, "_wait_for"
    yield app.outbox._client, "send_message_batch"
    yield app.telemetry.metrics, "add_metric"
    yield app.telemetry.metrics, "flush_metrics"
    yield app.api, "resolve"


def test_whatever_breaks_wherever_says_nothing_of_what_was_said(
    debugging, app, call, post, monkeypatch, capfd, caplog, logged
):
    caplog.set_level("DEBUG")
    refused: list[Any] = []
    *errors, worst = _errors()
    places = list(_broken_where(app))
    for error, (place, name) in [
        *((worst, it) for it in places),
        *((error, it) for error in errors for it in places[:2]),
    ]:

        def broken(*_: Any, error: Exception = error, **__: Any) -> Any:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(place, name, broken)
            answers = [
                post(**SPOKEN),
                call("summary", body=json.dumps(NOTED | {"summary": CANARY})),
                call("recall", multiValueQueryStringParameters=ASKED),
                call("context", multiValueQueryStringParameters=ASKED),
                call("export"),
                call("forget-user"),
                call("health"),
            ]
        refused += [it for it in answers if it[0] != 200]
    printed = capfd.readouterr()
    assert {status for status, _, _ in refused} == {202, 500, 503}
    assert CANARY not in str(refused)
    assert CANARY not in printed.out + printed.err + caplog.text + logged()


def test_an_answer_that_cannot_be_written_says_nothing_of_what_it_held(
    app, call, post, monkeypatch, capfd, caplog, logged
):
    """Also where the answer is being put together, the last thing that a handler does."""
    caplog.set_level("DEBUG")
    encode = app.gateway._encode

    def broken(body: Any) -> bytes:
        if isinstance(body, app.answer.Problem):
            return encode(body)
        raise msgspec.EncodeError(f"{CANARY}: {encode(body).decode()}")

    monkeypatch.setattr(app.gateway, "_encode", broken)
    answers = [
        post(**SPOKEN),
        call("recall", multiValueQueryStringParameters=ASKED),
        call("context", multiValueQueryStringParameters=ASKED),
        call("summary", body=json.dumps(NOTED | {"summary": CANARY})),
    ]
    printed = capfd.readouterr()
    assert [status for status, _, _ in answers] == [500, 500, 500, 500]
    assert CANARY not in str(answers)
    assert CANARY not in printed.out + printed.err + caplog.text + logged()


def test_a_message_to_the_writer_holds_no_line_and_no_name_but_what_was_attached(
    watching, app, queue, post, call, capfd, caplog, logged
):
    """At DEBUG botocore would log each message that it sends, and what it signs it with."""
    caplog.set_level("DEBUG")
    post(**SPOKEN)
    summary = {"summary": "ATTACHED", "categories": {"KIND": "ATTACHED"}}
    call("summary", body=json.dumps(NOTED | summary))
    turn, told = sorted(_messages(), key=lambda it: "notes" in it)
    assert CANARY not in turn + told
    assert "ATTACHED" not in turn
    assert told.count("ATTACHED") == 2
    printed = capfd.readouterr()
    said = printed.out + printed.err + caplog.text + logged()
    assert "The database is not to be had" in said
    assert "ATTACHED" not in said
    assert "KIND" not in said
    assert "AWS4-HMAC" not in said


def _messages() -> list[str]:
    """The messages whole: bodies, attributes, and what SQS adds."""
    client = boto3.client("sqs")
    url = client.get_queue_url(QueueName="shortterm-work")["QueueUrl"]
    answer = client.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    return [json.dumps(it) for it in answer["Messages"]]


def test_the_words_of_a_client_are_no_id_of_a_request(app, queue, call):
    """The header X-Amzn-RequestId: what the gateway makes of it may stand for a turn's id."""
    fields = turn_fields()
    del fields["turnId"]
    said = {"requestId": f"{CANARY} said so"}
    _, _, answer = call("guild-turn", body=json.dumps(fields), requestContext=said)
    assert answer["status"] == "captured"
    assert CANARY not in json.dumps(answer)
    assert CANARY not in "".join(queue())


def test_a_writer_that_fails_says_nothing_of_what_was_attached(
    debugging, monkeypatch, capfd, caplog, logged
):
    caplog.set_level("DEBUG")
    writer = importlib.import_module("writer.app")
    told = attachment(notes(summary=CANARY, **{CANARY: CANARY}))
    said = ""
    for error in _errors():

        def broken(*_: Any, error: Exception = error) -> Any:
            raise error

        for place, name in ((writer.database, "run"), (writer, "decode"), (writer, "apply")):
            with monkeypatch.context() as patch:
                patch.setattr(place, name, broken)
                for event in (sqs(told, f"{{{CANARY}"), {"action": "tidy"}, {CANARY: CANARY}):
                    said += _told_by_the_runtime(writer.handler, event)
    printed = capfd.readouterr()
    assert "Unexpected: see the log" in said
    assert "batchItemFailures" in said
    assert CANARY not in said
    assert CANARY not in printed.out + printed.err + caplog.text + logged()


def _told_by_the_runtime(handler: Callable[..., Any], event: dict[str, Any]) -> str:
    """What Lambda answers or logs of an invocation: an error's words, and its whole chain."""
    context = SimpleNamespace(**vars(LAMBDA_CONTEXT), get_remaining_time_in_millis=lambda: 30_000)
    try:
        return json.dumps(handler(event, context))
    except Exception as error:
        return "".join(traceback.format_exception(error))


PROBE = """
import logging
logging.basicConfig(level=logging.DEBUG)
import capture.app, writer.app, schema.app, shortterm.database
for name in sorted(logging.root.manager.loggerDict):
    if logging.getLogger(name).isEnabledFor(logging.CRITICAL):
        print(name)
"""


def test_no_library_of_a_function_is_heard_at_whatever_level_the_root_logger_is():
    """In a process of its own: as Lambda sets the root logger, before anything is imported."""
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-c", PROBE],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "POWERTOOLS_DEBUG": "true"},
        capture_output=True,
        text=True,
        check=True,
    )
    ours = {"test"}
    # Used for nothing that sees content: event loops, callbacks of futures, botocore's manual.
    harmless = {"asyncio", "concurrent", "concurrent.futures", "bcdocs"}
    assert set(found.stdout.split()) - harmless == ours
