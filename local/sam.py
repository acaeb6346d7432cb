"""`make local-invoke`: one event through a built function in Docker, on a running stack's services.

SAM starts the container, which reaches this machine as `host.docker.internal`. The stack's services
listen on a Unix socket and on 127.0.0.1, so each gets a port that containers can reach meanwhile.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from local.errors import CannotRun
from local.functions import CODE, FUNCTIONS, Endpoints, settings_of
from local.state import State

HOST = "host.docker.internal"
BUILT = CODE / ".aws-sam" / "build" / "template.yaml"
SAM = CODE / ".venv-sam" / "bin" / "sam"

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Stream]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make local-invoke", description=__doc__)
    parser.add_argument("function", choices=sorted(FUNCTIONS))
    parser.add_argument("event", type=Path)
    parser.add_argument("--state", type=Path, default=Path(".local"))
    arguments = parser.parse_args()
    try:
        gateway = docker_gateway()
        if not BUILT.exists():
            raise CannotRun("nothing is built: make build first")
        endpoints = State(arguments.state).endpoints()
        return asyncio.run(_invoke(arguments.function, arguments.event, endpoints, gateway))
    except CannotRun as error:
        print(f"local-invoke: {error}", file=sys.stderr)
        return 1


def docker_gateway() -> str:
    """Return this machine's address on Docker's network. Raises CannotRun without Docker."""
    docker = shutil.which("docker")
    template = "{{(index .IPAM.Config 0).Gateway}}"
    command = [docker or "", "network", "inspect", "bridge", "--format", template]
    done = subprocess.run(command, capture_output=True, text=True, check=False) if docker else None
    if done is None or done.returncode:
        raise CannotRun(
            "Docker is not running here, and sam local invoke needs it; "
            "python -m local invoke runs an event without it"
        )
    return done.stdout.strip()


def declared(template: str, settings: Mapping[str, str]) -> str:
    """Return the built template with a place for each setting: SAM passes no other variable on."""
    missing = [it for it in settings if not re.search(rf"^ +{it}:", template, re.MULTILINE)]
    return re.sub(
        r"^( +)Variables:\n",
        lambda found: found[0] + "".join(f"{found[1]}  {name}: ''\n" for name in missing),
        template,
        flags=re.MULTILINE,
    )


async def reachable(
    endpoints: Endpoints, gateway: str, undo: AsyncExitStack, *, host: str = HOST
) -> Endpoints:
    """Return where a container finds the services, until `undo` closes their ports."""
    database, sqs = urlsplit(endpoints.database_url), urlsplit(endpoints.sqs_endpoint)
    socket = f"{parse_qs(database.query)['host'][0]}/.s.PGSQL.5432"
    to_database: Connect = partial(asyncio.open_unix_connection, socket)
    to_sqs: Connect = partial(asyncio.open_connection, sqs.hostname, sqs.port)
    database_port = await _listen(gateway, to_database, undo)
    sqs_port = await _listen(gateway, to_sqs, undo)
    netloc = f"{database.username}@{host}:{database_port}"
    return replace(
        endpoints,
        database_url=database._replace(netloc=netloc, query="").geturl(),
        sqs_endpoint=f"http://{host}:{sqs_port}",
    )


async def _invoke(name: str, event: Path, endpoints: Endpoints, gateway: str) -> int:
    async with AsyncExitStack() as undo:
        settings = settings_of(FUNCTIONS[name], await reachable(endpoints, gateway, undo))
        settings["DATABASE_IAM_AUTH"] = "false"
        logical_id = f"{name.capitalize()}Function"
        template, variables = BUILT.with_name("local.yaml"), BUILT.with_name("local.json")
        template.write_text(declared(BUILT.read_text("utf-8"), settings), "utf-8")
        variables.write_text(json.dumps({logical_id: settings}), "utf-8")
        environment = {it: os.environ[it] for it in os.environ if it != "PYTHONPATH"}
        sam = await asyncio.create_subprocess_exec(
            *(str(SAM), "local", "invoke", logical_id, "--event", str(event)),
            *("--template", str(template), "--env-vars", str(variables)),
            *("--add-host", f"{HOST}:host-gateway", "--region", endpoints.region),
            env=environment,
        )
        return await sam.wait()


async def _listen(gateway: str, connect: Connect, undo: AsyncExitStack) -> int:
    """Pass on what comes to a free port, which nobody but this machine's containers can reach."""
    try:
        server = await asyncio.start_server(partial(_pass_on, connect), gateway, 0)
    except OSError:  # with Docker Desktop the gateway is in its virtual machine, which comes here
        server = await asyncio.start_server(partial(_pass_on, connect), "127.0.0.1", 0)
    undo.callback(server.close)
    port: int = server.sockets[0].getsockname()[1]
    return port


async def _pass_on(
    connect: Connect, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        service_reader, service_writer = await connect()
    except OSError:  # the service is away: so is its port
        writer.close()
        return
    await asyncio.gather(_copy(reader, service_writer), _copy(service_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    raise SystemExit(main())
