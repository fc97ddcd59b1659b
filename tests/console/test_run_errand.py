"""A run from an order to an exit code, with a model that plays a script."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.models import ScriptedModel, call, calls, chunks, fail, hang, text
from broodline.actors.models.advice import advised
from broodline.actors.recording import read_recording
from broodline.actors.recording_check import check_log
from broodline.console.board import RunBoard
from broodline.console.errand import Errand
from broodline.console.mission import carry_out
from broodline.console.order import Manner, Order
from broodline.console.outcome import Outcome
from broodline.console.record import Record
from broodline.console.speech import Speech
from broodline.console.voice import Narrator
from broodline.messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    ModelFailure,
    ReasoningDelta,
    TextDelta,
    Usage,
    UsageChunk,
)
from broodline.messages.content import Reasoning, Text
from broodline.messages.payload import RetryPlanned, TurnEnd
from broodline.survey.progress import Silence
from broodline.survey.survey import Interruption

PLAIN = Manner(live=False)


def carried_out(
    *script: Any, manner: Manner = PLAIN, record: Record | None = None, **order: Any
) -> int:
    model = ScriptedModel(shared=script)
    return Errand(Order("Do it.", "acme:one", "/", **order), manner, model, record).run()


def test_a_block_that_did_not_come_in_pieces_is_heard(capsys: Any) -> None:
    """run: a model that sends whole blocks is heard as one that streams, nothing twice."""
    stream: list[Chunk] = [
        BlockEnd(0, Reasoning("I think.")),
        BlockEnd(1, Text("Whole. ")),
        BlockStart(2, "text"),
        TextDelta(2, "Pieces."),
        BlockEnd(2, Text("Pieces.")),
        BlockStart(3, "reasoning"),
        ReasoningDelta(3, "I th"),
        ReasoningDelta(3, "ought."),
        BlockEnd(3, Reasoning("I thought.")),
        Finish("stop"),
    ]
    assert carried_out(chunks(stream), manner=Manner(live=False, reasoning=True)) == 0
    out, err = capsys.readouterr()
    assert out == "Whole. Pieces.\n"
    assert err.count("run: thinks: I think.\n") == 1
    assert err.count("run: thinks: I thought.\n") == 1


def test_what_failed_attempts_took_is_counted(capsys: Any) -> None:
    """run: tokens of a request that failed after its usage are in the sum and in the tree."""
    broken: list[Chunk] = [
        TextDelta(0, "Hal"),
        UsageChunk(Usage(100, 1)),
        Finish("error", fail("SERVER").failure),
    ]
    done = text("Whole.", usage=Usage(10, 2))
    order: dict[str, Any] = {"retries": 1}
    assert carried_out(chunks(broken), done, manner=Manner(True, live=False), **order) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["usage"]["inputTokens"] == 110
    assert (document["answer"], document["retries"]) == ("Whole.", 1)


def test_too_many_steps_are_a_failure_with_advice(capsys: Any) -> None:
    """run: an agent that goes on and on is stopped at --max-steps, which the advice names."""
    again = call("list", folder="")
    assert carried_out(again, again, again, max_steps=2) == 1
    err = capsys.readouterr().err
    assert "run: what to do: raise --max-steps\n" in err
    assert "Runtime(" not in err


def test_what_is_for_programs_is_not_told(capsys: Any) -> None:
    """run: who runs a command reads no advice on what to write in Python, in no line."""
    asked = "it sent nothing for 5 s; raise Runtime(request_timeout=...) if it may take longer"
    keys = advised("it refused", "AUTH", 401, "X_KEY")
    part = call("subagent", description="part", prompt="part")
    script = (fail("TIMEOUT", asked, retry_after=0.0), part, fail("AUTH", keys), "Done.")
    assert carried_out(*script, retries=1) == 0
    err = capsys.readouterr().err
    assert "(TIMEOUT): it sent nothing for 5 s\n" in err
    assert "failed: AUTH: it refused\n" in err


@pytest.mark.parametrize(
    ("code", "status", "hint", "told"),
    [
        ("INVALID_REQUEST", 404, "the base URL u looks odd", "the base URL u looks odd"),
        ("MALFORMED_RESPONSE", None, "the base URL u looks odd", "the base URL u looks odd"),
        ("INVALID_REQUEST", 404, "", "check the model's name and the base URL"),
        ("INVALID_REQUEST", 400, "", "check the model's name, --max-tokens and --base-url"),
        ("UNKNOWN", 302, "", "give the address that it sends to as --base-url"),
    ],
)
def test_one_advice_is_told(
    capsys: Any, code: str, status: int | None, hint: str, told: str
) -> None:
    """run: what to do is told once: by what the adapter knows of the address, else by options."""
    text = advised("it failed", code, status, "X_KEY", hint)
    assert carried_out(fail(code, text, status=status)) == 1
    err = capsys.readouterr().err
    assert f"run: what to do: {told}" in err
    assert err.count("what to do: ") == 1


def test_a_cause_is_told_once(capsys: Any) -> None:
    """run: the first retry tells the cause in full, later ones of the same say so in short."""
    long = f"connection to {'x' * 300} failed"
    again = [fail("TRANSPORT", long, retry_after=0.0)] * 2
    other = fail("SERVER", "no", status=500, retry_after=0.0)
    part = call("list", folder="")
    assert carried_out(*again, other, *again, part, *again, "Done.", max_steps=9) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "retrying" in line]
    full, short = f"(TRANSPORT): {long}", "(TRANSPORT again, {} of 5)"
    ends = [full, short.format(2), "(SERVER 500): no", full, short.format(5), full]
    assert lines == [f"run: root: retrying in 0.0 s {end}" for end in [*ends, short.format(2)]]


def test_what_agents_waited_for_is_told_by_reason(capsys: Any) -> None:
    """run: interrupted while agents wait for a retry, each reason is one line, with its agents."""
    board = RunBoard()
    for name, why in (("root", ""), ("a", "down"), ("b", "down"), ("c", "full")):
        worker = board.hired(name, None if name == "root" else "root")
        board.name(worker, name)
        if why:
            failure = ModelFailure(why, "SERVER", 503)
            worker.retry = RetryPlanned("", 1, 1, "acme", "normal", "", 1, 0, failure)
    assert Outcome("interrupted").waits(board) == [
        "2 agents were retrying after SERVER 503: down",
        "c was retrying after SERVER 503: full",
    ]
    assert Outcome("failed").waits(board) == []


def test_a_long_wait_is_told(capsys: Any) -> None:
    """run: a provider that asks to wait for long is not waited for, and the time is told."""
    assert carried_out(fail("RATE_LIMIT", "slow down", retry_after=3600.0)) == 1
    err = capsys.readouterr().err
    assert "run: what to do: try again in 3,600 s; the provider asks to wait that long\n" in err


def test_an_answer_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """run: a disk that is full stops the run, and is not called a reader that left."""
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert carried_out(hang("Words.")) == 1
    err = capsys.readouterr().err
    assert "interrupted: the answer cannot be written\n" in err
    assert "run: the answer could not be written: no space left on device\n" in err


def test_a_tool_that_refuses_is_told(capsys: Any) -> None:
    """run: a tool call that fails is a line with the reason, and an unknown tool as well."""
    script = [calls(call("show", folder="", file=".x"), call("nope")), "Done."]
    assert carried_out(*script) == 0
    err = capsys.readouterr().err
    assert "run: root: show failed: " in err
    assert "is hidden" in err
    assert "run: root: nope failed: " in err


def test_a_failed_answer_is_given_as_far_as_it_came(capsys: Any) -> None:
    """run: with --json the answer of a failed run is what there was of it."""
    manner = Manner(as_json=True, live=False, quiet=True)
    assert carried_out(fail("AUTH", after="As far as "), manner=manner) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["status"], document["answer"]) == ("failed", "As far as ")
    assert carried_out(fail("AUTH"), manner=manner) == 1
    assert json.loads(capsys.readouterr().out)["answer"] is None


def test_a_recording_that_cannot_be_written_is_told(tmp_path: Path, capsys: Any) -> None:
    """run: a record's folder that takes no more is a failure that names it."""
    record = Record(str(tmp_path / "record"))
    (tmp_path / "record").rmdir()
    assert carried_out("Done.", record=record) == 1
    out, err = capsys.readouterr()
    assert out == "Done.\n"
    assert "run: the recording could not be written: no such file or directory\n" in err


