"""The command as a user starts it, against a server that speaks both formats."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from broodline.command import app
from broodline.testing.wire import WireServer

KEY = "sk-test-0123456789-very-secret"
TIMEOUT = 60


class Command:
    """``broodline run`` with the address and the model of one format.

    A signal that the runner ignores, as a shell does for what it starts in the
    background, has its effect all the same.
    """

    def __init__(self, server: WireServer, wire: str) -> None:
        self.wire = wire
        self.url = server.openai_url if wire == "openai" else server.anthropic_url
        self.variable = f"{wire.upper()}_API_KEY"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OPENAI_", "ANTHROPIC_", "BROODLINE_"))
        }
        self.environment[self.variable] = KEY

    def words(self, *arguments: str, program: str | None = None) -> list[str]:
        """The whole command; `program` is Python that runs in place of the entry point."""
        entry = ["-m", "broodline"] if program is None else ["-c", program]
        model = ["--model", f"{self.wire}:demo", "--base-url", self.url]
        signals = ["env", "--default-signal=INT,TERM,HUP,PIPE"]
        return [*signals, sys.executable, *entry, "run", *arguments, *model]

    def start(self, *arguments: str, program: str | None = None, **options: Any) -> Any:
        """Start it; stdout and stderr are pipes of text."""
        pipes: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "env": self.environment,
            "start_new_session": True,
        }
        return subprocess.Popen(self.words(*arguments, program=program), **(pipes | options))

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[Any]:
        """Run it to its end; `input` goes to its stdin."""
        given: str | None = options.pop("input", None)
        if given is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*arguments, **options) as process:
            try:
                out, err = process.communicate(given, timeout=TIMEOUT)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def here(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it in this process: much faster, where a process of its own says no more."""
        words = ["run", *arguments, "--model", f"{self.wire}:demo", "--base-url", self.url]
        without = {name: None for name in os.environ if name not in self.environment}
        done = CliRunner().invoke(
            app, words, env={**without, **self.environment}, catch_exceptions=False
        )
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def server() -> Iterator[WireServer]:
    """A server of the test's own; at the end nothing is connected."""
    with WireServer() as running:
        yield running
        assert running.wait_closed()


@pytest.fixture(params=["openai", "anthropic"])
def command(server: WireServer, request: pytest.FixtureRequest) -> Command:
    """The command in each format."""
    return Command(server, request.param)


@pytest.fixture
def one_command(server: WireServer) -> Command:
    """The command in one format, where the format makes no difference."""
    return Command(server, "openai")
