"""The window: which messages become lines, in whose name, and which ones are kept."""

import pytest
from given import NOW, message, response, turn
from hypothesis import given
from hypothesis import strategies as st

from capture import dialogue


def contents(limit=10, **fields):
    return [it.content for it in dialogue.lines(turn(**fields), limit=limit, occurred_at=NOW)]


def lines(**fields):
    return dialogue.lines(turn(**fields), limit=10, occurred_at=NOW)


def test_users_and_personas_are_heard_and_others_are_not():
    messages = [message("a"), message("b", "other"), message("c", "persona"), message("d", "bot")]
    assert contents(simplifiedMessages=messages) == ["a", "c", "hi"]


def test_a_user_speaks_as_user_and_a_persona_as_model():
    messages = [message("a"), message("b", "persona")]
    assert [it.role for it in lines(simplifiedMessages=messages)] == ["user", "model", "model"]


@pytest.mark.parametrize(
    ("names", "speaker"),
    [
        ({"personaName": "Mara", "authorName": "Botworks"}, "Mara"),
        ({"personaName": None, "authorName": "Botworks"}, "Botworks"),
        ({"personaName": "\u200e", "authorName": "Botworks"}, "Botworks"),
        ({"personaName": "\u200b", "authorName": "Botworks"}, "Botworks"),
    ],
)
def test_a_persona_speaks_as_its_name_or_else_as_its_author(names, speaker):
    assert lines(simplifiedMessages=[message("a", "persona", **names)])[0].speaker == speaker


def test_a_user_never_speaks_as_a_persona():
    assert lines(simplifiedMessages=[message("a", personaName="Mara")])[0].speaker == "Ann"


def test_filtering_and_cleaning_come_before_the_last_ten_are_kept():
    heard = [message(f"m{n}") for n in range(4)]
    others = [message("noise", "other") for _ in range(8)]
    assert contents(simplifiedMessages=heard + others) == ["m0", "m1", "m2", "m3", "hi"]


def test_empty_messages_take_no_place_in_the_window():
    messages = [message(f"m{n}") for n in range(9)] + [message("\u200b")] * 5
    assert contents(simplifiedMessages=messages) == [f"m{n}" for n in range(9)] + ["hi"]


def test_the_newest_lines_are_kept_and_the_responses_are_among_them():
    messages = [message(f"m{n}") for n in range(12)]
    assert contents(simplifiedMessages=messages) == [f"m{n}" for n in range(3, 12)] + ["hi"]


def test_more_responses_than_the_limit_leave_the_last_ones():
    responses = [response(f"r{n}") for n in range(5)]
    assert contents(limit=3, personaResponses=responses) == ["r2", "r3", "r4"]


def test_a_history_that_ends_with_the_reply_stores_it_once():
    messages = [message("hello"), message("hi", "persona", personaName="Mara")]
    assert contents(simplifiedMessages=messages) == ["hello", "hi"]


def test_a_history_that_ends_with_all_replies_stores_each_once():
    messages = [
        message("hello"),
        message("one", "persona", personaName="Mara"),
        message("two", "persona", personaName="Finn"),
    ]
    responses = [response("one"), response("two", personaName="Finn")]
    assert contents(simplifiedMessages=messages, personaResponses=responses) == [
        "hello",
        "one",
        "two",
    ]


def test_a_reply_without_name_is_the_one_that_the_history_names():
    messages = [message("hello"), message("hi", "persona", authorName="Botworks")]
    assert contents(simplifiedMessages=messages, personaResponses=[{"text": "hi"}]) == [
        "hello",
        "hi",
    ]


def test_the_same_words_of_another_persona_are_not_the_reply():
    messages = [message("hi", "persona", personaName="Finn")]
    assert contents(simplifiedMessages=messages) == ["hi", "hi"]


def test_the_same_words_of_a_user_are_not_the_reply():
    assert contents(simplifiedMessages=[message("hi", authorName="Mara")]) == ["hi", "hi"]


def test_the_same_reply_earlier_in_the_history_is_another_one():
    messages = [message("hi", "persona", personaName="Mara"), message("again?")]
    assert contents(simplifiedMessages=messages) == ["hi", "again?", "hi"]


def test_a_history_that_holds_only_the_replies_of_a_long_turn_does_not_double_them():
    responses = [response(f"r{n}") for n in range(5)]
    messages = [message(f"r{n}", "persona", personaName="Mara") for n in range(5)]
    assert contents(limit=3, simplifiedMessages=messages, personaResponses=responses) == [
        "r2",
        "r3",
        "r4",
    ]


def test_a_line_is_as_old_as_its_message_and_never_newer_than_the_turn():
    messages = [
        message("a", createdAt=NOW - 5),
        message("b"),
        message("c", createdAt=NOW + 5),
        message("d", createdAt=0),
    ]
    times = [it.timestamp for it in lines(simplifiedMessages=messages)]
    assert times == [NOW - 5, NOW, NOW, 0, NOW]


def test_responses_are_cleaned_and_empty_ones_dropped():
    responses = [response("\u200b"), response("yes <:wave:123456789012345678>")]
    assert contents(personaResponses=responses) == ["hello", "yes :wave:"]


def test_a_response_without_name_has_an_empty_speaker():
    assert lines(personaResponses=[{"text": "hi"}])[-1].speaker == ""


words = st.sampled_from(["a", "b", "", "\u200b", "hi"])
authors = st.sampled_from(["user", "persona", "other"])
histories = st.lists(st.builds(message, words, authors), max_size=15)


@given(histories, st.lists(words.map(response), min_size=1, max_size=4), st.integers(1, 6))
def test_the_window_is_the_newest_lines_of_the_whole_dialogue(messages, responses, limit):
    fields = {"simplifiedMessages": messages, "personaResponses": responses}
    whole = contents(limit=100, **fields)
    assert contents(limit=limit, **fields) == whole[-limit:]


@given(histories)
def test_one_history_posted_again_and_longer_doubles_no_line(messages):
    first = contents(limit=100, simplifiedMessages=messages)
    reply = message("hi", "persona", personaName="Mara")
    longer = [*messages, reply, message("more")]
    assert contents(limit=100, simplifiedMessages=longer) == [*first, "more", "hi"]
