"""docs/deploy.md says what the template asks for and gives."""

import re

from capture.rules import SkipReason
from tests.infra import stack
from tests.infra.assertions.watching import emitted

PAGE = (stack.ROOT / "docs" / "deploy.md").read_text("utf-8")


def _table_after(heading: str) -> list[tuple[str, str]]:
    """First and second cells of the first table below `heading`."""
    _, _, below = PAGE.partition(heading)
    table, *_ = re.findall(r"((?:^\|.*\n)+)", below, re.MULTILINE)
    rows = [row.split("|") for row in table.splitlines()[2:]]
    return [(row[1].strip(), row[2].strip()) for row in rows]


def test_every_parameter_is_documented_with_its_default():
    parameters = stack.source()["Parameters"]
    documented: dict[str, str] = {}
    for names, defaults in _table_after("## Parameters"):
        named = re.findall(r"`(\w+)`", names)
        given = [it.strip() for it in defaults.split(",")]
        # One default for all of a row, or one for each.
        documented.update(zip(named, given if len(given) > 1 else given * len(named), strict=True))
    assert documented == {
        name: str(parameter.get("Default", "must be answered"))
        for name, parameter in parameters.items()
    }


def test_every_output_is_documented():
    named = re.findall(r"`(\w+)`", " ".join(names for names, _ in _table_after("## Three answers")))
    assert named == list(stack.source()["Outputs"])


def test_what_it_costs_adds_up():
    tables = re.findall(r"((?:^\|.*\n)+)", PAGE.partition("## Costs")[2], re.MULTILINE)[:2]
    for table in tables:
        *prices, total = (float(it) for it in re.findall(r"(\d+\.\d\d)\**\s\|$", table, re.M))
        assert round(sum(prices), 2) == total


def test_the_alarms_are_counted():
    alarms = [
        it for it in stack.source()["Resources"].values() if it["Type"] == "AWS::CloudWatch::Alarm"
    ]
    assert f"| alarms | {len(alarms)} x 0.10 |" in PAGE


def test_the_custom_metrics_are_counted():
    # CloudWatch counts one of them once for each reason.
    metrics = len(emitted("capture")) + len(SkipReason) - 1 + len(emitted("writer"))
    assert f"| custom metrics | {metrics} (name and dimensions) x 0.30 |" in PAGE
