"""What people say, and their names, are nowhere but in memory and in the read that asks.

A stack of its own, with everything that can be told to log told to log: the functions, Lambda's
runtime client, the root logger, Powertools, and Postgres with every statement and its parameters.
All is done there that can be done, well and badly, and then everything is searched. What a bot
attaches on purpose is durable on purpose: it may be in messages, in rows and in what Postgres
writes, and nowhere else.
"""

import base64
import http.client
import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import psycopg
import pytest
from given import message, response, turn_fields
from hostile import HostileSqs, sabotaged_code
from waiting import until

from local.container import Container
from local.functions import CODE, FUNCTIONS, settings_of
from local.gateway import Request, proxy_event
from local.outcome import Failure
from local.sqs import depth
from local.stack import Stack

# In every line and name that is spoken, and wherever else a bot may put somebody's words.
SAID = "CRUDE7f3aQ9"
# In every summary and category.
ATTACHED = "NOTED5c1eZ2"

DEBUGGING = {
    "LOG_LEVEL": "DEBUG",
    # What Lambda's own log settings come to: they set the root logger.
    "AWS_LAMBDA_LOG_FORMAT": "JSON",
    "AWS_LAMBDA_LOG_LEVEL": "DEBUG",
    "POWERTOOLS_DEV": "true",
    "POWERTOOLS_DEBUG": "true",
    "POWERTOOLS_LOGGER_LOG_EVENT": "true",
    "POWERTOOLS_METRICS_DISABLED": "false",
    "PYTHONWARNINGS": "always",
    "PYTHONFAULTHANDLER": "1",
}
# The very opposite of the template's DatabaseParameters.
TALKATIVE = {
    "log_statement": "all",
    "log_min_duration_statement": "0",
    "log_error_verbosity": "verbose",
    "log_min_error_statement": "debug5",
    "log_min_messages": "debug1",
    "log_parameter_max_length": "-1",
    "log_parameter_max_length_on_error": "-1",
}

IDS = {"userId": "u-7", "channelId": "c-7", "serverId": "s-7"}
SPOKEN = {
    **IDS,
    "serverName": SAID,
    "channelName": SAID,
    "simplifiedMessages": [
        message(SAID, authorName=SAID, authorId="u-7"),
        message(SAID, "persona", authorName=SAID, personaName=SAID),
        message(SAID, "bystander", authorName=SAID),
    ],
    "personaResponses": [response(SAID, personaName=SAID, personaId="7")],
}
NOTED = {**IDS, "personaId": "7", "summary": ATTACHED, "categories": {ATTACHED: ATTACHED}}


@dataclass
class Found:
    """What came out of everything that was done."""

    # status -> what was answered, other than by reads
    answers: dict[int, list[str]] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    # What functions told Lambda, where nothing is answered to a bot.
    told: list[str] = field(default_factory=list)
    requests_to_sqs: list[str] = field(default_factory=list)
    dead: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)
    logs: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Iterator[Found]:
    directory = tmp_path_factory.mktemp("proof")
    with ExitStack() as undo:
        stack = undo.enter_context(
            Stack(
                state=directory / "state",
                visibility_timeout=1,
                max_receive_count=1,
                settings=DEBUGGING,
            )
        )
        sqs = undo.enter_context(HostileSqs())
        yield Proof(stack, sqs, sabotaged_code(directory / "code")).done()


