"""What ``broodline run`` shows on a terminal: the tree, the words, and nothing that steers it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from broodline.testing.wire import WireServer, call, calls, cut, say, silent, status

EVIL = "\x1b[2J\x1b]0;title\x07\x9b31m"


def on_terminal(
    command: Any, *arguments: str, moments: tuple[tuple[bytes, Callable[[Any], Any]], ...] = ()
) -> tuple[int, str]:
    """Run on a terminal of its own: exit code, and all that was written to it.

    Each of `moments` is a text and what is done once it is there.
    """
    parent, child = pty.openpty()
    size = {"TERM": "xterm", "COLUMNS": "70", "LINES": "20"}
    process = subprocess.Popen(
        command.words(*arguments),
        stdin=child,
        stdout=child,
        stderr=child,
        start_new_session=True,
        env=command.environment | size,
    )
    os.close(child)
    text = b""
    while select.select([parent], [], [], 30)[0]:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        text += part
        if moments and moments[0][0] in text:
            moments[0][1](process)
            moments = moments[1:]
    os.close(parent)
    return process.wait(30), text.decode()


def delegated(server: WireServer) -> None:
    part = call("subagent", {"description": f"a {EVIL} part", "prompt": "part"})
    server.play(
        calls(part, text="I split it."),
        silent("finish", of=say("The child ", EVIL, " speaks")),
        silent("finish", of=say("The end ", EVIL, "\tis near.")),
    )


def test_the_tree_and_the_words_while_they_come(server: WireServer, command: Any) -> None:
    """run: a terminal shows the agents, a child's last words, the root's words; at the end all."""
    delegated(server)
    release = (lambda _process: server.release(),)
    code, text = on_terminal(
        command, "Do it.", moments=((b" speaks", *release), (b"is near.", *release))
    )
    assert code == 0
    assert text.count("waits for its child") >= 1
    assert "\\x1b]0;title\\x07\\x9b31m speaks”" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    *_drawn, end = text.split("\x1b[?25h")
    assert "├─" not in end
    assert end.index("done") < end.index("I split it.") < end.index("The end ")
    assert end.rstrip().endswith(" s, completed")


def test_nothing_of_a_model_steers_the_terminal(server: WireServer, one_command: Any) -> None:
    """run: what a model says is written out where it would be obeyed: words, labels, lines."""
    delegated(server)
    release = (lambda _process: server.release(),)
    _, drawn = on_terminal(
        one_command, "Do it.", moments=((b" speaks", *release), (b"is near.", *release))
    )
    server.play(*[calls(call("list", {"folder": EVIL}), text=EVIL), say(EVIL)])
    _, plain = on_terminal(one_command, "Do it.", "--no-live")
    for text in (drawn, plain):
        assert "\\x1b[2J\\x1b]0;title\\x07\\x9b31m" in text
        for sequence in ("\x1b[2J", "\x1b]", "\x07", "\x9b"):
            assert sequence not in text


def test_an_interrupt_gives_the_terminal_back(server: WireServer, one_command: Any) -> None:
    """run: after Ctrl-C the cursor is back, the words so far are there, and it is said."""
    server.play(silent("finish", of=say("As far as this")))
    code, text = on_terminal(
        one_command,
        "Do it.",
        moments=((b"As far as this", lambda process: process.send_signal(signal.SIGINT)),),
    )
    assert code == 130
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    end = text.split("\x1b[?25h")[-1]
    assert "As far as this" in end
    assert "interrupted: Ctrl-C" in end.replace("\r\n", "")
    assert server.wait_closed()


def test_a_broken_answer_is_disowned_above_the_tree(server: WireServer, one_command: Any) -> None:
    """run: on a terminal, too, it is said that the words shown so far do not count."""
    server.play(cut(after="text", of=say("Once ", "upon ")), say("Whole."))
    code, text = on_terminal(one_command, "Do it.")
    assert code == 0
    assert "thrown away" in text
    assert "retrying in 0." in text
    end = text.split("\x1b[?25h")[-1]
    assert "Once" not in end
    assert "Whole." in end


def test_what_stays_of_one_agent(server: WireServer, one_command: Any) -> None:
    """run: title and tree line stay for one agent, too; thoughts show while they come."""
    thoughts = ("First", " things", " first.")
    listing = calls(call("list", {"folder": ""}), reasoning=thoughts)
    server.play(silent("finish", of=listing), say("Whole."))
    code, text = on_terminal(
        one_command,
        "Do it.",
        "--show-reasoning",
        moments=((b"thinks: First things first.", lambda _process: server.release()),),
    )
    assert code == 0
    first, *_drawn, end = text.split("\x1b[?25")
    assert first.startswith(f"run: {one_command.wire}:demo in ")
    assert end.index("done, 36 tokens") < end.index("Whole.")
    shown = text.split("\x1b[?25h")[0]
    assert shown.index("thinks: First") < shown.index("run: thinks: First things first.")
    assert "not reported" not in shown


def test_a_terminal_says_why_it_waits(server: WireServer, one_command: Any) -> None:
    """run: the tree tells the short cause of a retry; at the end Ctrl-C tells it in full."""
    server.play(status(503, text="all is lost", retry_after=9.0))
    code, text = on_terminal(
        one_command,
        "Do it.",
        moments=((b"(SERVER 503)", lambda process: process.send_signal(signal.SIGINT)),),
    )
    assert code == 130
    assert "(SERVER 503): " in re.sub(r"\x1b\[[0-9;]*m", "", text)
    end = text.split("\x1b[?25h")[-1].replace("\r\n", "\n")
    assert "\nrun: root was retrying after SERVER 503: " in end
    assert "all is lost" in end


def test_the_last_broken_answer_is_disowned_on_a_terminal(
    server: WireServer, one_command: Any
) -> None:
    """run: on a terminal, too, words of the last attempt that broke off are called so."""
    server.play(cut(after="text", of=say("Once ", "upon ")))
    code, text = on_terminal(one_command, "Do it.", "--retries", "0")
    end = text.split("\x1b[?25h")[-1].replace("\r\n", "\n")
    assert code == 1
    assert "Once \nrun: this answer broke off and is thrown away\nrun: TRANSPORT: " in end


@pytest.mark.parametrize("how", ["--no-live", "-q"])
def test_the_tree_can_be_left_out_of_a_run(server: WireServer, one_command: Any, how: str) -> None:
    """run: --no-live and --quiet draw nothing; the answer is there."""
    server.play(say("Whole."))
    code, text = on_terminal(one_command, "Do it.", how)
    assert code == 0
    assert "\x1b" not in text
    assert "Whole.\r\n" in text
    assert ("completed" in text) == (how == "--no-live")
