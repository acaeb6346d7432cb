"""The examples of the README and of docs/deploy.md, run as they stand there on the local stack."""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text("utf-8")
DEPLOY = (ROOT / "docs" / "deploy.md").read_text("utf-8")
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


def test_the_curl_examples_post_a_turn_read_it_back_sum_it_up_and_forget(run):
    def answer_to(example: str) -> dict[str, Any]:
        return json.loads(run("bash", "-c", example=example))

    def this_channel() -> list[str]:
        """The lines of the context's first paragraph."""
        return answer_to(context)["text"].split("\n\n")[0].splitlines()

    post, context, attach, forget = examples("sh")
    (answer,) = re.findall(r"^```json\n(.*?)```", README, re.M | re.S)
    (text,) = re.findall(r"^```\n(\[This .*?)```", README, re.M | re.S)
    head, ann, mara = text.splitlines()
    summary = "Summary: Ann wants to walk out at low tide. Mara told her to bring boots."
    plans = "plans: a walk at low tide"

    assert answer_to(post) == json.loads(answer)
    assert this_channel() == [head, ann, mara]
    assert answer_to(attach)["queued"]
    assert this_channel() == [head, summary, plans, ann, mara]
    assert answer_to(forget)["status"] == "forgotten"
    assert this_channel() == [head, summary, plans, mara]


def test_the_python_example_prints_the_conversation(run):
    (program,) = examples("python")
    printed = run(sys.executable, "-c", example=program)
    assert printed == "Ann: Remind me of the boots.\nMara: Boots. Noted.\n"


def test_the_python_example_of_a_bot_on_aws_signs_its_requests(stack, monkeypatch, capsys):
    (program,) = re.findall(r"^```python\n(.*?)^```", DEPLOY, re.MULTILINE | re.DOTALL)
    signed: list[str] = []
    urlopen = urllib.request.urlopen

    def noting(request: urllib.request.Request, timeout: float) -> Any:
        signed.append(request.headers["Authorization"])
        return urlopen(request, timeout=timeout)

    monkeypatch.setattr(urllib.request, "urlopen", noting)
    monkeypatch.setenv("API_URL", stack.api_url)
    exec(program, {})  # noqa: S102
    assert capsys.readouterr().out == "ok\n"
    (signature,) = signed
    assert re.match(
        r"AWS4-HMAC-SHA256 Credential=test/\d{8}/eu-west-1/execute-api/aws4_request, ", signature
    )
