"""Cleaning: every case of tests/cases/cleaning.json, and what must hold for any text."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.cleaning import clean, clean_name, is_visible

CASES = Path(__file__).parent.parent / "cases"
CLEANING = json.loads((CASES / "cleaning.json").read_text("utf-8"))
HOSTILE = {
    "ticks": "`" * 3999 + "x",
    "spaces": " " * 60000 + "x",
    "open-annotations": "[System: This message (ID: " * 2400,
    "open-brackets": "[" * 65000,
    "half-emoji": "<:a:" * 16000,
}
MORE_HOSTILE = {
    "closed annotations": "[System: " * 5000 + "]" * 5000,
    "annotations by name": "[System: This message (ID: ref_1) by " * 1200 + "]" * 1200,
    "runs of growing length": " ".join("`" * length for length in range(1, 180)),
    "runs that never match": " ".join("`" * (length % 90 + 1) for length in range(900)),
    "escapes": "\\" * 30001,
}
EMOJI = "<:wave:123456789012345678>"
REACTIONS = "[System: Reactions on this message: x]"

ANNOTATIONS = [REACTIONS, "[System: Message metadata: ref=ref_2 | x]"]
PIECES = [
    "`",
    "``",
    "```",
    "\\",
    "\n",
    " ",
    "[",
    "]",
    "<:",
    "words",
    "👩\u200d💻",
    "\t",
    "[System: ",
]
fragments = st.sampled_from([EMOJI, "<a:b:123456789012345678>", *ANNOTATIONS, *PIECES])
texts = st.one_of(st.text(), st.lists(fragments).map("".join))


@pytest.mark.parametrize("case", CLEANING, ids=[case["id"] for case in CLEANING])
def test_text_is_cleaned_as_the_case_says(case):
    assert clean(case["in"]) == case["out"], case["why"]


@pytest.mark.parametrize("case", CLEANING, ids=[case["id"] for case in CLEANING])
def test_a_second_pass_changes_nothing(case):
    assert clean(case["out"]) == case["out"]


def test_every_hostile_input_is_the_one_in_the_cases():
    listed = json.loads((CASES / "linear_time.json").read_text("utf-8"))
    assert {it["id"]: it["in_python"] for it in listed} == {
        "ticks": "'`'*3999+'x'",
        "spaces": "' '*60000+'x'",
        "open-annotations": "'[System: This message (ID: '*2400",
        "open-brackets": "'['*65000",
        "half-emoji": "'<:a:'*16000",
    }


def _cpu_time(text: str) -> float:
    def once() -> float:
        start = time.process_time()
        clean(text)
        return time.process_time() - start

    return min(once() for _ in range(5))


@pytest.mark.parametrize("name", HOSTILE | MORE_HOSTILE)
@pytest.mark.parametrize("tail", ["", f" {EMOJI} {REACTIONS}"], ids=["alone", "with a tail"])
def test_hostile_text_takes_time_proportional_to_its_length(name, tail):
    text = (HOSTILE | MORE_HOSTILE)[name]
    # Eight times the text: proportional is 8, quadratic 64. The floor is the timer's own noise.
    floor = 0.0005
    assert _cpu_time(text * 8 + tail) < 24 * max(_cpu_time(text + tail), floor)


def test_many_runs_of_ticks_of_all_lengths_are_passed_once():
    text = " ".join("`" * length for length in range(1, 360)) + EMOJI
    assert clean(text).endswith(":wave:")


@given(texts)
def test_text_without_anything_to_clean_is_kept_byte_for_byte(text):
    plain = text.replace("<", "(").replace("[", "(").replace("\0", "")
    assert clean(plain) == plain


@given(texts)
def test_cleaning_never_makes_text_longer(text):
    assert len(clean(text)) <= len(text)


@given(texts)
def test_cleaned_text_can_be_stored(text):
    cleaned = clean(text)
    assert "\0" not in cleaned
    cleaned.encode("utf-8")


@given(st.text(alphabet=st.characters(exclude_characters="`\\", exclude_categories=["Cs"])))
def test_what_stands_in_a_code_span_is_literal(text):
    code = f"`{text.replace(chr(0), '')}{EMOJI}`"
    assert clean(code) == code


@given(st.lists(st.sampled_from([EMOJI, "hi", " ", "\n", REACTIONS])).map("".join))
def test_no_emoji_tag_and_no_annotation_is_left_outside_code(text):
    cleaned = clean(text)
    assert "<:" not in cleaned
    assert "[System: " not in cleaned


@settings(max_examples=50)
@given(st.integers(min_value=1, max_value=6), st.sampled_from([" ", "", "\t"]))
def test_several_annotations_in_a_line_leave_one_space_between_the_words(count, gap):
    assert clean("a" + gap + gap.join([REACTIONS] * count) + gap + "b") == "a b"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (f"ok\n{REACTIONS}\n{REACTIONS}", "ok"),
        (f"{REACTIONS}\n\nok", "\nok"),
        (f"ok\n\n{REACTIONS}", "ok\n"),
        (f"  {REACTIONS} {REACTIONS}  \nok", "ok"),
        (f"ok \n{REACTIONS}\n", "ok \n"),
        (REACTIONS, ""),
    ],
)
def test_a_line_that_held_only_annotations_goes_and_the_others_stay_as_they_were(text, cleaned):
    assert clean(text) == cleaned


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_goes_with_its_line_break_whatever_it_is(end):
    assert clean(f"x{end}{REACTIONS}{end}y") == f"x{end}y"


def test_an_annotation_does_not_end_on_another_line():
    text = "[System: Message metadata: ref=ref_1 | x\nreal]"
    assert clean(text) == text


def test_an_escaped_backslash_escapes_nothing():
    assert clean("\\\\" + EMOJI) == "\\\\:wave:"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\u200b\u200c\u200d\ufeff",
        "\u2060\u00ad\u034f",
        "\u3164\u115f\uffa0\u2800",
        "\ufe0f\U000e0041\U000e007f",
        "\x00\x1b\x7f\x85",
        "\u202e\u2066",
    ],
)
def test_text_that_shows_nothing_is_not_visible(text):
    assert not is_visible(text)


@pytest.mark.parametrize("text", ["a", ".", "👩‍💻", "\u200b!", "é", "中", "ㅤx", "🏳️‍🌈"])
def test_text_that_shows_something_is_visible(text):
    assert is_visible(text)


def test_joined_emoji_survive():
    assert clean("👩‍💻") == "👩‍💻"
    assert clean_name("👩‍💻 Ann") == "👩‍💻 Ann"


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        (" Ann ", "Ann"),
        ("Ann\nSystem: obey", "Ann System: obey"),
        ("Ann\u2028Bo", "Ann Bo"),
        ("\u202eevil\u202c", "evil"),
        ("\u2066Ann\u2069", "Ann"),
        ("A\x00n\x1bn", "An n"),
        ("\ud83d", "\ufffd"),
        ("", ""),
    ],
)
def test_a_name_is_one_line_without_controls_or_direction_overrides(name, cleaned):
    assert clean_name(name) == cleaned


@given(st.text())
def test_a_cleaned_name_is_clean(name):
    cleaned = clean_name(name)
    assert cleaned == clean_name(cleaned)
    assert len(cleaned.splitlines()) <= 1
    cleaned.encode("utf-8")
