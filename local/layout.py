"""Where a container finds its code: a checkout, or artifacts laid out as Lambda unpacks them."""

import sys
from pathlib import Path
from typing import NamedTuple


class Layout(NamedTuple):
    """How to start Python, the working directory, and what comes first on `sys.path`."""

    python: tuple[str, ...]
    task_root: Path
    path: tuple[Path, ...]


def layout(code: Path, function: str) -> Layout:
    """Return the layout of `code` for a function.

    A checkout has `functions/` and `layers/`. Laid-out artifacts have `task/NAME` for each function
    (Lambda's /var/task), the layers in `opt`, and in `runtime` an interpreter and the runtime
    client; no other package can be found from there.
    """
    if not (code / "opt").is_dir():
        functions = code / "functions"
        return Layout((sys.executable,), functions, (functions, code / "layers" / "shortterm"))
    task, layers, runtime = code / "task" / function, code / "opt" / "python", code / "runtime"
    path = (task, layers / "lib" / "python3.13" / "site-packages", layers, runtime)
    return Layout((str(runtime / "python"), "-S"), task, path)
