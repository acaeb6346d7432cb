"""Copies of a request with a few of its bytes changed: nearly what was drawn."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from fuzz.shot import Shot

_PIECES = (
    *(bytes([it]) for it in (0, 9, 10, 13, 27, 127, 128, 191, 192, 237, 254, 255)),
    *b'{ } [ ] : , " \\ null true -1 1e9 00 0.5 NaN \\u0000 \\ud800 \\udc00 {} [] ""'.split(),
    "\u202e".encode(),
    "\U0001f600".encode(),
    b"\xed\xa0\x80",
)
_IN_A_TARGET = "abz019._-~!$&'()*+,;=:@%/?<>|^`{}[]\"\\"
_ESCAPES = ("%00", "%2F", "%ff", "%C3%A9", "%ed%a0%80", "%25", "%", "%zz", "%0a")


def mutants(shot: Shot, random: Random, count: int) -> Iterator[Shot]:
    """Yield `count` changed copies of `shot`; what has no body has its target changed."""
    for _ in range(count):
        if shot.body and shot.encoded is None:
            yield replace(shot, source="mutant body", body=_changed(shot.body, random))
        else:
            yield replace(shot, source="mutant target", target=_aimed(shot.target, random))


def _changed(body: bytes, random: Random) -> bytes:
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        start = random.randrange(len(body) + 1)
        end = min(len(body), start + random.choice((0, 1, 1, 2, 8, 40)))
        match random.randrange(5):
            case 0:
                piece = b""
            case 1:
                piece = body[start:end] * 2
            case 2:
                piece = bytes([random.randrange(32, 127)])
            case _:
                piece = random.choice(_PIECES)
        body = body[:start] + piece + body[end:]
    return body


def _aimed(target: str, random: Random) -> str:
    # The first slash stays: without it there is no request.
    start = random.randrange(1, len(target) + 1)
    end = start + random.choice((0, 1, 1, 3))
    piece = random.choice(("", random.choice(_IN_A_TARGET), random.choice(_ESCAPES)))
    return target[:start] + piece + target[end:]
