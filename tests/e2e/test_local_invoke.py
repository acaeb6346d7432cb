"""`make local-invoke`, as far as a machine without Docker can tell."""

import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg

from local.functions import FUNCTIONS, settings_of
from local.sam import declared, reachable
from local.sqs import sqs_client

ROOT = Path(__file__).parent.parent.parent


def test_a_container_finds_the_services_through_ports_of_its_own(stack):
    def use(settings: dict[str, str]) -> str:
        with psycopg.connect(settings["DATABASE_URL"]) as connection:
            user = connection.execute("SELECT current_user::text").fetchone()[0]
        client = sqs_client(settings["AWS_ENDPOINT_URL_SQS"])
        client.get_queue_attributes(QueueUrl=settings["WORK_QUEUE_URL"])
        client.close()
        return user

    async def from_a_container() -> str:
        async with AsyncExitStack() as undo:
            endpoints = stack.services.endpoints
            found = await reachable(endpoints, "127.0.0.1", undo, host="127.0.0.1")
            assert found.sqs_endpoint != endpoints.sqs_endpoint
            return await asyncio.to_thread(use, settings_of(FUNCTIONS["capture"], found))

    assert asyncio.run(from_a_container()) == "stm_capture"


def test_the_template_for_docker_declares_what_the_stack_sets():
    template = "A:\n  Environment:\n    Variables:\n      LOG_LEVEL: x\n"
    assert declared(template, {"LOG_LEVEL": "INFO", "AWS_ENDPOINT_URL_SQS": "http://…"}) == (
        "A:\n  Environment:\n    Variables:\n      AWS_ENDPOINT_URL_SQS: ''\n      LOG_LEVEL: x\n"
    )


def test_without_docker_it_says_so_in_one_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "local.sam", "capture", "events/health.json"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "Docker is not running" in line
