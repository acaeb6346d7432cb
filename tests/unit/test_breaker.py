"""After a failure a service is left alone for a while, whatever the clock does."""

import pytest
from given import NOW

from capture.breaker import Breaker

REST = 5_000


@pytest.fixture
def breaker(clock):
    return Breaker(REST, clock)


def test_a_service_that_never_failed_is_asked(breaker):
    assert not breaker.is_open


def test_a_service_that_failed_is_left_alone(breaker):
    breaker.failed()
    assert breaker.is_open


@pytest.mark.parametrize(("later", "is_open"), [(REST - 1, True), (REST, False)])
def test_it_is_asked_again_after_its_rest(breaker, clock, later, is_open):
    breaker.failed()
    clock.now += later
    assert breaker.is_open is is_open


def test_it_is_asked_at_once_after_a_success(breaker):
    breaker.failed()
    breaker.succeeded()
    assert not breaker.is_open


def test_a_failure_after_the_rest_starts_another_one(breaker, clock):
    breaker.failed()
    clock.now += REST
    breaker.failed()
    clock.now += REST - 1
    assert breaker.is_open


def test_a_failure_during_the_rest_starts_it_anew(breaker, clock):
    breaker.failed()
    clock.now += REST - 1
    breaker.failed()
    clock.now += REST - 1
    assert breaker.is_open


def test_a_clock_that_steps_backwards_does_not_make_the_rest_longer(breaker, clock):
    breaker.failed()
    clock.now -= 1
    assert not breaker.is_open


def test_a_clock_that_leaps_ahead_ends_the_rest(breaker, clock):
    breaker.failed()
    clock.now += 1_000 * REST
    assert not breaker.is_open


def test_a_success_that_another_thread_tells_of_meanwhile_breaks_nothing():
    def clock():
        breaker.succeeded()
        return NOW

    breaker = Breaker(REST, clock)
    breaker.failed()
    assert breaker.is_open
    assert not breaker.is_open


def test_a_patient_one_lets_single_failures_pass(clock):
    breaker = Breaker(REST, clock, patience=2)
    breaker.failed()
    assert not breaker.is_open
    breaker.failed()
    assert breaker.is_open


def test_each_further_failure_doubles_the_rest_up_to_the_longest(clock):
    breaker = Breaker(REST, clock, longest_rest_ms=3 * REST)
    rests = []
    for _ in range(4):
        breaker.failed()
        began = clock.now
        while breaker.is_open:
            clock.now += REST // 2
        rests.append((clock.now - began) // REST)
    assert rests == [1, 2, 3, 3]


def test_a_success_makes_the_next_rest_short_again(clock):
    breaker = Breaker(REST, clock, longest_rest_ms=8 * REST)
    for _ in range(4):
        breaker.failed()
    breaker.succeeded()
    breaker.failed()
    clock.now += REST
    assert not breaker.is_open
