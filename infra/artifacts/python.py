"""What the Lambda runtime's own Python has to do: compile, and choose the packages that fit it."""

import functools
import os
import subprocess
import sys
from pathlib import Path

from infra.artifacts import ROOT, CannotBuild

RUNTIME = "3.13"


@functools.cache
def interpreter() -> str:
    """Return an interpreter of the runtime's version. Raises CannotBuild."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == RUNTIME:
        return sys.executable
    return _run([str(ROOT / "requirements" / "python"), "--find", RUNTIME]).strip()


def compile_all(directory: Path, unpacked_in: str) -> None:
    """Compile what is in `directory`; tracebacks will name paths in `unpacked_in`.

    Lambda's file system is read-only and caches no bytecode. Unchecked: nobody edits the files
    there, so no import need compare them with their source. Raises CannotBuild.
    """
    how = ("-q", "--invalidation-mode=unchecked-hash", "-s", str(directory), "-p", unpacked_in)
    # Nothing that is set on this machine may show in the bytecode.
    _run([interpreter(), "-m", "compileall", *how, str(directory)], {})


def pip_install(requirements: Path, into: Path, *platform: str) -> None:
    """Install wheels only, those and no others that `requirements` pins. Raises CannotBuild."""
    how = ("--no-compile", "--no-deps", "--only-binary=:all:", "--require-hashes", *platform)
    what = ("--target", str(into), "--requirement", str(requirements))
    # By a virtual environment's pip, since the interpreter itself need not have one.
    pip = (sys.executable, "-m", "pip", "--python", interpreter(), "--disable-pip-version-check")
    environment = {name: it for name, it in os.environ.items() if name != "PYTHONPATH"}
    _run([*pip, "install", "-qq", *how, *what], environment)


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"{done.stderr}{done.stdout}".strip())
    return done.stdout
