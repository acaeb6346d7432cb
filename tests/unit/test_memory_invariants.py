"""Whatever happens to a memory in whatever order: what holds after every single operation."""

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from given import HOUR, Clock, memory, notes
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from capture import memory as module
from capture import private_channels
from capture.dialogue import Line
from capture.entry import Entry
from capture.index import Index
from capture.memory import Memory
from capture.weight import entry_bytes, window_bytes
from capture.window import Window, empty_window, pack
from shortterm.scope import Scope, ScopeKind
from shortterm.tombstone import Tombstone
from shortterm.work import ScopeWork

Owner = tuple[ScopeKind, str]
MAX_BYTES = 20_000
MINUTE = 60_000
USERS, CHANNELS, SERVERS = "uvw", "cdef", "st"
users, channels, servers = map(st.sampled_from, (USERS, CHANNELS, SERVERS))
tombstones = st.tuples(
    st.one_of(
        st.tuples(st.just("user"), users),
        st.tuples(st.just("channel"), channels),
    ),
    # Before now, now, and by a clock that is ahead.
    st.sampled_from([-2 * HOUR, -5 * MINUTE, 0, MINUTE]),
)


def scopes_of(user: str, channel: str, server: str | None) -> list[ScopeWork]:
    mine = ScopeWork(Scope("user", user, channel), None, live=server is None)
    if server is None:
        return [mine]
    return [mine, ScopeWork(Scope("server", server, channel), None, live=True)]


class Told:
    """What a line or a summary says of itself: which step said it, of whom, and when (ms)."""

    def __init__(self, text: str) -> None:
        step, self.author, at, _ = text.split("|")
        self.step, self.at = int(step), int(at)


