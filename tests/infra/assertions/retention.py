"""What the janitor deletes, when, and that nothing which is still needed is among it."""

import ast
import json
from collections.abc import Iterator
from typing import Any

from tests.infra.assertion import about_the_stack, about_the_template, of_type, properties
from tests.infra.stack import ROOT, Template

WRITER = ROOT / "functions" / "writer" / "app.py"
DAY_S = 24 * 3600
HOURS = {"rate(1 hour)": 1, "rate(1 day)": 24}
# What must be known of a message for as long as it can be delivered: parameter, and its variable.
KEPT = {
    "LedgerRetentionDays": "LEDGER_RETENTION_DAYS",
    "TombstoneRetentionDays": "TOMBSTONE_RETENTION_DAYS",
    "RowRetentionDays": "ROW_RETENTION_DAYS",
}


def _variables(template: Template, function: str) -> dict[str, Any]:
    found: dict[str, Any] = properties(template, function)["Environment"]["Variables"]
    return found


def _rule(stack: Template) -> dict[str, Any]:
    [rule] = of_type(stack, "AWS::Events::Rule").values()
    return rule


def _words(event: dict[str, str]) -> set[str]:
    return {*event, *event.values()}


@about_the_stack
def the_janitor_comes_and_is_understood(stack: Template) -> Iterator[str]:
    [(name, rule)] = of_type(stack, "AWS::Events::Rule").items()
    [target] = rule["Targets"]
    if target["Arn"] != "WriterFunction.Arn":
        yield "the janitor's call goes to another function"
    if f"{name}.Arn" not in [
        it.get("SourceArn")
        for it in of_type(stack, "AWS::Lambda::Permission").values()
        if it["FunctionName"] == "WriterFunction"
    ]:
        yield "the schedule may not call the writer"
    if rule.get("State", "ENABLED") != "ENABLED" or rule["ScheduleExpression"] not in HOURS:
        yield "nobody tidies for more than a day"
    called = json.loads(target.get("Input", "{}"))
    # The module cannot be imported without its environment.
    tree = ast.walk(ast.parse(WRITER.read_text("utf-8")))
    known = {it.value for it in tree if isinstance(it, ast.Constant) and isinstance(it.value, str)}
    if called != {"action": "tidy"} or not _words(called) <= known:
        yield f"the writer does not understand {called}"


@the_janitor_comes_and_is_understood.broken
def another_word_for_it(stack: Template) -> None:
    _rule(stack)["Targets"][0]["Input"] = '{"action": "clean"}'


@the_janitor_comes_and_is_understood.broken
def what_eventbridge_says_by_itself(stack: Template) -> None:
    del _rule(stack)["Targets"][0]["Input"]


@the_janitor_comes_and_is_understood.broken
def capture_asked_to_tidy(stack: Template) -> None:
    _rule(stack)["Targets"][0]["Arn"] = "CaptureFunction.Arn"


@the_janitor_comes_and_is_understood.broken
def a_schedule_without_permission(stack: Template) -> None:
    del stack["Resources"]["WriterFunctionTidyPermission"]


@the_janitor_comes_and_is_understood.broken
def a_schedule_turned_off(stack: Template) -> None:
    _rule(stack)["State"] = "DISABLED"


@the_janitor_comes_and_is_understood.broken
def once_a_month(stack: Template) -> None:
    _rule(stack)["ScheduleExpression"] = "rate(30 days)"


@about_the_stack
def a_displaced_janitor_comes_later_and_not_twice(stack: Template) -> Iterator[str]:
    [config] = of_type(stack, "AWS::Lambda::EventInvokeConfig").values() or [{}]
    interval = HOURS[_rule(stack)["ScheduleExpression"]] * 3600
    # Six hours and two more tries, unless it says something else.
    age, tries = config.get("MaximumEventAgeInSeconds"), config.get("MaximumRetryAttempts")
    if config.get("FunctionName") != "WriterFunction" or age is None or age > interval:
        yield "janitors that found no container wait for it together"
    # Many full writers' time: the writers that displace it may be at work for long.
    elif age < 20 * properties(stack, "WriterFunction")["Timeout"]:
        yield "a janitor that finds no container is soon forgotten"
    if tries != 0:
        yield "what failed is tried again at once, and alarms again, though the next hour does it"


