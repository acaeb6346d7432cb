"""No value of ours prints what somebody said, however it comes to be printed.

A log line, an error's message, a debugger that shows locals: all of them print a value by `repr`,
`str` or `format`. What is meant to be read (JSON on its way to the bot, a tuple's items) is not
printing; text that is no value of ours yet (a request's body) prints itself, and is why no log line
shows locals or the words of an error.
"""

import ast
import importlib
import inspect
import json
import logging
import pkgutil
import pprint
import re
import reprlib
import string
import traceback
import typing
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec
import pytest
from given import USERS, summarize, window
from msgspec import Struct

from shortterm.settings import DatabaseSettings
from shortterm.wire import Mismatch, Private
from shortterm.work import ScopeWork

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("capture", "writer", "schema", "shortterm")
# With a space and a quote: nothing that an id could be.
CANARY = "CANARY 'x"

# Values that no text of a person or a persona ever reaches, and what their text is instead.
WITHOUT_CONTENT = {
    "capture.container.Container": "an id that the container gave itself",
    "capture.container.MemoryState": "the same",
    "capture.passive_capture.Captured": "a checked id, and entries, which are Private",
    "capture.rules.Persona": "ids, checked when the turn was decoded",
    "schema.migrate.Migration": "SQL of this repository",
    "schema.migrate._Applied": "names of this repository",
    "writer.janitor._Task": "SQL of this repository",
    "writer.rows.Change": "ids, checked when the message was decoded",
}


def _modules() -> Iterator[Any]:
    for package in PACKAGES:
        place = importlib.import_module(package)
        for found in pkgutil.iter_modules(place.__path__, f"{package}."):
            yield importlib.import_module(found.name)


def _types() -> list[type]:
    return [
        found
        for module in _modules()
        for _, found in inspect.getmembers(module, inspect.isclass)
        if found.__module__ == module.__name__
    ]


def _is_value(it: type) -> bool:
    return issubclass(it, Struct) or hasattr(it, "_fields") or hasattr(it, "__dataclass_fields__")


VALUES = [it for it in _types() if _is_value(it)]
ERRORS = [it for it in _types() if issubclass(it, BaseException)]


def _name(it: type) -> str:
    return f"{it.__module__}.{it.__qualname__}"


def _made(kind: Any) -> Any:
    """A value of `kind` with the canary wherever a text can be."""
    origin, arguments = get_origin(kind), get_args(kind)
    match kind:
        case _ if origin is typing.Annotated:
            return _made(arguments[0])
        case _ if origin in (typing.Union, UnionType):
            telling = [it for it in arguments if it not in (type(None), msgspec.UnsetType)]
            return _made(str if str in telling else telling[0])
        case _ if origin is typing.Literal:
            return arguments[0]
        case _ if origin is dict:
            return {_made(arguments[0]): _made(arguments[1])}
        case _ if origin in (tuple, list, frozenset):
            return origin([_made(arguments[0])])
        case _ if origin is not None or not isinstance(kind, type):
            return lambda: CANARY
        case _ if kind in (str, bytes):
            return CANARY if kind is str else CANARY.encode()
        case _ if kind is msgspec.Raw:
            return msgspec.Raw(json.dumps(CANARY).encode())
        case _ if issubclass(kind, Enum):
            return next(iter(kind))
        case _ if kind in (int, float, bool):
            return kind(1)
        case _ if _is_value(kind):
            hints = typing.get_type_hints(kind)
            return kind(**{name: _made(hints[name]) for name in _fields(kind)})
    raise AssertionError(f"no value of {kind} can be made: say here how")


def _fields(kind: type) -> tuple[str, ...]:
    if issubclass(kind, Struct):
        return kind.__struct_fields__
    return tuple(getattr(kind, "_fields", None) or kind.__dataclass_fields__)


def _printed(value: object) -> Iterator[str]:
    """Whatever prints a value."""
    yield repr(value)
    yield str(value)
    yield f"{value} {value!s} {value!r} {value!a}"
    yield "%s %r" % (value, value)  # noqa: UP031
    yield string.Template("$value").substitute(value=value)
    for held in ([value], (value,), {"value": value}, {1: (value,)}):
        yield repr(held)
        yield pprint.pformat(held)
        yield reprlib.repr(held)
    yield pprint.pformat(value, width=1, compact=True)
    yield repr(list(getattr(value, "__rich_repr__", list)()))
    yield json.dumps(value, default=str, skipkeys=True)
    yield json.dumps({"extra": value}, default=repr, skipkeys=True)
    record = logging.LogRecord("log", logging.ERROR, __file__, 1, "%s %r", (value, value), None)
    record.value = value
    yield logging.Formatter("%(message)s %(value)s").format(record)
    yield from _raised(value)


def _raised(value: object) -> Iterator[str]:
    """What a traceback says, with the locals of its frames, of an error about the value."""

    def frame(held: object) -> None:
        try:
            raise LookupError(held)
        except LookupError as error:
            raise ValueError("after it", held) from error

    try:
        frame(value)
    except ValueError as error:
        yield "".join(traceback.format_exception(error))
        told = traceback.TracebackException.from_exception(error, capture_locals=True)
        # The lines of this file say the word themselves.
        yield "".join(told.format())


