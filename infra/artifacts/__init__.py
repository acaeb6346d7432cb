"""Builds what Lambda unpacks: a function's package alone, or a layer; see `__main__` for how."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FUNCTIONS = ("capture", "writer", "schema", "deployment")
LAYERS = ("dependencies", "shortterm")
# As in the template; see there for why.
ARCHITECTURE = "arm64"


class CannotBuild(Exception):
    """An artifact cannot be built; says what is missing."""
