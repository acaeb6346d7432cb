"""What `make build` makes, unpacked as on Lambda and run under the real runtime client."""

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
import samples
from botocore.session import get_session

from infra.artifacts import ARCHITECTURE, rehearsal
from infra.artifacts.sizes import size_of
from local.container import Container
from local.functions import FUNCTIONS, settings_of
from local.layout import layout
from local.stack import Stack

ROOT = Path(__file__).parent.parent.parent
PACKAGES = (
    *("aws_lambda_powertools", "botocore", "cachetools", "jmespath", "msgspec", "psycopg"),
    *("psycopg_binary", "shortterm", "typing_extensions", "urllib3"),
)


@pytest.fixture
def invoke(stack, unpacked, tmp_path):
    """Run one event through a fresh container of the built function, on the stack's services."""

    def run(function: str, event: dict[str, Any]) -> Any:
        container = Container(
            FUNCTIONS[function],
            settings_of(FUNCTIONS[function], stack.services.endpoints),
            code=unpacked,
            lifeline=stack.services.lifeline,
            log=tmp_path / "log",
        )
        outcome = container.invoke(json.dumps(event).encode())
        container.kill()
        assert container.wait_until_ready() is None, (tmp_path / "log").read_text()
        return json.loads(outcome.payload)

    return run


