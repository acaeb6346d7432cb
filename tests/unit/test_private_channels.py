"""Which channels are private: as the newest turn showed, and apart from that as the rows told."""

import pytest
from given import NOW

from capture import private_channels as module
from capture.private_channels import PrivateChannels


@pytest.fixture
def channels():
    return PrivateChannels()


@pytest.mark.parametrize(("age", "private"), [(0, False), (-1, True)])
def test_a_channel_is_as_private_as_its_newest_turn_says(channels, age, private):
    channels.see("c", NOW, is_private=True)
    channels.see("c", NOW + age, is_private=False)
    assert channels.is_private("c") is private


def test_a_late_private_turn_does_not_make_a_channel_less_private(channels):
    for at, private in [(NOW, True), (NOW - 20, True), (NOW - 10, False)]:
        channels.see("c", at, is_private=private)
    assert channels.is_private("c")


def test_a_thread_is_private_if_the_channel_above_it_is(channels):
    channels.see("p", NOW, is_private=True)
    assert channels.is_private("thread", "p")
    assert not channels.is_private("thread", "q")
    assert not channels.is_private("thread", None)


def test_what_is_no_thread_has_no_private_channel_above_it(channels):
    channels.see("p", NOW, is_private=True)
    assert not channels.is_private(None)


def test_what_the_rows_told_stands_until_they_tell_otherwise(channels):
    channels.learn({"c": True, "d": False})
    channels.learn({"d": True})
    assert {it for it in "cd" if it in channels.told} == {"c", "d"}
    channels.learn({"c": False})
    assert {it for it in "cd" if it in channels.told} == {"d"}


def test_it_is_told_whether_what_the_rows_tell_is_news(channels):
    assert channels.learn({"c": True, "d": False})
    assert not channels.learn({"c": True, "d": False})
    assert channels.learn({"c": False})


def test_what_the_rows_told_is_not_what_a_turn_showed(channels):
    channels.learn({"c": True})
    assert not channels.is_private("c")
    channels.see("d", NOW, is_private=True)
    channels.learn({"d": False})
    assert channels.is_private("d")


def test_the_channels_that_were_private_last_are_known(monkeypatch):
    monkeypatch.setattr(module, "MOST", 2)
    channels = PrivateChannels()
    for channel in "abc":
        channels.see(channel, NOW, is_private=True)
        channels.learn({channel: True})
    assert {it for it in "abc" if channels.is_private(it)} == {"b", "c"}
    assert {it for it in "abc" if it in channels.told} == {"b", "c"}
