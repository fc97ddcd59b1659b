"""What docs/sessions.md says can be done, done."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import typer.testing

import broodline
from broodline.command import app
from broodline.sessions.command import COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sessions.md").read_text()
(PROGRAM,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
(UNSOUND,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.M | re.S)
FENCES = re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture
def brood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the program of the page was run."""
    script = tmp_path / "sample.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(broodline.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plainly(text: str) -> str:
    """Without what differs from run to run: times and ids."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(Z|\.\d{3})", "TIME", text)
    return re.sub(r"[0-9a-f]{32}", "ID", text)


def said(words: list[str]) -> str:
    assert words[0] == "broodline"
    result = typer.testing.CliRunner().invoke(app, words[1:])
    assert result.stderr == ""
    return result.stdout


@pytest.mark.usefixtures("brood")
def test_the_commands_of_the_page_print_what_it_says() -> None:
    """DESIGN 9: every command of the page, one after the other, prints what stands below it."""
    for fence in FENCES:
        for command in re.findall(r"^\$ (.*(?:\n(?!\$ ).*)*)", fence, re.M):
            line, _, expected = command.partition("\n")
            told = plainly(said(shlex.split(line)))
            assert told.rstrip("\n") == plainly(expected).rstrip("\n"), line


def test_what_is_not_sound(brood: Path) -> None:
    """DESIGN 9: a changed word in a stored message is found, as the page says."""
    with closing(sqlite3.connect(brood / "brood.db")) as db:
        db.execute(
            "UPDATE events SET line = replace(line, 'Three', 'Two')"
            " WHERE json_extract(line, '$.type') = 'assistant/message' AND place < 2 << 32"
        )
        db.commit()
    assert said(["broodline", "sessions", "verify", "sqlite:brood.db"]) == UNSOUND


def test_every_command_and_option_is_on_the_page() -> None:
    """DESIGN 9: the page has all sub-commands, all their options and all exit codes."""
    for name, (function, _, _) in COMMANDS.items():
        assert f"`{name}" in PAGE or f"sessions {name} " in PAGE
        assert function.__doc__
    help_text = "".join(
        typer.testing.CliRunner().invoke(app, ["sessions", name, "--help"]).stdout
        for name in COMMANDS
    )
    for option in set(re.findall(r"--[a-z]+", help_text)) - {"--help"}:
        assert option in PAGE, option
    for code in (0, 1, 2, 130, 141):
        assert f"| {code} |" in PAGE
