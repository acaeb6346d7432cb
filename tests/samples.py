"""What the sample events in events/ must be answered with, wherever the functions run.

They run beside a database: without one, forgetting and export are answered with 503.
"""

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
    ("context", 200, "nudge"),
    ("summary", 200, "attached"),
    ("summary-malformed", 400, "summary"),
    ("export", 200, "notIncluded"),
    ("forget-user", 200, "forgotten"),
    ("forget-channel", 200, "forgotten"),
    ("health", 200, "ok"),
]
# Name, and how many of its messages come back.
SQS = [("sqs-one-turn", 0), ("sqs-batch-with-repeat-and-poison", 1), ("sqs-notes", 0)]
# What EventBridge sends to the writer once an hour.
JANITOR = ["tidy"]
SCHEMA = ["schema-migrate"]

assert {name for name, *_ in [*API, *SQS]} | {*JANITOR, *SCHEMA} == {
    it.stem for it in EVENTS.glob("*.json")
}
