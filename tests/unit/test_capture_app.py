"""The capture function as Lambda calls it: the sample events in, API Gateway answers out."""

import base64
import json
import os
import subprocess
import sys
from urllib.parse import unquote

import msgspec
import pytest
from faults import FakeRows
from given import LAMBDA_CONTEXT, turn_fields
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto import mock_aws

from shortterm import telemetry
from shortterm.tombstone import Tombstone
from shortterm.work import decode

CANARY = "CANARY-7f3a"


def test_a_guild_turn_is_captured_and_queued(call, queue):
    status, kind, body = call("guild-turn")
    assert (status, kind) == (202, "application/json")
    assert body == {
        "status": "captured",
        "turnId": "1300000000000000001",
        "scopes": [
            {"key": "shortterm:user:201:301:7", "lines": 3},
            {"key": "shortterm:server:101:301:7", "lines": 3},
        ],
        "queued": True,
    }
    assert [decode(it).turn_id for it in queue()] == ["1300000000000000001"]


def test_what_was_captured_is_recalled(call):
    call("guild-turn")
    status, _, body = call("recall")
    assert status == 200
    assert [it["content"] for it in body["current"]["lines"]] == [
        "Morning! Is the tide in yet? :wave:",
        "Not before ten.",
        "High water is at 10:12. Bring boots.",
    ]
    assert [it["speaker"] for it in body["current"]["lines"]] == ["Ann", "Bo", "Mara"]


def test_a_direct_message_has_one_scope(call):
    _, _, body = call("direct-message")
    assert [it["key"] for it in body["scopes"]] == ["shortterm:user:201:401:7"]


def test_a_thread_is_keyed_by_itself(call):
    _, _, body = call("thread-in-private-channel")
    assert [it["key"] for it in body["scopes"]] == [
        "shortterm:user:202:352:7",
        "shortterm:server:101:352:7",
    ]


def test_several_personas_have_a_set_each(call):
    _, _, body = call("several-personas")
    assert [it["key"] for it in body["scopes"]] == [
        "shortterm:user:201:302:7",
        "shortterm:server:101:302:7",
        "shortterm:user:201:302:8",
        "shortterm:server:101:302:8",
    ]
    assert {it["lines"] for it in body["scopes"]} == {5}


@pytest.mark.parametrize("name", ["privacy-full", "stop-response"])
def test_a_skipped_turn_leaves_nothing(call, queue, name):
    status, _, body = call(name)
    assert (status, body) == (202, {"status": "skipped", "reason": name.replace("-", "_")})
    assert queue() == []
    assert call("health")[2]["entries"] == 0


def test_a_base64_body_is_decoded(call):
    assert call("base64-body")[2]["status"] == "captured"


def test_a_malformed_body_names_the_field_and_stores_nothing(call, queue):
    status, kind, body = call("malformed-body")
    assert (status, kind) == (400, "application/problem+json")
    assert body == {
        "title": "Malformed request",
        "status": 400,
        "field": "body",
        "expected": "a JSON object",
    }
    assert (queue(), call("health")[2]["entries"]) == ([], 0)


def test_a_number_as_user_id_is_named(post):
    status, _, body = post(userId=123456789012345678)
    assert (status, body["field"]) == (400, "userId")


@pytest.mark.parametrize(
    "raw",
    [b"\xff\xfe", b"\xef\xbb\xbf{}", b"null", b"[]", b'""', b"[" * 100_000, b"", b"{}"],
    ids=["not UTF-8", "byte order mark", "null", "array", "string", "deep", "empty", "no fields"],
)
def test_a_body_that_is_no_turn_is_a_4xx_plain_and_in_base64(call, raw):
    encoded = base64.b64encode(raw).decode()
    assert call("guild-turn", body=encoded, isBase64Encoded=True)[0] == 400
    assert call("guild-turn", body=raw.decode("utf-8", "replace"))[0] == 400


def test_bad_base64_is_a_4xx(call, event):
    good = event("base64-body")["body"]
    for body in ("%%%", "a", "YQ", "é", "%" + good, good[:-1], good + "\n%"):
        assert call("guild-turn", body=body, isBase64Encoded=True)[0] == 400


