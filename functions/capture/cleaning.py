"""Clean-up of what people and personas wrote: emoji tags, injected annotations, characters.

One pass from left to right, in time proportional to the length. Code is literal: a span opens with
a run of unescaped backticks and closes at the next run of exactly as many; a run that never closes
gives ticks back until a shorter one does, as chat clients read it.
"""

import re
from collections import deque
from itertools import pairwise

# Where something starts that is not plain text. Nothing in here repeats over an unbounded stretch
# that another alternative starts in, so a search never reads a stretch twice.
_TOKEN = re.compile(
    r"""\\.                                                             # an escape
      | (?P<ticks>`+)                                                   # code, perhaps
      | <a?:(?P<emoji>[A-Za-z0-9_]+(?:~[0-9]+)?):[0-9]{17,20}>          # a custom emoji
      | (?P<annotation>\[System:\ )                                     # an annotation, perhaps
    """,
    re.VERBOSE | re.DOTALL,
)
_TICKS = re.compile("`+")
_BRACKET = re.compile(r"[\[\]\n]")

# The annotations that carry per-turn handles (design, section 5.3). Only their heads are matched,
# and names are bounded: what follows is whatever the quoted message said.
_PER_TURN = re.compile(
    r"""\[System:\ (?:
        This\ message\ \(ID:\ ref_[0-9]+\)\ by\ [^\n]{1,200}?
            \ is\ replying\ to\ a\ previous\ message\ \(ID:\ ref_[0-9]+\)
      | Message\ metadata:\ ref=ref_[0-9]+\ \|
      | Reactions\ on\ this\ message:[ ]
      | [^\n]{1,200}?\ pinned\ a\ previous\ message\ \(ID:\ ref_[0-9]+\)
    )""",
    re.VERBOSE,
)

_NUL = "\0"
_SURROGATE = re.compile("[\ud800-\udfff]")

# Anything but white space, controls and what fonts draw as nothing (Unicode's default ignorables,
# and the blanks of Hangul and Braille).
_VISIBLE = re.compile(
    "[^\\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Controls, line separators and what turns the reading direction; joiners stay, emoji need them.
_NOT_IN_A_NAME = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]+"
)


def clean(text: str) -> str:
    """Return `text` as it is remembered (design, section 5.3).

    Text that carries neither a custom emoji nor a per-turn annotation, NUL or lone surrogate comes
    back as it was, byte for byte.
    """
    text = storable(text)
    # Most messages carry nothing of interest: three scans at the speed of memchr tell.
    if "<:" in text or "<a:" in text or "[System: " in text:
        return _rewritten(text)
    return text


def clean_name(name: str) -> str:
    """Return a speaker's name on one line, without controls or direction overrides."""
    if name.isascii() and name.isprintable():
        return name.strip()
    return " ".join(_NOT_IN_A_NAME.sub(" ", storable(name)).split())


def encodable(text: str) -> str:
    """Return `text` with U+FFFD for lone surrogates, so that UTF-8 can encode it."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def storable(text: str) -> str:
    """Return `text` without what Postgres and UTF-8 refuse: NUL and lone surrogates."""
    return encodable(text.replace(_NUL, "") if _NUL in text else text)


def is_visible(text: str) -> bool:
    """Tell whether a reader would see anything of `text`."""
    return _VISIBLE.search(text) is not None


def _rewritten(text: str) -> str:
    parts: list[str] = []
    cuts: list[int] = []  # where in the joined parts an annotation was taken out
    length = 0
    ticks = _TickRuns(text)
    ends: dict[int, int] | None = None
    kept = position = 0
    while token := _TOKEN.search(text, position):
        position = token.end()
        if token["ticks"]:
            position = ticks.code_end(token.start(), token.end())
        elif token["emoji"]:
            parts += (text[kept : token.start()], f":{token['emoji']}:")
            length += token.start() - kept + len(token["emoji"]) + 2
            kept = position
        elif token["annotation"]:
            ends = _bracket_ends(text, token.start()) if ends is None else ends
            end = ends.get(token.start())
            if end is not None and _PER_TURN.match(text, token.start(), end):
                parts.append(text[kept : token.start()])
                length += token.start() - kept
                cuts.append(length)
                kept = position = end
    parts.append(text[kept:])
    rewritten = "".join(parts)
    return _mended(rewritten, cuts) if cuts else rewritten


def _mended(text: str, cuts: list[int]) -> str:
    """Close the gaps at `cuts`: one space inside a line; a line that held nothing else goes."""
    parts: list[str] = []
    done = 0
    last_line_went = False
    pending = deque(cuts)
    while pending:
        start = text.rfind("\n", done, pending[0]) + 1 or done
        end = text.find("\n", pending[0])
        end = len(text) if end < 0 else end
        edges = [start]
        while pending and pending[0] <= end:
            edges.append(pending.popleft())
        first, *others = (text[a:b] for a, b in pairwise([*edges, end]))
        # Only the gaps are mended: how the line began and ended is the writer's.
        *inner, last = (it.lstrip(" \t") for it in others)
        pieces = [first.rstrip(" \t"), *(it.rstrip(" \t") for it in inner), last]
        line = " ".join(filter(None, pieces))
        parts.append(text[done:start])
        if line.strip("\r"):
            parts.append(line)
            done = end
        else:
            done = end + 1
            last_line_went = end == len(text)
    parts.append(text[done:])
    mended = "".join(parts)
    return mended.removesuffix("\n") if last_line_went else mended


class _TickRuns:
    """The runs of backticks in a text, asked from left to right where code ends."""

    def __init__(self, text: str) -> None:
        self._text = text
        # By length, the starts of the runs that are still ahead, the nearest last.
        self._ahead: dict[int, list[int]] | None = None

    def code_end(self, start: int, end: int) -> int:
        """Return where the code ends that the run of ticks from `start` to `end` opens.

        The longest opening that is ever closed wins; `end` when none is: the ticks are plain.
        """
        if self._ahead is None:
            self._ahead = {}
            for run in reversed(list(_TICKS.finditer(self._text))):
                self._ahead.setdefault(run.end() - run.start(), []).append(run.start())
        for length in range(end - start, 0, -1):
            starts = self._ahead.get(length, [])
            # What lies behind is never asked for again, so each run is passed once.
            while starts and starts[-1] < end:
                starts.pop()
            if starts:
                return starts[-1] + length
        return end


def _bracket_ends(text: str, start: int) -> dict[int, int]:
    """Return for each `[` from `start` on, balanced on its line, the position after its `]`."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for bracket in _BRACKET.finditer(text, start):
        match bracket[0]:
            case "[":
                opened.append(bracket.start())
            case "]":
                if opened:
                    ends[opened.pop()] = bracket.end()
            case _:
                opened.clear()
    return ends