def test_a_key_in_an_error_is_not_told(capsys: Any) -> None:
    """run: what a model repeats of a key in its error is in no line and no document."""
    secret = "sk-abcdefghijklmnop"
    for manner in (PLAIN, Manner(as_json=True, live=False)):
        assert carried_out(fail("AUTH", f"bad key {secret}"), manner=manner) == 1
        out, err = capsys.readouterr()
        assert secret not in out + err


@pytest.mark.parametrize("quiet", [False, True])
def test_quiet_says_nothing_of_what_went_well(capsys: Any, quiet: bool) -> None:
    """run: with --quiet stderr is empty after a run that went well, and tells a failure."""
    assert carried_out("Done.", manner=Manner(live=False, quiet=quiet)) == 0
    assert (capsys.readouterr().err == "") == quiet
    assert carried_out(fail("QUOTA", "no money"), manner=Manner(live=False, quiet=quiet)) == 1
    assert "run: QUOTA: no money\n" in capsys.readouterr().err


def test_warnings_are_lines_that_steer_nothing(capsys: Any) -> None:
    """run: any warning is one line on stderr; the failure of the root is told once."""

    def loud(_request: Any) -> str:
        logging.getLogger("some.package").warning("odd \x1b[2J\nthing", exc_info=ValueError("no"))
        logging.getLogger("some.package").info("not told")
        return "Done."

    assert carried_out(loud) == 0
    err = capsys.readouterr().err
    assert "run: warning: odd \\x1b[2J\\nthing (ValueError: no)\n" in err
    assert "not told" not in err
    assert carried_out(fail("AUTH", "no \x1b[2J")) == 1
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert err.count("no \\x1b[2J") == 1


