"""Deployments: the schema first, three questions, nothing secret, nothing lost."""

import re
from collections.abc import Iterator

from deployment.app import ANSWER_MS
from tests.infra.assertion import (
    about_the_stack,
    about_the_template,
    as_list,
    of_type,
    properties,
)
from tests.infra.stack import ANSWERS, Template

SECRET = re.compile(r"password|passwd|secret|credential|token", re.IGNORECASE)


@about_the_stack
def the_schema_is_migrated_before_code_that_needs_it(stack: Template) -> Iterator[str]:
    resources = stack["Resources"]
    for function in ("CaptureFunction", "WriterFunction"):
        if "Schema" not in as_list(resources[function].get("DependsOn", [])):
            yield f"{function} may be updated before the schema"
    if "DatabaseFromWriter" not in as_list(resources["Schema"].get("DependsOn", [])):
        yield "the schema function may run before the database lets it in"


@the_schema_is_migrated_before_code_that_needs_it.broken
def the_writer_does_not_wait(stack: Template) -> None:
    del stack["Resources"]["WriterFunction"]["DependsOn"]


@the_schema_is_migrated_before_code_that_needs_it.broken
def the_schema_does_not_wait_for_the_way(stack: Template) -> None:
    del stack["Resources"]["Schema"]["DependsOn"]


@about_the_stack
def a_new_schema_or_database_is_migrated(stack: Template) -> Iterator[str]:
    schema = properties(stack, "Schema")
    versions = {
        name
        for name, version in of_type(stack, "AWS::Lambda::Version").items()
        if version["FunctionName"] == "SchemaFunction"
    }
    if schema.get("SchemaVersion") not in versions:
        yield "another schema artifact changes nothing that CloudFormation sees"
    if schema.get("Layers") != properties(stack, "SchemaFunction")["Layers"]:
        yield "what the schema function shares with others could change unseen"
    database = "Database.DbiResourceId" if "Database" in stack["Resources"] else "db-OLD"
    if schema.get("Database") != f"{database}/shortterm":
        yield "another database would stay empty"
    if schema["ServiceToken"] != "DeploymentFunction.Arn":
        yield "nobody would answer CloudFormation"
    invoked = properties(stack, "DeploymentFunction")["Environment"]["Variables"]
    if invoked.get("SCHEMA_FUNCTION_NAME") != "SchemaFunction":
        yield "another function would be run"


@a_new_schema_or_database_is_migrated.broken
def a_constant_version(stack: Template) -> None:
    properties(stack, "Schema")["SchemaVersion"] = "1"


@a_new_schema_or_database_is_migrated.broken
def without_its_layers(stack: Template) -> None:
    del properties(stack, "Schema")["Layers"]


@a_new_schema_or_database_is_migrated.broken
def without_the_database(stack: Template) -> None:
    del properties(stack, "Schema")["Database"]


@a_new_schema_or_database_is_migrated.broken
def answered_from_inside_the_vpc(stack: Template) -> None:
    properties(stack, "Schema")["ServiceToken"] = "SchemaFunction.Arn"


@about_the_stack
def cloudformation_gets_its_answer_in_time(stack: Template) -> Iterator[str]:
    schema = properties(stack, "SchemaFunction")["Timeout"]
    deployment = properties(stack, "DeploymentFunction")["Timeout"]
    if deployment - ANSWER_MS / 1000 < schema:
        yield "a schema that takes its full time is reported as failed"
    if not properties(stack, "Schema").get("ServiceTimeout", 3600) >= deployment:
        yield "CloudFormation gives up before it is answered"
    if properties(stack, "Schema").get("ServiceTimeout", 3600) > 600:
        yield "a deployment whose answer is lost hangs for an hour"


@cloudformation_gets_its_answer_in_time.broken
def no_time_left_to_answer(stack: Template) -> None:
    properties(stack, "DeploymentFunction")["Timeout"] = 300


@cloudformation_gets_its_answer_in_time.broken
def an_hour_without_answer(stack: Template) -> None:
    del properties(stack, "Schema")["ServiceTimeout"]


@cloudformation_gets_its_answer_in_time.broken
def cloudformation_is_impatient(stack: Template) -> None:
    properties(stack, "Schema")["ServiceTimeout"] = 60


