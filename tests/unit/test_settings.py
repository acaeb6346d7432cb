"""Settings: typed, checked at start, every complaint in one message, no value in it."""

import pytest

from capture.settings import Settings
from shortterm.settings import BadSettings, load

QUEUE = {"WORK_QUEUE_URL": "https://queue", "DATABASE_URL": "postgresql://db"}


def complaint(**environ: str) -> str:
    with pytest.raises(BadSettings) as caught:
        load(Settings, QUEUE | environ)
    return str(caught.value)


def test_what_is_not_set_has_the_specified_default():
    settings = load(Settings, QUEUE)
    assert settings.max_messages_per_channel == 10
    assert (settings.memory_ttl_hours, settings.summary_ttl_hours) == (12, 24)


def test_what_is_set_is_converted():
    settings = load(Settings, QUEUE | {"MEMORY_TTL_HOURS": "0.5", "OUTBOX_MAX_MESSAGES": " 7 "})
    assert (settings.memory_ttl_hours, settings.outbox_max_messages) == (0.5, 7)


@pytest.mark.parametrize("value", ["abc", "0", "-1", "nan", "inf", "1e9", "12h", "1 2"])
@pytest.mark.parametrize("name", ["MEMORY_TTL_HOURS", "SUMMARY_TTL_HOURS"])
def test_a_life_that_is_none_is_refused_by_name(name, value):
    assert name in complaint(**{name: value})


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "ten", "101"])
def test_a_limit_that_would_keep_everything_is_refused(value):
    assert "MAX_MESSAGES_PER_CHANNEL" in complaint(MAX_MESSAGES_PER_CHANNEL=value)


def test_a_memory_too_small_for_one_turn_is_refused():
    assert "MEMORY_MAX_BYTES" in complaint(MEMORY_MAX_BYTES="1000")


@pytest.mark.parametrize("environ", [{}, {"WORK_QUEUE_URL": ""}, {"WORK_QUEUE_URL": "  "}])
def test_a_setting_that_must_be_set_is_named(environ):
    with pytest.raises(BadSettings, match="WORK_QUEUE_URL: must be set"):
        load(Settings, environ)


def test_all_complaints_come_in_one_message():
    message = complaint(MEMORY_TTL_HOURS="abc", MAX_MESSAGES_PER_CHANNEL="0")
    assert "MEMORY_TTL_HOURS" in message
    assert "MAX_MESSAGES_PER_CHANNEL" in message


def test_what_can_be_chosen_is_named():
    message = complaint(RECALL_WITHOUT_DATABASE="maybe")
    assert "RECALL_WITHOUT_DATABASE: expected serve or withhold" in message


def test_a_complaint_shows_no_value():
    assert "s3cret" not in complaint(MEMORY_TTL_HOURS="s3cret")
