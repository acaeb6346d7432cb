"""A scope's summary and categories, as a bot tells them, and how two versions become one. Pure.

The container's memory, the writer and a read that merges the two all use the same `join`, so that
they agree whatever arrives where, in which order and how often.
"""

from collections.abc import Iterable, Mapping

from shortterm.wire import Millis, Private

# What a scope keeps at most (design, section 7).
MAX_SUMMARY_CHARACTERS = 1_500
MAX_CATEGORIES = 5
# How many categories, removed ones included, a scope knows the time of.
MAX_MARKS = 20


class Category(Private, frozen=True, omit_defaults=True):
    """What was said of one category, and when (ms): its text, or None when it was removed."""

    name: str
    told_at: Millis
    text: str | None = None


class Notes(Private, frozen=True, omit_defaults=True):
    """A summary and categories, each with the time (ms) at which the bot told it.

    `summary` is None without one; with a `summary_told_at` it was taken away then, without one it
    was never told. Categories are in the order of their names.
    """

    summary: str | None = None
    summary_told_at: Millis | None = None
    categories: tuple[Category, ...] = ()

    @property
    def told_at(self) -> int:
        """When any of this was last told (ms); 0 for notes that say nothing."""
        summary_told_at = self.summary_told_at or 0
        if not self.categories:
            return summary_told_at
        return max(summary_told_at, *(it.told_at for it in self.categories))

    def holds(self, told: "Notes") -> bool:
        """Tell whether anything of `told` stands in this."""
        summaries = (self.summary, self.summary_told_at) == (told.summary, told.summary_told_at)
        stands = summaries and told.summary_told_at is not None
        return stands or not set(self.categories).isdisjoint(told.categories)

    @property
    def by_category(self) -> dict[str, str]:
        """The text of each category that is not removed."""
        return {it.name: it.text for it in self.categories if it.text is not None}


NOTHING = Notes()


def from_columns(
    summary: str | None,
    summary_told_at: int | None,
    texts: Mapping[str, str],
    times: Mapping[str, int],
) -> Notes:
    """Return the notes that a row holds, out of its columns; times are in ms since the epoch.

    `texts` and `times` are those of categories, by name. One that has no text was removed at its
    time; one that has no time is as old as can be, so that whatever else is told of it stands.
    """
    if summary is None and summary_told_at is None and not texts and not times:
        return NOTHING
    # A read does this for every row that it finds: no slower than it need be.
    names = sorted({**texts, **times})
    categories = [Category(name, times.get(name, 0), texts.get(name)) for name in names]
    return Notes(summary, summary_told_at, tuple(categories))


def join(one: Notes, other: Notes) -> Notes:
    """Return what stands after both were told, in whatever order and however often.

    The newest telling of the summary stands, and the newest of each category; of two at the same
    time the one with the greater text. Over MAX_CATEGORIES the newest stay, for good: what was
    dropped does not come back when another one is removed, unless it is told again.
    """
    if NOTHING in (one, other):
        return other if one == NOTHING else one
    summary, told_at = max(
        ((it.summary, it.summary_told_at) for it in (one, other)),
        key=lambda told: (told[1] or 0, told[0] or ""),
    )
    newest: dict[str, Category] = {}
    for it in (*one.categories, *other.categories):
        newest[it.name] = max(it, newest.get(it.name, it), key=_age)
    return Notes(summary, told_at, _bounded(newest.values()))


def _age(category: Category) -> tuple[int, str]:
    return category.told_at, category.text or ""


def _bounded(categories: Iterable[Category]) -> tuple[Category, ...]:
    newest_first = sorted(categories, key=lambda it: (*_age(it), it.name), reverse=True)
    told = [it.name for it in newest_first if it.text is not None]
    surplus = set(told[MAX_CATEGORIES:])
    kept = [it for it in newest_first if it.name not in surplus][:MAX_MARKS]
    return tuple(sorted(kept, key=lambda it: it.name))
