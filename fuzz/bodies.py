"""Bodies of turns and summaries: good ones, spoiled ones, and what is no JSON at all."""

import base64
import copy
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fuzz.shot import CANARY, Shot
from fuzz.values import (
    ANYTHING,
    CHANNELS,
    JSON,
    KEYS,
    PERSONAS,
    RAW,
    SERVER_OR_NONE,
    TEXTS,
    TIMES,
    USERS,
    ids,
    often,
    one_of_these,
    written,
)

Fields = dict[str, Any]

_NAMES = TEXTS.map(lambda text: text[:256])
_CONTENTS = TEXTS.map(lambda text: text[:65_536])
_MESSAGES = st.fixed_dictionaries(
    {
        "authorType": st.sampled_from(["user", "persona", "system", CANARY]),
        "authorName": _NAMES,
        "content": _CONTENTS,
    },
    optional={"personaName": st.none() | _NAMES, "authorId": USERS, "createdAt": TIMES},
)
_RESPONSES = st.fixed_dictionaries(
    {"text": _CONTENTS},
    optional={
        "personaId": PERSONAS,
        "personaLineageId": PERSONAS,
        "personaName": st.none() | _NAMES,
    },
)
_TURNS = st.fixed_dictionaries(
    {
        "userId": USERS,
        "channelId": CHANNELS,
        "privacyLevel": st.sampled_from(["MINIMAL", "PARTIAL", "MINIMAL", "FULL"]),
        "simplifiedMessages": often(
            st.lists(_MESSAGES, min_size=1, max_size=4), st.just([]), one_in=10
        ),
        "personaResponses": st.lists(_RESPONSES, min_size=1, max_size=3),
    },
    optional={
        "turnId": ids("t", 100_000),
        "occurredAt": TIMES,
        "serverId": SERVER_OR_NONE,
        "serverName": _NAMES,
        "channelName": st.none() | _NAMES,
        "parentChannelId": CHANNELS,
        "isPrivateChannel": st.none() | st.booleans(),
        "isStopResponse": st.sampled_from([False, False, False, True]),
        CANARY: JSON,
    },
)
_CATEGORY_NAMES = st.sampled_from(["gear", "plans", "mood", CANARY]) | TEXTS
_SUMMARIES = st.fixed_dictionaries(
    {"userId": USERS, "channelId": CHANNELS},
    optional={
        "serverId": SERVER_OR_NONE,
        "personaId": PERSONAS,
        "personaLineageId": PERSONAS,
        "parentChannelId": CHANNELS,
        "isPrivateChannel": st.none() | st.booleans(),
        "occurredAt": TIMES,
        "summary": st.none() | _CONTENTS,
        "categories": st.none()
        | st.dictionaries(_CATEGORY_NAMES, st.none() | TEXTS.map(lambda it: it[:500]), max_size=6),
        CANARY: JSON,
    },
)

# The largest bodies that Lambda takes, and what is slow to clean, in texts of one letter or word.
_HEAVY_WORDS = (
    "a",
    "é",
    "\U0001f600",
    '"',
    "\\",
    "\0",
    "`",
    "<:a:1>",
    "[System: ",
    "[",
    "]\n",
    "\n",
)
_HEAVY_BYTES = 4 * 2**20


@st.composite
def _spoiled(draw: DrawFn, fields: Fields) -> Fields:
    """Return `fields` with something missing, unknown or replaced, at any depth."""
    fields = copy.deepcopy(fields)
    holders = list(_holders(fields))
    holder = draw(st.sampled_from(holders))
    if isinstance(holder, dict):
        known = st.sampled_from(sorted(holder)) if holder else KEYS
        name = draw(often(known, KEYS, 4))
        if name in holder and draw(st.booleans()):
            del holder[name]
        else:
            holder[name] = draw(ANYTHING)
    else:
        holder.append(draw(ANYTHING))
    return fields


def _holders(value: Any) -> list[Any]:
    """Return every object and array in `value`, itself first."""
    match value:
        case dict():
            return [value, *(it for inner in value.values() for it in _holders(inner))]
        case list():
            return [value, *(it for inner in value for it in _holders(inner))]
        case _:
            return []


