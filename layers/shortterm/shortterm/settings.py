"""Typed settings out of the environment, checked once at start, all complaints in one message."""

import os
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from shortterm.wire import mismatch

S = TypeVar("S", bound=Struct)


class BadSettings(Exception):
    """The environment does not configure this function; names each bad setting, shows no value."""


class DatabaseSettings(Struct, frozen=True):
    """Where the database is, and how a function logs in to it.

    `database_url` is a libpq connection URI without password; with `database_iam_auth` the password
    is a token of AWS IAM.
    """

    database_url: str
    database_iam_auth: bool = False


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
            complaints.append(f"{name}: expected {mismatch(error).expected}")
    if complaints:
        raise BadSettings("Bad settings. " + "; ".join(complaints))
    return kind(**values)
