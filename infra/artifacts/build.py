"""One artifact, from a directory of the repository, the same bytes whenever and wherever built."""

import os
import shutil
from pathlib import Path

from infra.artifacts import ARCHITECTURE, CannotBuild, dependencies
from infra.artifacts.python import compile_all

# Nothing else gets in: no Makefile, no stray file of an editor, no bytecode of another Python.
_SHIPPED = {".py", ".sql", ".pem"}
# In every file's place for a time of change, so that two builds zip alike: 2000-01-01.
_EPOCH = 946_684_800


def build(source: Path, into: Path, architecture: str = ARCHITECTURE) -> None:
    """Fill `into` with what Lambda unpacks for `source`, a directory in functions/ or layers/.

    Raises CannotBuild.
    """
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise CannotBuild(f"{into} is not empty")
    if (source / dependencies.REQUIREMENTS).exists():
        dependencies.install(source / dependencies.REQUIREMENTS, into / "python", architecture)
        unpacked_in = "/opt"
    elif source.parent.name == "layers":
        _copy(source / source.name, into / "python" / source.name)
        _copy(source / "certificates", into / "certificates")
        unpacked_in = "/opt"
    else:
        _copy(source, into / source.name)
        unpacked_in = "/var/task"
    compile_all(into, unpacked_in)
    _seal(into)


def _copy(source: Path, into: Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.suffix in _SHIPPED:
            target = into / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def _seal(directory: Path) -> None:
    """Give all the same time of change, and modes that any user of Lambda's can read with."""
    for path in directory.rglob("*"):
        executable = path.is_dir() or path.suffix == ".so"
        path.chmod(0o755 if executable else 0o644)
        os.utime(path, (_EPOCH, _EPOCH))