class Proof:
    """Does everything, and says what was found."""

    def __init__(self, stack: Stack, sqs: HostileSqs, sabotaged: Path) -> None:
        self.stack = stack
        self.sqs = sqs
        self.sabotaged = sabotaged
        self.state = stack.postgres.directory.parent
        self.found = Found()
        self.turns = 0

    def done(self) -> Found:
        self._listen_to_postgres()
        self._speak()
        self._attach()
        self._ask_badly()
        self._read()
        self._export()
        self._break_the_code()
        self._meet_a_hostile_queue()
        self._time_out()
        self._fail_to_start()
        self._send_what_postgres_refuses()
        self._lose_the_queue()
        self._lose_the_database()
        self._break_the_writer()
        self._forget()
        self._search()
        return self.found

    def _listen_to_postgres(self) -> None:
        for name, value in TALKATIVE.items():
            self._sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self._sql("SELECT pg_reload_conf()")
        until(lambda: self._sql("SHOW log_statement") == [("all",)])

    def _speak(self) -> None:
        self._post()
        self._post(serverId="DM")
        self._post(channelId="quiet", privacyLevel="FULL")
        self._post(channelId="quiet", isStopResponse=True)
        self._post(channelId="quiet", simplifiedMessages=[])
        self._post(channelId="quiet", personaResponses=[])
        raw = json.dumps(turn_fields(**SPOKEN))
        self._send("POST", "/v1/turns", raw[:-3])
        self._send("POST", "/v1/turns", b"\xff" + raw.encode())
        self._send("POST", "/v1/turns", raw.replace("{", f'{{"{SAID}":1,"{SAID}":2,', 1))
        self._send("POST", "/v1/turns", f'{{"{SAID}":' * 100_000)
        self._send("POST", "/v1/turns", f'"{SAID}"')
        self._send("POST", "/v1/turns", raw.replace('"u-7"', f'"{SAID} u-7"'))
        for name in ("turnId", "userId", "channelId", "serverId", "parentChannelId", "occurredAt"):
            self._post(**{name: f"{SAID} in {name}"})
            self._post(**{name: {SAID: SAID}})
        self._post(simplifiedMessages=[message(SAID, authorId=f"{SAID}/7")])
        self._post(simplifiedMessages=[message(SAID * 7_000)])
        self._post(simplifiedMessages=[message(SAID)] * 1_001)
        self._send("POST", "/v1/turns", raw.replace(SAID, SAID * 100_000))
        self._send("POST", "/v1/turns", raw.replace(SAID, SAID * 200_000))

    def _attach(self) -> None:
        self._send("PUT", "/v1/summaries", json.dumps(NOTED))
        self._send("PUT", "/v1/summaries", json.dumps(NOTED | {"summary": ATTACHED * 500}))
        many = {f"{ATTACHED}{n}": ATTACHED for n in range(9)}
        for bad in (
            {"summary": [SAID]},
            {"summary": SAID * 7_000},
            {"userId": f"{SAID} ", "summary": SAID},
            {"categories": {SAID: {SAID: SAID}}},
            {"categories": {SAID: SAID * 60}},
            {"categories": {SAID * 7: SAID}},
            {"categories": many},
            {"occurredAt": SAID},
            {SAID: SAID, "serverId": SAID + "\n"},
        ):
            self._send("PUT", "/v1/summaries", json.dumps(NOTED | bad))
        self._send("PUT", "/v1/summaries", json.dumps(NOTED | {"summary": SAID})[:-3])

    def _ask_badly(self) -> None:
        words = quote(f"{SAID} said")
        for path in (
            f"/{SAID}",
            f"/v1/{words}",
            f"/v1/users/{words}/memories",
            f"/v1/users/{words}/export",
            f"/v1/channels/{words}/memories",
            f"/v1/users/u-7/{SAID}",
        ):
            for method in ("GET", "DELETE", "POST", "OPTIONS"):
                self._send(method, path, SAID if method == "POST" else None)
        for path in ("/v1/memories", "/v1/context", "/v1/users/u-7/export", "/v1/health"):
            for query in (
                {SAID: SAID},
                {**IDS, "userId": f"{SAID} "},
                {**IDS, "scope": SAID, "renderMode": SAID, "limit": SAID},
                {"after": f"shortterm:user:u-7:{SAID} x"},
            ):
                if "health" not in path:
                    self._send("GET", f"{path}?{urlencode(query)}", reading=False)
        headers = {
            "User-Agent": SAID,
            "Content-Type": SAID,
            "Cookie": f"{SAID}={SAID}",
            "Authorization": SAID,
            "X-Amzn-Trace-Id": SAID,
            "X-Amzn-RequestId": SAID,
            f"X-{SAID}": SAID,
        }
        self._send("GET", "/v1/health", headers=headers)
        self._send("GET", f"/{SAID}?{SAID}={SAID}", headers=headers)
        self._post(headers=headers, userId="u-8")

    def _read(self) -> None:
        asked = urlencode({**IDS, "personaId": "7"})
        for path in (f"/v1/memories?{asked}", f"/v1/context?{asked}"):
            self._send("GET", path, reading=True)

    def _export(self) -> None:
        self._send("GET", "/v1/users/u-7/export", reading=True)

    def _break_the_code(self) -> None:
        """Through the real runtime client, which tells Lambda what escapes a handler."""
        capture = self._container("capture", "sabotaged", code=self.sabotaged)
        for how in (
            "capture",
            "turn.decode",
            "memory.remember",
            "memory.note",
            "memory.of_owner",
            "durable._ask",
            "outbox._client.send_message_batch",
            "telemetry.metrics.add_metric",
            "api.resolve",
            "_json",
        ):
            for event in self._events(**{"X-Break": how}):
                self._invoke(capture, event)
        capture.kill()

    def _meet_a_hostile_queue(self) -> None:
        capture = self._container("capture", "refused", AWS_ENDPOINT_URL_SQS=self.sqs.url)
        for self.sqs.mood in ("refusing", "throttling", "refusing each", "babbling", "hanging up"):
            for event in self._events():
                self._invoke(capture, event)
        # A crash of the interpreter, which faulthandler reports, with all that is remembered.
        os.kill(capture.pid, signal.SIGABRT)
        self._invoke(capture, next(self._events()))

    def _time_out(self) -> None:
        """Lambda kills a function that still holds what was said."""
        self.sqs.mood = "hanging"
        capture = self._container("capture", "hanging", 1, AWS_ENDPOINT_URL_SQS=self.sqs.url)
        outcome = self._invoke(capture, next(self._events()))
        assert isinstance(outcome, Failure)
        assert outcome.type == "Sandbox.Timedout"

    def _fail_to_start(self) -> None:
        """A setting may hold anything, too."""
        settings = ("MEMORY_TTL_HOURS", "OUTBOX_MAX_MESSAGES", "RECALL_WITHOUT_DATABASE")
        bad = dict.fromkeys(settings, SAID)
        failure = self._container("capture", "bad-setting", **bad).wait_until_ready()
        assert failure is not None
        self.found.told.append(failure.payload.decode())

    def _send_what_postgres_refuses(self) -> None:
        """Messages that only their own content is at fault for, one in the middle of a batch."""
        scope = {"kind": "server", "ownerId": "s-7", "channelId": "c-7", "personaId": "7"}
        told = {"summary": f"{ATTACHED}\0", "summaryToldAt": 4_000_000_000_000, "categories": []}
        notes = {
            "version": 1,
            "kind": "notes",
            "capturedAt": 4_000_000_000_000,
            "scopes": [{"scope": scope, "live": True}],
            "notes": told,
        }
        self._queue(notes, notes | {"version": ATTACHED}, notes | {"kind": ATTACHED}, ATTACHED)
        until(lambda: self._queued()[1] >= 4, self._queued)

    def _lose_the_queue(self) -> None:
        os.kill(self.stack.sqs.pid, signal.SIGSTOP)
        try:
            self._post(userId="u-9")
        finally:
            os.kill(self.stack.sqs.pid, signal.SIGCONT)

    def _lose_the_database(self) -> None:
        """What is posted now is refused by the writer and ends in the dead-letter queue."""
        self.stack.postgres.kill()
        try:
            dead = self._queued()[1]
            self._post()
            self._send("PUT", "/v1/summaries", json.dumps(NOTED))
            self._send("DELETE", "/v1/users/u-7/memories")
            self._send("DELETE", "/v1/channels/c-7/memories")
            self._send("GET", "/v1/users/u-7/export")
            self._read()
            until(lambda: self._queued()[1] >= dead + 2, self._queued)
        finally:
            self.stack.postgres.start()

    def _break_the_writer(self) -> None:
        records = [
            {"messageId": "m", "body": json.dumps(NOTED), "attributes": {}, "receiptHandle": "r"}
        ]
        writer = self._container("writer", "broken-writer", code=self.sabotaged, BREAK="decode")
        self._invoke(writer, {"Records": records})
        self._invoke(writer, {"Records": [{ATTACHED: ATTACHED}]})
        self._invoke(writer, {"action": ATTACHED, SAID: SAID})
        writer.kill()

    def _forget(self) -> None:
        for container in list(self.stack.pools["capture"].containers):
            container.kill()  # one that does not leave the database alone any more
        self._post()
        self._send("PUT", "/v1/summaries", json.dumps(NOTED))
        until(lambda: self._queued()[0] == 0, self._queued)
        self._send("DELETE", "/v1/channels/quiet/memories")
        self._send("DELETE", "/v1/users/u-8/memories")

    def _search(self) -> None:
        found = self.found
        found.requests_to_sqs = self.sqs.seen
        found.dead = self._receive_all(self.stack.dlq_url)
        for (table,) in self._sql(
            "SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables"
            " WHERE table_schema = 'public' OR table_name IN ('pg_stat_activity', 'pg_statistic')"
        ):
            rows = self._sql(f"SELECT held::text FROM {table} AS held")  # noqa: S608
            found.tables[table] = "\n".join(row for (row,) in rows)
        self._sql("CHECKPOINT")
        for path in self.state.rglob("*"):
            if path.is_file():
                found.files[str(path.relative_to(self.state))] = path.read_bytes()
        found.logs = {name: held for name, held in found.files.items() if name[:5] == "logs/"}

    # How that is done.

    def _post(self, headers: dict[str, str] | None = None, **fields: Any) -> None:
        self.turns += 1
        turn = turn_fields(**{**SPOKEN, "turnId": f"proof-{self.turns}", **fields})
        self._send("POST", "/v1/turns", json.dumps(turn), headers=headers or {})

    def _send(
        self,
        method: str,
        target: str,
        body: str | bytes | None = None,
        *,
        headers: dict[str, str] | None = None,
        reading: bool = False,
    ) -> None:
        connection = http.client.HTTPConnection(urlsplit(self.stack.api_url).netloc, timeout=30)
        try:
            connection.request(method, target, body, headers or {})
            answer = connection.getresponse()
            told = f"{answer.headers} {answer.read().decode()}"
        finally:
            connection.close()
        if reading:
            assert answer.status == 200
            self.found.reads.append(told)
        else:
            self.found.answers.setdefault(answer.status, []).append(told)

    def _events(self, **headers: str) -> Iterator[dict[str, Any]]:
        """A turn, a summary, and a read that does not find anything, as proxy events."""
        asked = urlencode({**IDS, "userId": "nobody", "serverId": "none"})
        for method, target, body in (
            ("POST", "/v1/turns", json.dumps(turn_fields(**SPOKEN))),
            ("PUT", "/v1/summaries", json.dumps(NOTED)),
            ("GET", f"/v1/memories?{asked}", ""),
        ):
            request = Request(method, target, list(headers.items()), body.encode(), "127.0.0.1")
            yield proxy_event(request, "5c0ffee0-0000-4000-8000-000000000000")

    def _container(
        self, name: str, log: str, timeout_s: float = 20, code: Path = CODE, **settings: str
    ) -> Container:
        function = replace(FUNCTIONS[name], timeout_seconds=timeout_s)
        return Container(
            function,
            settings_of(function, self.stack.services.endpoints) | DEBUGGING | settings,
            code=code,
            lifeline=self.stack.services.lifeline,
            log=self.state / "logs" / f"{log}.log",
        )

    def _invoke(self, container: Container, event: dict[str, Any]) -> Any:
        outcome = container.invoke(json.dumps(event).encode())
        self.found.told.append(outcome.payload.decode())
        return outcome

    def _queue(self, *works: Any) -> None:
        for work in works:
            body = work if isinstance(work, str) else json.dumps(work)
            self.stack.sqs_client.send_message(QueueUrl=self.stack.queue_url, MessageBody=body)

    def _queued(self) -> tuple[int, int]:
        queues = self.stack.queue_url, self.stack.dlq_url
        work, dead = (depth(self.stack.sqs_client, it) for it in queues)
        return work, dead

    def _receive_all(self, queue_url: str) -> list[dict[str, Any]]:
        received: list[dict[str, Any]] = []
        while answer := self.stack.sqs_client.receive_message(
            QueueUrl=queue_url,
            MaxNumberOfMessages=10,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages"):
            received += answer
        return received

    def _sql(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.stack.database_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def forms(word: str) -> list[bytes]:
    """A word as it may be written: as it is, and in what it may be wrapped in."""
    plain = word.encode()
    inside = [base64.b64encode(b"x" * n + plain + b"x" * 3)[4:12] for n in range(3)]
    return [
        plain,
        *inside,
        plain.hex().encode(),
        word.encode("utf-16-le"),
        word.encode("utf-32-le"),
    ]


def holding(word: str, held: dict[str, bytes]) -> list[str]:
    return [name for name, content in held.items() if any(it in content for it in forms(word))]


def test_what_was_said_is_in_no_file_of_the_stack(found):
    """Logs of the functions, tables, write-ahead log and server log of Postgres."""
    assert holding(SAID, found.files) == []


def test_what_was_said_is_in_no_table(found):
    assert {"public.short_term_memories", "public.tombstones"} <= found.tables.keys()
    assert [name for name, rows in found.tables.items() if SAID in rows] == []


def test_what_was_said_is_in_no_message(found):
    assert SAID not in json.dumps(found.dead, default=str)
    assert SAID not in "".join(found.requests_to_sqs)


def test_what_was_said_is_in_no_answer_but_that_of_a_read(found):
    assert found.answers.keys() == {200, 202, 400, 404, 413, 503}
    assert SAID not in json.dumps(found.answers)
    assert all(SAID in read for read in found.reads[:3])


def test_what_was_said_is_in_nothing_that_a_function_tells_lambda(found):
    """Also where it fails, does not start, or is killed: the runtime's own error reports."""
    told = "\n".join(found.told)
    for report in (
        "Task timed out",
        "Runtime exited with error: signal: 6",
        "Bad settings",
        "Unexpected",
        "UnknownEvent",
        '\\"failed\\"',
    ):
        assert report in told
    assert '"statusCode": 500' in told
    assert SAID not in told


def test_what_was_attached_is_in_messages_and_rows_and_nowhere_else(found):
    assert holding(ATTACHED, found.logs) == []
    # Who attaches categories is told which ones stand.
    told = [it for it in found.told if '"statusCode": 200' not in it]
    assert ATTACHED not in "\n".join(told)
    refused = [it for status, told in found.answers.items() if status >= 400 for it in told]
    assert ATTACHED not in "".join(refused)
    attributes = [{k: v for k, v in it.items() if k != "Body"} for it in found.dead]
    assert ATTACHED not in json.dumps(attributes, default=str)
    headers = [it.split("\n\n", 1)[0] for it in found.requests_to_sqs]
    assert ATTACHED not in "".join(headers)


def test_the_search_finds_what_is_there(found):
    """Or it would prove nothing: every place that was searched is one that was written to."""
    assert any(ATTACHED in it["Body"] for it in found.dead)
    assert any('"turnId"' in it["Body"] for it in found.dead)
    assert ATTACHED in "".join(found.requests_to_sqs)
    assert ATTACHED in found.tables["public.short_term_memories"]
    server_log = found.files["postgres/log"]
    for written in (b"short_term_memories", b"Parameters: ", ATTACHED.encode(), b"LOCATION:"):
        assert written in server_log
    assert any("pg_wal" in name for name in holding(ATTACHED, found.files))
    logged = b"".join(found.logs.values())
    for line in (
        b"A request failed",
        b"A turn could not be remembered",
        b"Work could not be queued",
        b"Work was refused",
        b"TurnsCaptured",
        b"Fatal Python error: Aborted",
        b"An event could not be handled",
        b"The database is not to be had",
        b"A batch goes back to the queue",
    ):
        assert line in logged
    assert "sabotaged.log" in " ".join(found.logs)


@pytest.mark.parametrize("form", range(7))
def test_a_word_is_found_however_it_is_wrapped(form):
    wrapped = {"file": b"before" + forms(SAID)[form] + b"behind"}
    assert holding(SAID, wrapped) == ["file"]
    assert holding(ATTACHED, wrapped) == []
    assert holding(SAID, {"file": base64.b64encode(b"y" * form + SAID.encode() + b"zzzz")})
