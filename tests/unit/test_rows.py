"""What a batch does to each row: sums, firsts and latests, in one order. Pure."""

import pytest
from given import NOW, work
from hypothesis import given
from hypothesis import strategies as st

from writer.store import _joined, rows

batches = st.lists(
    st.builds(
        lambda turn, channel, persona, at: work(
            f"t{turn}", channel=channel, persona=persona, at=NOW + at
        ),
        st.integers(0, 5),
        st.sampled_from("ab"),
        st.sampled_from([None, "7"]),
        st.integers(0, 3),
    ),
    max_size=12,
)


@given(batches)
def test_each_turn_counts_once_and_only_if_it_is_new(batch):
    ids = {it.turn_id for it in batch}
    new = {it for it in ids if it != "t0"}
    assert sum(row.turns for row in rows(batch, new)) == len(new)


@given(batches)
def test_there_is_one_row_per_scope_in_the_order_of_their_keys(batch):
    found = [row[:4] for row in rows(batch, ())]
    keys = [(*key[:3], key[3] or "") for key in found]
    assert keys == sorted(set(keys))
    assert len(found) == len({it.scope for each in batch for it in each.scopes})


@given(batches, st.randoms())
def test_the_order_of_a_batch_does_not_matter_where_times_differ(batch, chance):
    distinct = list({it.turn_id: it for it in batch}.values())
    apart = [work(it.turn_id, at=NOW + number) for number, it in enumerate(distinct)]
    shuffled = chance.sample(apart, len(apart))
    ids = {it.turn_id for it in apart}
    assert rows(shuffled, ids) == rows(apart, ids)


def test_an_array_is_not_shifted_by_a_comma():
    with pytest.raises(ValueError, match="comma"):
        _joined(["a,b", "c"])
