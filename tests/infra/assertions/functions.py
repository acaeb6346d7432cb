"""The functions: environment, sizes, layers, logs."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from psycopg.conninfo import conninfo_to_dict

from capture.settings import Settings as CaptureSettings
from local.functions import FUNCTIONS as LOCAL
from schema.settings import Settings as SchemaSettings
from shortterm import settings
from tests.infra.assertion import about_the_stack, functions, of_type, properties
from tests.infra.assertions.permissions import DATABASE_USERS
from tests.infra.stack import ROOT, Template
from writer.settings import Settings as WriterSettings

SETTINGS = {
    "CaptureFunction": CaptureSettings,
    "WriterFunction": WriterSettings,
    "SchemaFunction": SchemaSettings,
}
# What Powertools reads by itself.
READ_BY_POWERTOOLS = {"POWERTOOLS_SERVICE_NAME", "LOG_LEVEL"}
BUNDLE = "/opt/certificates/rds-ca-bundle.pem"


def _environment(stack: Template, function: str) -> dict[str, Any]:
    found: dict[str, Any] = properties(stack, function)["Environment"]["Variables"]
    return found


def _read(function: str) -> set[str]:
    if function == "DeploymentFunction":
        code = (ROOT / "functions/deployment/app.py").read_text("utf-8")
        return set(re.findall(r'environ(?:\[|\.get\()"(\w+)"', code))
    fields = msgspec.structs.fields(SETTINGS[function])
    return {field.name.upper() for field in fields} | READ_BY_POWERTOOLS


@about_the_stack
def every_variable_that_the_code_reads_is_set_and_no_other(stack: Template) -> Iterator[str]:
    for function in functions(stack):
        read, given = _read(function), set(_environment(stack, function))
        yield from (f"{function} reads {name}, which is not set" for name in read - given)
        yield from (f"{function} does not read {name}, which is set" for name in given - read)


@every_variable_that_the_code_reads_is_set_and_no_other.broken
def variable_forgotten(stack: Template) -> None:
    del _environment(stack, "CaptureFunction")["OUTBOX_MAX_MESSAGES"]


@every_variable_that_the_code_reads_is_set_and_no_other.broken
def variable_misspelt(stack: Template) -> None:
    environment = _environment(stack, "CaptureFunction")
    environment["MEMORY_TTL_HOUR"] = environment.pop("MEMORY_TTL_HOURS")


@every_variable_that_the_code_reads_is_set_and_no_other.broken
def schema_function_not_named(stack: Template) -> None:
    _environment(stack, "DeploymentFunction").clear()


@about_the_stack
def the_functions_accept_their_settings(stack: Template) -> Iterator[str]:
    for function, kind in SETTINGS.items():
        environment = {name: str(it) for name, it in _environment(stack, function).items()}
        try:
            settings.load(kind, environment)
        except settings.BadSettings as error:
            yield f"{function}: {error}"


@the_functions_accept_their_settings.broken
def a_setting_out_of_bounds(stack: Template) -> None:
    _environment(stack, "CaptureFunction")["MAX_MESSAGES_PER_CHANNEL"] = 0


@about_the_stack
def the_database_is_reached_by_iam_and_verified_tls(stack: Template) -> Iterator[str]:
    for function, user in DATABASE_USERS.items():
        environment = _environment(stack, function)
        target = conninfo_to_dict(environment["DATABASE_URL"])
        if (target["user"], target.get("password")) != (user, None):
            yield f"{function} does not log in as {user} without a password"
        if (target.get("sslmode"), target.get("sslrootcert")) != ("verify-full", BUNDLE):
            yield f"{function} does not verify the server's name and root"
        if environment["DATABASE_IAM_AUTH"] != "true":
            yield f"{function} does not use IAM authentication"


@the_database_is_reached_by_iam_and_verified_tls.broken
def tls_without_verification(stack: Template) -> None:
    environment = _environment(stack, "WriterFunction")
    environment["DATABASE_URL"] = environment["DATABASE_URL"].replace("verify-full", "require")


@the_database_is_reached_by_iam_and_verified_tls.broken
def writer_as_master(stack: Template) -> None:
    environment = _environment(stack, "WriterFunction")
    environment["DATABASE_URL"] = environment["DATABASE_URL"].replace("stm_writer", "postgres")


@the_database_is_reached_by_iam_and_verified_tls.broken
def capture_as_the_writer(stack: Template) -> None:
    environment = _environment(stack, "CaptureFunction")
    environment["DATABASE_URL"] = environment["DATABASE_URL"].replace("stm_capture", "stm_writer")


@the_database_is_reached_by_iam_and_verified_tls.broken
def a_password_in_the_address(stack: Template) -> None:
    environment = _environment(stack, "SchemaFunction")
    environment["DATABASE_URL"] = environment["DATABASE_URL"].replace("@", ":hunter2@")


@the_database_is_reached_by_iam_and_verified_tls.broken
def iam_authentication_off(stack: Template) -> None:
    _environment(stack, "WriterFunction")["DATABASE_IAM_AUTH"] = "false"


@about_the_stack
def what_memory_may_hold_fits_into_the_container(stack: Template) -> Iterator[str]:
    capture = properties(stack, "CaptureFunction")
    held = int(_environment(stack, "CaptureFunction")["MEMORY_MAX_BYTES"])
    # Python, botocore, psycopg and Powertools take about 100 MB; a turn of 6 MB is decoded and
    # copied.
    room = (capture["MemorySize"] - 160) * 2**20
    if held > room * 0.6:
        yield f"{held} bytes of memory leave too little of {capture['MemorySize']} MB"


@what_memory_may_hold_fits_into_the_container.broken
def smaller_container(stack: Template) -> None:
    properties(stack, "CaptureFunction")["MemorySize"] = 256


@what_memory_may_hold_fits_into_the_container.broken_in("api-key")
def memory_of_the_next_size(stack: Template) -> None:
    _environment(stack, "CaptureFunction")["MEMORY_MAX_BYTES"] = "1073741824"


def _constant(path: str, name: str) -> float:
    """Seconds that a module waits, which may not be importable without its environment."""
    code = (ROOT / path).read_text("utf-8")
    [(unit, value)] = re.findall(rf"^{name}_(S|MS) = ([\d_.]+)$", code, re.MULTILINE)
    return float(value) / (1 if unit == "S" else 1000)


@about_the_stack
def what_a_function_waits_for_ends_before_its_time_out(stack: Template) -> Iterator[str]:
    database, outbox = "layers/shortterm/shortterm/database.py", "functions/capture/outbox.py"
    connect = _constant(database, "CONNECT_TIMEOUT")
    queue = _constant(outbox, "CONNECT_TIMEOUT") + _constant(outbox, "READ_TIMEOUT")
    waits = {
        "CaptureFunction": queue + _constant("functions/capture/durable.py", "PATIENT"),
        "WriterFunction": connect + _constant(database, "STATEMENT_TIMEOUT"),
        "SchemaFunction": connect + _constant("functions/schema/app.py", "STATEMENT_TIMEOUT"),
    }
    for function, wait in waits.items():
        if wait >= properties(stack, function)["Timeout"]:
            yield f"{function} may be killed while it waits {wait:g} s, and says nothing of it"


@what_a_function_waits_for_ends_before_its_time_out.broken
def capture_less_patient_than_its_client(stack: Template) -> None:
    properties(stack, "CaptureFunction")["Timeout"] = 3


@what_a_function_waits_for_ends_before_its_time_out.broken
def capture_less_patient_than_forgetting(stack: Template) -> None:
    properties(stack, "CaptureFunction")["Timeout"] = 12


@what_a_function_waits_for_ends_before_its_time_out.broken
def the_schema_killed_in_a_migration(stack: Template) -> None:
    properties(stack, "SchemaFunction")["Timeout"] = 60


@about_the_stack
def the_local_stack_runs_them_as_deployed(stack: Template) -> Iterator[str]:
    for name in ("capture", "writer"):
        deployed = properties(stack, f"{name.title()}Function")
        if deployed["Timeout"] != LOCAL[name].timeout_seconds:
            yield f"{name} has another time-out here than on this machine"
        if deployed["Handler"] != LOCAL[name].handler:
            yield f"{name} has another handler here than on this machine"
        target = conninfo_to_dict(_environment(stack, f"{name.title()}Function")["DATABASE_URL"])
        if target["user"] != LOCAL[name].database_role:
            yield f"{name} has another role here than on this machine"


@the_local_stack_runs_them_as_deployed.broken
def another_timeout(stack: Template) -> None:
    properties(stack, "CaptureFunction")["Timeout"] = 29


@about_the_stack
def all_run_the_same_python_on_the_same_processor(stack: Template) -> Iterator[str]:
    [architecture, *others] = {
        architecture
        for kind, key in (
            ("AWS::Lambda::Function", "Architectures"),
            ("AWS::Lambda::LayerVersion", "CompatibleArchitectures"),
        )
        for resource in of_type(stack, kind).values()
        for architecture in resource.get(key, ["x86_64"])
    }
    if others:
        yield f"functions and layers are for {architecture} and for {others}"
    for name, function in functions(stack).items():
        if function["Runtime"] != "python3.13":
            yield f"{name} runs {function['Runtime']}, for which no bytecode is built"


@all_run_the_same_python_on_the_same_processor.broken
def one_on_another_processor(stack: Template) -> None:
    properties(stack, "WriterFunction")["Architectures"] = ["x86_64"]


@all_run_the_same_python_on_the_same_processor.broken
def one_on_another_python(stack: Template) -> None:
    properties(stack, "SchemaFunction")["Runtime"] = "python3.12"


@about_the_stack
def each_has_the_layers_that_it_imports_from(stack: Template) -> Iterator[str]:
    layers = {
        layer: name.removesuffix(layer[-10:])
        for layer in of_type(stack, "AWS::Lambda::LayerVersion")
        for name in [layer]
    }
    for name, function in functions(stack).items():
        # The deployment function is the standard library and the runtime's own boto3.
        wanted = [] if name == "DeploymentFunction" else ["DependenciesLayer", "SharedLayer"]
        if [layers[it] for it in function.get("Layers", [])] != wanted:
            yield f"{name} does not have the layers {wanted}, in this order"


@each_has_the_layers_that_it_imports_from.broken
def a_layer_forgotten(stack: Template) -> None:
    properties(stack, "SchemaFunction")["Layers"].pop()


@each_has_the_layers_that_it_imports_from.broken
def layers_swapped(stack: Template) -> None:
    properties(stack, "WriterFunction")["Layers"].reverse()


@about_the_stack
def every_log_has_a_group_with_a_retention(stack: Template) -> Iterator[str]:
    groups = of_type(stack, "AWS::Logs::LogGroup")
    for name, function in functions(stack).items():
        if function.get("LoggingConfig", {}).get("LogGroup") not in groups:
            yield f"{name} logs to a group that Lambda makes, for ever"
    names = {group["LogGroupName"] for group in groups.values()}
    for stage in of_type(stack, "AWS::ApiGateway::Stage").values():
        if stage["AccessLogSetting"]["DestinationArn"].rpartition(":")[2] not in groups:
            yield "the access log goes to no group of this stack"
    for database in of_type(stack, "AWS::RDS::DBInstance").values():
        for log in database["EnableCloudwatchLogsExports"]:
            if f"/aws/rds/instance/{database['DBInstanceIdentifier']}/{log}" not in names:
                yield f"the database's {log} log is kept for ever"
    yield from (
        f"{name} is kept for ever"
        for name, group in groups.items()
        if not group.get("RetentionInDays")
    )


@every_log_has_a_group_with_a_retention.broken
def no_retention(stack: Template) -> None:
    del properties(stack, "ApiLogGroup")["RetentionInDays"]


@every_log_has_a_group_with_a_retention.broken
def a_function_with_the_default_group(stack: Template) -> None:
    del properties(stack, "DeploymentFunction")["LoggingConfig"]


@every_log_has_a_group_with_a_retention.broken
def another_log_of_the_database(stack: Template) -> None:
    properties(stack, "Database")["EnableCloudwatchLogsExports"].append("upgrade")
