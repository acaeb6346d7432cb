"""What an operator can set for the writer function, each an environment variable in capitals."""

from msgspec import Struct


class Settings(Struct, frozen=True):
    """`database_url` is a libpq connection URI, without password."""

    database_url: str
