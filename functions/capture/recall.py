"""The read use case: what memory and rows together know for the next prompt (design, section 7)."""

from collections.abc import Callable, Iterable, Iterator, Set
from time import monotonic
from typing import Literal

import msgspec
from msgspec import Struct

from capture.container import Knowledge
from capture.durable import Durable, Reading, Wanted
from capture.entry import Entry
from capture.memory import Memory
from capture.obedience import obedient
from capture.patience import Away
from capture.query import Asker
from capture.remembered import Remembered, remembered
from capture.row import Row
from capture.sight import Sight
from shortterm.scope import Scope
from shortterm.wire import Private

# How often the rows are read for one answer: what comes up in the place of what turned out to be
# hidden or forgotten has to be asked for, too; unless it took so long already, since a bot waits.
MOST_READS = 3
AGAIN_WITHIN_S = 0.15


class Question(Struct, frozen=True):
    """Who asks, `at` which time (ms), and for how much beside the asked channel and persona.

    That is up to `limit` entries of other channels, which have one per persona each. `for_prompt`,
    which tells one entry of a channel, it is so many channels, with the newest entry and that of
    the asked persona of each; and rows with neither a summary nor categories are left out.
    """

    asker: Asker
    limit: int
    for_prompt: bool
    at: int


class Recollection(Private, frozen=True):
    """What is remembered, the other channels newest first, and how much this container can know.

    `turns_since_refresh` is that of the live scope of the asked channel. `durable` is unavailable
    if the rows could not be read.
    """

    current: Remembered | None
    others: tuple[Remembered, ...]
    turns_since_refresh: int
    state: Knowledge
    durable: Literal["fresh", "unavailable"]


class _Known(Private, frozen=True):
    """What memory and rows know together, by scope; of what was `missed` a row saw a later turn."""

    entries: dict[Scope, Entry]
    missed: frozenset[Scope]


class _Decision(Private, frozen=True):
    """The entries that answer, and what goes with them, as a Recollection tells it."""

    current: Entry | None
    others: list[Entry]
    turns_since_refresh: int
    is_stale: bool


def recall(question: Question, memory: Memory, durable: Durable, *, withhold: bool) -> Recollection:
    """Return what is known for the asked channel and persona, and for others as the question says.

    What memory holds is merged with the rows, also those of scopes that this container never saw.
    Others are narrowed to a persona lineage when asked. What was captured in a private channel, or
    in a thread under one, is shown only to a private channel, and only of the same server. When the
    rows cannot be read, and with them who was forgotten elsewhere, memory alone answers; nothing,
    if it is to `withhold` that.
    """
    reading: Reading | None = None
    try:
        held, reading = _read(question, memory, durable)
    except Away:
        if withhold:
            return _withheld(question, memory)
        # Tombstones may have been read before the database went away.
        held = _held(question, memory)

    known = _known(question, held, reading, memory)
    decision = _decided(question, known, _sight(question, reading, memory))
    return Recollection(
        current=None if decision.current is None else _remembered(decision.current, memory),
        others=tuple(_remembered(it, memory) for it in decision.others),
        turns_since_refresh=decision.turns_since_refresh,
        state=_state(question, memory, is_stale=decision.is_stale),
        durable="unavailable" if reading is None else "fresh",
    )


def _read(
    question: Question, memory: Memory, durable: Durable
) -> tuple[dict[Scope, Entry], Reading]:
    """Return the entries that may answer, and the rows, which were asked about each of them.

    Raises Away.
    """
    held, began = _held(question, memory), monotonic()
    for number in range(1, MOST_READS + 1):
        wanted, obeyed = _wanted(question, held, memory), memory.obeyed
        reading = _read_once(wanted, memory, durable)
        is_news = _learn_privacy(question, wanted, reading, memory)
        if not is_news and memory.obeyed == obeyed:
            break
        asked_about, held = held.keys(), _held(question, memory)
        if number == MOST_READS or monotonic() - began > AGAIN_WITHIN_S:
            # Of what nobody was asked about it is not known whether it may be seen.
            held = {scope: entry for scope, entry in held.items() if scope in asked_about}
        if held.keys() <= asked_about:
            break
    return held, reading


