"""docs/run.md against the command that it is about."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from broodline.actors.models import ScriptedModel, call
from broodline.command import app
from broodline.console.errand import Errand
from broodline.console.mission import tools_of
from broodline.console.order import Manner, Order
from broodline.testing.wire import WireServer, say

PAGE = (Path(__file__).parents[2] / "docs" / "run.md").read_text()
COMMANDS = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)


def table(head: str) -> list[str]:
    """The first cells of the rows of a section's first table."""
    section = PAGE.split(f"## {head}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?|\d+) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"[\w-]+", row)]


def test_every_option_is_on_the_page() -> None:
    """run: the page lists the options that the command has, and no others."""
    command = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    options = {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--") and name != "--help"
    }
    assert {*table("Options")} == options


def test_every_tool_is_on_the_page() -> None:
    """run: the page lists the tools that a model is offered, and no others."""
    assert {*table("What the agents can do")} == {
        tool.name for tool in tools_of(Order("", "", "/"))
    }


def test_every_key_is_on_the_page(capsys: Any) -> None:
    """run: the page lists the keys of the document, of an agent and of its usage."""
    part = call("subagent", description="part", prompt="part")
    model = ScriptedModel(shared=[part, "Part.", "Whole."])
    errand = Errand(Order("Go.", "acme:one", "/"), Manner(as_json=True, quiet=True), model)
    assert errand.run() == 0
    document = json.loads(capsys.readouterr().out)
    assert [name for name in document if name not in table("The document of `--json`")] == []
    rows = set(table("The document of `--json`"))
    assert {*document} == rows
    agent = PAGE.split("An agent has ")[1]
    assert {*document["tree"]} <= {*re.findall(r"`(\w+)`", agent)}
    assert {*document["usage"]} <= {*re.findall(r"`(\w+)`", PAGE)}


def test_the_last_line_is_as_the_page_says(capsys: Any) -> None:
    """run: the last line on stderr has the words of the page."""
    shape = re.search(r"^run: N agents.*$", PAGE, re.MULTILINE)
    assert shape is not None
    model = ScriptedModel(shared=["Whole."])
    Errand(Order("Go.", "acme:one", "/"), Manner(live=False), model).run()
    last = capsys.readouterr().err.splitlines()[-1]
    plain = re.sub(r"[\d.]+", "#", last).replace("agent,", "agents,").replace("turn,", "turns,")
    assert plain.replace("token ", "tokens ") == re.sub(r"\b[NTMRXYS]\b", "#", shape[0])


def test_every_code_is_on_the_page() -> None:
    """run: the page lists the exit codes that the tests of the command see."""
    assert table("Exit codes") == ["0", "1", "2", "130", "141"]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_page_runs(server: WireServer, line: str, tmp_path: Path) -> None:
    """run: a command line of the page works as it stands there."""
    server.rule = lambda _request: say("A note.")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, program in (("broodline", "-m broodline"), ("git", "-c 'print(1)'")):
        (folder / name).write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {program} "$@"\n'
        )
        (folder / name).chmod(0o755)
    environment = {
        "PATH": f"{folder}:/usr/bin:/bin",
        "OPENAI_API_KEY": "any",
        "ANTHROPIC_API_KEY": "any",
        "OPENAI_BASE_URL": server.openai_url,
        "ANTHROPIC_BASE_URL": server.anthropic_url,
    }
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out = (tmp_path / "summary.txt").read_text() if "summary.txt" in line else done.stdout
    assert out == "A note.\n"
