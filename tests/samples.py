"""What the sample events in events/ must be answered with, wherever the functions run."""

from pathlib import Path

EVENTS = Path(__file__).parent.parent / "events"

# Name, status, and what the body says.
API = [
    ("guild-turn", 202, "captured"),
    ("direct-message", 202, "captured"),
    ("thread-in-private-channel", 202, "captured"),
    ("several-personas", 202, "captured"),
    ("base64-body", 202, "captured"),
    ("privacy-full", 202, "skipped"),
    ("stop-response", 202, "skipped"),
    ("malformed-body", 400, "Malformed request"),
    ("recall", 200, "cold"),
    ("health", 200, "ok"),
]
# Name, and how many of its messages come back.
SQS = [("sqs-one-turn", 0), ("sqs-batch-with-repeat-and-poison", 1)]
SCHEMA = ["schema-migrate"]

assert {name for name, *_ in [*API, *SQS]} | {*SCHEMA} == {it.stem for it in EVENTS.glob("*.json")}
