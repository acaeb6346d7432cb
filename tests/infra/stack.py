"""The stack as CloudFormation sees it: SAM's transform, then parameters and conditions applied.

Offline: no managed policy is looked up, artifacts are named as `sam package` would name them.
"""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "infra" / "template.yaml"

Json = Any
Template = dict[str, Json]

ANSWERS = {
    "VpcId": "vpc-00000000000000001",
    "PrivateSubnetIds": "subnet-00000000000000001,subnet-00000000000000002",
    "AlarmEmail": "operator@example.com",
}
EXISTING = {
    "CreateDatabase": "false",
    "ExistingDatabaseHost": "old.example.eu-west-1.rds.amazonaws.com",
    "ExistingDatabasePort": "5433",
    "ExistingDatabaseResourceId": "db-OLD",
    "ExistingDatabaseSecurityGroupId": "sg-00000000000000001",
    "CreateSqsEndpoint": "false",
    "ExistingSqsEndpointSecurityGroupId": "sg-00000000000000002",
    "CreateApiLogRole": "false",
}
# Every condition both ways, and those that touch each other together.
VARIANTS: Mapping[str, dict[str, str]] = {
    "three-answers": {},
    "api-key": {"ApiAuth": "API_KEY", "Architecture": "x86_64", "CaptureMemorySize": "1024"},
    "per-tenant": {"Isolation": "per-tenant", "DatabaseMultiAz": "true"},
    "existing": EXISTING,
    "all-but-default": {
        **EXISTING,
        "ApiAuth": "API_KEY",
        "Isolation": "per-tenant",
        "CaptureMemorySize": "2048",
    },
}

_PSEUDO: Mapping[str, str] = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-1",
    "AWS::StackId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/shortterm/0a1b2c3d-0000",
    "AWS::StackName": "shortterm",
    "AWS::URLSuffix": "amazonaws.com",
}
_NOTHING = object()


@cache
def _source() -> Template:
    return yaml_parse(TEMPLATE.read_text("utf-8"))


def source() -> Template:
    """The template as it is written."""
    return deepcopy(_source())


@cache
def _transformed(variant: str) -> Template:
    template = source()
    written = template["Resources"]
    for resource in written.values():
        properties = resource["Properties"]
        for uri in ("CodeUri", "ContentUri"):
            if uri in properties:
                name = properties[uri].removeprefix("../").replace("/", "-")
                properties[uri] = f"s3://artifacts/{name}"
    parameters = {**ANSWERS, **VARIANTS[variant]}
    transformed = Translator({}, Parser()).translate(template, parameters)
    # A round trip takes SAM's own kinds of dict and string out.
    return json.loads(json.dumps(transformed))


def origin(name: str) -> str:
    """The resource as it is written that SAM made `name` of."""
    return max((it for it in _source()["Resources"] if name.startswith(it)), key=len)


def transformed(variant: str = "three-answers") -> Template:
    """The template after SAM's transform, conditions and functions still in it."""
    return deepcopy(_transformed(variant))


@cache
def _stack(variant: str) -> Template:
    template = _transformed(variant)
    resolve = _Resolver(template, {**ANSWERS, **VARIANTS[variant]})
    return {
        part: {
            name: resolve(body)
            for name, body in template[part].items()
            if "Condition" not in body or resolve.conditions[body["Condition"]]
        }
        for part in ("Resources", "Outputs")
    }


def stack(variant: str = "three-answers") -> Template:
    """Resources and outputs that a deployment of `variant` has, with plain values.

    A reference to a resource is the resource's name, an attribute of it `Name.Attribute`.
    """
    return deepcopy(_stack(variant))


class _Resolver:
    def __init__(self, template: Template, answers: Mapping[str, str]) -> None:
        self._mappings = template.get("Mappings", {})
        self._values: dict[str, Json] = {**_PSEUDO, "AWS::NoValue": _NOTHING}
        for name, parameter in template["Parameters"].items():
            value = answers.get(name, parameter.get("Default"))
            if parameter["Type"].startswith("List<"):
                value = value.split(",")
            elif parameter["Type"] == "Number":
                value = float(value) if "." in str(value) else int(value)
            self._values[name] = value
        self.conditions = {
            name: self(condition) for name, condition in template["Conditions"].items()
        }

    def __call__(self, value: Json) -> Json:
        if isinstance(value, list):
            return [it for it in map(self, value) if it is not _NOTHING]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            [(function, argument)] = value.items()
            if function in ("Ref", "Condition") or function.startswith("Fn::"):
                return self._apply(function, argument)
        resolved = {name: self(it) for name, it in value.items()}
        return {name: it for name, it in resolved.items() if it is not _NOTHING}

    def _apply(self, function: str, argument: Json) -> Json:
        match function, argument:
            case "Ref", name:
                return self._values.get(name, name)
            case "Condition", name:
                return self.conditions[name]
            case "Fn::If", [condition, then, otherwise]:
                return self(then if self.conditions[condition] else otherwise)
            case "Fn::GetAtt", path:
                return ".".join(path)
            case "Fn::Sub", [text, variables]:
                return self._substitute(text, {name: self(it) for name, it in variables.items()})
            case "Fn::Sub", text:
                return self._substitute(text, {})
            case "Fn::FindInMap", [name, *keys]:
                first, second = (str(self(key)) for key in keys)
                return self._mappings[name][first][second]
            case "Fn::Select", [index, choices]:
                return self(choices)[int(index)]
            case "Fn::Split", [separator, text]:
                return self(text).split(separator)
            case "Fn::Equals", [one, other]:
                return str(self(one)) == str(self(other))
            case _:
                raise NotImplementedError(function)

    def _substitute(self, text: str, variables: Mapping[str, Json]) -> str:
        known = {**self._values, **variables}
        return re.sub(r"\$\{([\w:.]+)\}", lambda name: str(known.get(name[1], name[1])), text)
