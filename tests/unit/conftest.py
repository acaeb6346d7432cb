"""A memory whose clock stands still until a test turns it, and a capture function to call."""

import json

import boto3
import pytest
from given import LAMBDA_CONTEXT, Clock, memory, turn_fields
from moto import mock_aws


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def held(clock):
    return memory(clock)


@pytest.fixture
def app(app_of):
    """A container that has just started, with an empty memory, and no queue yet."""
    with mock_aws():
        yield app_of("capture")


@pytest.fixture
def queue(app):
    """The work queue; returns what is in it."""
    client = boto3.client("sqs")
    url = client.create_queue(QueueName="shortterm-work")["QueueUrl"]

    def received():
        answer = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        return [it["Body"] for it in answer.get("Messages", [])]

    return received


@pytest.fixture
def call(app, event):
    """Send a sample event, changed as told, and return status, content type and decoded body."""

    def send(name, **changes):
        answer = app.handler(event(name) | changes, LAMBDA_CONTEXT)
        headers = answer.get("multiValueHeaders") or {}
        (kind,) = headers.get("Content-Type") or [answer["headers"]["Content-Type"]]
        return answer["statusCode"], kind, json.loads(answer["body"])

    return send


@pytest.fixture
def post(call):
    """Post a turn, or any body."""

    def send(body=None, **fields):
        body = json.dumps(turn_fields(**fields)) if body is None else body
        return call("guild-turn", body=body)

    return send
