"""What an operator can set for the schema function, each an environment variable in capitals."""

from shortterm.settings import DatabaseSettings


class Settings(DatabaseSettings, frozen=True):
    """The database, as a user that may create tables and roles."""
