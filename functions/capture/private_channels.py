"""Which channels are private, known even when nothing of them is held any more."""

import math
from collections import abc

from cachetools import LRUCache

# How many are known as private, by what was seen and by what was told.
MOST = 16_384


class PrivateChannels:
    """What a container knows of private channels: what turns showed, and what the rows told.

    The two are kept apart: rows are asked anew with each read, and what they told last counts only
    as long as they cannot be read.
    """

    def __init__(self) -> None:
        self._seen_at: LRUCache[str, int] = LRUCache(MOST)
        self._told: LRUCache[str, None] = LRUCache(MOST)

    def see(self, channel_id: str, occurred_at: int, *, is_private: bool) -> None:
        """Learn from a turn that occurred then (ms): a channel is as private as its newest says."""
        if is_private:
            known = self._seen_at.get(channel_id, occurred_at)
            self._seen_at[channel_id] = max(known, occurred_at)
        elif occurred_at >= self._seen_at.get(channel_id, math.inf):
            del self._seen_at[channel_id]

    def learn(self, told: abc.Mapping[str, bool]) -> bool:
        """Keep whether channels are private as the rows tell now; tell whether any is news."""
        is_news = any(is_private != (it in self._told) for it, is_private in told.items())
        for channel_id, is_private in told.items():
            if is_private:
                self._told[channel_id] = None
            else:
                self._told.pop(channel_id, None)
        return is_news

    def is_private(self, channel_id: str | None, parent_id: str | None = None) -> bool:
        """Tell whether a channel, or the one above it, was private when it was last seen."""
        seen = self._seen_at
        return channel_id in seen or (parent_id is not None and parent_id in seen)

    @property
    def told(self) -> abc.Container[str]:
        """The channels that the rows told to be private when they were last read."""
        return self._told