def _can_hold_words(kind: type) -> bool:
    """Whether some text of `kind` could be anything but an id, a choice or a setting."""
    if _name(kind) in WITHOUT_CONTENT or issubclass(kind, DatabaseSettings):
        return False
    if not issubclass(kind, Struct):
        return _holds(_made(kind))
    return any(_accepts_words(it.type) for it in msgspec.structs.fields(kind))


def _accepts_words(kind: Any) -> bool:
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _can_hold_words(kind) and not issubclass(kind, Private)
    if get_origin(kind) in (tuple, list, frozenset, dict):
        return any(map(_accepts_words, (it for it in get_args(kind) if it is not Ellipsis)))
    if kind is msgspec.Raw:
        return True
    try:
        msgspec.convert(CANARY, kind)
    except msgspec.ValidationError:
        return False
    return True


def _holds(value: object) -> bool:
    return any(CANARY in text for text in _printed(value))


@pytest.mark.parametrize("kind", VALUES, ids=_name)
def test_a_value_that_can_hold_words_prints_none(kind: type):
    value = _made(kind)
    if _can_hold_words(kind):
        assert [text for text in _printed(value) if CANARY in text] == []
        assert type(value).__name__ in repr(value)


def test_the_canary_is_where_it_could_be_printed():
    """The values that are made hold it, and a type that is not private does print it."""

    class Careless(Struct):
        text: str

    assert _can_hold_words(Careless)
    for text in _printed(Careless(CANARY)):
        assert CANARY in text or text == "[]" or "'x" in text
    holding = [
        it for it in VALUES if CANARY.encode() in msgspec.json.encode(_made(it), enc_hook=str)
    ]
    assert {"Turn", "Message", "Line", "Entry", "Window", "Notes", "Refresh"} <= {
        it.__name__ for it in holding
    }


def test_what_is_said_to_hold_no_words_is_there_and_would_print_them():
    known = {_name(it): it for it in VALUES}
    assert known.keys() >= WITHOUT_CONTENT.keys()
    for name in WITHOUT_CONTENT:
        assert _holds(_made(known[name])), f"{name} need not be excused"


def test_what_holds_values_prints_no_more_than_they_do(held):
    names = {"server_name": CANARY, "channel_name": CANARY}
    held.remember("t", [ScopeWork(USERS, live=True)], window(CANARY, author="u", **names))
    summarize(held, USERS, CANARY, mood=CANARY)
    for inside in (held, *vars(held).values(), *vars(held._entries).values()):
        assert not _holds(inside)
    assert CANARY in held.get(USERS).notes.summary


@pytest.mark.parametrize("error", ERRORS, ids=_name)
def test_an_error_holds_its_words_and_nothing_else(error: type[BaseException]):
    """Our own words: nothing that printing an error could show is kept beside them."""
    words = ("field", "text") if error is Mismatch else ("ours",)
    kept = vars(error(*words))
    assert kept == ({"field": "field", "expected": "text"} if error is Mismatch else {})


SOURCES = [
    path
    for package in PACKAGES
    for place in ("functions", "layers/shortterm")
    for path in sorted((ROOT / place / package).glob("*.py"))
]


def _offences(found: Callable[[ast.AST], Iterator[ast.AST]]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"  # type: ignore[attr-defined]
        for path in SOURCES
        for outer in ast.walk(ast.parse(path.read_text("utf-8")))
        for node in found(outer)
    ]


def _talks(node: ast.AST) -> Iterator[ast.AST]:
    """Log lines whose words are put together, or that show an error; and what prints at all."""
    if not isinstance(node, ast.Call):
        return
    function = ast.unparse(node.func)
    if function in ("print", "warnings.warn", "pprint.pprint", "traceback.print_exc"):
        yield node
    if re.fullmatch(r"logg(er|ing)\.(debug|info|warning|error|critical|exception|log)", function):
        named = {it.arg for it in node.keywords}
        constant = len(node.args) == 1 and isinstance(node.args[0], ast.Constant)
        if function == "logger.exception" or not constant or named - {"extra"}:
            yield node


def _chains(node: ast.AST) -> Iterator[ast.AST]:
    """Errors raised on the way out of another, whose words would be printed with theirs."""
    if isinstance(node, ast.ExceptHandler):
        for it in ast.walk(node):
            if isinstance(it, ast.Raise) and it.exc is not None:
                cause = it.cause
                if not (isinstance(cause, ast.Constant) and cause.value is None):
                    yield it


def test_a_log_line_has_words_of_its_own_and_shows_no_error():
    assert len(SOURCES) > 40
    assert _offences(_talks) == []


def test_no_error_brings_another_ones_words_along():
    assert _offences(_chains) == []


def test_both_are_found_where_they_are():
    bad = """
try:
    logger.warning(f"{body}")
    logger.error("failed", exc_info=True)
    print(body)
except ValueError as error:
    raise Mismatch("body", "text") from error
"""
    nodes = list(ast.walk(ast.parse(bad)))
    assert len([it for node in nodes for it in _talks(node)]) == 3
    assert len([it for node in nodes for it in _chains(node)]) == 1