@about_the_stack
def what_a_rollback_needs_is_kept(stack: Template) -> Iterator[str]:
    for kind in ("AWS::Lambda::LayerVersion", "AWS::Lambda::Version"):
        for name in of_type(stack, kind):
            if stack["Resources"][name].get("DeletionPolicy") != "Retain":
                yield f"{name} is deleted when the next is made"


@what_a_rollback_needs_is_kept.broken
def a_layer_deleted(stack: Template) -> None:
    [name, *_] = of_type(stack, "AWS::Lambda::LayerVersion")
    stack["Resources"][name]["DeletionPolicy"] = "Delete"


@about_the_stack
def a_function_can_be_replaced(stack: Template) -> Iterator[str]:
    # A switch of Isolation replaces the function: CloudFormation refuses that for a named one.
    for name, function in of_type(stack, "AWS::Lambda::Function").items():
        if "FunctionName" in function:
            yield f"{name} has a fixed name"


@a_function_can_be_replaced.broken
def a_fixed_name(stack: Template) -> None:
    properties(stack, "CaptureFunction")["FunctionName"] = "shortterm-capture"


@about_the_template
def an_operator_answers_three_questions(template: Template) -> Iterator[str]:
    parameters = template["Parameters"]
    asked = [name for name, parameter in parameters.items() if "Default" not in parameter]
    if asked != list(ANSWERS) or list(parameters)[:3] != asked:
        yield f"{asked} have no default, or are not the first to be asked"
    yield from (
        f"{name} is not explained" for name, it in parameters.items() if not it.get("Description")
    )


@an_operator_answers_three_questions.broken
def a_fourth_question(template: Template) -> None:
    del template["Parameters"]["DatabaseName"]["Default"]


@about_the_template
def what_exists_is_described_or_the_deployment_is_refused(template: Template) -> Iterator[str]:
    asserted = str([rule["Assertions"] for rule in template["Rules"].values()])
    for name, parameter in template["Parameters"].items():
        if name.startswith("Existing") and parameter["Default"] == "" and name not in asserted:
            yield f"{name} may be left empty where it is needed"


@what_exists_is_described_or_the_deployment_is_refused.broken
def no_rule_for_the_endpoint(template: Template) -> None:
    del template["Rules"]["AnExistingEndpointIsDescribed"]


@about_the_template
def no_parameter_is_secret(template: Template) -> Iterator[str]:
    for name, parameter in template["Parameters"].items():
        if SECRET.search(name) or parameter.get("NoEcho"):
            yield f"{name} is secret"
    if "{{resolve:" in str(template):
        yield "a secret is resolved into the template"


@no_parameter_is_secret.broken
def a_password_parameter(template: Template) -> None:
    template["Parameters"]["DatabasePassword"] = {"Type": "String", "NoEcho": True}


@no_parameter_is_secret.broken
def a_resolved_secret(template: Template) -> None:
    template["Outputs"]["DatabaseHost"]["Value"] = "{{resolve:secretsmanager:database}}"


@about_the_stack
def no_variable_or_output_is_secret(stack: Template) -> Iterator[str]:
    for function, body in of_type(stack, "AWS::Lambda::Function").items():
        for name in body["Environment"]["Variables"]:
            if SECRET.search(name):
                yield f"{function} has a secret in {name}"
    for name, output in stack["Outputs"].items():
        if SECRET.search(name) or SECRET.search(str(output["Value"])):
            yield f"the output {name} is secret"
    for key in of_type(stack, "AWS::ApiGateway::ApiKey").values():
        if "Value" in key:
            yield "the bots' key is in the template"


@no_variable_or_output_is_secret.broken
def a_password_in_the_environment(stack: Template) -> None:
    variables = properties(stack, "WriterFunction")["Environment"]["Variables"]
    variables["DATABASE_PASSWORD"] = "hunter2"


@no_variable_or_output_is_secret.broken_in("api-key")
def a_key_with_a_value(stack: Template) -> None:
    properties(stack, "BotKey")["Value"] = "0123456789abcdef01234"


@no_variable_or_output_is_secret.broken
def a_secret_output(stack: Template) -> None:
    stack["Outputs"]["DatabasePassword"] = {"Value": "hunter2"}
