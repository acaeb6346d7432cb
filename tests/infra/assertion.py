"""What an assertion about the stack is: a check that complains, and copies that it must catch."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.infra import stack
from tests.infra.stack import Template

Check = Callable[[Template], Iterable[str]]
Break = Callable[[Template], object]


@dataclass(frozen=True, slots=True)
class BrokenCopy:
    name: str
    variant: str
    break_it: Break


@dataclass(frozen=True)
class Assertion:
    """Called with a stack (or the template as written), returns what is wrong with it."""

    check: Check
    load: Callable[[str], Template]
    broken_copies: list[BrokenCopy] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.check.__name__

    def __call__(self, template: Template) -> list[str]:
        return list(self.check(template))

    def broken(self, break_it: Break) -> Break:
        return self.broken_in("three-answers")(break_it)

    def broken_in(self, variant: str) -> Callable[[Break], Break]:
        def remember(break_it: Break) -> Break:
            self.broken_copies.append(BrokenCopy(break_it.__name__, variant, break_it))
            return break_it

        return remember


ASSERTIONS: list[Assertion] = []


def about_the_stack(check: Check) -> Assertion:
    """An assertion that holds for every variant of the stack."""
    return _remembered(Assertion(check, stack.stack))


def about_the_template(check: Check) -> Assertion:
    """An assertion about the template as it is written."""
    return _remembered(Assertion(check, lambda _: stack.source()))


def _remembered(assertion: Assertion) -> Assertion:
    ASSERTIONS.append(assertion)
    return assertion


def of_type(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """Properties of the resources of one type, by name."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template["Resources"].items()
        if resource["Type"] == kind
    }


def properties(template: Template, name: str) -> dict[str, Any]:
    found: dict[str, Any] = template["Resources"][name]["Properties"]
    return found


def functions(template: Template) -> dict[str, dict[str, Any]]:
    return of_type(template, "AWS::Lambda::Function")


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
