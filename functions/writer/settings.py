"""What an operator can set for the writer function, each an environment variable in capitals."""

from shortterm.database import DatabaseSettings


class Settings(DatabaseSettings, frozen=True):
    """The database, as the role `stm_writer`."""
