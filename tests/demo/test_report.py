"""The report and its document."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broodline.survey.board import Board
from broodline.survey.check import checks_of
from broodline.survey.errand import BY_SIGNAL, FAILED, OK, READER_GONE, USAGE
from broodline.survey.facts import Facts, Largest, Noted
from broodline.survey.folder import EVERYTHING, LOOP, Selection
from broodline.survey.paper import ENDLESS, Sheet, paper
from broodline.survey.report import Report, named
from broodline.survey.survey import problem_of

FULL = Facts(
    folders=2,
    files=1234,
    text_files=1200,
    python_files=1000,
    lines=5_000_000,
    bytes=99,
    functions=7,
    hidden=3,
    links=2,
    special=1,
    largest=Largest("a/b.py", 12_345, 50),
    undocumented=Noted.of([("a.py", 3, "f"), ("b.py", 1, "g")]),
    marks=Noted.of([(f"{number}.py", 1, "") for number in range(9)]),
    unparsed=Noted.of([("c.py", 0, "larger than 2 MiB")]),
    skipped={"not text": Noted.of([("x.bin", 0, "")]), "vanished": Noted.of([("", 0, "")])},
)


def lines(report: Report, *, explain: bool = False, sheet: Sheet | None = None) -> list[str]:
    sheet = sheet or Sheet(ENDLESS)
    return [line.plain for line in paper(report, Board(), sheet, explain=explain)]


def test_every_fact_has_its_line() -> None:
    """demo: the report tells each fact with its number, names where they help, and the sums."""
    report = Report("/x", EVERYTHING, "ok", FULL, agents=3, turns=3, calls=9)
    assert lines(report) == [
        "Survey of /x",
        "The model of these agents is rules: plain Python functions, no key, no network.",
        "",
        "",
        "folders                   2",
        "files                 1,234  1,000 Python, 200 other text",
        "lines             5,000,000  99 bytes; lines as wc -l counts them",
        "largest file         12,345  bytes: a/b.py, 50 lines",
        "functions                 7",
        "  no docstring            2  a.py:3 f, b.py:1 g",
        "to-do marks               9  0.py:1, 1.py:1, 2.py:1 and 6 more",
        "do not parse              1  c.py larger than 2 MiB",
        "skipped                   1  not text: x.bin",
        "skipped                   1  vanished: .",
        "passed over               3  names with a leading dot, or __pycache__",
        "passed over               2  links",
        "passed over               1  pipe, socket or device",
        "",
        "Add --explain for the shell commands that check these numbers.",
        "demo: 3 agents, 3 turns, 9 tool calls, ok",
    ]


def test_what_is_not_there_needs_no_line() -> None:
    """demo: empty facts leave out what there is none of, but never a zero that was asked for."""
    text = "\n".join(lines(Report("/x", EVERYTHING, "ok", Facts())))
    for title in ("skipped", "passed over", "do not parse", "largest"):
        assert title not in text
    for title in ("folders", "files", "lines", "functions", "no docstring", "to-do marks"):
        assert title in text


def test_explained_facts_stand_above_their_commands() -> None:
    """demo: with explain each command stands once in the report, behind what they share."""
    report = Report("/x", Selection(True, "*.py"), "ok", FULL)
    told = "\n".join(lines(report, explain=True))
    assert "Survey of /x, files named *.py, links followed" in told
    checks = checks_of("/x", report.selection)
    rest = told.split(f"    $ {checks.shared[0]}\n    $ {checks.shared[1]}\n")[1]
    for name, command in checks.commands.items():
        assert rest.count(f"$ {command}\n") == (name not in ("denied", "loops")), name
    assert told.count("-mindepth 1") == 1
    assert told.count("# the command of 'functions' says this, too") == 2
    assert "vanished: .\n    # no command: it was so when the survey came by\n" in told


def test_what_permissions_or_loops_skip_has_a_command() -> None:
    """demo: skipped files that a command can find again come with it."""
    skipped = {"permission denied": Noted.of([("a", 0, "")]), LOOP: Noted.of([("b", 0, "")])}
    told = lines(Report("/x", Selection(True), "ok", Facts(skipped=skipped)), explain=True)
    checks = checks_of("/x", Selection(True)).commands
    assert told[told.index("skipped                   1  permission denied: a") + 1] == (
        f"    $ {checks['denied']}"
    )
    assert told[told.index("skipped                   1  loop of links: b") + 1] == (
        f"    $ {checks['loops']}"
    )


@pytest.mark.parametrize("width", [30, 40, 60, 80])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_narrow_sheet_loses_no_number(width: int, ascii_only: bool) -> None:
    """demo: on a narrow terminal facts go on below; only paths lose their middle."""
    path = "a_long_folder/" * 8 + "end.py"
    facts = replace(FULL, largest=Largest(path, 12_345, 1), marks=Noted(50, ((path, 77, ""),)))
    report = Report("/x", EVERYTHING, "ok", facts, agents=3, turns=3, calls=9)
    told = lines(report, sheet=Sheet(width, ascii_only))
    assert all(len(line) <= width for line in told[:-1])
    words = " ".join(" ".join(told).split())
    for part in ("end.py, 1 line functions", "end.py:77 and 49 more", "wc -l counts them"):
        assert part in words
    assert told[-1] == "demo: 3 agents, 3 turns, 9 tool calls, ok"


def test_counts_of_one_are_singular() -> None:
    """demo: one byte, one line, one link are told as one."""
    facts = Facts(lines=1, bytes=1, links=1, largest=Largest("a", 1, 1))
    told = lines(Report("/x", EVERYTHING, "ok", facts))
    for line in (
        "lines                     1  1 byte; lines as wc -l counts them",
        "largest file              1  byte: a, 1 line",
        "passed over               1  link",
    ):
        assert line in told


def test_a_pattern_that_no_file_has_is_told() -> None:
    """demo: with --match and no such file the report says so; otherwise it does not."""
    report = Report("/x", Selection(match="*.zip"), "ok", Facts(folders=3))
    assert "no file is named like '*.zip'" in lines(report)
    some = Report("/x", Selection(match="*.zip"), "ok", Facts(files=1))
    for other in (some, Report("/x", EVERYTHING, "ok", Facts())):
        assert not any("named like" in line for line in lines(other))


def test_an_interrupted_survey_says_what_was_stopped() -> None:
    """demo: the summary of an interrupt names its cause and how many agents were stopped."""
    sums: Any = {"agents": 5, "turns": 4, "calls": 3, "stopped": 2}
    report = Report("/x", EVERYTHING, "interrupted", None, problem="Ctrl-C", **sums)
    stopped = "demo: 5 agents, 4 turns, 3 tool calls, interrupted: Ctrl-C; stopped 2 agents"
    assert lines(report) == [f"{stopped}, none is left"]
    left = Report("/x", EVERYTHING, "interrupted", None, problem="Ctrl-C", left=1, **sums)
    assert lines(left) == [f"{stopped}, 1 is left"]
    sums["stopped"] = 2313
    many = Report("/x", EVERYTHING, "interrupted", None, problem="Ctrl-C", left=2, **sums)
    assert lines(many)[0].endswith("; stopped 2,313 agents, 2 are left")
    sums["stopped"] = 1
    one = Report("/x", EVERYTHING, "interrupted", None, problem="Ctrl-C", **sums)
    assert lines(one)[0].endswith("; stopped 1 agent, none is left")


def test_the_document_is_json_whatever_the_names_are() -> None:
    """demo: a path of any bytes gives a document that encodes as UTF-8 and reads back."""
    root = os.fsdecode(b"/x/\xff\n\x1b")
    report = Report(root, EVERYTHING, "ok", FULL)
    document = json.loads(json.dumps(report.to_dict(explain=True)).encode())
    assert document["path"] == r"/x/\xff\x0a\x1b"
    assert document["facts"]["lines"] == 5_000_000
    assert Facts.from_dict(document["facts"]) == FULL
    assert document["facts"]["undocumented"] == {
        "count": 2,
        "first": [
            {"path": "a.py", "line": 3, "text": "f"},
            {"path": "b.py", "line": 1, "text": "g"},
        ],
    }
    assert document["facts"]["unparsed"]["first"][0]["line"] is None


def test_the_document_holds_commands_only_when_asked() -> None:
    """demo: the checks are part of the document with --explain, each whole."""
    report = Report("/x", EVERYTHING, "ok", FULL)
    assert "checks" not in report.to_dict()
    checks = report.to_dict(explain=True)["checks"]
    assert checks["textFiles"] == checks_of("/x", EVERYTHING).whole()["text_files"]
    assert all("F() {" in command for command in checks.values())


def test_names_are_few() -> None:
    """demo: a note names its first places and counts the others."""
    assert named(Noted()) == ()
    assert named(Noted.of([("a", 0, "")])) == ("a",)
    assert named(Noted(50, (("a", 1, ""), ("b", 2, "x")))) == ("a:1,", "b:2 x", "and 48 more")


def test_problems_are_told_apart_from_what_was_skipped() -> None:
    """demo: skipped files leave a survey ok; an unreadable top or a failed agent does not."""
    assert problem_of(Facts(skipped={"not text": Noted.of([("a", 0, "")])})) is None
    unreadable = Facts(skipped={"permission denied": Noted.of([("", 0, "")])})
    assert problem_of(unreadable) == "the folder could not be read: permission denied"
    failed = Facts(failed=Noted.of([("a", 0, "it broke"), ("b", 0, "too")]))
    assert problem_of(failed) == "2 folders were not surveyed, a first: it broke"
    one = Facts(failed=Noted.of([("a", 0, "it broke")]))
    assert problem_of(one) == "1 folder was not surveyed, a: it broke"


def test_the_page_names_every_key_of_the_document() -> None:
    """demo: docs/demo.md tells each key of the document, and the exit codes the command has."""
    page = (Path(__file__).parents[2] / "docs" / "demo.md").read_text()
    document = Report("/x", EVERYTHING, "ok", FULL).to_dict(explain=True)
    place = document["facts"]["marks"]["first"][0]
    keys = {*document, *document["facts"], *document["facts"]["largest"], *place}
    keys |= {*document["checks"]}
    assert {key for key in keys if f"`{key}`" not in page} == set()
    for code in (OK, FAILED, USAGE, BY_SIGNAL + 2, READER_GONE):
        assert f"| {code} |" in page
