"""The container's memory: entries by scope, bounded in bytes, expiring by the wall clock.

Wall time, not monotonic: a frozen container's monotonic clock stands still. Each operation reads
the clock once, so that nothing expires in the middle of it.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

import msgspec
from cachetools import Cache, LRUCache, TLRUCache

from capture.dialogue import Line
from capture.entry import Entry
from capture.index import Index
from capture.private_channels import PrivateChannels
from capture.weight import Account
from capture.window import Forgotten, Window
from shortterm.scope import Scope, ScopeKind
from shortterm.tombstone import Tombstone
from shortterm.work import ScopeWork

# How many turns back a turn that is posted again is known, so that it advances no counter twice.
# Only the writer's ledger knows for good.
RECENT_TURNS = 4_096
# How many forgotten users are minded line by line, before their lines are taken out of all windows.
FORGOTTEN_USERS = 256


class Size(NamedTuple):
    """The number of entries, and the bytes they are accounted with: never above the bound."""

    entries: int
    bytes: int


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
        self.ttl_ms = ttl_ms
        self.summary_ttl_ms = summary_ttl_ms
        self.private_channels = PrivateChannels()
        self._clock = clock
        self._now = clock()
        self._account = Account()
        self._entries = _Entries(self._expires_at, lambda: self._now, self._unlist)
        self._owners: dict[ScopeKind, Index[str]] = {"user": Index(), "server": Index()}
        self._channels: Index[str] = Index()
        self._recent_turns: LRUCache[str, int] = LRUCache(RECENT_TURNS)
        self._forgotten_users: dict[str, int] = {}
        self._obeyed = 0

    def remember(self, turn_id: str, scopes: Iterable[ScopeWork], window: Window) -> list[Entry]:
        """Keep `window` for each of the turn's scopes and return their entries.

        An unexpired entry keeps its summary, categories and cadence; the live one advances its
        cadence once per turn, however often the turn comes.
        """
        self._tick()
        new = turn_id not in self._recent_turns
        entries = []
        for it in scopes:
            held = self._entries.get(it.scope)
            entry = (held or Entry(it.scope, window, self._now, window.captured_at)).with_turn(
                window, it.persona_lineage_id, turns=int(it.live and new), now=self._now
            )
            self._put(entry, held)
            entries.append(entry)
        # A turn that came too late for a window says nothing of its channel as it is now.
        late = {it.scope.channel_id for it in entries if it.window is not window}
        for channel_id in {it.scope.channel_id for it in entries} - late:
            self.private_channels.see(channel_id, window.occurred_at, is_private=window.is_private)
        self._evict()
        if new:
            self._recent_turns[turn_id] = window.occurred_at
        return entries

    def time_of(self, turn_id: str) -> int | None:
        """Return when a recent turn occurred (ms), or None for one that was not remembered."""
        return self._recent_turns.get(turn_id)

    def note(self, start: Entry, change: Callable[[Entry], Entry]) -> Entry:
        """Change the entry of a scope, or `start` if none is held, and return what it became."""
        self._tick()
        scope = start.scope
        held = self._entries.get(scope)
        entry = change(held or start)
        self._put_if_alive(entry, held)
        self._evict()
        return entry

    def forget(self, tombstone: Tombstone) -> None:
        """Take out everything that `tombstone` covers, and a user's lines in others' windows."""
        self._forget_entries(tombstone)
        if tombstone.subject == "user":
            self._scrub({tombstone.subject_id: tombstone.forgotten_at})

    def obey(self, tombstones: Iterable[Tombstone]) -> None:
        """Heed tombstones that other containers may have set, all after `obeyed`, in order.

        Costs what they take out: a forgotten user's lines in the windows of others are left out
        when they are read, and taken out when more users have been forgotten than are minded so.
        """
        for tombstone in tombstones:
            self._forget_entries(tombstone)
            if tombstone.subject == "user":
                earlier = self._forgotten_users.get(tombstone.subject_id, 0)
                latest = max(earlier, tombstone.forgotten_at)
                self._forgotten_users[tombstone.subject_id] = latest
            self._obeyed = tombstone.number
        if len(self._forgotten_users) > FORGOTTEN_USERS:
            self._scrub(self._forgotten_users)
            self._forgotten_users = {}

    @property
    def obeyed(self) -> int:
        """The number of the last tombstone that this memory has obeyed in order."""
        return self._obeyed

    def lines(self, window: Window) -> tuple[Line, ...]:
        """Return the lines of `window`, oldest first, without those of forgotten users."""
        return window.lines(self._forgotten_users)

    def lines_of(self, user_id: str) -> Iterator[tuple[Entry, tuple[Line, ...]]]:
        """Yield the entries of others that `user_id` spoke in, each with what the user said.

        Of several with the same lines it is one, a server's if there is one. Looks at all that is
        held.
        """
        self._tick()
        told: set[tuple[int, bytes]] = set()
        servers_first = sorted(self._entries, key=lambda it: it.kind != "server")
        for scope in servers_first:
            if (scope.kind, scope.owner_id) == ("user", user_id):
                continue
            entry = self._entries.peek(scope)
            lines = entry.window.lines_of(user_id, self._forgotten_users)
            # Not by the window: what notes tell of an entry's place gives it one of its own.
            said = (entry.window.captured_at, entry.window.packed_lines)
            if lines and said not in told:
                told.add(said)
                yield entry, lines

    def get(self, scope: Scope) -> Entry | None:
        """Return what is held for `scope`, unless it expired."""
        self._tick()
        return self._entries.get(scope)

    def of_owner(self, kind: ScopeKind, owner_id: str) -> Iterator[Entry]:
        """Yield the entries of a user or a server, the last updated first.

        Looking is not using: what is only looked at does not outlive what was asked for.
        """
        self._tick()
        return map(self._entries.peek, self._owners[kind].newest_first(owner_id))

    def knows(self, kind: ScopeKind, owner_id: str) -> bool:
        """Tell whether anything of a user or a server is held."""
        self._tick()
        return owner_id in self._owners[kind]

    def lives(self, entry: Entry, now: int) -> bool:
        """Tell whether `entry`, held or read from a row, has not expired at `now` (ms)."""
        return self._expires_at(entry.scope, entry) > now

    def size(self) -> Size:
        """Return how much is held that has not expired."""
        self._tick()
        return Size(Cache.__len__(self._entries), self._account.bytes)

    def _tick(self) -> None:
        self._now = self._clock()
        self._entries.expire()

    def _expires_at(self, _: Scope, entry: Entry) -> int:
        return entry.updated_at + (self.summary_ttl_ms if entry.notes.summary else self.ttl_ms)

    def _put_if_alive(self, entry: Entry, replaced: Entry | None) -> None:
        """Put `entry` in place of `replaced`, or nothing if its life is over by now."""
        if self.lives(entry, self._now):
            self._put(entry, replaced)
        elif replaced is not None:
            self._take_out(entry.scope)

    def _put(self, entry: Entry, replaced: Entry | None) -> None:
        scope = entry.scope
        self._entries[scope] = entry
        self._account.add(entry)
        if replaced is None:
            self._channels.add(scope.channel_id, scope)
        else:
            self._account.remove(replaced)
        if replaced is None or entry.updated_at != replaced.updated_at:
            self._list(entry)

    def _list(self, entry: Entry) -> None:
        """Put `entry` where its time belongs: first, unless it was last updated in the past."""
        index, owner_id = self._owners[entry.scope.kind], entry.scope.owner_id
        index.add(owner_id, entry.scope)
        if entry.updated_at < self._now:
            others = (it for it in index.newest_first(owner_id) if it != entry.scope)
            newer = takewhile(lambda it: self._is_newer(it, entry), others)
            for scope in reversed(list(newer)):
                index.add(owner_id, scope)

    def _is_newer(self, scope: Scope, than: Entry) -> bool:
        return self._entries.peek(scope).updated_at > than.updated_at

    def _forget_entries(self, tombstone: Tombstone) -> None:
        self._tick()
        index = self._channels if tombstone.subject == "channel" else self._owners["user"]
        held = map(self._entries.peek, list(index.newest_first(tombstone.subject_id)))
        for entry in [it for it in held if tombstone.covers(it.scope, it.created_at)]:
            if tombstone.covers(entry.scope, entry.window.captured_at):
                self._take_out(entry.scope)
            else:
                self._put_if_alive(entry.afresh(), entry)

    def _scrub(self, forgotten: Forgotten) -> None:
        """Take the lines of forgotten users out of every window."""
        scrubbed: dict[Window, Window] = {}
        for scope in list(self._entries):
            entry = self._entries.peek(scope)
            window = entry.window
            if window not in scrubbed:
                scrubbed[window] = window.without(forgotten)
            if scrubbed[window] is not window:
                self._put(msgspec.structs.replace(entry, window=scrubbed[window]), entry)

    def _evict(self) -> None:
        while self._account.bytes > self._max_bytes:
            _, entry = self._entries.popitem()
            self._unlist(entry)

    def _take_out(self, scope: Scope) -> None:
        self._unlist(self._entries.pop(scope))

    def _unlist(self, entry: Entry) -> None:
        """Take an entry that has left the cache out of the indexes and the account."""
        scope = entry.scope
        self._owners[scope.kind].discard(scope.owner_id, scope)
        self._channels.discard(scope.channel_id, scope)
        self._account.remove(entry)


class _Entries(TLRUCache[Scope, Entry]):
    """cachetools' expiring LRU cache, which says what expired. Bytes are counted by an account: a
    window that two entries share has no size of its own per entry."""

    # What was evicted or replaced stays in cachetools' heap, with its key, until that is so many
    # times as long as what lives: at its own 2 the dead scopes weighed a fifth of all.
    _TLRUCache__HEAP_CLEANUP_FACTOR = 1.25

    def __init__(
        self,
        expires_at: Callable[[Scope, Entry], int],
        clock: Callable[[], int],
        expired: Callable[[Entry], None],
    ) -> None:
        super().__init__(math.inf, lambda scope, entry, _: expires_at(scope, entry), clock)
        self._expired = expired

    def peek(self, scope: Scope) -> Entry:
        """Return an entry and leave it where it is in the order of use."""
        return Cache.__getitem__(self, scope)

    def expire(self, time: float | None = None) -> list[tuple[Scope, Entry]]:
        gone = list(super().expire(time))
        for _, entry in gone:
            self._expired(entry)
        return gone
