"""The custom resource: runs the schema, and answers CloudFormation whatever happens."""

import io
import json
from types import SimpleNamespace

import pytest

from deployment import app

EVENT = {
    "RequestType": "Update",
    "ResponseURL": "https://cloudformation.example/answer?signature=x",
    "StackId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/shortterm/1",
    "RequestId": "request-1",
    "LogicalResourceId": "Schema",
    "ResourceProperties": {"ServiceToken": "arn"},
}


class Context(SimpleNamespace):
    def get_remaining_time_in_millis(self) -> int:
        return 300_000


CONTEXT = Context(log_stream_name="2026/12/01/[$LATEST]abc")


class FakeLambda:
    """Answers an invocation of the schema function as Lambda does."""

    def __init__(self, payload=None, error=None, fault=None):
        self.payload, self.error, self.fault = payload, error, fault
        self.invoked = []
        self.read_timeout = None

    def invoke(self, **call):
        self.invoked.append(call)
        if self.fault:
            raise self.fault
        failed = {"FunctionError": "Unhandled"} if self.error else {}
        return {"Payload": io.BytesIO(json.dumps(self.error or self.payload).encode()), **failed}


@pytest.fixture
def run(monkeypatch):
    """Handle an event with a schema function that behaves as told; return CloudFormation's mail."""

    def start(schema=None, unreachable=0, **changes):
        schema = schema or FakeLambda({"schema": 2, "applied": []})
        answers = []

        def client(name, config):
            assert name == "lambda"
            schema.read_timeout = config.read_timeout
            return schema

        def put(request, timeout):
            assert (request.get_method(), timeout) == ("PUT", app.ANSWER_TIMEOUT_S)
            assert request.full_url == EVENT["ResponseURL"]
            assert request.get_header("Content-type") == ""
            answers.append(json.loads(request.data))
            if len(answers) <= unreachable:
                raise OSError("no route")
            return io.BytesIO()

        monkeypatch.setenv("SCHEMA_FUNCTION_NAME", "shortterm-schema")
        monkeypatch.setattr(app.boto3, "client", client)
        monkeypatch.setattr(app, "urlopen", put)
        app.handler(EVENT | changes, CONTEXT)
        return answers[-1]

    return start


def test_the_schema_is_run_and_cloudformation_told(run):
    schema = FakeLambda({"schema": 2, "applied": ["0002_roles"]})
    assert run(schema) == {
        "Status": "SUCCESS",
        "Reason": "The schema is up to date (log stream 2026/12/01/[$LATEST]abc)",
        "PhysicalResourceId": "shortterm-schema",
        "StackId": EVENT["StackId"],
        "RequestId": "request-1",
        "LogicalResourceId": "Schema",
    }
    (call,) = schema.invoked
    assert call == {"FunctionName": "shortterm-schema", "Payload": '{"action": "migrate"}'}


def test_time_is_left_to_answer_when_the_schema_takes_too_long(run):
    schema = FakeLambda(fault=TimeoutError())
    assert run(schema)["Status"] == "FAILED"
    assert schema.read_timeout == 285


def test_a_schema_that_failed_fails_the_deployment_and_says_why(run):
    error = {"errorType": "Failed", "errorMessage": "DivisionByZero (SQLSTATE 22012)"}
    answer = run(FakeLambda(error=error))
    assert answer["Status"] == "FAILED"
    assert "SQLSTATE 22012" in answer["Reason"]


def test_a_reason_is_never_too_long_for_cloudformation(run):
    answer = run(FakeLambda(error={"errorMessage": "x" * 10_000}))
    assert len(answer["Reason"]) < 1_000


def test_a_fault_of_its_own_is_answered_without_its_words(run):
    answer = run(FakeLambda(fault=RuntimeError("CANARY")))
    assert answer["Status"] == "FAILED"
    assert answer["Reason"].startswith("RuntimeError: see the log")


def test_an_answer_that_did_not_go_out_is_sent_again_and_says_the_same(run):
    assert run(unreachable=2)["Status"] == "SUCCESS"


def test_an_answer_that_never_goes_out_is_a_failure_of_the_function(run):
    with pytest.raises(OSError, match="no route"):
        run(unreachable=3)


def test_all_tries_to_answer_fit_into_the_time_that_is_kept_for_them():
    assert app.ANSWER_TRIES * app.ANSWER_TIMEOUT_S * 1000 < app.ANSWER_MS


def test_nothing_is_run_when_the_stack_is_deleted(run):
    schema = FakeLambda()
    assert run(schema, RequestType="Delete")["Status"] == "SUCCESS"
    assert schema.invoked == []


def test_the_answer_never_goes_over_plain_http():
    with pytest.raises(ValueError, match="https"):
        app.answer(EVENT | {"ResponseURL": "http://else"}, CONTEXT, "SUCCESS", "")
