"""A cut between grapheme clusters: none is torn, and as much is kept as fits."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.graphemes import MAX_CLUSTER, cut

# Grapheme clusters, with the code points that they are written with.
CLUSTERS = [
    "👨\u200d👩\u200d👧\u200d👦",
    "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏻",
    "👍🏽",
    "🇩🇪",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "🏳\ufe0f\u200d🌈",
    "1\ufe0f\u20e3",
    "e\u0301",
    "ṩ\u0323\u0307",
    "नि",
    "a" + "\u0301" * (MAX_CLUSTER - 1),
]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_cluster_stays_whole_or_goes(cluster):
    whole = len("x" + cluster)
    kept = {limit: cut("x" * 99 + cluster + "y", 98 + limit) for limit in range(1, whole + 1)}
    assert set(kept.values()) == {"x" * 99, "x" * 99 + cluster}
    assert kept[whole] == "x" * 99 + cluster


@pytest.mark.parametrize("flags", [1, 2, 15, 16, 700])
def test_no_flag_is_torn_and_none_lost_that_fits(flags):
    text = "x" * 50 + "🇿🇦" * flags
    for limit in range(51, len(text)):
        assert cut(text, limit) == text[: limit - limit % 2]


def test_half_a_flag_at_the_end_is_no_reason_to_tear_the_last_whole_one():
    assert cut("x🇩🇪🇫", 3) == "x🇩🇪"


def test_half_a_flag_alone_is_a_character_like_any_other():
    assert cut("x🇩y", 2) == "x🇩"


@pytest.mark.parametrize("character", ["\u0301", "\u200d", "\U000e0067", "\U0001f3fb"])
def test_a_cluster_longer_than_any_character_is_cut_where_it_must(character):
    assert cut("xy" + character * 65_534, 1_500) == "xy" + character * 1_498


texts = st.lists(st.sampled_from([*CLUSTERS, "x", " ", "\n"]), max_size=20)


@given(texts, st.integers(MAX_CLUSTER, 200))
def test_a_cut_text_is_whole_clusters_and_as_many_as_fit(clusters, limit):
    fitting = ""
    for it in clusters:
        if len(fitting + it) > limit:
            break
        fitting += it
    assert cut("".join(clusters), limit) == fitting


@given(st.text(st.sampled_from("x\u0301\u200d🇩🏽\ufe0f👍")), st.integers(0, 50))
def test_a_cut_text_is_the_beginning_of_the_text_and_never_too_long(text, limit):
    kept = cut(text, limit)
    assert text.startswith(kept)
    assert min(len(text), limit) - MAX_CLUSTER < len(kept) <= limit


@pytest.mark.parametrize("character", ["x", "\u0301", "\u200d", "🇩", "🏽", "\U000e0067"])
def test_a_cut_takes_a_time_that_does_not_depend_on_the_text(character):
    def cpu_time(length):
        text = character * length
        start = time.process_time()
        for _ in range(100):
            cut(text, 1_500)
        return time.process_time() - start

    # Thirty times the text, of which as much is kept.
    assert min(cpu_time(65_536) for _ in range(3)) < 10 * min(cpu_time(2_000) for _ in range(3))
