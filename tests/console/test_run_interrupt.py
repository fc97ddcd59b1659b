"""Ctrl-C and its kin while a real model speaks: all stops, connections close, the words stay."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import subprocess
import termios
from typing import Any

import pytest

from broodline.testing.wire import WireServer, call, calls, endless, say, silent, status


def group_is_gone(process: subprocess.Popen[str]) -> bool:
    """Whether no process of the command's own session is left."""
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_an_interrupt_in_the_middle_of_an_answer(server: WireServer, command: Any) -> None:
    """run: Ctrl-C after the first words ends with 130; they stay, the connection is closed."""
    server.play(silent("finish", of=say("As far ", "as this")))
    with command.start("Do it.") as process:
        assert process.stdout.read(14) == "As far as this"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "\n")
    assert err.splitlines()[-1].endswith(" s, interrupted: Ctrl-C")
    assert "Traceback" not in err
    assert server.wait_closed()
    assert group_is_gone(process)


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGTERM, 143, "SIGTERM"), (signal.SIGHUP, 129, "SIGHUP")],
)
def test_a_signal_stops_the_whole_tree(
    server: WireServer, one_command: Any, number: signal.Signals, code: int, word: str
) -> None:
    """run: with two children at the model a signal closes both requests and is in the document."""
    parts = [call("subagent", {"description": name, "prompt": name}) for name in ("one", "two")]
    server.play(calls(*parts, text="I split it."), silent("finish"), silent("headers"))
    with one_command.start("Do it.", "--json") as process:
        assert server.wait_silent(2, timeout=30)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    document = json.loads(out)
    assert process.returncode == code
    assert (document["status"], document["problem"]) == ("interrupted", word)
    assert (document["answer"], document["stopReason"]) == ("I split it.", "aborted")
    assert document["left"] == 0
    assert [child["state"] for child in document["tree"]["children"]] == ["stopped", "stopped"]
    assert err.splitlines()[-1].endswith(f"interrupted: {word}")
    assert server.wait_closed()


def test_an_interrupt_while_a_retry_waits(server: WireServer, one_command: Any) -> None:
    """run: Ctrl-C during the wait for a retry is no reason to wait it out."""
    server.play(status(503, retry_after=9.5))
    with one_command.start("Do it.") as process:
        while "retrying in 9.5 s (SERVER 503)" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert len(server.requests) == 1
    assert ", 0 retries, " in err
    assert "\nrun: root was retrying after SERVER 503: " in err


STUBBORN = """
import sys, time
from broodline.console import mission
from broodline.survey.ground import Ground
from broodline.cli import main

def stubborn(self, folder, files, check):
    print("stuck", file=sys.stderr, flush=True)
    time.sleep(600)

mission.PATIENCE = 600.0
Ground.count = stubborn
sys.argv[0] = "broodline"
main()
"""


def test_a_second_interrupt_leaves_at_once(server: WireServer, one_command: Any) -> None:
    """run: where a tool does not listen, pressing Ctrl-C again ends the process."""
    server.play(calls(call("count", {"folder": "", "files": ["a"]})))
    with one_command.start("Do it.", program=STUBBORN) as process:
        for moment in ("stuck", "run: stopping all agents; once more ends it at once"):
            while process.stderr.readline() != f"{moment}\n":
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert group_is_gone(process)


def test_an_interrupt_is_met_while_nobody_reads(server: WireServer, one_command: Any) -> None:
    """run: a reader that has stopped reading holds up neither Ctrl-C nor the end."""
    server.play(endless("more " * 1000))
    with one_command.start("Do it.") as process:
        process.stdout.read(5)
        assert "run: " in process.stderr.readline()
        # Nobody reads on; the pipe holds 64 KiB, the answer has no end.
        while _unread(process) < 40_000:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        process.stdout.close()
    assert server.wait_closed()


def _unread(process: subprocess.Popen[str]) -> int:
    """Bytes that wait in the pipe from the process."""
    assert process.stdout is not None
    waiting = array.array("i", [0])
    fcntl.ioctl(process.stdout.fileno(), termios.FIONREAD, waiting)
    return waiting[0]