def _read_once(wanted: Wanted, memory: Memory, durable: Durable) -> Reading:
    return obedient(memory, lambda obeyed: durable.read(wanted, obeyed=obeyed))


def _held(question: Question, memory: Memory) -> dict[Scope, Entry]:
    """Return the entries that may answer as far as memory knows, by scope.

    They are as many as the question is for; and beside them up to as many that the rows told to be
    private, since they may tell something else by now.
    """
    asker, asked = question.asker, question.asker.asked
    lineage_id = asker.persona_lineage_id
    sight = Sight(asker, memory, question.at)
    sight_of_rows = Sight(asker, memory, question.at, told_private=memory.private_channels.told)

    def belongs(entry: Entry) -> bool:
        is_of_lineage = lineage_id is None or entry.persona_lineage_id == lineage_id
        is_told = not (entry.says_nothing if question.for_prompt else entry.is_bare)
        return is_of_lineage and is_told and sight.permits(entry)

    others: Iterator[Entry] = (
        entry
        for entry in memory.of_owner(asked.kind, asked.owner_id)
        if entry.scope.channel_id != asked.channel_id and belongs(entry)
    )
    if question.for_prompt:
        others = _newest_of_each_channel(others)
    entry = memory.get(asked)
    held = {} if entry is None else {asked: entry}
    for it in _as_many_open(question.limit, others, sight_of_rows.permits):
        held[it.scope] = it
        if question.for_prompt:
            of_persona = msgspec.structs.replace(asked, channel_id=it.scope.channel_id)
            if (entry := memory.get(of_persona)) and belongs(entry):
                held[of_persona] = entry
    return held


def _newest_of_each_channel(newest_first: Iterable[Entry]) -> Iterator[Entry]:
    seen: set[str] = set()
    for entry in newest_first:
        if entry.scope.channel_id not in seen:
            seen.add(entry.scope.channel_id)
            yield entry


def _as_many_open(
    limit: int, entries: Iterable[Entry], is_open: Callable[[Entry], bool]
) -> Iterator[Entry]:
    """Yield entries up to `limit` that are open, and on the way up to as many that are not."""
    left_open = left_closed = limit
    for entry in entries:
        if not left_open:
            return
        if is_open(entry):
            left_open -= 1
            yield entry
        elif left_closed:
            left_closed -= 1
            yield entry


def _wanted(question: Question, held: dict[Scope, Entry], memory: Memory) -> Wanted:
    asker, asked = question.asker, question.asker.asked
    # Of the channels themselves, too: an entry may have no row yet.
    channels = {it.scope.channel_id for it in held.values()}
    return Wanted(
        asked=asked,
        server_id=asker.server_id,
        lineage_id=asker.persona_lineage_id,
        everywhere=asker.include_other_servers,
        sees_private=asker.is_private_channel,
        for_prompt=question.for_prompt,
        scopes=tuple(held) if asked in held else (asked, *held),
        channels=tuple(channels | _parents(held)),
        limit=question.limit,
        alive_since=question.at - memory.ttl_ms,
        summary_alive_since=question.at - memory.summary_ttl_ms,
    )


def _parents(held: dict[Scope, Entry]) -> set[str]:
    """Return the channels that the entries are threads of."""
    parents = {it.window.parent_channel_id for it in held.values()}
    return {it for it in parents if it is not None}


def _withheld(question: Question, memory: Memory) -> Recollection:
    """Return nothing, not even a count of turns, but how much could have been told."""
    state = _state(question, memory, is_stale=False)
    return Recollection(None, (), 0, state, "unavailable")