class Everything(RuleBasedStateMachine):
    """All that a memory can do, against what its entries alone say."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(module, "FORGOTTEN_USERS", 2)
        self.patch.setattr(module, "RECENT_TURNS", 5)
        self.patch.setattr(private_channels, "MOST", 2)
        self.clock = Clock()
        self.held: Memory = memory(self.clock, max_bytes=MAX_BYTES)
        self.step = 0
        self.set: list[tuple[int, Tombstone]] = []
        self.before: dict[Scope, Entry] = {}
        self.lists: dict[Owner, list[Scope]] = {}
        self.stepped_back = False

    def teardown(self) -> None:
        self.patch.undo()

    # What can be done.

    @rule(
        user=users,
        channel=channels,
        server=st.none() | servers,
        authors=st.lists(st.none() | users, min_size=1, max_size=4),
        size=st.sampled_from([0, 100, 3_000, 25_000]),
        late=st.sampled_from([0, 0, HOUR]),
        private=st.booleans(),
        again=st.booleans(),
    )
    def remember(self, user, channel, server, authors, size, late, private, again):
        self.step += 1
        lines = tuple(
            Line("user", "Ann", self.text(author or "", "x" * size), self.clock.now, author)
            for author in authors
        )
        self.held.remember(
            f"t{self.step // 2 if again else self.step}",
            scopes_of(user, channel, server),
            Window(
                pack(lines),
                len(lines),
                self.clock.now - late,
                self.clock.now,
                server_id=server,
                is_private=private,
            ),
        )

    @rule(
        user=users,
        channel=channels,
        server=st.none() | servers,
        summary=st.sampled_from([None, 0, 1, 1_500]),
        mood=st.sampled_from([None, "calm"]),
        told_before=st.sampled_from([0, 0, HOUR]),
        row_age=st.none() | st.sampled_from([0, 10 * MINUTE, 11 * HOUR, 20 * HOUR]),
    )
    def note(self, user, channel, server, summary, mood, told_before, row_age):
        """As attaching does: what a row knows is joined in, and of what was told the newest."""
        self.step += 1
        now = self.clock.now
        text = summary and self.text(user, "s" * summary)
        told = notes(now - told_before, "" if text == 0 else text, mood=mood)
        # One at a time: what it evicts must not come back within the same step.
        scope = scopes_of(user, channel, server)[-1].scope
        place = empty_window(now, server_id=server, parent_channel_id=None, is_private=False)

        def change(entry: Entry) -> Entry:
            if row_age is not None:
                at = now - row_age
                entry = entry.joined(Entry(scope, place, updated_at=at, created_at=at))
            return entry.with_notes(told, None, now=now)

        self.held.note(Entry(scope, place, updated_at=now, created_at=now), change)

    @rule(told=tombstones)
    def forget(self, told):
        # Only tombstones of others are obeyed in order: this one's number may be any.
        self.held.forget(self.tombstone(told, number=self.held.obeyed + 7))

    @rule(told=st.lists(tombstones, max_size=4))
    def obey(self, told):
        first = self.held.obeyed + 1
        self.held.obey([self.tombstone(it, number=first + n) for n, it in enumerate(told)])

    @rule(told=st.dictionaries(channels, st.booleans()))
    def learn_privacy(self, told):
        self.held.private_channels.learn(told)

    @rule(user=users, channel=channels, server=st.none() | servers)
    def look(self, user, channel, server):
        for it in scopes_of(user, channel, server):
            entry = self.held.get(it.scope)
            assert (entry is None) is (it.scope not in self.live())
            assert entry is None or entry.scope == it.scope

    @rule(passed=st.sampled_from([1, MINUTE, 20 * MINUTE, HOUR, 11 * HOUR, 12 * HOUR, 24 * HOUR]))
    def pass_time(self, passed):
        self.clock.now += passed

    @rule(back=st.sampled_from([1, 20 * MINUTE, HOUR]))
    def step_back(self, back):
        self.stepped_back = True
        self.clock.now -= back

    # What holds then.

    @invariant()
    def everything_holds(self):
        self.the_books_are_right_before_anything_is_tidied()
        self.nothing_expired_is_returned()
        self.the_indexes_hold_exactly_what_lives_the_newest_first()
        self.nothing_from_before_a_tombstone_can_be_read()
        self.what_is_kept_besides_is_bounded()
        self.before = self.live()

    def the_books_are_right_before_anything_is_tidied(self):
        self.check_books(dict(self.stored()))

    def nothing_expired_is_returned(self):
        assert self.held.size().entries == len(self.live())
        for entry in self.read():
            assert self.clock.now < entry.updated_at + (24 if entry.notes.summary else 12) * HOUR

    def the_indexes_hold_exactly_what_lives_the_newest_first(self):
        self.held._tick()
        live = self.live()
        self.check_books(live)
        for owner, entries in self.lists_of(live).items():
            listed = [it.scope for it in self.held.of_owner(*owner)]
            assert sorted(listed, key=repr) == sorted(entries, key=repr)
            self.check_order(owner, listed, live)
        for kind, ids in (("user", USERS), ("server", SERVERS)):
            for owner_id in ids:
                assert self.held.knows(kind, owner_id) is ((kind, owner_id) in self.lists_of(live))

    def nothing_from_before_a_tombstone_can_be_read(self):
        for entry in self.read():
            for line in self.held.lines(entry.window):
                self.check_not_forgotten(entry.scope, Told(line.content), authored=True)
            if entry.notes.summary:
                told = Told(entry.notes.summary)
                self.check_not_forgotten(entry.scope, told, authored=False)
        for user in USERS:
            for entry, lines in self.held.lines_of(user):
                for line in lines:
                    assert line.author_id == user
                    self.check_not_forgotten(entry.scope, Told(line.content), authored=True)

    def what_is_kept_besides_is_bounded(self):
        assert len(self.held._recent_turns) <= 5
        assert len(self.held.private_channels._seen_at) <= 2
        assert len(self.held.private_channels._told) <= 2
        assert len(self.held._forgotten_users) <= 2

    # How that is told.

    def text(self, author: str, filling: str) -> str:
        return f"{self.step}|{author}|{self.clock.now}|{filling}"

    def tombstone(self, told: tuple[tuple[str, str], int], *, number: int) -> Tombstone:
        (subject, subject_id), after = told
        self.step += 1
        tombstone = Tombstone(number, subject, subject_id, self.clock.now + after)
        self.set.append((self.step, tombstone))
        return tombstone

    def stored(self) -> Iterator[tuple[Scope, Entry]]:
        """What is there, expired or not."""
        for scope in dict.fromkeys(self.held._entries._Cache__data):
            yield scope, self.held._entries.peek(scope)

    def live(self) -> dict[Scope, Entry]:
        expires_at = self.held._expires_at
        return {it: entry for it, entry in self.stored() if expires_at(it, entry) > self.clock.now}

    def read(self) -> Iterator[Entry]:
        """Every entry that a reader can get hold of, without using it."""
        for user in USERS:
            yield from self.held.of_owner("user", user)
        for server in SERVERS:
            yield from self.held.of_owner("server", server)

    def check_books(self, entries: dict[Scope, Entry]) -> None:
        held = self.held
        windows = Counter(entry.window for entry in entries.values())
        assert held._account._holders == windows
        assert held._account.bytes == (
            sum(map(entry_bytes, entries.values())) + sum(map(window_bytes, windows))
        )
        assert held._account.bytes <= MAX_BYTES
        assert contents(held._channels) == grouped(entries, lambda it: it.channel_id)
        for kind, index in held._owners.items():
            of_kind = [it for it in entries if it.kind == kind]
            assert contents(index) == grouped(of_kind, lambda it: it.owner_id)

    def lists_of(self, scopes: Iterable[Scope]) -> dict[Owner, list[Scope]]:
        lists: dict[Owner, list[Scope]] = {}
        for it in scopes:
            lists.setdefault((it.kind, it.owner_id), []).append(it)
        return lists

    def check_order(self, owner: Owner, listed: list[Scope], live: dict[Scope, Entry]) -> None:
        """What did not change keeps its order; what did stands where its time puts it."""
        unchanged = [
            it
            for it in listed
            if it in self.before and self.before[it].updated_at == live[it].updated_at
        ]
        assert [it for it in self.lists.get(owner, []) if it in unchanged] == unchanged
        for it in set(listed) - set(unchanged):
            before = [other for other in listed[: listed.index(it)] if other in unchanged]
            behind = [other for other in listed[listed.index(it) :] if other in unchanged]
            time = live[it].updated_at
            if time >= self.clock.now:
                assert before == []
            else:
                assert all(live[other].updated_at > time for other in before)
                assert all(live[other].updated_at <= time for other in behind[:1])
        times = [live[it].updated_at for it in listed]
        assert self.stepped_back or times == sorted(times, reverse=True)
        self.lists[owner] = listed

    def check_not_forgotten(self, scope: Scope, told: Told, *, authored: bool) -> None:
        for step, tombstone in self.set:
            if told.step < step and told.at <= tombstone.forgotten_at:
                assert not tombstone.covers(scope, told.at)
                assert not (
                    authored and tombstone.subject == "user" and told.author == tombstone.subject_id
                )


def contents(index: Index[str]) -> dict[str, set[Scope]]:
    """What an index holds, and how often: nothing is there twice, no key is left without any."""
    found: dict[str, set[Scope]] = {}
    for key, held in index._scopes.items():
        listed = list(index.newest_first(key))
        found[key] = set(listed)
        assert len(found[key]) == len(listed) > 0
        assert isinstance(held, Scope) is (len(listed) == 1)
    return found


def grouped(scopes, key) -> dict[str, set[Scope]]:
    groups: dict[str, set[Scope]] = {}
    for it in scopes:
        groups.setdefault(key(it), set()).add(it)
    return groups


TestEverything = Everything.TestCase
TestEverything.settings = settings(max_examples=60, stateful_step_count=40)
