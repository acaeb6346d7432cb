"""Cuts a text between grapheme clusters, which are what a reader sees as one character. Pure."""

import unicodedata

# How many code points a cut goes back at most so as not to tear a cluster.
MAX_CLUSTER = 32

_ZERO_WIDTH_JOINER = "\u200d"
_REGIONAL_INDICATORS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def cut(text: str, limit: int) -> str:
    """Return the first `limit` code points of `text`, or a few less so that no cluster is torn.

    An emoji of several code points, or a letter with its accents, stays whole or goes; unless it
    is longer than MAX_CLUSTER.
    """
    if len(text) <= limit:
        return text
    ends = range(limit, max(limit - MAX_CLUSTER, 0), -1)
    return text[: next((end for end in ends if not _is_within_cluster(text, end)), limit)]


def _is_within_cluster(text: str, end: int) -> bool:
    """Tell whether `text[end]` belongs to the cluster of what is before it."""
    before, after = text[end - 1], text[end]
    return (
        _ZERO_WIDTH_JOINER in (before, after)
        or unicodedata.category(after) in ("Mn", "Mc", "Me")
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # the tags of a region's flag
        # A flag is a pair of these: an odd one before the cut has its other half behind it.
        or (after in _REGIONAL_INDICATORS and _indicators_before(text, end) % 2 == 1)
    )


def _indicators_before(text: str, end: int) -> int:
    return end - len(text[:end].rstrip(_REGIONAL_INDICATORS))
