"""An act aside: whoever waits for it waits no longer than told."""

import threading

import pytest
from waiting import DEADLINE_S

from capture.aside import Aside


class Unlucky(Exception):
    pass


class Held:
    """An act that goes on until it is let go; then it returns, or raises, as told."""

    def __init__(self, outcome=None):
        self._outcome = outcome
        self._released = threading.Event()
        self.is_done = threading.Event()

    def __call__(self):
        try:
            assert self._released.wait(DEADLINE_S)
        finally:
            self.is_done.set()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def let_go(self):
        self._released.set()


@pytest.fixture
def aside():
    return Aside()


@pytest.fixture
def hold(aside):
    """Let the caller of an act run out of time, and let the act go after the test at the latest."""
    acts = []

    def start(outcome=None):
        acts.append(act := Held(outcome))
        with pytest.raises(TimeoutError):
            aside.run(act, within_s=0)
        return act

    yield start
    for act in acts:
        act.let_go()


def now_or_never(aside, act):
    return aside.run(act, within_s=DEADLINE_S)


def test_what_an_act_returns_comes_back(aside):
    assert now_or_never(aside, lambda: "rows") == "rows"


def test_what_an_act_raises_comes_back(aside):
    def act():
        raise Unlucky

    with pytest.raises(Unlucky):
        now_or_never(aside, act)


def test_an_act_runs_on_another_thread_and_always_on_the_same(aside):
    threads = {now_or_never(aside, threading.get_ident) for _ in range(3)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_no_thread_is_started_before_the_first_act():
    before = set(threading.enumerate())
    aside = Aside()
    assert not set(threading.enumerate()) - before
    now_or_never(aside, int)
    assert len(set(threading.enumerate()) - before) == 1


def test_nobody_waits_longer_than_told(hold):
    assert not hold().is_done.is_set()


def test_an_act_that_nobody_waits_for_any_more_goes_on_to_its_end(hold):
    act = hold()
    act.let_go()
    assert act.is_done.wait(DEADLINE_S)


def test_an_act_waits_for_one_that_goes_on_no_longer_than_told(aside, hold):
    before = hold()
    with pytest.raises(TimeoutError):
        aside.run(int, within_s=0)
    assert not before.is_done.is_set()


def test_an_act_that_was_given_up_before_it_began_never_runs(aside, hold):
    before, ran = hold(), threading.Event()
    with pytest.raises(TimeoutError):
        aside.run(ran.set, within_s=0)
    before.let_go()
    now_or_never(aside, int)
    assert not ran.is_set()


@pytest.mark.parametrize("outcome", ["late rows", Unlucky()])
def test_behind_one_that_ends_in_time_an_act_gets_its_own_outcome(aside, hold, outcome):
    hold(outcome).let_go()
    assert now_or_never(aside, lambda: "rows") == "rows"


def test_an_act_that_raises_keeps_nobody_from_the_next(aside):
    with pytest.raises(ZeroDivisionError):
        now_or_never(aside, lambda: 1 / 0)
    assert now_or_never(aside, lambda: "rows") == "rows"
