"""Processes of their own: so that no measurement inherits the heap of another."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from typing import Any, TypeVar

from benchmarks.report import Table

T = TypeVar("T")


def process(initializer: Callable[..., None] | None = None, *given: Any) -> ProcessPoolExecutor:
    """Return an executor of one fresh process, which `initializer(*given)` sets up."""
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=initializer, initargs=given)


def alone(act: Callable[..., T], *given: Any) -> T:
    """Return `act(*given)`, computed in a fresh process."""
    with process() as other:
        return other.submit(act, *given).result()


def measure(name: str) -> list[Table]:
    """Run one benchmark; meant for a fresh process."""
    tables: list[Table] = import_module(f"benchmarks.{name}").measure()
    return tables
