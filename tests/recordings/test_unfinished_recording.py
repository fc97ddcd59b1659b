"""How a log is ended, or is not, and what is played of its last request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from broodline import ModelError, Runtime
from broodline.actors.models import Entry, RecordedModel, RetryPolicy
from broodline.actors.models.recorded_script import entries_of
from broodline.actors.models.retry import RETRYABLE_CODES
from broodline.messages.chunk import Finish, ModelFailure, TextDelta
from broodline.messages.content import Text, ToolCall
from broodline.messages.payload import (
    AbortCause,
    CallConfig,
    RetryPlanned,
    RetryStarted,
    TurnStart,
)
from broodline.messages.request import ModelRequest

SERVER = ModelFailure("down", "SERVER", 503)
ABORTED = Finish("aborted", ModelFailure("cancelled", "ABORTED"))
CALL = ToolCall("a", "probe", "{}")

# An entry: its chunks, and how it goes on behind them.
ENDED, ON, HANGS, FAILED = "RECORDING_ENDED", "ends", "hangs", "SERVER"
Shape = tuple[int, str]


def shape(entry: Entry) -> Shape:
    code = ON if entry.failure is None else entry.failure.code
    return len(entry.verbatim or ()), HANGS if entry.hangs else code


ACTS: dict[str, Callable[[Any, SimpleNamespace], Any]] = {
    "turn": lambda build, _: build.add(TurnStart(1)),
    "step": lambda build, _: build.start(),
    "half": lambda build, kit: build.stream(*kit.said("half")[:2]),
    "interrupted message": lambda build, _: build.reply(Text("half"), usage=None, interrupted=True),
    "message": lambda build, _: build.reply(Text("x"), usage=None),
    "aborted finish": lambda build, _: build.stream(ABORTED),
    "error finish": lambda build, _: build.stream(Finish("error", SERVER)),
    "finish": lambda build, kit: build.stream(*kit.said("x")),
    "finish for a tool": lambda build, kit: build.stream(*kit.asked(CALL)),
    "message for a tool": lambda build, _: build.reply(CALL),
    "call": lambda build, _: build.call("a"),
    "result": lambda build, _: build.result("a", (len(build.events) - 1,)),
    "step end": lambda build, _: build.end_step(),
    "next step": lambda build, _: build.next_step(2),
    "retry planned": lambda build, _: build.add(
        RetryPlanned("r", 1, 1, "p", "normal", "k", 1, 1, SERVER)
    ),
    "retry started": lambda build, _: build.add(RetryStarted("r", 1, 1, 1)),
}
TURN_ENDS: dict[str, dict[str, Any]] = {
    "interrupted": {},
    "aborted": {"reason": AbortCause("user")},
    "error": {"error": SERVER},
    "error of what": {},
    "completed": {},
    "max-tokens": {},
    "blocked": {},
}
"""``interrupted`` is what a repair writes when the process was gone. Source: spec core 2."""
OPEN = "open"


def row(stops: list[Shape], other: list[Shape], **by_end: list[Shape]) -> dict[str, list[Shape]]:
    """The entries by the end of the turn.

    Args:
        stops: Where the log stops with the turn open, or a repair closed it.
        other: For any other end.
        by_end: For those that are yet others.
    """
    table = dict.fromkeys(TURN_ENDS, other) | {OPEN: stops, "interrupted": stops}
    return table | {name.replace("_", " "): shapes for name, shapes in by_end.items()}


def asked(*before: Shape) -> dict[str, list[Shape]]:
    """Of a request that was begun and brought nothing."""
    return row(
        [*before, (0, ENDED)],
        [*before],
        aborted=[*before, (0, HANGS)],
        error=[*before, (0, FAILED)],
        error_of_what=[*before, (0, ENDED)],
    )


def streamed(*before: Shape) -> dict[str, list[Shape]]:
    """Of a request that had brought something."""
    cut = [*before, (2, ENDED)]
    return row(cut, cut, aborted=[*before, (2, HANGS)], error=[*before, (2, FAILED)])


def done(*entries: Shape) -> dict[str, list[Shape]]:
    """Where the turn need not ask again."""
    return row([*entries], [*entries])


def owed(*entries: Shape) -> dict[str, list[Shape]]:
    """Where the turn has to ask again."""
    return row([*entries, (0, ENDED)], [*entries])


TOOL = "step, finish for a tool, message for a tool"
STATES: dict[str, dict[str, list[Shape]]] = {
    "turn": owed(),
    "step": asked(),
    "step, step end": asked(),
    "step, half": streamed(),
    "step, half, step end": streamed(),
    "step, half, interrupted message": done((2, HANGS)),
    "step, half, interrupted message, step end": done((2, HANGS)),
    "step, interrupted message": done((0, HANGS)),
    "step, half, aborted finish": row([(3, ON)], [(3, ON)], aborted=[(2, HANGS)]),
    "step, half, message": done((2, ON)),
    "step, message": done((0, ON)),
    "step, finish": done((5, ON)),
    "step, finish, message": done((5, ON)),
    "step, finish, message, step end": done((5, ON)),
    "step, error finish": done((1, ON)),
    "step, error finish, retry planned": owed((1, ON)),
    "step, error finish, retry planned, retry started": asked((1, ON)),
    "step, retry planned": owed((0, FAILED)),
    "step, half, retry planned": owed((2, FAILED)),
    "step, retry planned, retry started": asked((0, FAILED)),
    "step, half, retry planned, retry started": asked((2, FAILED)),
    "step, retry planned, retry started, half": streamed((0, FAILED)),
    "step, retry planned, retry started, finish, message": done((0, FAILED), (5, ON)),
    "step, finish for a tool": owed((4, ON)),
    "step, message for a tool": owed((0, ON)),
    TOOL: owed((4, ON)),
    f"{TOOL}, call": owed((4, ON)),
    f"{TOOL}, call, result": owed((4, ON)),
    f"{TOOL}, call, result, step end": owed((4, ON)),
    f"{TOOL}, call, result, step end, next step": asked((4, ON)),
}


def built(kit: SimpleNamespace, state: str, end: str = OPEN) -> Any:
    """A log that was brought to a state and then ended."""
    build = kit.build()
    build.turn = 1
    for act in state.split(", "):
        ACTS[act](build, kit)
    if end != OPEN:
        build.end(end.removesuffix(" of what"), **TURN_ENDS[end])
    return build


def entries(build: Any, name: str = "log") -> list[Entry]:
    return entries_of((event.data for event in build.events), name)


@pytest.mark.parametrize("end", [OPEN, *TURN_ENDS])
@pytest.mark.parametrize("state", STATES)
def test_how_a_log_is_ended(state: str, end: str, kit: SimpleNamespace) -> None:
    """core 12.7: what was cancelled hangs; what nobody saw the end of fails; no other does.

    A turn behind the last one is played as ever, whatever that came to.
    """
    build = built(kit, state, end)
    assert [shape(entry) for entry in entries(build)] == STATES[state][end]
    if end != OPEN:
        build.start(2).say("more").end()
        assert [shape(entry) for entry in entries(build)] == [*STATES[state][end], (5, ON)]


def test_a_cancelled_message_without_chunks(kit: SimpleNamespace) -> None:
    """core 1.8: where chunks were not recorded the kept message is played, and then hangs."""
    (entry,) = entries(built(kit, "step, interrupted message"))
    assert (entry.content, entry.finish, entry.hangs) == ((Text("half"),), None, True)


@pytest.mark.parametrize("act", ["next step", "step", "turn"])
def test_a_stream_that_something_else_follows(act: str, kit: SimpleNamespace) -> None:
    """core 12.7: a stream without an end is cut, too, where a step or a turn begins behind it."""
    build = built(kit, f"step, half, {act}")
    assert [shape(entry) for entry in entries(build)] == [(2, ENDED), (0, ENDED)]
    failure = entries(build)[0].failure
    assert failure is not None
    assert "breaks off in the middle of request 1;" in failure.message


@pytest.mark.parametrize(
    ("state", "end", "said"),
    [
        ("step, half", OPEN, "log a.jsonl ends in the middle of request 1; "),
        ("step", OPEN, "log a.jsonl ends in the middle of request 1; "),
        (TOOL, OPEN, "log a.jsonl ends inside a turn, before request 2; "),
        ("step, half", "interrupted", "log a.jsonl breaks off in the middle of request 1; "),
        (TOOL, "interrupted", "log a.jsonl breaks off inside a turn, before request 2; "),
    ],
)
def test_what_a_log_lacks_is_told(state: str, end: str, said: str, kit: SimpleNamespace) -> None:
    """DESIGN 8: the failure names the log, the request, and what to do; it is not tried again."""
    failure = entries(built(kit, state, end), "a.jsonl")[-1].failure
    assert failure is not None
    assert failure.message.startswith(said)
    assert "overrides=" in failure.message
    assert failure.code not in RETRYABLE_CODES


def request(session_id: str = "s") -> ModelRequest:
    return ModelRequest(CallConfig("recorded", "m"), [], None, (), session_id, None)


async def heard(model: RecordedModel, session_id: str = "s") -> str:
    """The text of one response, with the code it fails with behind it."""
    said = ""
    try:
        async for chunk in model.stream(request(session_id)):
            said += chunk.text if isinstance(chunk, TextDelta) else ""
    except ModelError as error:
        return f"{said}|{error.code}"
    return said


async def test_a_request_that_brought_nothing_binds_its_log(kit: SimpleNamespace) -> None:
    """core 12.7: a session that was killed before its first chunk is not given another's log."""
    logs = [replace(built(kit, state).log(), name=state) for state in ("step", "step, half")]
    model = RecordedModel(*logs)
    assert [await heard(model, session) for session in "ab"] == [f"|{ENDED}", f"half|{ENDED}"]
    model.assert_consumed()


