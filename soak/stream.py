"""What bots say: a seeded world of guilds, threads, users and personas, and its turns. Pure.

What each turn must leave behind follows from how it is made; nothing here asks the code under test.
"""

import heapq
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar

from soak.poison import FIRST_MS, LAST_MS, poison, refused

TWICE = 0.05
POISON = 0.02
SKIPPED = 0.03
DIRECT = 0.2
SEVERAL_PERSONAS = 0.1
LINEAGE_TOLD = 0.7
# How many turns later a bot sends a turn again, at most.
LATEST_REPEAT = 40

# Whatever the seed, a batch fails on data soon, at its first message and at its last.
REFUSED = {20: FIRST_MS, 40: LAST_MS}

_EPOCH_MS = 1_790_000_000_000
_GUILDS = 12
_CHANNELS = 100
_THREADS = 0.3
_USERS = 200

T = TypeVar("T")


class ScopeId(NamedTuple):
    """The identity of a row."""

    kind: str
    owner_id: str
    channel_id: str
    persona_id: str | None


class Channel(NamedTuple):
    """A channel of a guild; a thread has a parent."""

    channel_id: str
    server_id: str
    parent_id: str | None


class Persona(NamedTuple):
    """Who answers; a bot without personas has no id."""

    persona_id: str | None
    lineage_id: str | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn as it is posted, and the rows that it must leave once SQS has accepted its work.

    `lineages` has every scope of the turn with the lineage that the turn tells of it, or None;
    those in `live` count the turn. A turn to skip has no scopes. `occurred_at` is in ms; None for
    one that says nothing of it and so occurs when it is posted.
    """

    turn_id: str
    body: bytes
    lineages: Mapping[ScopeId, str | None]
    live: frozenset[ScopeId]
    occurred_at: int | None = None

    @property
    def is_skipped(self) -> bool:
        """Whether it must leave no trace."""
        return not self.lineages


@dataclass(frozen=True, slots=True)
class Post:
    """One request of a bot; `again` when the turn was posted before."""

    turn: Turn
    again: bool = False


@dataclass(frozen=True, slots=True)
class Poison:
    """A message that somebody puts on the queue and that no writer can apply."""

    body: str


class World:
    """Who there is, by the seed. The first of each kind are by far the busiest (Zipf)."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = Random(f"{seed}:world")
        self.channels = _Zipf(_channels(rng))
        self.users = _Zipf([f"u{number}" for number in range(_USERS)])
        self.personas = _Zipf(
            [
                Persona("7", "3"),
                Persona("8", "3"),
                Persona(None, None),
                Persona("luna", None),
                Persona("sol.2", "sol"),
                Persona("9", "4"),
            ]
        )

    @property
    def busiest(self) -> Channel:
        """The channel that most turns are of."""
        return self.channels.all[0]

    def turn(self, number: int) -> Turn:
        """Return the turn of that number, the same whenever it is asked for."""
        rng = Random(f"{self.seed}:{number}")
        user_id = self.users.one(rng)
        if rng.random() < DIRECT:
            channel = Channel(f"dm-{user_id}", "", None)
        else:
            channel = self.channels.one(rng)
        personas = self._personas(rng)
        told = [
            it if rng.random() < LINEAGE_TOLD else it._replace(lineage_id=None) for it in personas
        ]
        turn_id = f"s{self.seed}-{number}"
        fields = _fields(turn_id, number, user_id, channel, told, rng)
        if rng.random() < SKIPPED:
            return Turn(turn_id, _encoded(fields | rng.choice(_SKIPS)), {}, frozenset())
        lineages: dict[ScopeId, str | None] = {}
        live: set[ScopeId] = set()
        for persona_id, lineage_id in told:
            scopes = [ScopeId("user", user_id, channel.channel_id, persona_id)]
            if channel.server_id:
                scopes.append(ScopeId("server", channel.server_id, channel.channel_id, persona_id))
            lineages |= dict.fromkeys(scopes, lineage_id)
            live.add(scopes[-1])
        return Turn(turn_id, _encoded(fields), lineages, frozenset(live), fields.get("occurredAt"))

    def _personas(self, rng: Random) -> list[Persona]:
        first = self.personas.one(rng)
        if first.persona_id is None or rng.random() >= SEVERAL_PERSONAS:
            return [first]
        others = [it for it in self.personas.all if it.persona_id not in (None, first.persona_id)]
        return [first, rng.choice(others)]


def script(world: World, turns: int) -> Iterator[Post | Poison]:
    """Yield turns 0 to `turns` - 1 in order, some a second time later on, and poison between."""
    again: list[tuple[int, int]] = []
    for number in range(turns):
        rng = Random(f"{world.seed}:{number}:script")
        yield Post(world.turn(number))
        if rng.random() < TWICE:
            heapq.heappush(again, (number + rng.randrange(LATEST_REPEAT), number))
        name = f"{world.seed}-{number}"
        if number in REFUSED:
            yield Poison(refused(name, REFUSED[number]))
        elif rng.random() < POISON:
            yield Poison(poison(rng, name))
        while again and again[0][0] <= number:
            yield Post(world.turn(heapq.heappop(again)[1]), again=True)
    for _, number in sorted(again):
        yield Post(world.turn(number), again=True)


class _Zipf(Generic[T]):
    """Things of which the nth is met 1/n times as often as the first."""

    def __init__(self, things: list[T]) -> None:
        self.all = things
        self._weights = list(accumulate(1 / rank for rank in range(1, len(things) + 1)))

    def one(self, rng: Random) -> T:
        return rng.choices(self.all, cum_weights=self._weights)[0]


def _channels(rng: Random) -> list[Channel]:
    channels: list[Channel] = []
    for number in range(_CHANNELS):
        parent = rng.choice(channels) if channels and rng.random() < _THREADS else None
        server_id = parent.server_id if parent else f"g{rng.randrange(_GUILDS)}"
        channels.append(Channel(f"c{number}", server_id, parent and parent.channel_id))
    return channels


_SKIPS: tuple[dict[str, Any], ...] = (
    {"isStopResponse": True},
    {"privacyLevel": "FULL"},
    {"simplifiedMessages": []},
    {"personaResponses": []},
    {"personaResponses": [{"text": " "}]},
)


def _fields(
    turn_id: str, number: int, user_id: str, channel: Channel, personas: list[Persona], rng: Random
) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "turnId": turn_id,
        "userId": user_id,
        "channelId": channel.channel_id,
        "serverId": channel.server_id or rng.choice([None, "", "DM"]),
        "privacyLevel": rng.choice(["MINIMAL", "PARTIAL"]),
        "simplifiedMessages": [
            {"authorType": "user", "authorName": f"name {user_id}", "content": f"line {number}"}
        ],
        "personaResponses": [_response(number, it) for it in personas],
    }
    if channel.parent_id:
        fields["parentChannelId"] = channel.parent_id
    if rng.random() < 0.5:
        fields["occurredAt"] = _EPOCH_MS + number
    return fields


def _response(number: int, persona: Persona) -> dict[str, Any]:
    response: dict[str, Any] = {"text": f"reply {number}"}
    if persona.persona_id is not None:
        # A number is as good as its text.
        is_number = persona.persona_id.isdigit() and number % 2
        response["personaId"] = int(persona.persona_id) if is_number else persona.persona_id
    if persona.lineage_id is not None:
        response["personaLineageId"] = persona.lineage_id
    return response


def _encoded(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode()
