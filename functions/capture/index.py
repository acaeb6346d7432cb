"""Which scopes belong to an owner or a channel, so that a read costs what it returns."""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from shortterm.scope import Scope

K = TypeVar("K", bound=Hashable)


class Index(Generic[K]):
    """Scopes by key, in no order.

    Most users talk in one channel: a lone scope is held bare, since a set of one weighs more than
    the scope itself.
    """

    def __init__(self) -> None:
        self._scopes: dict[K, Scope | set[Scope]] = {}

    def __len__(self) -> int:
        return len(self._scopes)

    def __contains__(self, key: K) -> bool:
        return key in self._scopes

    def of(self, key: K) -> Iterator[Scope]:
        """Yield the scopes under `key`; they must not change meanwhile."""
        held = self._scopes.get(key)
        if isinstance(held, Scope):
            yield held
        elif held:
            yield from held

    def add(self, key: K, scope: Scope) -> None:
        """Put `scope` under `key`; adding it again changes nothing."""
        held = self._scopes.get(key)
        if held is None:
            self._scopes[key] = scope
        elif isinstance(held, set):
            held.add(scope)
        elif held != scope:
            self._scopes[key] = {held, scope}

    def discard(self, key: K, scope: Scope) -> None:
        """Take `scope` from under `key`, if it is there; a key without scopes is forgotten."""
        held = self._scopes.get(key)
        if isinstance(held, set):
            held.discard(scope)
            if len(held) == 1:
                self._scopes[key] = held.pop()
        elif held == scope:
            del self._scopes[key]
