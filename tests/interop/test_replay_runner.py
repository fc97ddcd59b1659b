"""The runner itself, on a recording that was made up: it replays, or says what differs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import corpus
from .command import main
from .driver import driver_files, read_driver
from .made_up import MadeUp, make_up

Said = Callable[[], str]


@pytest.fixture
def made(tmp_path: Path) -> MadeUp:
    return make_up(tmp_path)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """What was printed since the last look."""
    return lambda: capsys.readouterr().out


def test_what_was_recorded_replays(made: MadeUp, said: Said) -> None:
    """core 15.6: a scenario that goes as recorded is told as replayed, exit code 0."""
    assert main(made.write()) == 0
    *_, told, last = said().splitlines()
    assert told.split()[:4] == ["1/1", "one", "ok", "2"]
    assert last == "recordings: 2 read, 0 refused; replayed 1 of 1"


CHANGES: list[tuple[str, int, str, Any]] = [
    ("agent/inbox/spliced", 1, "data.target", "next-step"),
    ("turn/start", 2, "data.turn", 3),
    ("step/start", 2, "data.step", 3),
    ("user/message", 1, "data.content.0.text", "Look."),
    ("user/message", 2, "data.source.kind", "coordinator"),
    ("request/header", 1, "data.reason", "resume"),
    ("request/header", 1, "data.header.config.temperature", 0.5),
    ("assistant/message", 1, "data.message.content.0.name", "peek"),
    ("assistant/message", 2, "data.usage.outputTokens", 3),
    ("assistant/message", 2, "data.interrupted", True),
    ("assistant/message", 2, "data.message.source.model", "n"),
    ("assistant/message", 2, "sourceEventSeqs", [6, 7]),
    ("tool/call", 1, "data.arguments", '{"a": 1}'),
    ("tool/call", 2, "data.name", "other"),
    ("tool/result", 2, "data.message.content.0.content.0.text", "eleven"),
    ("tool/result", 2, "data.message.content.0.isError", True),
    ("tool/result", 2, "data.error", {"name": "ToolError", "code": "TOOL"}),
    ("tool/result", 2, "data.meta", {"a": 1}),
    ("tool/result", 2, "sourceEventSeqs", [2]),
    ("turn/end", 1, "data.reason", {"kind": "max-tokens"}),
]


@pytest.mark.parametrize(
    ("kind", "number", "path", "value"), CHANGES, ids=[f"{c[0]} {c[1]} {c[2]}" for c in CHANGES]
)
def test_every_change_is_seen(
    made: MadeUp, said: Said, kind: str, number: int, path: str, value: Any
) -> None:
    """core 15.6: one field that is not as recorded makes the scenario differ, by its name."""
    made.edit(kind, number, path, value)
    assert main(made.write()) == 1
    out = said()
    assert "one differs:" in out
    assert f"session 0: {kind} {number}: {path}" in out
    assert out.splitlines()[-1].endswith("replayed 0 of 1")


def test_lineage_and_descriptor_are_compared(made: MadeUp, said: Said) -> None:
    """core 1.1: depth, origin and parent of a child count, and how it is described."""
    made.child[0].update(delegationDepth=2)
    made.child[4]["data"].update(label="message", mode="continuable", persona="not compared")
    assert main(made.write()) == 1
    out = said()
    for field in ("header: delegationDepth", "descriptor 1: data.label", "descriptor 1: data.mode"):
        assert field in out
    assert "persona" not in out


@pytest.mark.parametrize("index", [3, 12, -3])
def test_another_order_is_shown_side_by_side(made: MadeUp, said: Said, index: int) -> None:
    """core 15.6: where events are missing, their types are shown as a diff."""
    gone = made.root.pop(index)["type"]
    assert main(made.write()) == 1
    out = said()
    assert "session 0: other events" in out
    assert any(line.strip().startswith(f"+{gone}") for line in out.splitlines())


def test_events_of_other_products_do_not_count(made: MadeUp) -> None:
    """core 15.6: product types and the messages of plugins nobody plays are passed over."""
    title = {"type": "session/title", "data": {"title": "t"}}
    content = [{"type": "text", "text": "snapshot"}]
    message = {"id": "s1", "role": "user", "content": content, "source": _plugin("prompt")}
    made.root += [title, {"type": "user/message", "data": message, "surfaceOp": "append"}]
    assert main(made.write()) == 0


def _plugin(name: str) -> dict[str, str]:
    return {"kind": "plugin", "plugin": name}


def test_messages_of_a_plugin_that_is_played_count(made: MadeUp, said: Said) -> None:
    """core 15.6: what a driver says for a plugin has to come out as recorded."""
    made.edit("agent/inbox/spliced", 3, "data.inserted.0.source", _plugin("p"))
    made.edit("user/message", 2, "data.source", _plugin("p"))
    assert main(made.write()) == 0
    made.edit("user/message", 2, "data.content.0.text", "Thanks a lot.")
    assert main(made.write()) == 1
    assert "user/message 2: data.content.0.text" in said()


MEANT = """
[[differs]]
event = "tool/result 2"
field = "data.message.content.0.content.0.text"
why = "on purpose"
"""


def test_a_difference_that_is_told_is_meant(made: MadeUp, said: Said) -> None:
    """core 15.6: a driver may tell a difference, with its reason."""
    made.driver += MEANT
    made.edit("tool/result", 2, "data.message.content.0.content.0.text", "eleven")
    assert main(made.write()) == 0
    assert said().splitlines()[-2].endswith("; 1 field differs, as the driver says")


def test_a_told_difference_has_to_be_there(made: MadeUp, said: Said) -> None:
    """core 15.6: a difference that is told and is not there is a failure."""
    made.driver += MEANT
    assert main(made.write()) == 1
    assert "is told to differ, and does not" in said()


def test_a_refused_file_is_told(made: MadeUp, said: Said) -> None:
    """core #282: a damaged file is counted, named with its line, and the exit code is 1."""
    made.child[3] = {"type": "turn/end", "data": {"turn": "one"}}
    assert main(made.write()) == 1
    out = said()
    assert "REFUSED made/up/session.1.jsonl" in out
    assert "it cannot be played" in out
    assert out.splitlines()[-1] == "recordings: 2 read, 1 refused; replayed 0 of 1"


