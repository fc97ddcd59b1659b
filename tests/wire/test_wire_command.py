"""``python -m broodline.testing.wire`` as a process."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest

from broodline.testing.wire import WireServer
from broodline.testing.wire.command import main

COMMAND = [sys.executable, "-W", "error", "-m", "broodline.testing.wire"]


@contextmanager
def served(*arguments: str) -> Generator[tuple[subprocess.Popen[str], list[str]]]:
    """The process, and what it has printed up to its last line."""
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, list(greeting(process.stdout))
        finally:
            process.kill()


def greeting(out: IO[str] | None) -> Iterator[str]:
    assert out is not None
    for line in out:
        yield line.strip()
        if line.startswith("Ctrl-C"):
            return


def port_in(lines: list[str]) -> int:
    return int(lines[0].split(":")[-1].removesuffix("/v1"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_ended(
    number: signal.Signals, body: Callable[..., dict[str, Any]]
) -> None:
    """DESIGN 8: it says where it is and what to try, answers, and ends cleanly by either signal."""
    with served("--delay", "0") as (process, lines):
        port = port_in(lines)
        assert f"http://127.0.0.1:{port}/v1" in lines[0]
        tries = [line for line in lines if "broodline run" in line]
        assert tries[0].startswith("OPENAI_API_KEY=any broodline run ")
        assert tries[0].endswith(f"--model openai:demo --base-url http://127.0.0.1:{port}/v1")
        assert tries[1].startswith("ANTHROPIC_API_KEY=any broodline run ")
        assert tries[1].endswith(f"--model anthropic:demo --base-url http://127.0.0.1:{port}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("POST", "/v1/chat/completions", json.dumps(body("openai")))
        assert b"[DONE]" in connection.getresponse().read()
        process.send_signal(number)  # the connection is still open
        assert process.wait(10) == 0
        connection.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 8: a port that is not to be had is an exit with 2 that names it."""
    before = signal.getsignal(signal.SIGTERM)
    with WireServer() as server:
        assert main(["--port", str(server.port)]) == 2
        assert f"cannot listen at 127.0.0.1:{server.port}: " in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    "arguments",
    [["--port", "65536"], ["--port", "x"], ["--delay", "-1"], ["--delay", "x"], ["--delay", "nan"]],
)
def test_arguments_out_of_range(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 8: an argument that cannot be is an exit with 2 that says what can."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert " to " in capsys.readouterr().err