@st.composite
def _as_bytes(draw: DrawFn, fields: Fields) -> bytes:
    """Return `fields` as JSON, most of it good, some with a key twice, some cut or overwritten."""
    text = written(fields, ascii_only=draw(st.booleans()))
    # Here and below the small numbers, which are drawn more often, leave it good.
    match draw(st.integers(0, 30)):
        case 28:
            name = draw(st.sampled_from([*sorted(fields), CANARY]))
            twice = f"{written(name)}:{written(draw(ANYTHING))},"
            text = "{" + twice * (2 - (name in fields)) + text[1:]
        case 29:
            text = f" \t\r\n{text}\n\n"
        case 30:
            text = draw(st.sampled_from(["\ufeff", "[", "\0", CANARY])) + text
    # A lone surrogate that is not escaped is not UTF-8.
    body = text.encode("utf-8", "surrogatepass")
    match draw(st.integers(0, 40)):
        case 37:
            return body[: draw(st.integers(0, len(body)))]
        case 38:
            place = draw(st.integers(0, len(body)))
            return body[:place] + draw(st.binary(min_size=1, max_size=6)) + body[place:]
        case 39:
            place = draw(st.integers(0, len(body)))
            return body[:place] + draw(st.binary(min_size=1, max_size=6)) + body[place + 1 :]
        case 40:
            return text.encode("utf-16", "surrogatepass")
    return body


@st.composite
def _posted(draw: DrawFn, source: str, whole: SearchStrategy[Fields]) -> Shot:
    fields = draw(whole)
    if draw(st.integers(0, 2)) == 2:
        source = f"spoiled {source}"
        fields = draw(_spoiled(fields))
    body = draw(_as_bytes(fields))
    return draw(_shots(source, body))


@st.composite
def _shots(draw: DrawFn, source: str, body: bytes) -> Shot:
    method, target = ("PUT", "/v1/summaries") if "summary" in source else ("POST", "/v1/turns")
    encoded = None
    match draw(st.integers(0, 20)):
        case 19:
            encoded = base64.b64encode(body).decode()
        case 20:
            cut = base64.b64encode(body).decode()[:-1]
            encoded = draw(one_of_these([cut, "%%%", "YQ", "é", CANARY]))
    return Shot(source, method, target, body, encoded)


@st.composite
def _raw(draw: DrawFn) -> Shot:
    body = draw(
        st.binary(max_size=64)
        | one_of_these(RAW).map(str.encode)
        | ANYTHING.map(lambda it: written(it).encode())
        | st.integers(1, 200_000).map(lambda depth: b"[" * depth)
        | st.integers(1, 3_000).map(lambda depth: b'{"x":' * depth + b"1" + b"}" * depth)
        | TEXTS.map(lambda it: it.encode("utf-8", "surrogatepass"))
    )
    return draw(_shots(draw(st.sampled_from(["raw turn", "raw summary"])), body))


@st.composite
def _heavy(draw: DrawFn) -> Shot:
    word = draw(st.sampled_from(_HEAVY_WORDS))
    length = draw(st.sampled_from([65_536, 5_000, 300])) // len(word)
    content = word * length
    weight = len(written(content, ascii_only=False).encode())
    # Ten lines are kept; now and then as many are sent as Lambda takes.
    count = draw(often(st.integers(8, 12), st.just(1_000), one_in=10))
    count = min(count, _HEAVY_BYTES // weight)
    message = {"authorType": "user", "authorName": "Ann", "content": content}
    turn = {
        "userId": draw(ids("heavy", 200)),
        "channelId": draw(CHANNELS),
        "serverId": draw(st.sampled_from([None, "heavy"])),
        "privacyLevel": "MINIMAL",
        "simplifiedMessages": [message] * count,
        "personaResponses": [{"text": "Tea?", "personaId": draw(PERSONAS)}],
    }
    return Shot("heavy turn", "POST", "/v1/turns", written(turn, ascii_only=False).encode())


TURNS = _posted("turn", _TURNS)
SUMMARIES = _posted("summary", _SUMMARIES)
RAW_BODIES = _raw()
HEAVY_TURNS = _heavy()
