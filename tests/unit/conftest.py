"""A memory whose clock stands still until a test turns it."""

import pytest
from given import Clock, memory


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def held(clock):
    return memory(clock)
