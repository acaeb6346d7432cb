"""The REST API: its routes are the code's, every one asks who is there, and nothing is echoed."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from tests.infra.assertion import about_the_stack, about_the_template, of_type, properties
from tests.infra.stack import ROOT, Template

# What may be told of a request: no path, no query, no header, no message that may quote them, and
# of its two ids the one that no client can set.
LOGGED = {
    "extendedRequestId",
    "requestTime",
    "httpMethod",
    "resourcePath",
    "status",
    "responseLength",
    "responseLatency",
    "integration.latency",
    "error.responseType",
}
ANSWERED = {"error.responseType", "requestId"}
# Of these a validator says what was expected; of enum, pattern and the like it says what was sent.
KEYWORDS = {"type", "required", "properties", "items", "maxItems"}
# What has a body, and its model.
MODELS = {("post", "/v1/turns"): "Turn", ("put", "/v1/summaries"): "Summary"}


def _body(stack: Template) -> dict[str, Any]:
    found: dict[str, Any] = properties(stack, "Api")["Body"]
    return found


def _stage(stack: Template) -> dict[str, Any]:
    [stage] = of_type(stack, "AWS::ApiGateway::Stage").values()
    return stage


def _operations(stack: Template) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method, path): operation
        for path, item in _body(stack)["paths"].items()
        for method, operation in item.items()
    }


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda letter: letter[1].upper(), name)


@about_the_stack
def its_routes_are_those_of_the_code(stack: Template) -> Iterator[str]:
    code = (ROOT / "functions/capture/app.py").read_text("utf-8")
    routes = {
        (method, re.sub(r"<(\w+)>", lambda name: f"{{{_camel(name[1])}}}", path))
        for method, path in re.findall(r'^@api\.(\w+)\("([^"]+)"', code, re.MULTILINE)
    }
    given = set(_operations(stack))
    yield from (f"{route} is served and not in the API" for route in routes - given)
    yield from (f"{route} is in the API and not served" for route in given - routes)


@its_routes_are_those_of_the_code.broken
def a_route_forgotten(stack: Template) -> None:
    del _body(stack)["paths"]["/v1/health"]


@its_routes_are_those_of_the_code.broken
def another_method(stack: Template) -> None:
    item = _body(stack)["paths"]["/v1/turns"]
    item["put"] = item.pop("post")


@about_the_stack
def what_a_path_holds_is_declared(stack: Template) -> Iterator[str]:
    for (method, path), operation in _operations(stack).items():
        declared = {
            it["name"] for it in operation["parameters"] if it["in"] == "path" and it["required"]
        }
        if declared != set(re.findall(r"{(\w+)}", path)):
            yield f"{method} {path} declares {declared}: API Gateway refuses the import"


@what_a_path_holds_is_declared.broken
def a_path_parameter_forgotten(stack: Template) -> None:
    _body(stack)["paths"]["/v1/users/{userId}/export"]["get"]["parameters"].clear()


@about_the_stack
def every_route_may_be_called_by_bots_and_call_capture(stack: Template) -> Iterator[str]:
    allowed = {"ApiMayInvokeCapture": properties(stack, "ApiMayInvokeCapture")["SourceArn"]}
    if "BotPolicy" in stack["Resources"]:
        [statement] = properties(stack, "BotPolicy")["PolicyDocument"]["Statement"]
        allowed["BotPolicy"] = statement["Resource"]
    for method, path in _operations(stack):
        # What a parameter holds is a star to the service, and an id to IAM.
        called = re.sub(r"{\w+}", "*", f"{method.upper()}{path}")
        for name, pattern in allowed.items():
            if not fnmatchcase(called, pattern.partition(":Api/live/")[2]):
                yield f"{name} does not allow {method} {path}"


@every_route_may_be_called_by_bots_and_call_capture.broken
def bots_that_only_post(stack: Template) -> None:
    [statement] = properties(stack, "BotPolicy")["PolicyDocument"]["Statement"]
    statement["Resource"] = statement["Resource"].replace("/*/v1/*", "/POST/v1/*")


@every_route_may_be_called_by_bots_and_call_capture.broken
def capture_for_turns_only(stack: Template) -> None:
    permission = properties(stack, "ApiMayInvokeCapture")
    permission["SourceArn"] = permission["SourceArn"].replace("/v1/*", "/v1/turns")


@about_the_stack
def every_operation_asks_who_is_there(stack: Template) -> Iterator[str]:
    by_key = bool(of_type(stack, "AWS::ApiGateway::UsagePlan"))
    wanted = [{"key": []}] if by_key else [{"iam": []}]
    for route, operation in _operations(stack).items():
        if operation.get("security") != wanted:
            yield f"{route} is open, or asks for something else than {wanted}"
    schemes = _body(stack)["components"]["securitySchemes"]
    if schemes["iam"].get("x-amazon-apigateway-authtype") != "awsSigv4":
        yield "signatures are not checked"
    if schemes["key"].get("name") != "x-api-key":
        yield "keys are not checked"
    if by_key:
        keys = [it["KeyId"] for it in of_type(stack, "AWS::ApiGateway::UsagePlanKey").values()]
        if keys != list(of_type(stack, "AWS::ApiGateway::ApiKey")):
            yield "the key is not in the usage plan: it would be refused"
        if properties(stack, "UsagePlan").get("ApiStages") != [
            {"ApiId": "Api", "Stage": "ApiliveStage"}
        ]:
            yield "the usage plan is for another stage"


@every_operation_asks_who_is_there.broken
def an_open_route(stack: Template) -> None:
    del _body(stack)["paths"]["/v1/memories"]["get"]["security"]


@every_operation_asks_who_is_there.broken
def a_scheme_that_checks_nothing(stack: Template) -> None:
    del _body(stack)["components"]["securitySchemes"]["iam"]["x-amazon-apigateway-authtype"]


@every_operation_asks_who_is_there.broken_in("api-key")
def a_key_outside_the_plan(stack: Template) -> None:
    del stack["Resources"]["UsagePlanKey"]


@about_the_stack
def the_tenant_reaches_an_isolated_function_and_no_other(stack: Template) -> Iterator[str]:
    isolated = properties(stack, "CaptureFunction").get("TenancyConfig") == {
        "TenantIsolationMode": "PER_TENANT"
    }
    header = {"name": "X-Tenant-Id", "in": "header", "required": True, "schema": {"type": "string"}}
    mapping = {"integration.request.header.X-Amz-Tenant-Id": "method.request.header.X-Tenant-Id"}
    for route, operation in _operations(stack).items():
        mapped = operation["x-amazon-apigateway-integration"].get("requestParameters")
        # Lambda refuses an isolated function without a tenant, and a tenant for any other.
        if mapped != (mapping if isolated else None):
            yield f"{route} maps {mapped}, which Lambda refuses"
        if isolated and header not in operation["parameters"]:
            yield f"{route} does not declare the header that it maps: it would be empty"
        if not isolated and header in operation["parameters"]:
            yield f"{route} requires a tenant for nothing"


@the_tenant_reaches_an_isolated_function_and_no_other.broken_in("per-tenant")
def an_operation_without_the_mapping(stack: Template) -> None:
    operation = _body(stack)["paths"]["/v1/memories"]["get"]
    del operation["x-amazon-apigateway-integration"]["requestParameters"]


@the_tenant_reaches_an_isolated_function_and_no_other.broken_in("per-tenant")
def a_header_that_is_not_declared(stack: Template) -> None:
    _body(stack)["paths"]["/v1/turns"]["post"]["parameters"].clear()


@the_tenant_reaches_an_isolated_function_and_no_other.broken_in("per-tenant")
def a_function_that_is_not_isolated(stack: Template) -> None:
    del properties(stack, "CaptureFunction")["TenancyConfig"]


@the_tenant_reaches_an_isolated_function_and_no_other.broken
def an_isolated_function_without_tenants(stack: Template) -> None:
    properties(stack, "CaptureFunction")["TenancyConfig"] = {"TenantIsolationMode": "PER_TENANT"}


@about_the_stack
def it_hands_requests_to_capture(stack: Template) -> Iterator[str]:
    for route, operation in _operations(stack).items():
        integration = operation["x-amazon-apigateway-integration"]
        if (integration["type"], integration["httpMethod"]) != ("aws_proxy", "POST"):
            yield f"{route} is not a proxy of the function"
        if "/functions/CaptureFunction.Arn/invocations" not in integration["uri"]:
            yield f"{route} goes elsewhere"


@it_hands_requests_to_capture.broken
def invoked_by_get(stack: Template) -> None:
    operation = _body(stack)["paths"]["/v1/memories"]["get"]
    operation["x-amazon-apigateway-integration"]["httpMethod"] = "GET"


@about_the_stack
def requests_are_validated_without_quoting_them(stack: Template) -> Iterator[str]:
    body = _body(stack)
    validator = body["x-amazon-apigateway-request-validators"].get(
        body.get("x-amazon-apigateway-request-validator")
    )
    if validator != {"validateRequestBody": True, "validateRequestParameters": True}:
        yield "neither bodies nor parameters are validated"
    modelled = {
        route: operation["requestBody"]["content"]
        for route, operation in _operations(stack).items()
        if "requestBody" in operation
    }
    if modelled != {
        route: {"application/json": {"schema": {"$ref": f"#/components/schemas/{model}"}}}
        for route, model in MODELS.items()
    }:
        yield f"the models are {modelled}"
    schemas = [body["components"]["schemas"][model] for model in MODELS.values()]
    while schemas:
        schema = schemas.pop()
        yield from (f"the model's {it} may quote what was sent" for it in schema.keys() - KEYWORDS)
        schemas += [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]


@requests_are_validated_without_quoting_them.broken
def bodies_not_validated(stack: Template) -> None:
    _body(stack)["x-amazon-apigateway-request-validators"]["all"]["validateRequestBody"] = False


@requests_are_validated_without_quoting_them.broken
def a_level_by_enumeration(stack: Template) -> None:
    schema = _body(stack)["components"]["schemas"]["Turn"]
    schema["properties"]["privacyLevel"] = {"enum": ["MINIMAL", "PARTIAL", "FULL"]}


@requests_are_validated_without_quoting_them.broken
def a_summary_without_a_model(stack: Template) -> None:
    del _body(stack)["paths"]["/v1/summaries"]["put"]["requestBody"]


@requests_are_validated_without_quoting_them.broken
def a_pattern_for_ids(stack: Template) -> None:
    schema = _body(stack)["components"]["schemas"]["Summary"]
    schema["properties"] = {"userId": {"pattern": "[A-Za-z0-9_.-]{1,64}"}}


@about_the_stack
def a_refused_body_is_told_what_every_model_requires(stack: Template) -> Iterator[str]:
    # One answer for all of them: the gateway does not say which it was.
    response = _body(stack)["x-amazon-apigateway-gateway-responses"]["BAD_REQUEST_BODY"]
    expected = json.loads(response["responseTemplates"]["application/json"])["expected"]
    _, turn, summary = re.split(r"a (?=turn|summary)", expected)
    for text, model in ((turn, "Turn"), (summary, "Summary")):
        schema = _body(stack)["components"]["schemas"][model]
        for name in schema["required"]:
            if name not in text:
                yield f"{model} requires {name}, of which the answer says nothing"
        for name, it in schema.get("properties", {}).items():
            if "maxItems" in it and f"{name} (at most {it['maxItems']})" not in text:
                yield f"{model} limits {name}, of which the answer says nothing"


@a_refused_body_is_told_what_every_model_requires.broken
def a_field_more(stack: Template) -> None:
    _body(stack)["components"]["schemas"]["Summary"]["required"].append("occurredAt")


@a_refused_body_is_told_what_every_model_requires.broken
def another_limit(stack: Template) -> None:
    schema = _body(stack)["components"]["schemas"]["Turn"]
    schema["properties"]["personaResponses"]["maxItems"] = 20


@about_the_stack
def its_own_answers_are_problem_documents_that_echo_nothing(stack: Template) -> Iterator[str]:
    responses = _body(stack)["x-amazon-apigateway-gateway-responses"]
    wanted = {"BAD_REQUEST_BODY", "BAD_REQUEST_PARAMETERS", "DEFAULT_4XX", "DEFAULT_5XX"}
    yield from (f"{kind} is answered with the gateway's message" for kind in wanted - {*responses})
    for kind, response in responses.items():
        headers = response["responseParameters"]
        if headers["gatewayresponse.header.Content-Type"] != "'application/problem+json'":
            yield f"{kind} is not a problem document"
        if not all(re.fullmatch(r"'[^']*'", it) for it in headers.values()):
            yield f"{kind} copies a part of the request into a header"
        [template] = response["responseTemplates"].values()
        used = set(re.findall(r"\$context\.([\w.]+)", template))
        if used - ANSWERED or template.count("$") != len(used):
            yield f"{kind} passes on what may quote the request"
        document = json.loads(re.sub(r"\$context\.[\w.]+", "", template))
        if "title" not in document or str(document.get("status")) != str(
            response.get("statusCode")
        ):
            yield f"{kind} has no title, or another status than its answer"


@its_own_answers_are_problem_documents_that_echo_nothing.broken
def what_the_validator_says(stack: Template) -> None:
    response = _body(stack)["x-amazon-apigateway-gateway-responses"]["BAD_REQUEST_BODY"]
    response["responseTemplates"]["application/json"] = (
        '{"title":"$context.error.validationErrorString","status":400}'
    )


@its_own_answers_are_problem_documents_that_echo_nothing.broken
def the_default_for_bad_signatures(stack: Template) -> None:
    del _body(stack)["x-amazon-apigateway-gateway-responses"]["DEFAULT_4XX"]


@its_own_answers_are_problem_documents_that_echo_nothing.broken
def a_header_of_the_request(stack: Template) -> None:
    response = _body(stack)["x-amazon-apigateway-gateway-responses"]["THROTTLED"]
    response["responseParameters"]["gatewayresponse.header.X"] = "method.request.header.X"


@about_the_stack
def its_logs_hold_no_part_of_a_request(stack: Template) -> Iterator[str]:
    stage = _stage(stack)
    text = stage.get("AccessLogSetting", {}).get("Format", "")
    logged = set(re.findall(r"\$context\.([\w.]+)", text))
    if not logged or logged - LOGGED or text.count("$") > text.count("$context."):
        yield f"the access log is off, or shows {logged - LOGGED}"
    json.loads(text or "{}")
    settings = stage.get("MethodSettings", [])
    if [(it["HttpMethod"], it["ResourcePath"]) for it in settings] != [("*", "/*")]:
        yield "some methods have settings of their own"
    for setting in settings:
        if setting.get("DataTraceEnabled") or setting.get("LoggingLevel") != "OFF":
            yield "the execution log is on, which holds query strings or bodies"
        if setting.get("CachingEnabled"):
            yield "answers are cached"
    if stage.get("TracingEnabled"):
        yield "requests are traced, for which there is no reader"


@its_logs_hold_no_part_of_a_request.broken
def paths_in_the_access_log(stack: Template) -> None:
    setting = _stage(stack)["AccessLogSetting"]
    setting["Format"] = setting["Format"].replace("$context.resourcePath", "$context.path")


@its_logs_hold_no_part_of_a_request.broken
def an_id_that_a_client_sets_in_the_access_log(stack: Template) -> None:
    setting = _stage(stack)["AccessLogSetting"]
    setting["Format"] = setting["Format"].replace("extendedRequestId", "requestId")


@its_logs_hold_no_part_of_a_request.broken
def the_words_of_an_error_in_the_access_log(stack: Template) -> None:
    setting = _stage(stack)["AccessLogSetting"]
    setting["Format"] = setting["Format"].replace("error.responseType", "error.message")


@its_logs_hold_no_part_of_a_request.broken
def a_query_in_the_access_log(stack: Template) -> None:
    setting = _stage(stack)["AccessLogSetting"]
    setting["Format"] = setting["Format"].replace(
        "$context.status", "$context.requestOverride.querystring.userId"
    )


@its_logs_hold_no_part_of_a_request.broken
def bodies_in_the_execution_log(stack: Template) -> None:
    _stage(stack)["MethodSettings"][0]["DataTraceEnabled"] = True


@its_logs_hold_no_part_of_a_request.broken
def execution_log_of_errors(stack: Template) -> None:
    _stage(stack)["MethodSettings"][0]["LoggingLevel"] = "ERROR"


@about_the_stack
def it_is_throttled(stack: Template) -> Iterator[str]:
    for setting in _stage(stack)["MethodSettings"]:
        for limit in ("ThrottlingRateLimit", "ThrottlingBurstLimit"):
            if not setting.get(limit, 0) > 0:
                yield f"no {limit}: one bot may use up what the account has"


@it_is_throttled.broken
def no_rate(stack: Template) -> None:
    del _stage(stack)["MethodSettings"][0]["ThrottlingRateLimit"]


@about_the_template
def a_switch_of_a_condition_is_deployed(template: Template) -> Iterator[str]:
    # SAM names a deployment by a hash of the body as written, its conditions unresolved.
    if properties(template, "Api").get("AlwaysDeploy") is not True:
        yield "with another ApiAuth or Isolation the stage would keep the deployment it has"


@a_switch_of_a_condition_is_deployed.broken
def deployed_when_the_text_changes(template: Template) -> None:
    del properties(template, "Api")["AlwaysDeploy"]


@about_the_stack
def its_stage_waits_for_the_role_that_it_logs_with(stack: Template) -> Iterator[str]:
    if not of_type(stack, "AWS::ApiGateway::Account"):
        return
    if "ApiAccount" not in [tag["Value"] for tag in _stage(stack).get("Tags", [])]:
        yield "on a fresh account the stage is refused: it does not wait for the log role"
    for name in ("ApiAccount", "ApiLogRole"):
        if stack["Resources"][name].get("DeletionPolicy") != "Retain":
            yield f"{name} goes with the stack, and every other API of the account loses its logs"


@its_stage_waits_for_the_role_that_it_logs_with.broken
def no_tag(stack: Template) -> None:
    del _stage(stack)["Tags"]


@its_stage_waits_for_the_role_that_it_logs_with.broken
def role_deleted_with_the_stack(stack: Template) -> None:
    del stack["Resources"]["ApiLogRole"]["DeletionPolicy"]


@about_the_stack
def it_has_one_name_whoever_sets_it(stack: Template) -> Iterator[str]:
    """An import names an API after its title; its alarms look for the name of the stack."""
    api = properties(stack, "Api")
    if _body(stack)["info"]["title"] != api["Name"]:
        yield "the API's title is not its name"


@it_has_one_name_whoever_sets_it.broken
def another_title(stack: Template) -> None:
    _body(stack)["info"]["title"] = "something else"
