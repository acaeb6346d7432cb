"""Reads one value of a langgraph store, on a connection as the store itself opens it."""

import json
import os
from contextlib import ExitStack
from typing import Any

from langgraph.store.postgres import PostgresStore

NAMESPACE = ("channels", os.environ["CHANNEL_ID"])
KEY = "window"

# Never left: one connection for as long as the container lives.
life = ExitStack()
store = life.enter_context(PostgresStore.from_conn_string(os.environ["DATABASE_URL"]))


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    item = store.get(NAMESPACE, KEY)
    return {
        "statusCode": 200,
        "headers": {"Content-Type": "application/json"},
        "body": json.dumps(item and item.value),
        "isBase64Encoded": False,
    }