def test_no_body_at_all_is_a_4xx(call):
    assert call("guild-turn", body=None)[0] == 400


def test_the_requests_id_stands_in_for_a_missing_turn_id(call, event):
    fields = turn_fields()
    del fields["turnId"]
    _, _, body = call("guild-turn", body=json.dumps(fields))
    assert body["turnId"] == event("guild-turn")["requestContext"]["requestId"]


def test_a_queue_that_is_away_costs_the_bot_nothing(call, emitted):
    status, _, body = call("guild-turn")
    assert (status, body["status"], body["queued"]) == (202, "captured", False)
    assert call("recall")[2]["current"] is not None
    assert call("health")[2]["outbox"] == 1
    assert emitted()["WorkDeferred"] == 1


def test_a_broken_memory_is_a_warning_and_still_202(app, call, monkeypatch, emitted, logged):
    def broken(*_):
        raise MemoryError(CANARY)

    monkeypatch.setattr(app.memory, "remember", broken)
    status, _, body = call("guild-turn")
    assert (status, body) == (202, {"status": "failed"})
    line = json.loads(logged())
    assert (line["level"], line["error"]) == ("WARNING", "MemoryError")
    assert CANARY not in logged()
    assert emitted()["CaptureFailures"] == 1


def test_a_fault_of_ours_is_a_500_that_says_nothing(app, call, monkeypatch, logged):
    def broken(*_):
        raise RuntimeError(CANARY)

    monkeypatch.setattr(app.memory, "of_owner", broken)
    status, kind, body = call("recall")
    assert (status, kind) == (500, "application/problem+json")
    assert body == {"title": "Internal error", "status": 500}
    assert "RuntimeError" in logged()
    assert CANARY not in logged()


@pytest.mark.parametrize("event", [{}, {"httpMethod": "POST"}, {"path": 3, "httpMethod": None}])
def test_an_event_that_is_none_of_ours_is_answered_and_not_raised(app, event):
    answer = app.handler(event, LAMBDA_CONTEXT)
    assert (answer["statusCode"], answer["isBase64Encoded"]) == (500, False)
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    assert json.loads(answer["body"]) == {"title": "Internal Server Error", "status": 500}


def test_an_unknown_route_is_a_problem_document(call):
    status, kind, _ = call("recall", path="/v1/nothing")
    assert (status, kind) == (404, "application/problem+json")


def test_a_bad_parameter_is_a_problem_document(call):
    status, _, body = call("recall", multiValueQueryStringParameters={"userId": ["u"]})
    assert (status, body["field"]) == (400, "channelId")


def test_health_tells_the_container_and_what_it_holds(app, call):
    call("guild-turn")
    status, _, body = call("health")
    assert status == 200
    assert body == {
        "status": "ok",
        "container": app.container.id,
        "since": app.container.since,
        "entries": 2,
        "bytes": app.memory.size().bytes,
        "outbox": 1,
    }


def test_the_metrics_tell_what_happened(call, queue, emitted):
    for name in ("guild-turn", "privacy-full", "stop-response", "recall", "health"):
        call(name)
    call("recall", multiValueQueryStringParameters={"userId": ["x"], "channelId": ["y"]})
    counted = emitted()
    assert counted.pop("MemoryBytes") > 0
    counted.pop("ColdStarts", None)
    assert counted == {
        "TurnsCaptured": 1,
        "MemoryEntries": 2,
        "WorkQueued": 1,
        "TurnsSkipped": 2,
        "RecallHits": 1,
        "RecallMisses": 1,
        # There is none in these tests.
        "RowsUnavailable": 2,
    }


def test_the_metrics_of_an_invocation_are_sent_at_its_end(call, capsys):
    call("guild-turn")
    assert "TurnsCaptured" in capsys.readouterr().out


def test_metrics_that_cannot_be_sent_change_no_answer_and_do_not_pile_up(call, monkeypatch, logged):
    def broken(*_):
        raise ValueError(CANARY)

    monkeypatch.setattr(telemetry.metrics, "flush_metrics", broken)
    for _ in range(120):
        assert call("guild-turn")[2]["status"] == "captured"
    assert telemetry.metrics.metric_set == {}
    monkeypatch.setattr(telemetry.metrics, "add_metric", broken)
    assert call("guild-turn")[2]["status"] == "captured"
    assert "Metrics could not be sent" in logged()
    assert CANARY not in logged()


