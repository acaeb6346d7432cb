"""The third-party packages of the dependencies layer, for Lambda's platform, without ballast."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from infra.artifacts import CannotBuild
from infra.artifacts.python import RUNTIME, pip_install

REQUIREMENTS = "requirements.txt"
MACHINES = {"arm64": "aarch64", "x86_64": "x86_64"}
# Lambda's python3.13 runs on Amazon Linux 2023, whose glibc is 2.34.
_PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")

# The services that the functions call; a client of any other cannot be made.
_SERVICES = ("sqs",)
_BALLAST = (
    "bin",
    "**/*.pyi",
    "**/py.typed",
    "botocore/data/*/*/examples-1.json",
    "dateutil/zoneinfo/*.tar.gz",  # AWS's times are UTC
    "aws_lambda_powertools/event_handler/openapi/swagger_ui/*.min.*",
)
# What stays of a package's metadata: its version, which psycopg asks for, and whose it is.
_METADATA = ("METADATA", "licenses", "LICENSE", "LICENSE.txt", "LICENSE.rst", "NOTICE")


def install(requirements: Path, into: Path, architecture: str) -> None:
    """Install what `requirements` pins, for `architecture` of Lambda's. Raises CannotBuild."""
    if architecture not in MACHINES:
        raise CannotBuild(f"ARCHITECTURE is {' or '.join(MACHINES)}, not {architecture}")
    pip_install(
        requirements,
        into,
        *("--implementation=cp", f"--python-version={RUNTIME}"),
        *(f"--platform={it}_{MACHINES[architecture]}" for it in _PLATFORMS),
    )
    for path in set(_ballast(into)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    _trim_endpoints(into / "botocore" / "data" / "endpoints.json")


def _ballast(site: Path) -> Iterator[Path]:
    for pattern in _BALLAST:
        yield from site.glob(pattern)
    for path in (site / "botocore" / "data").iterdir():
        if path.is_dir() and path.name not in _SERVICES:
            yield path
    for path in site.glob("*.dist-info/*"):
        if path.name not in _METADATA:
            yield path


def _trim_endpoints(endpoints: Path) -> None:
    """Leave the endpoints of our services: botocore parses the file whenever a container starts."""
    content = json.loads(endpoints.read_bytes())
    for partition in content["partitions"]:
        services = partition["services"]
        partition["services"] = {name: services[name] for name in _SERVICES if name in services}
    endpoints.write_text(json.dumps(content, separators=(",", ":")), "ascii")
