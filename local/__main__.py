"""The commands of the local stack."""

import argparse
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from local.errors import CannotRun
from local.functions import FUNCTIONS


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    # `kill` ends the stack as Ctrl-C does: in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return _run(options)
    except CannotRun as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _run(options: argparse.Namespace) -> int:
    # Each command imports what it needs: `--help` and a refusal come at once.
    if options.command == "invoke":
        from local.invoke import invoke

        return invoke(name=options.function, event=options.event, state=options.state)
    from local.up import up

    return up(
        port=options.port,
        state=options.state,
        containers=options.containers,
        poller=options.poller,
        once=options.once,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start the stack, replay a sample conversation, serve")
    up.add_argument("--port", type=_between(0, 65535), default=3000, help="0 takes a free one")
    up.add_argument("--containers", type=_between(1, 100), default=1, help="of capture, at most")
    up.add_argument(
        "--no-poller", dest="poller", action="store_false", help="leave the work on the queue"
    )
    up.add_argument("--once", action="store_true", help="exit after the sample, 1 on a mismatch")
    invoke = commands.add_parser("invoke", help="run one event and print the response")
    invoke.add_argument("function", choices=FUNCTIONS)
    invoke.add_argument("event", type=Path, metavar="EVENT.json")
    for command in (up, invoke):
        command.add_argument("--state", type=Path, default=Path(".local"), help="default: .local")
    return parser


def _between(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return value

    return number


if __name__ == "__main__":
    sys.exit(main())
