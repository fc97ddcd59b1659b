"""What find, wc, grep and Python say about the same files."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from broodline.survey.check import checks_of
from broodline.survey.facts import Facts, Noted
from broodline.survey.folder import LOOP, Selection
from broodline.survey.ground import Ground
from broodline.survey.name import actual
from broodline.survey.passage import NOT_TEXT

COUNTS = ("folders", "files", "text_files", "python_files", "lines", "bytes")
PASSED_OVER = ("hidden", "links", "special")


NOBODY = 65534
DENIED = "permission denied"


def say(command: str, user: int | None = None) -> str:
    done = subprocess.run(command, shell=True, capture_output=True, user=user)
    return os.fsdecode(done.stdout).strip("\n")


def check_all(root: Path, selection: Selection, facts: Facts) -> None:
    said = {fact: say(command) for fact, command in checks_of(str(root), selection).whole().items()}
    outline = (
        f"{facts.functions} functions, {facts.undocumented.count} without docstring; "
        f"{facts.unparsed.count} files do not parse"
    )
    largest = ""
    if facts.largest is not None:
        largest = f"{facts.largest.bytes} {root}/{actual(facts.largest.path)}"
    expected = {name: str(getattr(facts, name)) for name in COUNTS + PASSED_OVER}
    expected |= dict.fromkeys(("functions", "undocumented", "unparsed"), outline)
    expected |= {"largest": largest, "marks": str(facts.marks.count)}
    for name, reason in (("not_text", NOT_TEXT), ("denied", DENIED), ("loops", LOOP)):
        expected[name] = str(facts.skipped.get(reason, Noted()).count)
    assert said == expected


@pytest.mark.parametrize("match", [None, "*.py", "?*[!a].py", "*.md", "nothing", "\xff*"])
@pytest.mark.parametrize("follow", [False, True])
def test_every_fact_agrees_with_its_command(
    hand_play: Any, odd_tree: Path, follow: bool, match: str | None
) -> None:
    """demo: on a tree of odd names, links, loops, binaries and encodings no command disagrees."""
    selection = Selection(follow, match)
    check_all(odd_tree, selection, hand_play(Ground(str(odd_tree), selection)).survey(levels=2))


def test_commands_are_short_and_share_two_functions(odd_tree: Path) -> None:
    """demo: where to look is said once, however many commands there are."""
    checks = checks_of(str(odd_tree), Selection(match="*.py"))
    assert [text.count("-mindepth 1") for text in checks.shared] == [1, 0]
    for name, command in checks.commands.items():
        assert "-mindepth" not in command
        assert command[:2] in ("F ", "T ")
        assert len(command) < 120 or name in ("functions", "undocumented", "unparsed")


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_commands_can_be_typed_one_after_the_other(odd_tree: Path, shell: str) -> None:
    """demo: the shared functions are given to a shell once, the commands follow in any order."""
    checks = checks_of(str(odd_tree), Selection())
    script = "\n".join((*checks.shared, checks.commands["files"], checks.commands["folders"]))
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
    whole = checks.whole()
    assert done.stdout.split() == [say(whole["files"]), say(whole["folders"])]


def test_facts_of_an_empty_folder_agree(hand_play: Any, tmp_path: Path) -> None:
    """demo: the commands say zero, and nothing for the largest file, of an empty folder."""
    check_all(tmp_path, Selection(), hand_play(Ground(str(tmp_path))).survey())


def test_a_link_to_the_folder_itself_is_entered(
    hand_play: Any, tmp_path: Path, odd_tree: Path
) -> None:
    """demo: a path that is itself a link is surveyed, as find -H does."""
    link = tmp_path / "link"
    link.symlink_to(odd_tree)
    check_all(link, Selection(), hand_play(Ground(str(link))).survey())


def test_a_hidden_folder_can_be_the_top(hand_play: Any, tmp_path: Path) -> None:
    """demo: the folder asked for is surveyed even when its own name is hidden."""
    root = tmp_path / ".config"
    root.mkdir()
    (root / "a.py").write_text("x\n")
    facts = hand_play(Ground(str(root))).survey()
    assert facts.files == 1
    check_all(root, Selection(), facts)


def test_large_sources_agree(hand_play: Any, tmp_path: Path) -> None:
    """demo: a source beyond the bound counts as not parsed to the command as well."""
    (tmp_path / "a.py").write_bytes(b"#" * (2 << 20) + b"\n")
    facts = hand_play(Ground(str(tmp_path))).survey()
    assert (facts.unparsed.count, facts.functions) == (1, 0)
    check_all(tmp_path, Selection(), facts)


@contextmanager
def without_rights() -> Generator[int | None]:
    """Be somebody whom permissions bind; yields the user for commands to run as."""
    if os.geteuid() != 0:
        yield None
        return
    os.seteuid(NOBODY)
    try:
        yield NOBODY
    finally:
        os.seteuid(0)


def test_what_permissions_hide_is_named_and_the_rest_agrees(hand_play: Any) -> None:
    """demo: unreadable files and folders are skipped with the reason, and the commands agree."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "shut").mkdir()
        (root / "shut" / "a.py").write_text("x\n")
        (root / "open").mkdir()
        (root / "open" / "a.py").write_text("def f(): pass\n")
        (root / "locked.py").write_text("TODO\n")
        root.chmod(0o755)
        (root / "locked.py").chmod(0)
        (root / "shut").chmod(0)
        with without_rights() as user:
            facts = hand_play(Ground(name)).survey(levels=1)
            deep = hand_play(Ground(name)).survey(levels=0)
        try:
            said = checks_of(name, Selection()).whole()
            for fact in COUNTS + PASSED_OVER:
                assert say(said[fact], user) == str(getattr(facts, fact)), fact
            assert say(said["denied"], user) == str(facts.skipped[DENIED].count) == "2"
        finally:
            (root / "shut").chmod(0o755)
    assert facts == deep
    assert facts.skipped[DENIED].first == (("locked.py", 0, ""), ("shut", 0, ""))
    assert (facts.files, facts.text_files, facts.folders, facts.lines) == (2, 1, 2, 1)
