"""Who may do what: each function what it uses, the bots the API, the code nothing of the VPC."""

from collections.abc import Iterator
from typing import Any

from tests.infra.assertion import about_the_stack, as_list, functions, of_type, properties
from tests.infra.stack import Template

Statement = dict[str, Any]

# Why a statement that allows something may have a star in it.
REASONS = {
    ("VpcAccessPolicy", "AttachToTheVpc"): "network interfaces have no name before they are made",
    ("BotPolicy", "CallTheApi"): "every method and route of the one API",
    ("SqsEndpoint", "CaptureQueuesWork"): "the condition names the principal",
}
LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
DATABASE_USERS = {
    "CaptureFunction": "stm_capture",
    "WriterFunction": "stm_writer",
    "SchemaFunction": "postgres",
}


def _statements(stack: Template, resource: str) -> list[Statement]:
    """All statements of a policy, a role or a resource with a policy."""
    body = properties(stack, resource)
    documents = [body["PolicyDocument"]] if "PolicyDocument" in body else []
    documents += [policy["PolicyDocument"] for policy in body.get("Policies", [])]
    return [statement for document in documents for statement in document["Statement"]]


def _role(stack: Template, function: str) -> str:
    return str(functions(stack)[function]["Role"]).removesuffix(".Arn")


def _statement(stack: Template, resource: str, sid: str) -> Statement:
    return next(it for it in _statements(stack, resource) if it.get("Sid") == sid)


def _allowed(stack: Template, function: str) -> set[tuple[str, str]]:
    return {
        (action, resource)
        for statement in _statements(stack, _role(stack, function))
        if statement["Effect"] == "Allow"
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
    }


def _login(stack: Template, user: str) -> str:
    database = "Database.DbiResourceId" if "Database" in stack["Resources"] else "db-OLD"
    return f"arn:aws:rds-db:eu-west-1:123456789012:dbuser:{database}/{user}"


@about_the_stack
def each_function_may_do_what_it_uses_and_nothing_else(stack: Template) -> Iterator[str]:
    uses = {
        "CaptureFunction": {("sqs:SendMessage", "WorkQueue.Arn")},
        "WriterFunction": {
            ("sqs:ReceiveMessage", "WorkQueue.Arn"),
            ("sqs:DeleteMessage", "WorkQueue.Arn"),
            ("sqs:GetQueueAttributes", "WorkQueue.Arn"),
        },
        "SchemaFunction": set(),
        "DeploymentFunction": {("lambda:InvokeFunction", "SchemaFunction.Arn")},
    }
    for function, body in functions(stack).items():
        wanted = uses[function] | {
            (action, f"{body['LoggingConfig']['LogGroup']}.Arn") for action in LOG
        }
        if user := DATABASE_USERS.get(function):
            wanted.add(("rds-db:connect", _login(stack, user)))
        allowed = _allowed(stack, function)
        yield from (f"{function} may {it} and does not use it" for it in allowed - wanted)
        yield from (f"{function} uses {it} and may not" for it in wanted - allowed)
        managed = properties(stack, _role(stack, function)).get("ManagedPolicyArns", [])
        if managed != (["VpcAccessPolicy"] if "VpcConfig" in body else []):
            yield f"{function} has the managed policies {managed}"


@each_function_may_do_what_it_uses_and_nothing_else.broken
def capture_may_read_the_queue(stack: Template) -> None:
    statement = _statement(stack, "CaptureRole", "QueueWork")
    statement["Action"] = [statement["Action"], "sqs:ReceiveMessage"]


@each_function_may_do_what_it_uses_and_nothing_else.broken
def the_writer_may_not_delete_what_it_applied(stack: Template) -> None:
    _statement(stack, "WriterRole", "TakeWork")["Action"].remove("sqs:DeleteMessage")


@each_function_may_do_what_it_uses_and_nothing_else.broken
def a_policy_of_aws_on_top(stack: Template) -> None:
    properties(stack, "DeploymentRole")["ManagedPolicyArns"] = ["arn:aws:iam::aws:policy/PowerUser"]


@each_function_may_do_what_it_uses_and_nothing_else.broken_in("existing")
def the_writer_logs_in_to_any_database(stack: Template) -> None:
    statement = _statement(stack, "WriterRole", "WriteTheDatabase")
    statement["Resource"] = "arn:aws:rds-db:eu-west-1:123456789012:dbuser:*/stm_writer"


@about_the_stack
def each_logs_in_as_its_own_role(stack: Template) -> Iterator[str]:
    roles = [_role(stack, function) for function in functions(stack)]
    if len(roles) != len(set(roles)):
        yield "functions share a role"
    for function in functions(stack):
        for action, resource in _allowed(stack, function):
            user = resource.rpartition("/")[2]
            if action.startswith("rds") and user != DATABASE_USERS.get(function):
                yield f"{function} may log in as {user}"


