"""Where the warm capture spends its time: `python -m benchmarks profile`."""

import cProfile
import pstats

from benchmarks import lambda_function, warm_capture

CALLS = 3_000
SHOWN = 15


def show() -> None:
    lambda_function.stub_the_queue()
    lambda_function.remember_in(lambda_function.roomy_memory())
    with lambda_function.metrics_unseen():
        lambda_function.answer_all(warm_capture.events(500))
    given = warm_capture.events(CALLS)
    profile = cProfile.Profile()
    with lambda_function.metrics_unseen():
        profile.enable()
        lambda_function.answer_all(given)
        profile.disable()
    statistics = pstats.Stats(profile).strip_dirs()
    statistics.sort_stats("tottime").print_stats(SHOWN)