def test_a_fault_after_remembering_is_no_error_for_the_bot(app, call, monkeypatch):
    def broken(*_):
        raise RuntimeError

    monkeypatch.setattr(app, "_captured", broken)
    assert call("guild-turn")[0] == 202


def test_answers_are_kept_by_no_cache(app, event):
    answer = app.handler(event("recall"), LAMBDA_CONTEXT)
    assert answer["multiValueHeaders"]["Cache-Control"] == ["no-store"]


@pytest.mark.parametrize(
    "fields",
    [{"isStopResponse": "false"}, {"privacyLevel": "full"}, {"userId": 5}, {"personaResponses": 1}],
)
def test_a_refused_turn_stores_nothing(post, call, queue, fields):
    assert post(**fields)[0] == 400
    assert (queue(), call("health")[2]["entries"]) == ([], 0)


def test_names_that_cannot_be_encoded_break_no_read(post, call):
    lone = {"serverName": "\ud83d", "channelName": "\ud83d"}
    assert post(userId="201", serverId="101", channelId="301", **lone)[0] == 202
    assert call("recall")[2]["current"]["serverName"] == "\ufffd"


@pytest.mark.parametrize(
    ("name", "value", "attribute", "expected"),
    [
        ("MEMORY_TTL_HOURS", "2", "ttl_ms", 7_200_000),
        ("SUMMARY_TTL_HOURS", "3", "summary_ttl_ms", 10_800_000),
        ("MEMORY_MAX_BYTES", "40000000", "_max_bytes", 40_000_000),
    ],
)
def test_the_memory_has_the_limits_that_are_set(app_of, name, value, attribute, expected):
    app = app_of("capture", **{name: value})
    assert getattr(app.memory, attribute) == expected


def test_the_window_and_the_outbox_have_the_limits_that_are_set(app_of, event):
    with mock_aws():
        app = app_of("capture", MAX_MESSAGES_PER_CHANNEL="2", OUTBOX_MAX_MESSAGES="1")
        answers = [
            json.loads(app.handler(event("guild-turn"), LAMBDA_CONTEXT)["body"]) for _ in range(2)
        ]
    assert {it["lines"] for answer in answers for it in answer["scopes"]} == {2}
    assert len(app.outbox) == 1


def test_a_skip_is_counted_by_its_reason(call, capsys):
    call("privacy-full")
    lines = [json.loads(it) for it in capsys.readouterr().out.splitlines()]
    (skipped,) = [it for it in lines if "TurnsSkipped" in it]
    assert skipped["reason"] == "privacy_full"


