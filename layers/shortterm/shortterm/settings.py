"""Typed settings out of the environment, checked once at start, all complaints in one message."""

import os
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from shortterm.clock import HOUR_MS
from shortterm.wire import mismatch

S = TypeVar("S", bound=Struct)
Hours = Annotated[float, Meta(gt=0, le=24 * 365)]


class BadSettings(Exception):
    """The environment does not configure this function; names each bad setting, shows no value."""


class DatabaseSettings(Struct, frozen=True):
    """Where the database is, and how a function logs in to it.

    `database_url` is a libpq connection URI without password; with `database_iam_auth` the password
    is a token of AWS IAM.
    """

    database_url: str
    database_iam_auth: bool = False


class EntrySettings(DatabaseSettings, frozen=True, kw_only=True):
    """And how long an entry lives from its last update, without and with a summary."""

    memory_ttl_hours: Hours = 12
    summary_ttl_hours: Hours = 24

    @property
    def memory_ttl_ms(self) -> int:
        return int(self.memory_ttl_hours * HOUR_MS)

    @property
    def summary_ttl_ms(self) -> int:
        return int(self.summary_ttl_hours * HOUR_MS)


def load(kind: type[S], environ: Mapping[str, str] = os.environ) -> S:
    """Return a `kind` whose fields are read from the variables of the same name in capitals.

    A field without default must be set; an empty variable counts as not set. Raises BadSettings.
    """
    values: dict[str, object] = {}
    complaints: list[str] = []
    for field in msgspec.structs.fields(kind):
        name = field.name.upper()
        text = environ.get(name, "").strip()
        if not text:
            if field.required:
                complaints.append(f"{name}: must be set")
            continue
        try:
            values[field.name] = msgspec.convert(text, field.type, strict=False)
        except msgspec.ValidationError as error:
            chosen = get_args(field.type) if get_origin(field.type) is Literal else ()
            expected = " or ".join(chosen) or mismatch(error).expected
            complaints.append(f"{name}: expected {expected}")
    if complaints:
        raise BadSettings("Bad settings. " + "; ".join(complaints))
    return kind(**values)