def test_an_unsound_file_is_refused(made: MadeUp, said: Said) -> None:
    """core 3 I4: a log that can be read and breaks a rule is refused too."""
    made.edit("step/start", 1, "data.step", 4)
    assert main(made.write()) == 1
    assert "recordings: 2 read, 1 refused" in said()


def test_a_fork_is_held_against_its_parent(made: MadeUp, said: Said) -> None:
    """core #283: a seed that is not the beginning of its parent's log is refused."""
    made.child[0]["seedLength"] = 1
    assert main(made.write()) == 1
    assert "event 0: the seed differs here from the parent's log" in said()


def test_a_session_too_few_is_told(made: MadeUp, said: Said) -> None:
    """core 12.7: a child that was recorded and never asked makes the scenario differ."""
    made.driver = made.driver.replace('ask = "subagent"', 'ask = "recorded"')
    assert main(made.write()) == 1
    out = said()
    assert "entries left" in out
    assert "recorded are 2 sessions, ours are 1" in out


def test_an_act_whose_time_never_comes_is_told(made: MadeUp, said: Said) -> None:
    """core 15.6: what the host was to do and did not is a failure."""
    acts = '{ say = 2 }, { cancel = "user", when = "call 7" }'
    made.driver = made.driver.replace("{ say = 2 }", acts)
    assert main(made.write()) == 1
    assert "never came" in said()


def test_a_reference_to_nothing_is_told(made: MadeUp, said: Said) -> None:
    """core 15.6: a driver that refers to what was not recorded is told so."""
    made.driver = made.driver.replace("say = 2", "say = 3")
    assert main(made.write()) == 1
    assert "the recording has 2 of inbox insert, not 3" in said()


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ('host = [{ say = 1, cancel = "user" }]', "host.0"),
        ('host = [{ say = 1, when = "later" }]', "host.0.when"),
        ("host = [{ say = 0 }]", "host.0.say"),
        ("host = []\nhooks = [{ call = 1 }]", "hooks.0"),
        ("host = []\nhooks = [{ step = '1.1', deny = 1 }]", "hooks.0"),
        ("host = []\nunknown = 1", "unknown"),
        ("host = []\ntools = { a = 'real' }", "tools.a"),
        ("", "host"),
    ],
)
def test_a_malformed_driver_is_refused(tmp_path: Path, wrong: str, place: str) -> None:
    """core 15.6: a driver file of another shape names the place."""
    path = tmp_path / "wrong.toml"
    path.write_text(f'recording = "made/up"\n{wrong}\n')
    with pytest.raises(ValueError, match=place.replace(".", r"\.")):
        read_driver(path)


def test_one_document_with_json(made: MadeUp, said: Said) -> None:
    """DESIGN 1: --json prints one document and nothing else."""
    made.edit("turn/end", 1, "data.reason", {"kind": "max-tokens"})
    assert main([*made.write(), "--json"]) == 1
    told = json.loads(said())
    assert (told["read"], told["refused"], told["replayed"], told["of"]) == (2, {}, 0, 1)
    assert len(told["scenarios"]["one"]["differences"]) == 1


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Callable[[list[str]], str]:
    """Runs the command with what it has to refuse as wrong usage; gives what it says."""

    def run(arguments: list[str]) -> str:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("interop: ")
        return err

    return run