def _learn_privacy(question: Question, wanted: Wanted, reading: Reading, memory: Memory) -> bool:
    """Let memory know what the rows tell, and tell whether any of it is news."""
    asker = question.asker
    told = {it: it in reading.private_channels for it in wanted.channels}
    hidden = {row.channel_id for row in reading.rows if row.is_hidden}
    for row in reading.rows:
        # From whom may see everything there nothing is hidden, private or not.
        if row.is_hidden or not (asker.is_private_channel and row.server_id == asker.server_id):
            told[row.channel_id] = row.channel_id in hidden
    return memory.private_channels.learn(told)


def _known(
    question: Question, held: dict[Scope, Entry], reading: Reading | None, memory: Memory
) -> _Known:
    """Return what memory and rows know of what may answer, and of the live scope."""
    entries, missed, parents = dict(held), set(), _parents(held)
    for row in reading.rows if reading is not None else ():
        scope = row.scope
        # What memory holds of a row that only others or a lineage brought up belongs to it, too.
        entry = held.get(scope) or _of_asked_parent(memory.get(scope), row, parents)
        entries[scope] = _joined(entry, row.entry)
        seen_at = -1 if entry is None else entry.window.occurred_at
        if row.last_turn_at is not None and row.last_turn_at > seen_at:
            missed.add(scope)
    live = question.asker.live
    if live not in entries and (entry := memory.get(live)):
        entries[live] = entry
    return _Known(entries, frozenset(missed))


def _joined(held: Entry | None, known: Entry) -> Entry:
    """Return what a row is `known` with, and what is `held` of it."""
    if held is None:
        return known
    # The row saw turns, of which a bare entry knows nothing.
    return known.joined(held) if held.is_bare else held.joined(known)


def _of_asked_parent(entry: Entry | None, row: Row, parents: Set[str]) -> Entry | None:
    """Return `entry` unless it is a thread of a channel that may be private for all that is known.

    The rows were asked about `parents`, and the row's own they know.
    """
    parent_id = None if entry is None else entry.window.parent_channel_id
    is_known = parent_id is None or parent_id == row.parent_channel_id or parent_id in parents
    return entry if is_known else None


def _sight(question: Question, reading: Reading | None, memory: Memory) -> Sight:
    """Return what the asker may see as the rows tell, or as they told when they were last read."""
    asker, at = question.asker, question.at
    if reading is None:
        return Sight(asker, memory, at, told_private=memory.private_channels.told)
    hidden = {row.scope for row in reading.rows if row.is_hidden}
    return Sight(asker, memory, at, told_private=reading.private_channels, hidden=hidden)


def _decided(question: Question, known: _Known, sight: Sight) -> _Decision:
    """Return what of that which is known answers, the others newest first."""
    asker = question.asker
    shown = {it.scope: it for it in known.entries.values() if not it.is_bare and sight.shows(it)}
    live = shown.get(asker.live)
    current = shown.pop(asker.asked, None)
    # In a guild the live entry is the server's: it is none of a user's others.
    shown.pop(asker.live, None)
    # Also of the rows, which came for what memory held of the lineage.
    lineage_id = asker.persona_lineage_id
    narrowed = [it for it in shown.values() if lineage_id in (None, it.persona_lineage_id)]
    newest_first = sorted(narrowed, key=lambda it: it.updated_at, reverse=True)
    others = newest_first if question.for_prompt else newest_first[: question.limit]
    answered = others if current is None else [current, *others]
    return _Decision(
        current=current,
        others=others,
        turns_since_refresh=0 if live is None else live.turns_since_refresh,
        is_stale=not known.missed.isdisjoint(it.scope for it in answered),
    )


def _state(question: Question, memory: Memory, *, is_stale: bool) -> Knowledge:
    if not memory.knows(question.asker.kind, question.asker.owner_id):
        return "cold"
    return "stale" if is_stale else "warm"


def _remembered(entry: Entry, memory: Memory) -> Remembered:
    return remembered(entry, memory.lines(entry.window))
