"""The wire model of a refresh: what is accepted, what is cut; a refusal names the field."""

import json

import pytest
from given import NOW
from hypothesis import given
from hypothesis import strategies as st

from capture.refresh import decode
from shortterm.notes import Category
from shortterm.wire import Mismatch

CANARY = "CANARY-7f3a"


def body(**fields):
    return json.dumps({"userId": "u", "channelId": "c", "serverId": "s", **fields})


def accepted(**fields):
    return decode(body(**fields))


def refused(**fields):
    with pytest.raises(Mismatch) as caught:
        accepted(**fields)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


def summary(text):
    return accepted(summary=text).notes(NOW).summary


def categories(**texts):
    return accepted(categories=texts).notes(NOW).categories


# What is told


def test_a_summary_is_told_at_its_time():
    notes = accepted(summary="They wait for the tide.").notes(NOW)
    assert (notes.summary, notes.summary_told_at) == ("They wait for the tide.", NOW)
    assert notes.categories == ()


def test_categories_are_told_by_name_and_leave_the_summary_alone():
    notes = accepted(categories={"plan": "sail", "mood": "calm"}).notes(NOW)
    assert notes.categories == (Category("mood", NOW, "calm"), Category("plan", NOW, "sail"))
    assert (notes.summary, notes.summary_told_at) == (None, None)


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\0"])
def test_a_summary_with_nothing_to_see_clears_it(text):
    notes = accepted(summary=text).notes(NOW)
    assert (notes.summary, notes.summary_told_at) == (None, NOW)


def test_a_summary_of_null_is_none_told():
    notes = accepted(summary=None, categories={"mood": "calm"}).notes(NOW)
    assert notes.summary_told_at is None


@pytest.mark.parametrize("text", [None, "", " "])
def test_a_category_of_null_or_of_nothing_to_see_is_removed(text):
    assert categories(mood=text) == (Category("mood", NOW, None),)


def test_what_cannot_be_stored_is_taken_out_of_a_text():
    assert summary("\0 the tide\ud83d ") == "the tide\ufffd"
    assert categories(mood="\0calm\ud83d")[0].text == "calm\ufffd"


@pytest.mark.parametrize("server", [None, "", "DM"])
def test_a_direct_message_may_be_told_in_three_ways(server):
    assert accepted(summary="x", serverId=server).server_id is None


def test_an_unknown_field_is_ignored():
    assert accepted(summary="x", somethingNew=1) == accepted(summary="x")


def test_a_value_never_prints_what_it_holds():
    told = accepted(summary=CANARY, categories={CANARY: CANARY})
    for value in (told, told.notes(NOW)):
        assert CANARY not in f"{value!r} {value!s} {[value]}"


# What is refused


@pytest.mark.parametrize("value", [7, True, [CANARY], {CANARY: CANARY}])
def test_a_summary_that_is_not_text_is_refused(value):
    assert refused(summary=value).field == "summary"


@pytest.mark.parametrize("value", [7, CANARY, [CANARY]])
def test_categories_that_are_no_object_are_refused(value):
    assert refused(categories=value).field == "categories"


@pytest.mark.parametrize("value", [7, False, [CANARY], {CANARY: CANARY}, CANARY * 100])
def test_a_category_that_is_not_text_is_refused_without_its_name(value):
    assert refused(categories={CANARY: value}).field == "categories[...]"


@pytest.mark.parametrize("fields", [{}, {"summary": None}, {"categories": {}}])
def test_a_refresh_that_tells_nothing_is_refused(fields):
    assert refused(**fields).field == "summary"


@pytest.mark.parametrize("name", ["", " ", "\u200d", CANARY + "\n", CANARY + "\0", CANARY * 9])
def test_a_category_that_cannot_be_shown_as_a_name_is_refused(name):
    assert refused(categories={name: "x"}).field == "categories"


@pytest.mark.parametrize("name", ["x" * 64, "сюжет", "خلاصه\u200cها", "👩\u200d💻", "a b"])
def test_a_category_may_have_a_name_in_any_script(name):
    assert categories(**{name: "x"})[0].name == name


def test_five_categories_are_accepted_whatever_is_removed():
    texts = {f"new {n}": "x" for n in range(5)} | {f"old {n}": None for n in range(45)}
    assert len(categories(**texts)) == 50


def test_more_than_five_categories_are_refused():
    error = refused(categories={f"{CANARY} {n}": "x" for n in range(6)})
    assert (error.field, error.expected) == ("categories", "at most 5 with a text")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"summary": "x" * 65_537}, "summary"),
        ({"categories": {"mood": "x" * 501}}, "categories[...]"),
        ({"categories": {str(n): None for n in range(51)}}, "categories"),
    ],
)
def test_everything_is_bounded(fields, field):
    assert refused(**fields).field == field


@pytest.mark.parametrize("name", ["userId", "channelId"])
def test_a_missing_field_is_named(name):
    fields = json.loads(body(summary="x"))
    del fields[name]
    with pytest.raises(Mismatch) as caught:
        decode(json.dumps(fields))
    assert caught.value.field == name


@pytest.mark.parametrize("text", ["", "null", "[]", "not json", "{", '{"summary": NaN}'])
def test_a_body_that_is_no_object_is_refused(text):
    with pytest.raises(Mismatch) as caught:
        decode(text)
    assert caught.value.field == "body"


def test_a_category_given_twice_is_refused_without_its_name():
    twice = body(categories={CANARY: "x"}).replace("{", f'{{"{CANARY}": 1, "{CANARY}": 2, ')
    with pytest.raises(Mismatch) as caught:
        decode(twice)
    assert CANARY not in str(caught.value)


wrong = st.one_of(st.booleans(), st.integers(), st.floats(), st.just(CANARY))


@given(
    st.sampled_from(["userId", "personaId", "occurredAt", "summary", "categories"]),
    wrong | st.lists(wrong) | st.dictionaries(st.just(CANARY), wrong | st.just(CANARY * 99)),
)
def test_no_refusal_echoes_what_was_sent(field, value):
    fields = {"summary": "x", field: value}
    try:
        accepted(**fields)
    except Mismatch:
        refused(**fields)


# What is cut


def test_a_summary_of_1500_characters_is_kept_as_it_is():
    told = accepted(summary="x" * 1_500)
    assert told.notes(NOW).summary == "x" * 1_500
    assert not told.is_too_long


def test_a_longer_summary_is_cut_and_says_so():
    told = accepted(summary="x" * 1_501)
    assert told.notes(NOW).summary == "x" * 1_500
    assert told.is_too_long


def test_a_summary_is_cut_before_an_emoji_that_has_not_all_its_room():
    assert summary("x" * 1_499 + "👍🏽") == "x" * 1_499


def test_white_space_around_a_summary_does_not_count():
    told = accepted(summary="\n" + "x" * 1_500 + " " * 9)
    assert told.notes(NOW).summary == "x" * 1_500
    assert not told.is_too_long