Refusal = Callable[[list[str]], str]


@pytest.fixture
def several(made: MadeUp) -> list[str]:
    """Drivers of several names for one recording."""
    arguments = made.write()
    for name in ("a/text-turn", "b/text-turn", "b/tool-turn", "b/cancel"):
        path = made.drivers / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(made.driver)
    return arguments


def test_the_last_part_of_a_name_is_enough(several: list[str], said: Said) -> None:
    """DESIGN 9: a scenario is asked for by its name, or by its last part where that is one's."""
    asked = ["cancel", "b/cancel", "a/text-turn", "one"]
    assert main([*several, *(f"--only={name}" for name in asked)]) == 0
    told = [line.split()[1] for line in said().splitlines()[1:-1]]
    assert told == ["b/cancel", "a/text-turn", "one"]


def test_an_ambiguous_name_is_refused(several: list[str], refusal: Refusal) -> None:
    """DESIGN 8: the last part of several names is refused with those, and with no other."""
    told = refusal([*several, "--only", "text-turn"])
    assert told.endswith("'text-turn' is the name of 2 scenarios: a/text-turn, b/text-turn\n")


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("cancle", "near it: b/cancel"),
        ("tool", "near it: b/tool-turn"),
        ("a/cancel", "near it: b/cancel"),
        ("two", "none of the 5 is near it"),
        ("", "none of the 5 is near it"),
    ],
)
def test_an_unknown_name_is_refused(
    several: list[str], refusal: Refusal, asked: str, near: str
) -> None:
    """DESIGN 8: an unknown scenario is refused with the names that are near it alone."""
    assert refusal([*several, "--only", asked]) == f"interop: no scenario {asked!r}; {near}\n"


def test_a_folder_without_drivers_is_refused(
    made: MadeUp, tmp_path: Path, refusal: Refusal
) -> None:
    """DESIGN 8: nothing to replay is no success."""
    told = refusal([*made.write(), f"--drivers={tmp_path / 'elsewhere'}"])
    assert "no drivers in" in told


def test_a_malformed_driver_is_named(made: MadeUp, refusal: Refusal) -> None:
    """DESIGN 8: the command names the file whose driver is malformed."""
    made.driver += "\n[retry]\nretries = 1\n"
    told = refusal(made.write())
    assert "one.toml: " in told
    assert "retry.base" in told


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize(
    ("name", "why"), [("", "holds no recordings"), ("nowhere", "no folder"), ("file", "no folder")]
)
def test_a_named_folder_without_recordings_is_refused(
    tmp_path: Path, refusal: Refusal, name: str, why: str, form: list[str]
) -> None:
    """DESIGN 8: a folder that somebody named and that has nothing to offer is wrong usage."""
    (tmp_path / "file").touch()
    folder = tmp_path / name
    told = refusal(["--recordings", str(folder), *form])
    assert why in told
    assert f"looked for {folder}/*/*/session*.jsonl" in told


def test_nothing_is_done_without_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    """DESIGN 1: without the default folder all is skipped with 0, and how to name one is told."""
    monkeypatch.setattr(corpus, "RECORDINGS", tmp_path / "absent")
    assert main([]) == 0
    first, *forms, last = said().splitlines()
    assert first.startswith(f"interop: skipped, for there are no recordings in {tmp_path}")
    assert [line.strip() for line in forms] == [
        "python tests/interop/run.py --recordings FOLDER",
        'make interop INTEROP="--recordings FOLDER"',
    ]
    assert last == f"recordings: none; skipped {len(driver_files())} drivers"
    assert main(["--json"]) == 0
    assert json.loads(said())["skipped"] == len(driver_files())


def script(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """What came of the script as a process."""
    command = [sys.executable, str(Path(__file__).with_name("run.py")), *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_the_script_is_the_command(made: MadeUp) -> None:
    """DESIGN 1: the script prints what the command does, and leaves with its code."""
    done = script(*made.write())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("replayed 1 of 1\n")
    done = script("--recordings", str(made.folder / "nowhere"))
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_goes_away_is_no_failure(made: MadeUp, form: list[str]) -> None:
    """DESIGN 9: when nobody reads the output any more, the code is 141 and nothing is said."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = script(*made.write(), *form, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_help_is_for_people(said: Said) -> None:
    """DESIGN 9: the help shows a command that works and its codes, and no mark-up."""
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    told = said()
    assert told.startswith("usage: python tests/interop/run.py ")
    assert 'make interop INTEROP="--only NAME --json"' in told
    assert "141" in told
    assert "`" not in told