@a_displaced_janitor_comes_later_and_not_twice.broken
def as_long_as_lambda_likes(stack: Template) -> None:
    del stack["Resources"]["WriterFunctionEventInvokeConfig"]


@a_displaced_janitor_comes_later_and_not_twice.broken
def longer_than_the_interval(stack: Template) -> None:
    properties(stack, "WriterFunctionEventInvokeConfig")["MaximumEventAgeInSeconds"] = 21600


@a_displaced_janitor_comes_later_and_not_twice.broken
def given_up_at_once(stack: Template) -> None:
    properties(stack, "WriterFunctionEventInvokeConfig")["MaximumEventAgeInSeconds"] = 60


@a_displaced_janitor_comes_later_and_not_twice.broken
def tried_three_times(stack: Template) -> None:
    del properties(stack, "WriterFunctionEventInvokeConfig")["MaximumRetryAttempts"]


def _longest_life(template: Template) -> float:
    """Days that a message lives; a dead letter's age counts from when it was first sent."""
    queues = of_type(template, "AWS::SQS::Queue").values()
    return max(int(queue["MessageRetentionPeriod"]) for queue in queues) / DAY_S


@about_the_stack
def ledger_tombstones_and_rows_outlive_every_message(stack: Template) -> Iterator[str]:
    life = _longest_life(stack)
    for variable in KEPT.values():
        # A day more for what waited in a container's outbox.
        if float(_variables(stack, "WriterFunction")[variable]) < life + 1:
            yield f"{variable} ends before a message of {life:g} days can come"


@ledger_tombstones_and_rows_outlive_every_message.broken
def a_ledger_of_a_week(stack: Template) -> None:
    _variables(stack, "WriterFunction")["LEDGER_RETENTION_DAYS"] = 7


@ledger_tombstones_and_rows_outlive_every_message.broken
def tombstones_that_end_with_the_message(stack: Template) -> None:
    _variables(stack, "WriterFunction")["TOMBSTONE_RETENTION_DAYS"] = 14


@about_the_template
def no_operator_can_make_them_end_before(template: Template) -> Iterator[str]:
    life = _longest_life(template)
    for name, variable in KEPT.items():
        if template["Parameters"][name].get("MinValue", 0) < life + 1:
            yield f"{name} may be less than a message can live"
        if _variables(template, "WriterFunction")[variable] != {"Ref": name}:
            yield f"{variable} is not {name}"


@no_operator_can_make_them_end_before.broken
def rows_of_a_day(template: Template) -> None:
    template["Parameters"]["RowRetentionDays"]["MinValue"] = 1


@no_operator_can_make_them_end_before.broken
def no_least_ledger(template: Template) -> None:
    del template["Parameters"]["LedgerRetentionDays"]["MinValue"]


@no_operator_can_make_them_end_before.broken
def tombstones_as_long_as_rows(template: Template) -> None:
    variables = _variables(template, "WriterFunction")
    variables["TOMBSTONE_RETENTION_DAYS"] = {"Ref": "RowRetentionDays"}


@about_the_template
def the_writer_knows_how_long_entries_live(template: Template) -> Iterator[str]:
    # A tombstone must outlive what containers remember of the forgotten.
    for name in ("MEMORY_TTL_HOURS", "SUMMARY_TTL_HOURS"):
        writer, capture = (
            _variables(template, function).get(name)
            for function in ("WriterFunction", "CaptureFunction")
        )
        if writer != capture:
            yield f"{name} is {writer} for the writer and {capture} for capture"


@the_writer_knows_how_long_entries_live.broken
def a_life_of_its_own(template: Template) -> None:
    _variables(template, "WriterFunction")["SUMMARY_TTL_HOURS"] = "24"
