"""The examples of the README, run as they stand there against the local stack."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent.parent / "README.md").read_text("utf-8")
API = "http://127.0.0.1:3000"


def examples(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return [it for it in found if API in it]


@pytest.fixture
def run(stack):
    """Run a program on an example, with the address of this stack in it."""

    def start(*program: str, example: str) -> str:
        command = [*program, example.replace(API, stack.api_url)]
        return subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=True, timeout=30
        ).stdout

    return start


def test_the_curl_examples_post_a_turn_and_read_it_back(run):
    post, get = examples("sh")
    (answer,) = examples_of_answers()
    assert json.loads(run("bash", "-c", example=post)) == answer
    current = json.loads(run("bash", "-c", example=get))["current"]
    assert [line["content"] for line in current["lines"]] == [
        "Is the tide in yet? :wave:",
        "High water is at 10:12. Bring boots.",
    ]


def examples_of_answers() -> list[dict[str, object]]:
    return [json.loads(it) for it in re.findall(r"^```json\n(.*?)```", README, re.M | re.S)]


def test_the_python_example_prints_the_conversation(run):
    (program,) = examples("python")
    printed = run(sys.executable, "-c", example=program)
    assert printed == "Ann: Remind me of the boots.\nMara: Boots. Noted.\n"