# All of Unicode: the surrogates too, which st.text() leaves out by itself.
anything = st.text(st.characters())
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=10,
)
bodies = st.one_of(
    anything,
    jsons.map(json.dumps),
    st.dictionaries(st.sampled_from(sorted(turn_fields())), jsons).map(
        lambda changes: json.dumps(turn_fields(**changes))
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(body=bodies, encoded=st.booleans())
def test_no_body_makes_a_5xx(app, call, body, encoded):
    assert call("guild-turn", body=body, isBase64Encoded=encoded)[0] in (202, 400)


@pytest.fixture
def send(app, event):
    """Send a request made up here; return status, headers and decoded body."""

    def request(method, path, body=None, **query):
        made = event("recall") | {
            "httpMethod": method,
            "path": path,
            "multiValueQueryStringParameters": {name: [value] for name, value in query.items()},
            "body": None if body is None else json.dumps(body),
        }
        answer = app.handler(made, LAMBDA_CONTEXT)
        headers = {name: values[0] for name, values in answer["multiValueHeaders"].items()}
        return answer["statusCode"], headers, json.loads(answer["body"])

    return request


PLACE = {"userId": "u", "serverId": "s", "channelId": "c", "personaId": "7"}
NEEDS_ROWS = [
    ("DELETE", "/v1/users/u/memories"),
    ("DELETE", "/v1/channels/c/memories"),
    ("GET", "/v1/users/u/export"),
]


@pytest.mark.parametrize(("method", "path"), NEEDS_ROWS)
def test_what_needs_the_database_says_when_to_try_again_without_it(send, method, path):
    status, headers, body = send(method, path)
    assert (status, headers["Retry-After"]) == (503, "6")
    assert body == {"title": "The database is away: try again", "status": 503}


def test_nothing_is_forgotten_here_if_it_could_not_be_forgotten_everywhere(send, post):
    post()
    send("DELETE", "/v1/users/u/memories")
    send("DELETE", "/v1/channels/c/memories")
    for scope in ("user", "server"):
        assert send("GET", "/v1/memories", **PLACE, scope=scope)[2]["current"] is not None


def test_it_is_told_until_when_all_is_forgotten(send, app, monkeypatch):
    """By the later of two clocks: the bot's own may be behind."""
    rows = FakeRows()
    monkeypatch.setattr(app, "durable", rows)
    monkeypatch.setattr(rows, "forget", lambda *it, now: Tombstone(1, *it, now + 30_000))
    assert send("DELETE", "/v1/users/u/memories")[2]["forgottenAt"] > app.now() + 20_000


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/v1/users/u/memories", ["server"]),
        ("/v1/users/%75/memories", ["server"]),
        ("/v1/users/c/memories", ["user", "server"]),
        ("/v1/channels/c/memories", []),
        ("/v1/channels/u/memories", ["user", "server"]),
    ],
)
def test_what_is_forgotten_is_gone_here_once_its_tombstone_is_set(
    send, post, app, monkeypatch, path, left
):
    monkeypatch.setattr(app, "durable", FakeRows())
    post()
    status, _, body = send("DELETE", path)
    assert (status, body["status"]) == (200, "forgotten")
    assert abs(body["forgottenAt"] - app.now()) < 60_000
    for scope in ("user", "server"):
        current = send("GET", "/v1/memories", **PLACE, scope=scope)[2]["current"]
        assert (current is not None) == (scope in left)


@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("DELETE", "/v1/users/a:b/memories", "userId"),
        ("DELETE", "/v1/users/a%3Ab/memories", "userId"),
        ("DELETE", "/v1/channels/%20/memories", "channelId"),
        ("GET", f"/v1/users/{'x' * 65}/export", "userId"),
    ],
)
def test_an_id_with_a_separator_is_named_and_not_echoed(send, method, path, field):
    status, _, body = send(method, path)
    assert (status, body["field"]) == (400, field)
    assert "1 to 64 characters" in body["expected"]


# With a NUL Postgres would refuse it, and for a while be taken for away.
@pytest.mark.parametrize(
    "place", ["c\0", f"{CANARY}:\0", "", "c:", "c:7:8", "\ud800", "é", "a" * 65]
)
def test_an_export_continues_behind_a_key_and_nothing_else(send, place):
    status, _, body = send("GET", "/v1/users/u/export", after=f"shortterm:user:u:{place}")
    assert (status, body["field"]) == (400, "after")
    assert CANARY not in str(body)


@pytest.mark.parametrize(("method", "path"), NEEDS_ROWS)
def test_an_unknown_parameter_is_refused_before_anything_is_done(send, method, path):
    status, _, body = send(method, path, before=CANARY)
    assert (status, body["field"]) == (400, "query")
    assert CANARY not in str(body)


def test_notes_are_attached_and_read_back_without_the_database(send, post, queue):
    post()
    status, _, body = send("PUT", "/v1/summaries", PLACE | {"summary": "tides"})
    assert status == 200
    assert body.pop("occurredAt") > 0
    assert body == {
        "status": "attached",
        "truncated": False,
        "scopes": [
            {
                "key": f"shortterm:{owner}:c:7",
                "summaryCharacters": 5,
                "categories": {},
                "turnsSinceRefresh": 0,
                "lastRefreshedTurn": turns,
            }
            for owner, turns in (("user:u", 0), ("server:s", 1))
        ],
        "queued": True,
    }
    assert send("GET", "/v1/memories", **PLACE)[2]["current"]["summary"] == "tides"
    assert len(queue()) == 2


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"summary": 5}, "summary"),
        ({"summary": ["tides"]}, "summary"),
        ({}, "summary"),
        ({"categories": ["mood"]}, "categories"),
        ({"categories": {CANARY: 5}}, "categories[...]"),
        ({"categories": {"a:b": "x" * 501}}, "categories[...]"),
        ({"summary": "tides", "channelId": "a:b"}, "channelId"),
        ({"summary": "tides", "userId": None}, "userId"),
    ],
)
def test_notes_that_are_none_are_refused_and_nothing_is_attached(send, queue, fields, field):
    status, _, body = send("PUT", "/v1/summaries", PLACE | fields)
    assert (status, body["field"]) == (400, field)
    assert CANARY not in str(body)
    assert send("GET", "/v1/memories", **PLACE)[2]["current"] is None
    assert queue() == []


