"""`python -m infra.artifacts DIRECTORY INTO`: builds functions/NAME or layers/NAME in INTO.

The architecture is that of the environment's ARCHITECTURE: `arm64`, the default, or `x86_64`.
"""

import os
import sys
from pathlib import Path

from infra.artifacts import ARCHITECTURE, CannotBuild
from infra.artifacts.build import build


def main(arguments: list[str]) -> int:
    source, into = map(Path, arguments)
    try:
        build(source.resolve(), into.resolve(), os.environ.get("ARCHITECTURE") or ARCHITECTURE)
    except CannotBuild as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
