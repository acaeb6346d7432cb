"""What was said leaves the capture function by the read that asks for it, and by no other way."""

import json

import pytest
from given import message, response, turn_fields

from shortterm.telemetry import logger

CANARY = "CANARY-7f3a"
NOTED = {"userId": "u", "channelId": "c"}


@pytest.fixture(params=["as deployed", "debugging"])
def watching(request, monkeypatch):
    """As deployed, and with everything on that an operator may switch on to see more."""
    if request.param == "as deployed":
        yield
        return
    for name in ("POWERTOOLS_DEV", "POWERTOOLS_DEBUG", "POWERTOOLS_LOGGER_LOG_EVENT"):
        monkeypatch.setenv(name, "true")
    level = logger.log_level
    logger.setLevel("DEBUG")
    yield
    logger.setLevel(level)


def test_no_text_and_no_name_leaves_by_any_other_way_than_the_read(
    watching, app, call, post, monkeypatch, capfd, caplog, logged
):
    caplog.set_level("DEBUG")
    spoken = {
        "serverName": CANARY,
        "channelName": CANARY,
        "simplifiedMessages": [message(CANARY, authorName=CANARY)],
        "personaResponses": [response(CANARY, personaName=CANARY, personaId="7")],
    }
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
