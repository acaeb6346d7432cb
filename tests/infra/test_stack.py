"""Every assertion holds for every variant of the stack, and catches the copies broken for it."""

import pytest

from tests.infra import stack
from tests.infra.assertion import ASSERTIONS, Assertion, BrokenCopy
from tests.infra.assertions import (  # noqa: F401
    api,
    database,
    deployment,
    functions,
    network,
    permissions,
    queue,
    retention,
    watching,
)

BROKEN = [(assertion, copy) for assertion in ASSERTIONS for copy in assertion.broken_copies]


@pytest.mark.parametrize("assertion", ASSERTIONS, ids=lambda it: it.name)
@pytest.mark.parametrize("variant", stack.VARIANTS)
def test_it_holds(assertion: Assertion, variant: str):
    assert assertion(assertion.load(variant)) == []


@pytest.mark.parametrize(
    ("assertion", "copy"), BROKEN, ids=[f"{it.name}-{copy.name}" for it, copy in BROKEN]
)
def test_a_broken_copy_is_caught(assertion: Assertion, copy: BrokenCopy):
    broken = assertion.load(copy.variant)
    copy.break_it(broken)
    assert assertion(broken) != []


@pytest.mark.parametrize("assertion", ASSERTIONS, ids=lambda it: it.name)
def test_each_assertion_is_shown_to_fail(assertion: Assertion):
    assert assertion.broken_copies