@pytest.fixture
def probe(stack, unpacked):
    """Run a line of Python where the function runs, and return the JSON that it prints."""

    def run(function: str, program: str) -> Any:
        place = layout(unpacked, function)
        environment = settings_of(FUNCTIONS[function], stack.services.endpoints)
        done = subprocess.run(  # noqa: S603
            [*place.python, "-c", f"import json, sys\n{program}"],
            cwd=place.task_root,
            env={**environment, "PYTHONPATH": ":".join(map(str, place.path))},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def written(directory: Path) -> dict[str, tuple[int, int, str]]:
    """Return mode, time of change and digest of every file."""
    found = {}
    for path in directory.rglob("*"):
        if path.is_file():
            status = path.stat()
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            name = str(path.relative_to(directory))
            found[name] = (status.st_mode, status.st_mtime_ns, digest)
    return found


def top(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_two_builds_are_the_same_to_the_byte(artifacts, tmp_path):
    again = tmp_path / "elsewhere" / "again"
    rehearsal.build_all(again)
    assert written(again) == written(artifacts)


def test_a_function_holds_its_package_only(artifacts):
    functions = artifacts / "functions"
    assert top(functions) == {"capture", "writer", "schema", "deployment"}
    for name in top(functions):
        assert top(functions / name) == {name}
    suffixes = {path.suffix for path in functions.rglob("*") if path.is_file()}
    assert suffixes == {".py", ".pyc", ".sql"}


def test_each_file_that_the_code_reads_is_there(artifacts):
    for name in ("functions/schema/schema/migrations", "layers/shortterm/certificates"):
        source = ROOT / name.replace("schema/schema", "schema")
        assert top(artifacts / name) == top(source) != set()


def test_the_dependencies_are_all_there_for_one_platform_and_without_ballast(artifacts):
    site = artifacts / "layers" / "dependencies" / "python"
    assert {*PACKAGES} - {path.removesuffix(".py") for path in top(site)} == {"shortterm"}
    assert [it for it in top(site) if it.startswith(("pip", "setuptools", "bin"))] == []
    services = {path.name for path in (site / "botocore" / "data").iterdir() if path.is_dir()}
    assert services == {"sqs"}
    platforms = {path.name.split("cpython-", 1)[-1] for path in site.rglob("*.cpython-*.so")}
    assert len(platforms) == 1
    assert platforms.pop().startswith("313-")
    assert size_of(artifacts).unzipped < 40e6


def test_the_default_architecture_is_the_one_of_the_template():
    template = (ROOT / "infra" / "template.yaml").read_text("utf-8")
    (default,) = re.findall(
        r"^  Architecture:\n    Type: String\n    Default: (\w+)", template, re.M
    )
    assert default == ARCHITECTURE


def test_every_module_has_bytecode_that_nothing_checks_against_its_source(unpacked):
    sources = list(unpacked.rglob("*.py"))
    assert len(sources) > 500
    for source in sources:
        compiled = source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc"
        # PEP 552: bit 0 says hash-based, bit 1 that the source is to be checked.
        assert compiled.read_bytes()[4:8] == b"\1\0\0\0", compiled


def test_bytecode_names_the_paths_on_lambda(artifacts):
    for name, path in (
        ("functions/capture/capture", "/var/task/capture/memory.py"),
        ("layers/shortterm/python/shortterm", "/opt/python/shortterm/scope.py"),
        ("layers/dependencies/python/botocore", "/opt/python/botocore/session.py"),
    ):
        compiled = artifacts / name / "__pycache__" / f"{Path(path).stem}.cpython-313.pyc"
        assert path.encode() in compiled.read_bytes()


def test_all_that_runs_comes_out_of_the_artifacts(probe, unpacked):
    program = (
        f"import importlib; names = {PACKAGES};"
        "print(json.dumps([importlib.import_module(it).__file__ for it in names]))"
    )
    for function in FUNCTIONS:
        files = probe(function, f"import {function}.app; {program}")
        assert [it for it in files if not it.startswith(f"{unpacked}/opt/python/")] == []


@pytest.mark.parametrize(
    ("function", "unneeded"),
    [("capture", ["psycopg"]), ("writer", ["boto3", "botocore.session", "botocore.auth"])],
)
def test_a_cold_start_leaves_out_what_it_need_not_import(probe, function, unneeded):
    loaded = probe(function, f"import {function}.app; print(json.dumps(list(sys.modules)))")
    assert "aws_lambda_powertools" in loaded
    assert [it for it in unneeded if it in loaded] == []


def test_psycopg_is_the_compiled_one_and_knows_its_version(probe):
    program = "import psycopg; print(json.dumps([psycopg.pq.__impl__, psycopg.__version__]))"
    assert probe("writer", program) == ["binary", psycopg.__version__]


def test_sqs_is_found_in_every_region_and_by_tls(probe, unpacked):
    """What was taken out of botocore's data is not missed: the whole botocore says the same."""
    program = """
from botocore.httpsession import get_cert_path
from botocore.session import get_session
session = get_session()
regions = {
    region: session.create_client("sqs", region).meta.endpoint_url
    for partition in session.get_available_partitions()
    for region in session.get_available_regions("sqs", partition)
}
print(json.dumps([regions, get_cert_path(True)]))
"""
    regions, roots = probe("writer", program)
    session = get_session()
    assert len(regions) > 30
    assert regions == {it: session.create_client("sqs", it).meta.endpoint_url for it in regions}
    assert roots.startswith(f"{unpacked}/opt/python/")
    assert "BEGIN CERTIFICATE" in Path(roots).read_text("utf-8")


def test_a_login_token_can_be_signed(probe):
    url = "postgresql://stm_writer@db.example:5432/shortterm"
    program = f"from shortterm.iam import login_token; print(json.dumps(login_token({url!r})))"
    assert probe("writer", program).startswith("db.example:5432/?Action=connect&DBUser=stm_writer&")


@pytest.mark.parametrize(("name", "status", "says"), samples.API)
def test_each_api_event_is_answered(invoke, event, name, status, says):
    answer = invoke("capture", event(name))
    assert answer["statusCode"] == status
    assert f'"{says}"' in answer["body"]
    assert '"queued":false' not in answer["body"]


@pytest.mark.parametrize(("name", "failed"), samples.SQS)
def test_each_sqs_event_is_applied(invoke, event, name, failed):
    assert len(invoke("writer", event(name))["batchItemFailures"]) == failed


@pytest.mark.parametrize("name", samples.JANITOR)
def test_the_janitor_comes_when_it_is_told_to(invoke, event, name):
    assert invoke("writer", event(name))["complete"]


def test_the_schema_is_there_already(invoke, event):
    answer = invoke("schema", event("schema-migrate"))
    assert answer["applied"] == []
    assert answer["schema"] >= 3


def test_the_stack_runs_on_the_artifacts_and_writes_nothing_there(unpacked, tmp_path, make_place):
    before = written(unpacked)
    with Stack(state=tmp_path / "state", code=unpacked) as stack:
        place = make_place(stack)
        assert place.post()[1]["queued"]
        assert place.recall()["current"]["lines"][0]["content"] == "hello"
        place.until_counted({"user:c": 0, "server:c": 1})
    assert written(unpacked) == before