@each_logs_in_as_its_own_role.broken
def capture_logs_in_as_the_writer(stack: Template) -> None:
    _statement(stack, "CaptureRole", "ReadAndForget")["Resource"] = _login(stack, "stm_writer")


@each_logs_in_as_its_own_role.broken
def capture_has_the_role_of_the_writer(stack: Template) -> None:
    properties(stack, "CaptureFunction")["Role"] = "WriterRole.Arn"


@about_the_stack
def a_star_has_a_reason(stack: Template) -> Iterator[str]:
    for resource in stack["Resources"]:
        for statement in _statements(stack, resource):
            if statement["Effect"] != "Allow" or (resource, statement["Sid"]) in REASONS:
                continue
            granted = [*as_list(statement["Action"]), *as_list(statement["Resource"])]
            if any("*" in it for it in granted) or statement.get("Principal") == "*":
                yield f"{resource}.{statement['Sid']} has a star without a reason"


@a_star_has_a_reason.broken
def any_queue(stack: Template) -> None:
    _statement(stack, "CaptureRole", "QueueWork")["Resource"] = "*"


@a_star_has_a_reason.broken
def any_action_on_the_queue(stack: Template) -> None:
    _statement(stack, "WriterRole", "TakeWork")["Action"] = "sqs:*"


@a_star_has_a_reason.broken
def anybody_may_send_alarms(stack: Template) -> None:
    _statement(stack, "AlarmTopicPolicy", "AlarmsOfThisAccount")["Principal"] = "*"


@about_the_stack
def the_code_cannot_use_what_the_service_needs_for_the_vpc(stack: Template) -> Iterator[str]:
    allow = _statement(stack, "VpcAccessPolicy", "AttachToTheVpc")
    for statement in _statements(stack, "VpcAccessPolicy"):
        if (
            statement["Effect"] == "Deny"
            and set(statement["Action"]) >= set(allow["Action"])
            and statement["Resource"] == "*"
            and statement["Condition"]["ArnLike"]["lambda:SourceFunctionArn"].endswith(":*")
        ):
            return
    yield "code of a function may make and delete network interfaces"


@the_code_cannot_use_what_the_service_needs_for_the_vpc.broken
def one_action_not_denied(stack: Template) -> None:
    _statement(stack, "VpcAccessPolicy", "ButNotTheCode")["Action"].pop()


@about_the_stack
def only_this_api_invokes_capture_and_only_a_schedule_the_writer(stack: Template) -> Iterator[str]:
    rules = {f"{rule}.Arn" for rule in of_type(stack, "AWS::Events::Rule")}
    for name, permission in of_type(stack, "AWS::Lambda::Permission").items():
        function, principal = permission["FunctionName"], permission["Principal"]
        source = permission.get("SourceArn", "")
        if (function, principal) == ("CaptureFunction", "apigateway.amazonaws.com"):
            if ":Api/live/" not in source:
                yield f"{name} lets other APIs invoke"
        elif (function, principal) == ("WriterFunction", "events.amazonaws.com"):
            if source not in rules:
                yield f"{name} lets other rules invoke"
        else:
            yield f"{name} lets {principal} invoke {function}"


@only_this_api_invokes_capture_and_only_a_schedule_the_writer.broken
def any_api_of_anybody(stack: Template) -> None:
    del properties(stack, "ApiMayInvokeCapture")["SourceArn"]


@only_this_api_invokes_capture_and_only_a_schedule_the_writer.broken
def any_rule_of_anybody(stack: Template) -> None:
    del properties(stack, "WriterFunctionTidyPermission")["SourceArn"]


@only_this_api_invokes_capture_and_only_a_schedule_the_writer.broken
def a_schedule_for_capture(stack: Template) -> None:
    properties(stack, "WriterFunctionTidyPermission")["FunctionName"] = "CaptureFunction"


@about_the_stack
def bots_get_to_the_api_and_nowhere_else(stack: Template) -> Iterator[str]:
    if "BotPolicy" not in stack["Resources"]:
        return
    for statement in _statements(stack, "BotPolicy"):
        if statement["Action"] != "execute-api:Invoke" or ":Api/live/" not in statement["Resource"]:
            yield "the bots' policy allows more than this API"


@bots_get_to_the_api_and_nowhere_else.broken
def bots_call_any_api(stack: Template) -> None:
    _statement(stack, "BotPolicy", "CallTheApi")["Resource"] = "arn:aws:execute-api:*:*:*"
