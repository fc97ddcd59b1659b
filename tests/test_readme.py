"""What the pages say can be done, done: programs, commands and links."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from broodline.testing.wire import WireServer, say

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


class Fence(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def fences_of(page: Path) -> list[Fence]:
    """The fenced blocks of a page, in order."""
    text = page.read_text()
    return [
        Fence(page.name, text[: found.start()].count("\n") + 1, found[1], found[2])
        for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


README = fences_of(ROOT / "README.md")
# The other pages are run beside the code that they are about.
RUN_HERE = [
    README,
    *(
        fences_of(ROOT / "docs" / f"{name}.md")
        for name in ("agents", "architecture", "performance", "stores")
    ),
]
EXPECTED = {
    one: two.text for page in RUN_HERE for one, two in pairwise(page) if two.language == "text"
}
PROGRAMS = [fence for page in RUN_HERE for fence in page if fence.language == "python"]
SET_UP = {"pip install .", "pip install '.[openai,anthropic]'", "export OPENAI_API_KEY=..."}
"""Said, and done by other tests: tests/test_packaging.py installs, tests/console sets keys."""

RUN_ELSEWHERE = {
    "actors.md",
    "demo.md",
    "hooks.md",
    "models.md",
    "providers.md",
    "recordings.md",
    "sessions.md",
}
CONSOLES = [
    (fence, [line.removeprefix("$ ") for line in fence.text.splitlines()])
    for fence in README
    if fence.language == "console"
]
COMMANDS = [(lines[:number], line) for _, lines in CONSOLES for number, line in enumerate(lines)]
"""Every command, with those above it in its block, which it may build on."""


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_every_program_runs(program: Fence, tmp_path: Path) -> None:
    """A program of a page runs in an empty folder and prints what stands below it."""
    script = tmp_path / "program.py"
    script.write_text(program.text)
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == EXPECTED.get(program, "")


@pytest.mark.parametrize(("above", "command"), COMMANDS, ids=str)
def test_every_command_of_the_readme_is_there(
    above: list[str], command: str, tmp_path: Path
) -> None:
    """`broodline ...` succeeds as written; a target of make exists; nothing else is told."""
    program, *words = shlex.split(command)
    if program == "broodline":
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "note.txt").write_text("A line.\n")
        for line in (*above, command):
            run_broodline(line, tmp_path)
    elif program == "make":
        assert set(words) <= TARGETS
    else:
        assert command in SET_UP, f"nothing tests {command!r}"


def run_broodline(command: str, folder: Path) -> None:
    program, *words = shlex.split(command)
    if program != "broodline":
        return
    code = "import sys; from broodline.cli import main; sys.exit(main())"
    with WireServer() as server:
        server.rule = lambda _request: say("A note.")
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=folder,
            env={**os.environ, "OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.openai_url},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_pages_lead_somewhere(page: Path) -> None:
    """A relative link of a page points at a file of the repository."""
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_every_page_is_linked_from_the_readme() -> None:
    """A page that the README does not name is found by nobody."""
    readme = (ROOT / "README.md").read_text()
    missing = [page.name for page in PAGES[2:] if f"](docs/{page.name})" not in readme]
    assert not missing


def test_no_page_has_programs_that_nothing_runs() -> None:
    """A page with a Python program is one whose programs are run by a test."""
    pages = {page.name for page in PAGES if any(f.language == "python" for f in fences_of(page))}
    assert pages <= RUN_ELSEWHERE | {fence.page for fence in PROGRAMS}


def test_the_readme_stays_short() -> None:
    """One sitting: the README has about two hundred lines."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 230


def test_the_readme_names_every_stop_reason() -> None:
    """What a child can end with stands in the README."""
    readme = (ROOT / "README.md").read_text()
    for reason in ("completed", "aborted", "error", "max-tokens", "refusal"):
        assert f"`{reason}`" in readme
