"""``python -m broodline.testing.wire``: a provider of one's own, for trying things out."""

from __future__ import annotations

import argparse
import contextlib
import signal
import socket
import sys
from collections.abc import Sequence
from types import FrameType

from .demo import demo_rule
from .server import WireServer

_TASK = '"Survey this folder."'


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM; call it in the main thread.

    Args:
        argv: Arguments without the program's name; None takes the process's own.

    Returns:
        0 when it was ended, 2 when the port is not to be had.
    """
    given = _arguments(argv)
    ended, ending = socket.socketpair()

    def end(number: int, place: FrameType | None) -> None:
        ending.send(b"!")  # unlike an Event's lock, nothing that the main thread may hold

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with ended, ending:
            return _serve(given, ended)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _serve(given: argparse.Namespace, ended: socket.socket) -> int:
    server = WireServer(pause=given.delay, host=given.host, port=given.port)
    server.rule = demo_rule
    try:
        server.start()
    except OSError as error:
        print(f"cannot listen at {given.host}:{given.port}: {error.strerror}", file=sys.stderr)
        return 2
    with contextlib.closing(server):
        print(_greeting(server), flush=True)
        ended.recv(1)
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m broodline.testing.wire",
        description="A local server in the formats of OpenAI and Anthropic with a built-in "
        "model, which delegates to two children and sums up. Any key will do.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=_port, default=0, help="0 takes a free one")
    parser.add_argument(
        "--delay", type=_seconds, default=0.03, metavar="S", help="seconds between two frames"
    )
    return parser.parse_args(argv)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError("a number from 0 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 60:
        raise argparse.ArgumentTypeError("seconds from 0 to 60")
    return seconds


def _greeting(server: WireServer) -> str:
    openai, anthropic = server.openai_url, server.anthropic_url
    run = f"broodline run {_TASK} --model"
    return f"""\
OpenAI Chat Completions: {openai}
Anthropic Messages:      {anthropic}

Try, in another terminal:
  OPENAI_API_KEY=any {run} openai:demo --base-url {openai}
  ANTHROPIC_API_KEY=any {run} anthropic:demo --base-url {anthropic}

Ctrl-C ends it."""