def test_a_silent_model_is_given_up(capsys: Any) -> None:
    """run: a model that says nothing for --timeout seconds is a failure with advice."""
    assert carried_out(hang("So far"), timeout=0.05, retries=0) == 1
    out, err = capsys.readouterr()
    assert out == "So far\n"
    assert "run: TIMEOUT: " in err
    assert "run: what to do: try again, or raise --timeout\n" in err


@pytest.mark.parametrize(("jobs", "most"), [(1, 1), (2, 2)])
def test_jobs_bound_what_one_agent_does_at_once(capsys: Any, jobs: int, most: int) -> None:
    """run: of three delegations in one message at most --jobs are at work at the same time."""
    at_work: list[int] = []
    seen: list[int] = []

    async def child(_request: Any) -> str:
        at_work.append(1)
        seen.append(len(at_work))
        for _ in range(50):  # turns of the loop, in which another could begin
            await asyncio.sleep(0)
        at_work.pop()
        return "Part."

    part = call("subagent", description="part", prompt="part")
    script = [calls(part, part, part), child, child, child, "Whole."]
    assert carried_out(*script, jobs=jobs) == 0
    assert (max(seen), len(seen)) == (most, 3)


@pytest.mark.parametrize("at_child", [False, True])
async def test_an_interruption_is_the_users_cancel_in_the_logs(
    tmp_path: Path, at_child: bool
) -> None:
    """run: interrupted, root and child are cancelled as by the user, in their logs as well."""
    part = call("subagent", description="part", prompt="part")
    model = ScriptedModel(shared=[*[part][:at_child], hang("So far")])
    board, interruption, record = RunBoard(), Interruption(), Record(str(tmp_path))

    def tick() -> None:
        if any(worker.attempt for worker in board.workers.values()):
            interruption.request("enough")

    narrator = Narrator(Speech(None, plain=True), Silence(), wordy=True)
    order = Order("Do it.", "acme:one", "/")
    outcome = await carry_out(order, model, board, narrator, interruption, tick, record)
    assert (outcome.status, outcome.problem) == ("interrupted", "enough")
    assert outcome.answer == (None if at_child else "So far")
    assert not board.running
    ends: list[Any] = []
    for log in [(recording := read_recording(tmp_path)).root, *recording.children]:
        ends += [event.data.reason for event in log.events if type(event.data) is TurnEnd]
        assert check_log(log) == ()
    kinds = [(end.kind, end.reason.kind) for end in ends]
    assert kinds == [("aborted", "user"), ("aborted", "parent")][: 1 + at_child]


async def test_an_interruption_before_the_first_word_is_met(tmp_path: Path) -> None:
    """run: an interruption that is there already asks no model."""
    interruption = Interruption()
    interruption.request("early")
    model = ScriptedModel(shared=["Never."])
    narrator = Narrator(Speech(None, plain=True), Silence(), wordy=True)
    order = Order("Do it.", "acme:one", str(tmp_path))
    outcome = await carry_out(order, model, RunBoard(), narrator, interruption)
    assert (outcome.status, outcome.problem) == ("interrupted", "early")
    assert not model.requests
