"""The documents say what the code does: settings, metrics, fields and parameters."""

import re
import ssl
from pathlib import Path

import msgspec
import pytest

from capture.query import ContextQuery, ExportQuery, MemoriesQuery
from capture.refresh import Refresh
from capture.settings import Settings as CaptureSettings
from capture.turn import Message, PersonaResponse, Turn
from shortterm.telemetry import Metric
from tests.infra import stack
from tests.infra.assertion import of_type
from writer.settings import Settings as WriterSettings

ROOT = Path(__file__).parent.parent.parent


def first_cells(page: str) -> set[str]:
    """The code-quoted words in the first column of the page's tables."""
    rows = re.findall(r"^\| (`[^|]+) \|", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    return set(re.findall(r"`(\w+)`", " ".join(rows)))


def test_the_readme_lists_every_setting_with_its_default():
    page = (ROOT / "README.md").read_text("utf-8")
    settings = {
        field.name.upper(): field
        for kind in (CaptureSettings, WriterSettings)
        for field in msgspec.structs.fields(kind)
    }
    named = {cell for cell in first_cells("README.md") if cell.isupper()}
    assert named == {*settings, "LOG_LEVEL"}
    for name, field in settings.items():
        default = "must be set" if field.required else f"{field.default}"
        assert re.search(rf"\| `{name}` \| [^|]+ \| {default} \|", page), name


def test_every_metric_is_explained():
    named = first_cells("docs/metrics.md")
    assert {it for it in named if not it.endswith("Alarm")} == set(Metric)


def test_every_alarm_is_explained():
    named = first_cells("docs/metrics.md")
    alarms = of_type(stack.source(), "AWS::CloudWatch::Alarm")
    assert {it for it in named if it.endswith("Alarm")} == set(alarms)


@pytest.mark.parametrize(
    "kind", [Turn, Message, PersonaResponse, Refresh, MemoriesQuery, ContextQuery, ExportQuery]
)
def test_every_field_is_documented(kind):
    names = {field.encode_name for field in msgspec.structs.fields(kind)}
    assert names <= first_cells("docs/api.md")


def test_every_region_whose_certificates_are_shipped_is_named():
    trusted = ssl.create_default_context(
        cafile=ROOT / "layers/shortterm/certificates/rds-ca-bundle.pem"
    ).get_ca_certs()
    names = {value for it in trusted for ((key, value),) in it["subject"] if key == "commonName"}
    page = (ROOT / "docs/deploy.md").read_text("utf-8")
    (paragraph,) = re.findall(r"certificates we ship(.*?)younger region", page, re.DOTALL)
    assert set(re.findall(r"`(\w\w-[\w-]+-\d)`", paragraph)) == {
        region for name in names for region in re.findall(r"RDS (\S+) Root", name)
    }


def test_every_test_that_a_guarantee_names_is_there():
    page = (ROOT / "docs/guarantees.md").read_text("utf-8")
    named = re.findall(r"`((?:unit|integration|e2e)/\w+\.py)(?:::(\w+))?`", page)
    assert named
    for file, test in named:
        code = (ROOT / "tests" / file).read_text("utf-8")
        assert f"\ndef {test}" in code, f"{file}::{test}"
