"""The problem documents: what every one of them has, whatever went wrong."""

import json

import pytest
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from capture import problems
from capture.patience import Away
from shortterm.wire import Mismatch

PROBLEMS = [
    (problems.malformed, Mismatch("userId", "an id"), 400),
    (problems.unknown_route, NotFoundError(), 404),
    (problems.unexpected, RuntimeError(), 500),
    (problems.away, Away(), 503),
]


@pytest.mark.parametrize(("problem", "error", "status"), PROBLEMS)
def test_a_problem_is_a_document_that_no_cache_keeps(problem, error, status):
    answer = problem(error)
    assert answer.status_code == json.loads(answer.body)["status"] == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Cache-Control"] == "no-store"


def test_what_cannot_be_routed_is_answered_with_the_same_headers():
    answer = problems.unrouted(KeyError())
    assert answer["headers"] == {
        "Content-Type": "application/problem+json",
        "Cache-Control": "no-store",
    }
