"""What the linters say of the transformed template: nothing, or why it is so."""

import json
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from cfnlint.api import lint
from cfnlint.config import ManualArgs
from openapi_spec_validator import validate

from tests.infra import stack
from tests.infra.stack import ROOT, TEMPLATE, Template

# In an environment of its own, since it pins boto3.
CHECKOV = ROOT / ".venv-infra" / "bin" / "checkov"


def test_cfn_lint_has_no_error_and_no_warning():
    template = json.dumps(stack.transformed(), indent=1)
    complaints = lint(template, config=ManualArgs(regions=["eu-west-1", "us-east-1"]))
    assert [str(it) for it in complaints] == []


def test_cfn_lint_sees_what_is_wrong():
    template = stack.transformed()
    template["Resources"]["Database"]["Properties"]["MasterUserAuthenticationType"] = "none"
    template["Resources"]["WorkQueue"]["Properties"]["VisibilityTimeOut"] = 200
    complaints = lint(json.dumps(template, indent=1), config=ManualArgs(regions=["eu-west-1"]))
    assert {it.rule.id for it in complaints} == {"E3002", "E3030"}


@pytest.mark.parametrize("variant", stack.VARIANTS)
def test_the_api_is_valid_openapi(variant: str):
    validate(stack.stack(variant)["Resources"]["Api"]["Properties"]["Body"])


def _excused(template: Template) -> Iterator[tuple[str, str]]:
    for name, resource in template["Resources"].items():
        for skip in resource.get("Metadata", {}).get("checkov", {}).get("skip", []):
            yield name, skip["id"]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[tuple[str, str]]]:
    """What checkov says of the template without its excuses, and of a broken copy."""
    assert CHECKOV.exists(), "checkov is not installed: make .venv-infra/.ready"
    template = stack.transformed()
    for resource in template["Resources"].values():
        resource.get("Metadata", {}).pop("checkov", None)
    broken = deepcopy(template)
    broken["Resources"]["Database"]["Properties"]["PubliclyAccessible"] = True
    directory = tmp_path_factory.mktemp("checkov")
    for name, content in (("template", template), ("broken", broken)):
        (directory / f"{name}.json").write_text(json.dumps(content, indent=1))
    run = subprocess.run(  # noqa: S603
        [
            CHECKOV,
            *("--directory", directory, "--framework", "cloudformation", "--output", "json"),
            *("--compact", "--quiet", "--skip-download", "--soft-fail"),
        ],
        capture_output=True,
        check=True,
        cwd=directory,
        env={"PATH": "/usr/bin:/bin", "HOME": str(directory)},
        timeout=120,
    )
    report = json.loads(run.stdout)
    assert report["summary"]["parsing_errors"] == 0
    assert report["summary"]["passed"] > 200
    found: dict[str, set[tuple[str, str]]] = {"template": set(), "broken": set()}
    for it in report["results"]["failed_checks"]:
        resource = stack.origin(it["resource"].rpartition(".")[2])
        found[Path(it["file_path"]).stem].add((resource, it["check_id"]))
    return found


def test_checkov_complains_of_what_is_explained_beside_it_and_of_nothing_else(complaints):
    # Both ways: an excuse that nothing needs any more is stale.
    assert complaints["template"] == set(_excused(stack.source()))


def test_checkov_sees_what_is_wrong(complaints):
    assert complaints["broken"] - complaints["template"] == {("Database", "CKV_AWS_17")}


def test_every_excuse_has_a_reason():
    for name, resource in stack.source()["Resources"].items():
        for skip in resource.get("Metadata", {}).get("checkov", {}).get("skip", []):
            assert len(skip["comment"]) > 20, (name, skip["id"])


def test_cfn_lint_is_told_to_ignore_one_check_and_why():
    config = stack.source()["Metadata"]["cfn-lint"]["config"]
    assert config == {"ignore_checks": ["W1030"]}
    lines = TEMPLATE.read_text("utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if "ignore_checks" in line)
    assert lines[at - 1].lstrip().startswith("#")
