"""Which scopes belong to an owner or a channel, newest first: a read costs what it returns."""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from shortterm.scope import Scope

K = TypeVar("K", bound=Hashable)


class Index(Generic[K]):
    """Scopes by key, each in the order in which they were last added.

    Most users talk in one channel: a lone scope is held bare, since a dictionary of one weighs
    more than the scope itself.
    """

    def __init__(self) -> None:
        self._scopes: dict[K, Scope | dict[Scope, None]] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._scopes

    def newest_first(self, key: K) -> Iterator[Scope]:
        """Yield the scopes under `key`; they must not change meanwhile."""
        held = self._scopes.get(key)
        if isinstance(held, Scope):
            yield held
        elif held:
            yield from reversed(held)

    def add(self, key: K, scope: Scope) -> None:
        """Put `scope` under `key`, or make it the newest there."""
        held = self._scopes.get(key)
        if held is None or held == scope:
            self._scopes[key] = scope
        elif isinstance(held, Scope):
            self._scopes[key] = {held: None, scope: None}
        else:
            held.pop(scope, None)
            held[scope] = None

    def discard(self, key: K, scope: Scope) -> None:
        """Take `scope` from under `key`, if it is there; a key without scopes is forgotten."""
        held = self._scopes.get(key)
        if isinstance(held, dict):
            held.pop(scope, None)
            if len(held) == 1:
                self._scopes[key] = held.popitem()[0]
        elif held == scope:
            del self._scopes[key]