async def test_a_request_behind_an_unfinished_log(kit: SimpleNamespace) -> None:
    """core #276: a request behind all entries is told that the log ends inside a turn, if so."""
    for end, told in (
        (OPEN, "1 entry and ends in the middle of a turn;"),
        ("completed", "1 entry;"),
    ):
        model = RecordedModel(built(kit, "step, finish, message", end).log())
        assert await heard(model) == "x"
        with pytest.raises(ModelError, match=told) as caught:
            async for _ in model.stream(request()):
                raise AssertionError("nothing is left to be played")
        assert caught.value.code == ENDED


async def test_what_is_missing_can_be_given(kit: SimpleNamespace) -> None:
    """core 12.7: an override stands in the place of what was not recorded."""
    model = RecordedModel(built(kit, "step, half").log(), overrides={(0, 0): "whole"})
    assert await heard(model) == "whole"
    model.assert_consumed()


async def test_a_cut_run_is_replayed_to_its_end(kit: SimpleNamespace) -> None:
    """core 12.7: an agent whose recording stops fails once, and waits for nobody."""
    model = RecordedModel(replace(built(kit, "step, half").log(), name="cut.jsonl"))
    quick = RetryPolicy(base=0.001, cap=0.001, jitter=0)
    async with Runtime(model=model, check_invariants=True, retry=quick) as runtime:
        root = await runtime.agents.create()
        await root.followup("Go on.")
        end = await root.when_idle()
        assert end is not None
        assert (end.kind, end.error and end.error.code) == ("error", ENDED)
        assert len(model.requests) == 1
    model.assert_consumed()


@pytest.mark.parametrize(
    ("state", "end", "unfinished"),
    [
        ("turn", OPEN, True),
        ("step, finish, message, step end", OPEN, True),
        *[("step, half", end, False) for end in TURN_ENDS],
    ],
)
def test_a_log_knows_whether_it_is_finished(
    state: str, end: str, unfinished: bool, kit: SimpleNamespace
) -> None:
    """DESIGN 9: a log is unfinished while its last turn is open, a script inside a response."""
    assert built(kit, state, end).log().unfinished is unfinished
    assert not kit.build().log().unfinished


def test_a_script_knows_whether_it_is_finished(kit: SimpleNamespace) -> None:
    """core 15.6: a script of chunks alone is unfinished inside a response."""
    assert built(kit, "half").log().unfinished
    assert not built(kit, "finish").log().unfinished
