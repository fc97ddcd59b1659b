"""The report and its document."""

from __future__ import annotations

import json
import os

from broodline.survey.board import Board
from broodline.survey.facts import Facts, Largest, Noted
from broodline.survey.folder import EVERYTHING, Selection
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
        "lines             5,000,000  99 bytes",
        "largest file         12,345  bytes: a/b.py, 50 lines",
        "functions                 7",
        "  no docstring            2  a.py:3 f, b.py:1 g",
        "to-do marks               9  0.py:1, 1.py:1, 2.py:1 and 6 more",
        "do not parse              1  c.py larger than 2 MiB",
        "skipped                   1  not text: x.bin",
        "skipped                   1  vanished: .",
        "passed over               3  names with a leading dot, or __pycache__",
        "passed over               2  links",
        "passed over               1  pipes, sockets or devices",
        "",
        "One shell command checks each number: add --explain to see them.",
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
    """demo: with explain every command of the document stands once in the report."""
    report = Report("/x", Selection(True, "*.py"), "ok", FULL)
    told = "\n".join(lines(report, explain=True))
    assert "Survey of /x, files named *.py, links followed" in told
    for command in set(report.to_dict()["checks"].values()):
        assert told.count(f"$ {command}") == 1


def test_a_narrow_sheet_cuts_the_facts_not_the_summary() -> None:
    """demo: on a narrow terminal rows are cut at its edge, the summary is whole."""
    report = Report("/x", EVERYTHING, "ok", FULL, agents=3, turns=3, calls=9)
    told = lines(report, sheet=Sheet(30, True))
    assert all(len(line) <= 30 for line in told if line[:5] in ("files", "to-do", "passe"))
    assert told[-1] == "demo: 3 agents, 3 turns, 9 tool calls, ok"


def test_an_interrupted_survey_says_what_was_stopped() -> None:
    """demo: the summary of an interrupt names its cause and how many agents were stopped."""
    sums = {"agents": 5, "turns": 4, "calls": 3, "stopped": 2}
    report = Report("/x", EVERYTHING, "interrupted", None, problem="Ctrl-C", **sums)
    stopped = "demo: 5 agents, 4 turns, 3 tool calls, interrupted: Ctrl-C; stopped 2 agents"
    assert lines(report) == [f"{stopped}, none is left"]
    left = Report("/x", EVERYTHING, "interrupted", None, problem="Ctrl-C", left=1, **sums)
    assert lines(left) == [f"{stopped}, 1 are left"]


def test_the_document_is_json_whatever_the_names_are() -> None:
    """demo: a path of any bytes gives a document that encodes as UTF-8 and reads back."""
    root = os.fsdecode(b"/x/\xff\n\x1b")
    report = Report(root, EVERYTHING, "ok", FULL)
    document = json.loads(json.dumps(report.to_dict()).encode())
    assert document["path"] == r"/x/\xff\x0a\x1b"
    assert document["facts"]["lines"] == 5_000_000
    assert Facts.from_dict(document["facts"]) == FULL


def test_names_are_few() -> None:
    """demo: a note names its first places and counts the others."""
    assert named(Noted()) == ""
    assert named(Noted.of([("a", 0, "")])) == "a"
    assert named(Noted(50, (("a", 1, ""), ("b", 2, "x")))) == "a:1, b:2 x and 48 more"


def test_problems_are_told_apart_from_what_was_skipped() -> None:
    """demo: skipped files leave a survey ok; an unreadable top or a failed agent does not."""
    assert problem_of(Facts(skipped={"not text": Noted.of([("a", 0, "")])})) is None
    unreadable = Facts(skipped={"permission denied": Noted.of([("", 0, "")])})
    assert problem_of(unreadable) == "the folder could not be read: permission denied"
    failed = Facts(failed=Noted.of([("a", 0, "it broke"), ("b", 0, "too")]))
    assert problem_of(failed) == "2 folders were not surveyed, a first: it broke"
