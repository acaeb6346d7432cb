"""Reads, deletions and paths that do not exist: query strings and ids in paths, good and bad."""

from urllib.parse import quote, urlencode

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fuzz.bodies import RAW_BODIES
from fuzz.shot import CANARY, Shot
from fuzz.values import CHANNELS, KEYS, NOT_AN_ID, SERVERS, TEXTS, USERS, ids, often, one_of_these

Pairs = list[tuple[str, str]]

# API Gateway takes no more.
_MAX_TARGET = 8_000

_COMMON = {
    "serverId": often(SERVERS, st.sampled_from(["", "DM"]), 4),
    "personaId": ids("p", 4),
    "personaLineageId": ids("p", 4),
    "isPrivateChannel": st.sampled_from(["true", "false"]),
    "scope": st.sampled_from(["user", "server"]),
    "includeOtherServers": st.sampled_from(["true", "false"]),
}
_OF = {
    "/v1/memories": {"limit": st.integers(0, 200).map(str)},
    "/v1/context": {
        "renderMode": st.sampled_from(["supersede", "crude_summary"]),
        "maxChannels": st.integers(0, 50).map(str),
        "maxLines": st.integers(0, 100).map(str),
        "maxChars": st.integers(1, 200_000).map(str),
        "refreshCadence": st.integers(1, 10_000).map(str),
    },
}
_READERS = often(USERS, st.just("heavy1"), 100)
_ODD_VALUES = NOT_AN_ID | one_of_these(
    [
        "-1",
        "201",
        "1e3",
        "9" * 5_000,
        "１２",
        " 5",
        "+5",
        "5.0",
        "TRUE",
        "yes",
        "null",
        "NaN",
        CANARY,
    ]
)
_PRINTABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def _bounded(target: str) -> str:
    # What is cut inside of an escape is one more broken escape.
    return target[:_MAX_TARGET]


def _query(pairs: Pairs) -> str:
    return urlencode(pairs, errors="surrogatepass")


@st.composite
def _reads(draw: DrawFn) -> Shot:
    path = draw(st.sampled_from(sorted(_OF)))
    given = draw(
        st.fixed_dictionaries(
            {"userId": _READERS, "channelId": CHANNELS}, optional=_COMMON | _OF[path]
        )
    )
    pairs = list(given.items())
    if draw(st.integers(0, 2)) < 2:
        return Shot("read", "GET", f"{path}?{_query(pairs)}")
    place = draw(st.integers(0, len(pairs) - 1))
    match draw(st.integers(0, 4)):
        case 0:
            del pairs[place]
        case 1:
            pairs.append((pairs[place][0], draw(_ODD_VALUES)))
        case 2:
            pairs.append((draw(KEYS), draw(TEXTS)))
        case 3:
            return Shot("spoiled read", "GET", _bounded(f"{path}?{draw(_PRINTABLE)}"))
        case _:
            pairs[place] = (pairs[place][0], draw(_ODD_VALUES))
    return Shot("spoiled read", "GET", _bounded(f"{path}?{_query(pairs)}"))


@st.composite
def _of_an_id(draw: DrawFn) -> Shot:
    method, before, subjects, after = draw(
        st.sampled_from(
            [
                ("DELETE", "/v1/users/", USERS, "/memories"),
                ("DELETE", "/v1/channels/", CHANNELS, "/memories"),
                ("GET", "/v1/users/", USERS, "/export"),
                ("GET", "/v1/users/", USERS, "/export"),
            ]
        )
    )
    if draw(st.integers(0, 2)) == 2:
        odd = NOT_AN_ID.map(lambda it: quote(it, safe="", errors="surrogatepass"))
        raw = _PRINTABLE.filter(lambda it: not {"?", "#", "/"} & set(it))
        named = draw(odd | raw)
    else:
        named = draw(subjects)
    target = f"{before}{named}{after}"
    if draw(st.integers(0, 3)) == 3:
        key = st.sampled_from(["c1", "c1:p1", "", "c1:p1:x", "\0", f"{CANARY}\0", "é:", ":"])
        continued = key.map(lambda it: f"shortterm:user:{named}:{it}")
        name = draw(often(st.just("after"), KEYS, 4))
        target += "?" + _query([(name, draw(continued | TEXTS))])
    return Shot("of an id", method, _bounded(target))


@st.composite
def _astray(draw: DrawFn) -> Shot:
    """Paths and methods that do not exist, and some that do."""
    path = draw(
        st.sampled_from(
            [
                "/",
                "//",
                "/v1/turns/",
                "/v1/turns//",
                "/v1//turns",
                "/v1/turns",
                "/v1/health",
                "/v1/memories",
                "/v1/users//memories",
                "/v1/users/a/b/memories",
                "/v1/users/%2e%2e/memories",
                f"/v2/{CANARY}",
                f"/{CANARY}%0d%0aX-{CANARY}:1",
            ]
        )
        | _PRINTABLE.map(lambda it: f"/{it}")
        | TEXTS.map(lambda it: "/v1/" + quote(it, errors="surrogatepass"))
    )
    body = draw(RAW_BODIES).body if draw(st.integers(0, 3)) == 3 else b""
    return Shot("astray", draw(st.sampled_from(_METHODS)), _bounded(path), body)


READS = _reads()
OF_AN_ID = _of_an_id()
ASTRAY = _astray()
