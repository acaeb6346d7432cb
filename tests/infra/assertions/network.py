"""The way between the functions, SQS and the database: that and no other."""

from collections.abc import Iterator
from typing import Any

from tests.infra.assertion import about_the_stack, functions, of_type, properties
from tests.infra.stack import Template


def _id(group: str) -> str:
    return group.removesuffix(".GroupId")


def _database(stack: Template) -> tuple[int, str]:
    if "Database" in stack["Resources"]:
        return 5432, "DatabaseSecurityGroup"
    return 5433, "sg-00000000000000001"


def _endpoint(stack: Template) -> tuple[int, str]:
    new = "SqsEndpoint" in stack["Resources"]
    return 443, "SqsEndpointSecurityGroup" if new else "sg-00000000000000002"


def _egress(stack: Template, group: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = properties(stack, group).get("SecurityGroupEgress", [])
    return found


@about_the_stack
def functions_reach_what_they_use_and_nothing_else(stack: Template) -> Iterator[str]:
    reach = {
        "CaptureFunction": {_endpoint(stack), _database(stack)},
        "WriterFunction": {_database(stack)},
        "SchemaFunction": {_database(stack)},
    }
    for function, targets in reach.items():
        [group] = properties(stack, function)["VpcConfig"]["SecurityGroupIds"]
        reached = {
            (rule["FromPort"], _id(rule.get("DestinationSecurityGroupId", "anywhere")))
            for rule in _egress(stack, group)
            if rule["IpProtocol"] == "tcp" and rule["FromPort"] == rule["ToPort"]
        }
        if reached != targets or len(_egress(stack, group)) != len(targets):
            yield f"{function} reaches {reached}, not {targets}"


@functions_reach_what_they_use_and_nothing_else.broken
def capture_reaches_the_internet(stack: Template) -> None:
    rule = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "0.0.0.0/0"}
    _egress(stack, "CaptureSecurityGroup").append(rule)


@functions_reach_what_they_use_and_nothing_else.broken
def the_writer_has_no_rules(stack: Template) -> None:
    # Which allows everything.
    del properties(stack, "WriterSecurityGroup")["SecurityGroupEgress"]


@functions_reach_what_they_use_and_nothing_else.broken_in("existing")
def the_port_is_not_the_existing_one(stack: Template) -> None:
    for rule in _egress(stack, "WriterSecurityGroup"):
        rule["FromPort"] = rule["ToPort"] = 5432


@about_the_stack
def what_a_function_reaches_lets_it_in(stack: Template) -> Iterator[str]:
    let_in = {
        (rule["FromPort"], _id(rule["GroupId"]), _id(rule["SourceSecurityGroupId"]))
        for rule in of_type(stack, "AWS::EC2::SecurityGroupIngress").values()
        if "SourceSecurityGroupId" in rule
    }
    sent = {
        (rule["FromPort"], _id(rule["DestinationSecurityGroupId"]), group)
        for group in of_type(stack, "AWS::EC2::SecurityGroup")
        for rule in _egress(stack, group)
        if "DestinationSecurityGroupId" in rule
    }
    yield from (f"{rule} is sent and not let in" for rule in sent - let_in)
    yield from (f"{rule} is let in and never sent" for rule in let_in - sent)


@what_a_function_reaches_lets_it_in.broken
def the_database_refuses_the_writer(stack: Template) -> None:
    del stack["Resources"]["DatabaseFromWriter"]


@what_a_function_reaches_lets_it_in.broken_in("existing")
def the_existing_endpoint_refuses_capture(stack: Template) -> None:
    del stack["Resources"]["SqsEndpointFromCapture"]


@about_the_stack
def no_group_is_open_to_addresses(stack: Template) -> Iterator[str]:
    for name, group in of_type(stack, "AWS::EC2::SecurityGroup").items():
        if not group.get("SecurityGroupEgress"):
            yield f"{name} has no rule out, so EC2 gives it one to everywhere"
        for rule in (*group.get("SecurityGroupEgress", []), *group.get("SecurityGroupIngress", [])):
            if rule.get("CidrIp", "127.0.0.1/32") != "127.0.0.1/32" or "CidrIpv6" in rule:
                yield f"{name} has a rule for addresses"
    for name, rule in of_type(stack, "AWS::EC2::SecurityGroupIngress").items():
        if "CidrIp" in rule or "CidrIpv6" in rule:
            yield f"{name} lets addresses in"


@no_group_is_open_to_addresses.broken
def the_database_open_to_all(stack: Template) -> None:
    properties(stack, "DatabaseFromCapture")["CidrIp"] = "0.0.0.0/0"


@no_group_is_open_to_addresses.broken
def the_database_may_go_anywhere(stack: Template) -> None:
    del properties(stack, "DatabaseSecurityGroup")["SecurityGroupEgress"]


@about_the_stack
def all_but_the_deployment_function_are_in_the_vpc(stack: Template) -> Iterator[str]:
    subnets = ["subnet-00000000000000001", "subnet-00000000000000002"]
    for name, function in functions(stack).items():
        inside = function.get("VpcConfig", {}).get("SubnetIds")
        # From inside, without a NAT gateway, CloudFormation's answer address is out of reach.
        if inside != (None if name == "DeploymentFunction" else subnets):
            yield f"{name} is in {inside}"


@all_but_the_deployment_function_are_in_the_vpc.broken
def the_deployment_function_cannot_answer(stack: Template) -> None:
    config = properties(stack, "SchemaFunction")["VpcConfig"]
    properties(stack, "DeploymentFunction")["VpcConfig"] = config


@all_but_the_deployment_function_are_in_the_vpc.broken
def the_writer_outside(stack: Template) -> None:
    del properties(stack, "WriterFunction")["VpcConfig"]


@about_the_stack
def the_endpoint_is_for_capture_and_its_queue(stack: Template) -> Iterator[str]:
    for endpoint in of_type(stack, "AWS::EC2::VPCEndpoint").values():
        if endpoint["ServiceName"] != "com.amazonaws.eu-west-1.sqs":
            yield "the endpoint is not for SQS of this region"
        if endpoint.get("PrivateDnsEnabled") is not True:
            yield "the functions do not find the endpoint: they know SQS by its public name only"
        [statement] = endpoint.get("PolicyDocument", {}).get("Statement") or [{}]
        if (statement.get("Action"), statement.get("Resource"), statement.get("Condition")) != (
            "sqs:SendMessage",
            "WorkQueue.Arn",
            {"ArnEquals": {"aws:PrincipalArn": "CaptureRole.Arn"}},
        ):
            yield "the endpoint lets more through than capture's work"


@the_endpoint_is_for_capture_and_its_queue.broken
def no_private_dns(stack: Template) -> None:
    properties(stack, "SqsEndpoint")["PrivateDnsEnabled"] = False


@the_endpoint_is_for_capture_and_its_queue.broken
def any_queue_through_the_endpoint(stack: Template) -> None:
    del properties(stack, "SqsEndpoint")["PolicyDocument"]
