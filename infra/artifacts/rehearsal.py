"""Built artifacts laid out as Lambda unpacks them, to be run here (see `local.layout`)."""

import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from infra.artifacts import FUNCTIONS, LAYERS, ROOT, CannotBuild
from infra.artifacts.build import build
from infra.artifacts.dependencies import MACHINES
from infra.artifacts.python import compile_all, interpreter, pip_install

# What Lambda's runtime brings: its client with what that needs, and boto3.
_RUNTIME_PACKAGES = ("awslambdaric", "simplejson", "snapshot-restore-py", "boto3", "s3transfer")


def build_all(into: Path) -> None:
    """Build every artifact for this machine in a directory of its name. Raises CannotBuild."""
    if platform.system() != "Linux":
        raise CannotBuild("The artifacts hold Linux binaries: they run on Linux only")
    architecture = next(it for it, name in MACHINES.items() if name == platform.machine())
    for source in sources():
        build(source, into / source.relative_to(ROOT), architecture)


def lay_out(artifacts: Path, into: Path) -> None:
    """Unpack what `build_all` has built: functions in `task`, all layers in `opt`, in order.

    Nobody may write there. The runtime's own parts are added in `runtime`. Raises CannotBuild.
    """
    shutil.copytree(artifacts / "functions", into / "task")
    for name in LAYERS:
        shutil.copytree(artifacts / "layers" / name, into / "opt", dirs_exist_ok=True)
    _install_runtime(into / "runtime")
    for path in (into, *into.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)


def sources() -> Iterator[Path]:
    """Yield every directory that an artifact is built from."""
    yield from (ROOT / "functions" / name for name in FUNCTIONS)
    yield from (ROOT / "layers" / name for name in LAYERS)


def _install_runtime(into: Path) -> None:
    into.mkdir()
    names = "|".join(_RUNTIME_PACKAGES)
    locked = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    # A requirement and its hashes, on lines that a backslash joins.
    found = re.findall(rf"^(?:{names})==(?:.*\\\n)*.*\n", locked, re.MULTILINE)
    requirements = into / "requirements.txt"
    requirements.write_text("".join(found), "utf-8")
    pip_install(requirements, into)
    compile_all(into, "/var/runtime")
    (into / "python").symlink_to(Path(interpreter()).resolve())
