"""Alarms and dashboard: they watch what exists, under the names that it has."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from capture.rules import SkipReason
from shortterm.telemetry import NAMESPACE, Metric
from tests.infra.assertion import about_the_stack, functions, of_type, properties
from tests.infra.stack import ROOT, Template

# Namespace -> its dimensions, and those of its metrics that we know.
AWS_METRICS = {
    "AWS/SQS": (
        {"QueueName"},
        {"ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"},
    ),
    "AWS/Lambda": (
        {"FunctionName"},
        {"Errors", "Throttles", "Duration", "ConcurrentExecutions"},
    ),
    "AWS/ApiGateway": ({"ApiName", "Stage"}, {"5XXError", "4XXError", "Count"}),
    "AWS/RDS": (
        {"DBInstanceIdentifier"},
        {"DatabaseConnections", "FreeStorageSpace", "CPUUtilization"},
    ),
}
# What must not happen unseen: metric, and the value of one of its dimensions.
WATCHED = {
    # NumberOfMessagesSent does not count what a redrive moves.
    ("ApproximateNumberOfMessagesVisible", "DeadLetterQueue.QueueName"),
    ("ApproximateAgeOfOldestMessage", "WorkQueue.QueueName"),
    *(
        (metric, function)
        for metric in ("Errors", "Throttles", "Duration")
        for function in ("CaptureFunction", "WriterFunction")
    ),
    ("5XXError", "shortterm"),
    ("CaptureFailures", "shortterm-capture"),
    ("WorkDropped", "shortterm-capture"),
    ("RowsUnavailable", "shortterm-capture"),
    ("WorkRefused", "shortterm-writer"),
    ("RowsTidied", "shortterm-writer"),
}
WATCHED_OF_A_NEW_DATABASE = {
    (metric, "Database") for metric in ("DatabaseConnections", "FreeStorageSpace", "CPUUtilization")
}


@cache
def emitted(function: str) -> set[str]:
    """The metrics that a function's code names, and the one that telemetry adds."""
    code = "".join(path.read_text("utf-8") for path in ROOT.glob(f"functions/{function}/*.py"))
    return {Metric.COLD_STARTS, *(Metric[name] for name in re.findall(r"Metric\.([A-Z_]+)", code))}


def _alarms(stack: Template) -> dict[str, dict[str, Any]]:
    return of_type(stack, "AWS::CloudWatch::Alarm")


def _dimensions(alarm: dict[str, Any]) -> dict[str, str]:
    return {it["Name"]: it["Value"] for it in alarm["Dimensions"]}


def _on_the_dashboard(stack: Template) -> Iterator[tuple[str, str, dict[str, str]]]:
    body = json.loads(properties(stack, "Dashboard")["DashboardBody"])
    for widget in body["widgets"]:
        for namespace, metric, *rest in widget["properties"]["metrics"]:
            names = [it for it in rest if isinstance(it, str)]
            yield namespace, metric, dict(zip(names[::2], names[1::2], strict=True))


def _complaint(
    stack: Template, namespace: str, metric: str, dimensions: dict[str, str]
) -> str | None:
    if namespace == NAMESPACE:
        services = {
            function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]: name
            for name, function in functions(stack).items()
            if name != "DeploymentFunction"
        }
        service = services.get(dimensions.get("service", ""), "").removesuffix("Function").lower()
        expected = {"service", "reason"} if metric == Metric.TURNS_SKIPPED else {"service"}
        if not service or metric not in emitted(service):
            return f"{service or dimensions} does not emit {metric}"
        if dimensions.keys() != expected:
            return f"{metric} has the dimensions {expected}"
        if dimensions.get("reason", SkipReason.NO_MESSAGES) not in set(SkipReason):
            return f"no turn is skipped for {dimensions['reason']}"
        return None
    names, metrics = AWS_METRICS[namespace]
    if metric not in metrics or dimensions.keys() != names:
        return f"{namespace} has no {metric} by {set(dimensions)}"
    known = {
        "QueueName": {f"{name}.QueueName" for name in of_type(stack, "AWS::SQS::Queue")},
        "FunctionName": set(functions(stack)),
        "ApiName": {properties(stack, "Api")["Name"]},
        "Stage": {"ApiliveStage", "live"},
        "DBInstanceIdentifier": set(of_type(stack, "AWS::RDS::DBInstance")),
    }
    for name, value in dimensions.items():
        if value not in known[name]:
            return f"{metric} of {value}, which does not exist"
    return None


