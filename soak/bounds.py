"""The bounds that docs/guarantees.md states for a dependency that hangs. Pure."""

# One try of SQS: a second to connect and two to read.
POST_MS = 3_000
# A read of a container that is connected to Postgres, and of one that is not.
READ_MS = 350
CONNECTING_READ_MS = 1_500
# What a machine that stumbles may add.
MACHINE_MS = 500

_TRY_S = 2
_PATIENCE = 2
_LONGEST_REST_S = 30


def tries_within(seconds: float) -> int:
    """Return how often a container may try a queue that hangs for `seconds`.

    Twice, and then after rests of 1, 2, 4 … 30 s. Each try takes until the container gives it up.
    """
    tries, at = 0, 0
    while at < seconds:
        tries += 1
        surplus = tries - _PATIENCE
        at += _TRY_S + (min(2**surplus, _LONGEST_REST_S) if surplus >= 0 else 0)
    return tries
