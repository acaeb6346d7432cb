"""What fields are filled with: mostly what they are for, now and then anything."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fuzz.shot import CANARY

T = TypeVar("T")

# JSON that `json.dumps` would not write; a string that names one is replaced by it.
RAW = (
    "1e400",
    "-1e999999",
    "1E+2",
    "-0",
    "0.1e-400",
    "9" * 4_301,
    "9" * 100_000,
    "-" + "9" * 60,
    "01",
    "+1",
    "0x10",
    "1.",
    "NaN",
    "-Infinity",
    "tru",
    "'single'",
    "/**/",
    "[" * 200 + "]" * 200,
    "[" * 100_000 + "]" * 100_000,
    '{"a":' * 100_000 + "1" + "}" * 100_000,
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\u0000"',
    '"\\x00"',
    '"\x00\x1f"',
    f'{{"{CANARY}":1,"{CANARY}":2}}',
)
_RAW_NAMES = [f"@raw:{number}@" for number in range(len(RAW))]

_TEXTS = (
    "",
    " ",
    "hello",
    "\0",
    "\0" + CANARY,
    "\x1b[2J\x7f\x85",
    "\u2028\u2029\ufeff",
    "\u202egnp.exe\u202c",
    "\u200b\u200d\u2060\u3164",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea e\u0301\u0300",
    "\ud800",
    "\udfff\ud800" + CANARY,
    "\ufffe\uffff\U0010ffff",
    "<:wave:123> <a:b:1> <:" + CANARY,
    "[System: Message metadata: ref=ref_1 | x] " + CANARY,
    "[System: " * 50,
    "`" * 99 + "``" * 99,
    "\n\n[This channel, just now]\nMara: " + CANARY,
    "a" * 256,
    "a" * 257,
    "\U0001f600" * 501,
    "x" * 1_501,
    "y" * 65_536,
    "z" * 65_537,
    "DM",
    "null",
    "'; DROP TABLE short_term_memories; --",
    "{}%s%(x)s",
    "a,b",
    "shortterm:user:u1:c1",
)


def often(common: SearchStrategy[T], rare: SearchStrategy[Any], one_in: int) -> SearchStrategy[Any]:
    """Return `common` but for one draw of `one_in`."""
    return st.integers(1, one_in).flatmap(lambda drawn: rare if drawn == one_in else common)


def one_of_these(values: Sequence[T]) -> SearchStrategy[T]:
    """Return one of `values` by its place: hypothesis takes long to show large ones."""
    return st.sampled_from(range(len(values))).map(values.__getitem__)


TEXTS = one_of_these(_TEXTS) | st.text(st.characters(exclude_categories=()), max_size=24).flatmap(
    lambda text: st.sampled_from([text, text + CANARY, CANARY + text])
)

KEYS = st.sampled_from([CANARY, "userId", "content", "", "\0", "\ud800", "__proto__"]) | TEXTS

# JSON, and nothing that only Python's would write or read.
JSON: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([2**63, 10**30, 1e300]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=4,
)
ANYTHING: SearchStrategy[Any] = (
    JSON
    | st.floats()
    | st.sampled_from(_RAW_NAMES)
    | st.fixed_dictionaries({CANARY: st.sampled_from(_RAW_NAMES) | JSON})
)


def ids(letter: str, count: int) -> SearchStrategy[str]:
    """Return ids of which requests share a few, some unseen ones and the edges of the shape."""
    few = st.integers(0, count - 1).map(lambda number: f"{letter}{number}")
    return often(
        few,
        st.sampled_from([CANARY, "-", ".", "..", "_" * 64, "0"])
        | st.from_regex(r"[A-Za-z0-9_.-]{1,64}", fullmatch=True),
        8,
    )


USERS, SERVERS, CHANNELS = ids("u", 30), ids("s", 5), ids("c", 12)
PERSONAS = st.none() | ids("p", 4) | st.integers(0, 4) | st.just(2**53 - 1)
TIMES = st.none() | st.integers(0, 253_402_300_799_999)
SERVER_OR_NONE = often(SERVERS, st.sampled_from([None, "", "DM"]), 3)
NOT_AN_ID = (
    st.sampled_from([f"{CANARY}:x", f" {CANARY}", f"{CANARY}\n", "a" * 65, "é", "\0", "", "%00"])
    | TEXTS
)


def written(value: Any, *, ascii_only: bool = True) -> str:
    """Return `value` as JSON, with RAW where a string names a piece of it."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    for name, raw in zip(_RAW_NAMES, RAW, strict=True):
        if name in text:
            text = text.replace(f'"{name}"', raw)
    return text