@about_the_stack
def every_metric_that_an_alarm_watches_is_emitted(stack: Template) -> Iterator[str]:
    for name, alarm in _alarms(stack).items():
        found = _complaint(stack, alarm["Namespace"], alarm["MetricName"], _dimensions(alarm))
        if found:
            yield f"{name}: {found}"


@every_metric_that_an_alarm_watches_is_emitted.broken
def a_metric_that_nobody_emits(stack: Template) -> None:
    properties(stack, "WorkIsDroppedAlarm")["MetricName"] = "WorkLost"


@every_metric_that_an_alarm_watches_is_emitted.broken
def a_metric_of_the_other_function(stack: Template) -> None:
    properties(stack, "WorkIsRefusedAlarm")["Dimensions"][0]["Value"] = "shortterm-capture"


@every_metric_that_an_alarm_watches_is_emitted.broken
def a_service_without_its_stack(stack: Template) -> None:
    properties(stack, "TurnsAreNotRememberedAlarm")["Dimensions"][0]["Value"] = "capture"


@every_metric_that_an_alarm_watches_is_emitted.broken
def a_metric_without_dimensions(stack: Template) -> None:
    properties(stack, "WorkIsDroppedAlarm")["Dimensions"] = []


@every_metric_that_an_alarm_watches_is_emitted.broken
def a_function_that_is_gone(stack: Template) -> None:
    properties(stack, "WriterErrorsAlarm")["Dimensions"][0]["Value"] = "OldFunction"


@about_the_stack
def every_metric_on_the_dashboard_is_emitted(stack: Template) -> Iterator[str]:
    shown = list(_on_the_dashboard(stack))
    yield from filter(None, (_complaint(stack, *it) for it in shown))
    custom = {metric for namespace, metric, _ in shown if namespace == NAMESPACE}
    yield from (f"{metric} is not on the dashboard" for metric in set(Metric) - custom)


@every_metric_on_the_dashboard_is_emitted.broken
def a_metric_renamed(stack: Template) -> None:
    dashboard = properties(stack, "Dashboard")
    dashboard["DashboardBody"] = dashboard["DashboardBody"].replace("TurnsCaptured", "TurnsSeen")


@every_metric_on_the_dashboard_is_emitted.broken
def a_reason_that_does_not_exist(stack: Template) -> None:
    dashboard = properties(stack, "Dashboard")
    dashboard["DashboardBody"] = dashboard["DashboardBody"].replace("no_messages", "no_message")


@about_the_stack
def nothing_that_matters_happens_unseen(stack: Template) -> Iterator[str]:
    watched = {
        (alarm["MetricName"], value)
        for alarm in _alarms(stack).values()
        for value in _dimensions(alarm).values()
    }
    wanted = set(WATCHED)
    if "Database" in stack["Resources"]:
        wanted |= WATCHED_OF_A_NEW_DATABASE
    yield from (f"no alarm watches {it}" for it in sorted(wanted - watched))


@nothing_that_matters_happens_unseen.broken
def no_alarm_for_dead_letters(stack: Template) -> None:
    del stack["Resources"]["DeadLettersAlarm"]


@nothing_that_matters_happens_unseen.broken
def dead_letters_counted_as_sent(stack: Template) -> None:
    properties(stack, "DeadLettersAlarm")["MetricName"] = "NumberOfMessagesSent"


@nothing_that_matters_happens_unseen.broken
def no_alarm_for_reads_without_rows(stack: Template) -> None:
    del stack["Resources"]["RowsAreUnavailableAlarm"]


@about_the_stack
def a_janitor_that_does_not_come_rings(stack: Template) -> Iterator[str]:
    rings = [it for it in _alarms(stack).values() if it["MetricName"] == "RowsTidied"]
    for alarm in rings:
        absent = ("SampleCount", "LessThanThreshold", 1, "breaching")
        names = ("Statistic", "ComparisonOperator", "Threshold", "TreatMissingData")
        if tuple(alarm[it] for it in names) != absent:
            yield "what rings is something else than that nothing is counted"


@a_janitor_that_does_not_come_rings.broken
def silence_taken_for_well(stack: Template) -> None:
    properties(stack, "JanitorIsAwayAlarm")["TreatMissingData"] = "notBreaching"