def test_a_summary_that_was_cut_or_told_anew_meanwhile_is_said_to_be(send):
    _, _, cut = send("PUT", "/v1/summaries", PLACE | {"summary": "x" * 1_501})
    assert (cut["status"], cut["truncated"]) == ("attached", True)
    _, _, late = send("PUT", "/v1/summaries", PLACE | {"summary": "old", "occurredAt": 1})
    assert (late["status"], late["truncated"]) == ("superseded", False)


def test_a_context_is_rendered(send, post):
    post(channelName="general")
    status, _, body = send("GET", "/v1/context", **PLACE)
    assert status == 200
    assert body["text"].startswith("[This channel #general, just now]\n")
    assert body["nudge"] == {"due": False, "turnsSinceRefresh": 1, "refreshCadence": 5}
    assert send("GET", "/v1/context", **PLACE, refreshCadence="1")[2]["nudge"]["due"] is True


@pytest.mark.parametrize(
    ("path", "parameters", "for_prompt", "limit"),
    [
        ("/v1/memories", {"limit": "7"}, False, 7),
        ("/v1/context", {"maxChannels": "2"}, True, 2),
    ],
)
def test_rows_are_asked_for_what_is_answered(
    send, app, monkeypatch, path, parameters, for_prompt, limit
):
    """A prompt has no use for rows without notes, and room for one persona of each channel."""
    rows = FakeRows()
    monkeypatch.setattr(app, "durable", rows)
    send("GET", path, **PLACE, **parameters)
    (asked,) = rows.wanted
    assert (asked.for_prompt, asked.limit) == (for_prompt, limit)


def test_memory_may_be_withheld_without_the_database(send, post, app, monkeypatch):
    post()
    withholding = msgspec.structs.replace(app.settings, recall_without_database="withhold")
    monkeypatch.setattr(app, "settings", withholding)
    for path in ("/v1/memories", "/v1/context"):
        body = send("GET", path, **PLACE)[2]
        assert (body["current"], body["durable"]) == (None, "unavailable")


WITHOUT_DRIVER = """
import json, sys
sys.modules["psycopg"] = None
from given import LAMBDA_CONTEXT
from capture import app
answer = app.handler(json.load(sys.stdin), LAMBDA_CONTEXT)
sys.exit(json.loads(answer["body"])["status"] != "captured")
"""


def test_capturing_needs_no_database_driver(event):
    """A cold start that only captures must not pay for it (design, section 8).

    In a process of its own: in this one the modules that could need it are imported already.
    """
    subprocess.run(  # noqa: S603
        [sys.executable, "-c", WITHOUT_DRIVER],
        input=json.dumps(event("guild-turn")),
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(sys.path), "AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
        text=True,
        check=True,
    )


@pytest.mark.parametrize("after", ["x", "shortterm:user:v:c", "shortterm:user:u:%00", "a:b:c:d:e"])
def test_a_page_that_is_none_is_refused_before_the_database_is_asked(send, after):
    status, _, body = send("GET", "/v1/users/u/export", after=unquote(after))
    assert (status, body["field"]) == (400, "after")


def test_notes_that_could_not_be_verified_are_not_answered_if_memory_is_withheld(
    send, app, monkeypatch
):
    withholding = msgspec.structs.replace(app.settings, recall_without_database="withhold")
    monkeypatch.setattr(app, "settings", withholding)
    _, _, body = send("PUT", "/v1/summaries", PLACE | {"categories": {"mood": "calm"}})
    assert [set(it) for it in body["scopes"]] == [{"key"}, {"key"}]
