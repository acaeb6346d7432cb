"""Keeps libraries from logging: they quote what goes through their hands.

botocore logs whole messages at DEBUG, psycopg what Postgres says of a failed statement. What level
is set for the root logger, and so for theirs, an operator decides (`AWS_LAMBDA_LOG_LEVEL`).
"""

import logging

LIBRARIES = ("aws_lambda_powertools", "botocore", "psycopg", "urllib3")


def silence_libraries() -> None:
    """Let nothing through that a library logs, at whatever level the root logger is."""
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