@a_janitor_that_does_not_come_rings.broken
def a_janitor_that_found_nothing(stack: Template) -> None:
    properties(stack, "JanitorIsAwayAlarm")["Statistic"] = "Sum"


@about_the_stack
def what_happens_now_and_then_rings_too(stack: Template) -> Iterator[str]:
    # A quiet stack has no event every minute: a batch that came back comes again after this time.
    again_s = properties(stack, "WorkQueue")["VisibilityTimeout"]
    for name, alarm in _alarms(stack).items():
        if alarm["Namespace"] == NAMESPACE:
            periods = alarm["EvaluationPeriods"]
            needed = alarm.get("DatapointsToAlarm", periods)
            if (needed - 1) * again_s + alarm["Period"] > periods * alarm["Period"]:
                yield f"{name} waits for more than happens in {periods} minutes"


@what_happens_now_and_then_rings_too.broken
def three_minutes_in_a_row(stack: Template) -> None:
    properties(stack, "BatchesComeBackAlarm")["EvaluationPeriods"] = 3


@what_happens_now_and_then_rings_too.broken
def every_minute_of_fifteen(stack: Template) -> None:
    del properties(stack, "RowsAreUnavailableAlarm")["DatapointsToAlarm"]


@about_the_stack
def the_connections_that_functions_hold_are_no_alarm(stack: Template) -> Iterator[str]:
    if "DatabaseConnectionsAreManyAlarm" not in stack["Resources"]:
        return
    capture, writer = (properties(stack, name) for name in ("CaptureFunction", "WriterFunction"))
    # One for each container; with tenants, AWS keeps more of them than it runs at a time.
    kept = 2.5 if "TenancyConfig" in capture else 1
    writers = writer["ReservedConcurrentExecutions"]
    held = kept * capture["ReservedConcurrentExecutions"] + writers + 1
    if held > properties(stack, "DatabaseConnectionsAreManyAlarm")["Threshold"]:
        yield f"functions that are all at work hold {held:g} connections, which is an alarm"


@the_connections_that_functions_hold_are_no_alarm.broken
def a_threshold_for_writers_only(stack: Template) -> None:
    properties(stack, "DatabaseConnectionsAreManyAlarm")["Threshold"] = 10


@the_connections_that_functions_hold_are_no_alarm.broken_in("per-tenant")
def as_many_containers_as_fit_without_tenants(stack: Template) -> None:
    properties(stack, "CaptureFunction")["ReservedConcurrentExecutions"] = 24


@about_the_stack
def every_alarm_reaches_the_operator(stack: Template) -> Iterator[str]:
    topic = properties(stack, "AlarmTopic")
    if topic.get("Subscription") != [{"Protocol": "email", "Endpoint": "operator@example.com"}]:
        yield "nobody listens to the alarms"
    # CloudWatch cannot use SNS's own key, and says nothing.
    if "KmsMasterKeyId" in topic:
        yield "alarms cannot be published to an encrypted topic without a policy of its key"
    statements = properties(stack, "AlarmTopicPolicy")["PolicyDocument"]["Statement"]
    if not any(
        it["Effect"] == "Allow" and it["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
        for it in statements
    ):
        yield "CloudWatch may not publish alarms"
    for name, alarm in _alarms(stack).items():
        if alarm.get("AlarmActions") != ["AlarmTopic"]:
            yield f"{name} tells nobody"
        # A metric that is emitted only when something is wrong has no data when all is well.
        missing = "breaching" if alarm["MetricName"] == "RowsTidied" else "notBreaching"
        if alarm.get("TreatMissingData") != missing:
            yield f"{name} is undecided while all is well"


@every_alarm_reaches_the_operator.broken
def an_alarm_without_action(stack: Template) -> None:
    del properties(stack, "CaptureErrorsAlarm")["AlarmActions"]


@every_alarm_reaches_the_operator.broken
def a_topic_with_the_key_of_sns(stack: Template) -> None:
    properties(stack, "AlarmTopic")["KmsMasterKeyId"] = "alias/aws/sns"


@every_alarm_reaches_the_operator.broken
def missing_data_is_missing(stack: Template) -> None:
    del properties(stack, "WorkIsDroppedAlarm")["TreatMissingData"]
