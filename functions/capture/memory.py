"""The container's memory: entries by scope, bounded in bytes, expiring by the wall clock.

Wall time, not monotonic: a frozen container's monotonic clock stands still. Each operation reads
the clock once, so that nothing expires in the middle of it.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from sys import getsizeof

from cachetools import LRUCache, TLRUCache

from capture.entry import Entry, Window
from capture.index import Index
from capture.rules import Remembrance
from shortterm.scope import Scope, ScopeKind

# What an entry and a window weigh beside their text: the structs, their slots in the cache, its
# order and its expiry heap, and in the indexes (`make bench` compares with real memory).
ENTRY_BYTES = 640
WINDOW_BYTES = 280
# How many turns back a turn that is posted again is known, so that it advances no counter twice.
# Only the writer's ledger knows for good.
RECENT_TURNS = 4_096


class Memory:
    """What one container remembers.

    An entry lives `ttl_ms` from its last update, `summary_ttl_ms` while it carries a summary: at
    exactly that age it is gone (seed: Persistence and data boundaries). Over `max_bytes` the
    expired go first, then the least recently used. `clock` returns ms since the epoch.
    """

    def __init__(
        self, *, max_bytes: int, ttl_ms: int, summary_ttl_ms: int, clock: Callable[[], int]
    ) -> None:
        self._max_bytes = max_bytes
        self._ttl_ms = ttl_ms
        self._summary_ttl_ms = summary_ttl_ms
        self._clock = clock
        self._now = clock()
        self._bytes = 0
        self._entries = _Entries(self._expires_at, lambda: self._now, self._release)
        self._owners: dict[ScopeKind, Index[str]] = {"user": Index(), "server": Index()}
        self._channels: Index[str] = Index()
        self._holders: dict[Window, int] = {}
        self._recent_turns: LRUCache[str, None] = LRUCache(RECENT_TURNS)

    def remember(self, turn_id: str, scopes: Iterable[Remembrance], window: Window) -> list[Entry]:
        """Keep `window` for each of the turn's scopes and return their entries.

        An unexpired entry keeps its summary, categories and cadence; the live one advances its
        cadence once per turn, however often the turn comes.
        """
        self._tick()
        new = turn_id not in self._recent_turns
        self._recent_turns[turn_id] = None
        entries = []
        for scope, lineage_id, live in scopes:
            held = self._entries.get(scope)
            entry = held or Entry(scope, window, self._now)
            entry = entry.with_turn(window, lineage_id, turns=int(live and new), now=self._now)
            self._put(entry, held)
            entries.append(entry)
        self._evict()
        return entries

    def summarize(
        self, scope: Scope, summary: str | None, categories: tuple[tuple[str, str], ...]
    ) -> Entry | None:
        """Attach a summary and categories to `scope`; None if nothing of it is (still) held."""
        self._tick()
        held = self._entries.get(scope)
        if held is None:
            return None
        entry = held.with_summary(summary, categories, now=self._now)
        if self._expires_at(scope, entry) <= self._now:
            self._release(self._entries.pop(scope))
            return None
        self._put(entry, held)
        self._evict()
        return entry

    def get(self, scope: Scope) -> Entry | None:
        """Return what is held for `scope`, unless it expired."""
        self._tick()
        return self._entries.get(scope)

    def of_owner(self, kind: ScopeKind, owner_id: str) -> list[Entry]:
        """Return the entries of a user or a server, in no order."""
        self._tick()
        return list(self._held(self._owners[kind].of(owner_id)))

    def of_channel(self, channel_id: str) -> list[Entry]:
        """Return the entries of a channel, whoever owns them, in no order."""
        self._tick()
        return list(self._held(self._channels.of(channel_id)))

    def is_private(self, channel_id: str) -> bool:
        """Tell whether anything held was captured in `channel_id` as a private channel."""
        return any(it.window.is_private for it in self._held(self._channels.of(channel_id)))

    @property
    def entries(self) -> int:
        """The number of unexpired entries."""
        self._tick()
        return len(self._entries)

    @property
    def bytes(self) -> int:
        """What the unexpired entries are accounted with; never above `max_bytes`."""
        self._tick()
        return self._bytes

    def _tick(self) -> None:
        self._now = self._clock()
        self._entries.expire()

    def _held(self, scopes: Iterator[Scope]) -> Iterator[Entry]:
        return (self._entries[scope] for scope in scopes)

    def _expires_at(self, _: Scope, entry: Entry) -> int:
        return entry.updated_at + (self._summary_ttl_ms if entry.summary else self._ttl_ms)

    def _put(self, entry: Entry, replaced: Entry | None) -> None:
        scope = entry.scope
        self._entries[scope] = entry
        self._hold(entry)
        if replaced is None:
            self._owners[scope.kind].add(scope.owner_id, scope)
            self._channels.add(scope.channel_id, scope)
        else:
            self._let_go(replaced)

    def _evict(self) -> None:
        while self._bytes > self._max_bytes:
            self._release(self._entries.popitem()[1])

    def _release(self, entry: Entry) -> None:
        scope = entry.scope
        self._owners[scope.kind].discard(scope.owner_id, scope)
        self._channels.discard(scope.channel_id, scope)
        self._let_go(entry)

    def _hold(self, entry: Entry) -> None:
        """Account for `entry`; a window that several entries share is counted once."""
        holders = self._holders.get(entry.window, 0)
        self._holders[entry.window] = holders + 1
        self._bytes += _entry_bytes(entry) + (0 if holders else _window_bytes(entry.window))

    def _let_go(self, entry: Entry) -> None:
        holders = self._holders.pop(entry.window) - 1
        if holders:
            self._holders[entry.window] = holders
        self._bytes -= _entry_bytes(entry) + (0 if holders else _window_bytes(entry.window))


class _Entries(TLRUCache[Scope, Entry]):
    """cachetools' expiring LRU cache, which says what expired. Bytes are counted by the memory:
    a window that two entries share has no size of its own per entry."""

    def __init__(
        self,
        expires_at: Callable[[Scope, Entry], int],
        clock: Callable[[], int],
        expired: Callable[[Entry], None],
    ) -> None:
        super().__init__(math.inf, lambda scope, entry, _: expires_at(scope, entry), clock)
        self._expired = expired

    def expire(self, time: float | None = None) -> list[tuple[Scope, Entry]]:
        gone = list(super().expire(time))
        for _, entry in gone:
            self._expired(entry)
        return gone


def _entry_bytes(entry: Entry) -> int:
    text = 0
    if entry.summary:
        text += getsizeof(entry.summary)
    for category in entry.categories:
        text += getsizeof(category) + getsizeof(category[0]) + getsizeof(category[1])
    return ENTRY_BYTES + text


def _window_bytes(window: Window) -> int:
    names = getsizeof(window.server_name) + getsizeof(window.channel_name)
    return WINDOW_BYTES + len(window.packed_lines) + names
