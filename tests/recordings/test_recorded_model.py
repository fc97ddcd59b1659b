"""A recorded model: whose log it plays, what it lacks, what is left."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline import ConfigurationError, ModelError
from broodline.actors.models import (
    LocalModel,
    RecordedModel,
    fail,
)
from broodline.actors.recording import RecordedLog, Recording
from broodline.actors.recording_writer import write_recording
from broodline.actors.session import Session
from broodline.messages.chunk import TextDelta
from broodline.messages.content import Text
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import (
    CallConfig,
    HeaderLogged,
    RequestHeader,
)
from broodline.messages.request import ModelRequest


def log_of(kit: SimpleNamespace, *answers: str, id: str = "s") -> RecordedLog:
    """A log with one turn an answer."""
    build = kit.build()
    for turn, answer in enumerate(answers, 1):
        build.start(turn).say(answer).end()
    log: RecordedLog = build.log(SessionHeader(id, 0))
    return replace(log, name=f"{id}.jsonl")


def ask(session_id: str = "s1", signal: Any = None) -> ModelRequest:
    return ModelRequest(CallConfig("recorded", "m"), [], None, (), session_id, signal)


async def answer(model: LocalModel, session_id: str = "s1") -> str:
    """The text of one response."""
    parts: list[str] = []
    async with aclosing(model.stream(ask(session_id))) as stream:
        async for chunk in stream:
            if isinstance(chunk, TextDelta):
                parts.append(chunk.text)
    return "".join(parts)


async def test_sessions_take_logs_by_their_first_request(kit: SimpleNamespace) -> None:
    """core 12.7: the first session to ask plays the first log, the second the next, and so on."""
    model = RecordedModel(log_of(kit, "a1", "a2"), log_of(kit, "b1", "b2"))
    said = [await answer(model, session) for session in ("y", "x", "x", "y")]
    assert said == ["a1", "b1", "b2", "a2"]
    assert [request.session_id for request in model.requests] == ["y", "x", "x", "y"]
    model.assert_consumed()


async def test_the_choice_is_made_at_the_call(kit: SimpleNamespace) -> None:
    """core 12.7: who asks first is who calls first, not whose stream is read first."""
    model = RecordedModel(log_of(kit, "a"), log_of(kit, "b"))
    first, second = model.stream(ask("x")), model.stream(ask("y"))
    async with aclosing(second), aclosing(first):
        heard = [[chunk async for chunk in stream] for stream in (second, first)]
    assert TextDelta(0, "b") in heard[0]
    assert TextDelta(0, "a") in heard[1]


async def test_logs_without_entries_are_nobodys(kit: SimpleNamespace) -> None:
    """core 12.7: a session that never asked its model is passed over in the handing out."""
    silent = RecordedLog("silent", SessionHeader("q", 0), (), True)
    model = RecordedModel(silent, log_of(kit, "a"))
    assert await answer(model) == "a"
    model.assert_consumed()
    assert model.logs[0] is silent


async def test_one_session_too_many(kit: SimpleNamespace) -> None:
    """core 12.7: a session without a log fails, and is told which logs there were, for whom."""
    model = RecordedModel(log_of(kit, "a", id="one"), log_of(kit, "b", id="two"))
    await answer(model, "x")
    await answer(model, "y")
    with pytest.raises(
        ModelError, match=r"session z .*one\.jsonl for x, two\.jsonl for y"
    ) as caught:
        await answer(model, "z")
    assert caught.value.code == "UNKNOWN"
    silent = RecordedModel(RecordedLog("silent", SessionHeader("q", 0), (), True))
    with pytest.raises(ModelError, match=r"logs with entries: none"):
        await answer(silent)


async def test_one_request_too_many(kit: SimpleNamespace) -> None:
    """core #276: a request more than was recorded fails and names session, log and count."""
    model = RecordedModel(log_of(kit, "a", id="one"))
    await answer(model)
    with pytest.raises(
        ModelError, match=r"session s1 asked for response 2.*one\.jsonl has 1 entry"
    ):
        await answer(model)


async def test_what_is_left(kit: SimpleNamespace) -> None:
    """core 12.7: what was not played is named by its log, with who played how much of it."""
    model = RecordedModel(log_of(kit, "a", "b", id="one"), log_of(kit, "c", id="two"))
    assert model.remaining == 3
    with pytest.raises(
        AssertionError, match=r"one\.jsonl \(2 entries\) was asked for by no session"
    ):
        model.assert_consumed()
    await answer(model, "x")
    with pytest.raises(
        AssertionError,
        match=r"session x played 1 of 2 entries of one\.jsonl; two\.jsonl \(1 entry\)",
    ):
        model.assert_consumed()
    await answer(model, "x")
    await answer(model, "y")
    assert model.remaining == 0
    model.assert_consumed()


async def test_overrides(kit: SimpleNamespace) -> None:
    """core 12.7: single entries may be replaced, and one added at the end of a log."""
    logs = (log_of(kit, "a1", "a2"), log_of(kit, "b1"))
    model = RecordedModel(
        *logs, overrides={(0, 0): "other", (1, 1): [Text("added")], (0, 1): fail("SERVER")}
    )
    assert await answer(model, "x") == "other"
    assert [await answer(model, "y") for _ in range(2)] == ["b1", "added"]
    with pytest.raises(ModelError) as caught:
        await answer(model, "x")
    assert caught.value.code == "SERVER"
    model.assert_consumed()


async def test_an_override_makes_a_log_of_nothing(kit: SimpleNamespace) -> None:
    """core 12.7: a log without entries takes part once it is given one."""
    silent = RecordedLog("silent", SessionHeader("q", 0), (), True)
    assert await answer(RecordedModel(silent, overrides={(0, 0): "now"})) == "now"


@pytest.mark.parametrize(
    "place", [(1, 0), (0, 2), (0,), (0, 0, 0), (-1, 0), (0, -1), (0.0, 0), (True, 0), 0, "00", None]
)
def test_overrides_stand_somewhere(place: Any, kit: SimpleNamespace) -> None:
    """core 12.7: an override at no place is refused, naming the places that there are."""
    with pytest.raises(ConfigurationError, match="overrides"):
        RecordedModel(log_of(kit, "a"), overrides={place: "x"})


def test_an_override_is_a_response(kit: SimpleNamespace) -> None:
    """core 12.7: what is no response is refused when the model is made."""
    override: Any = {(0, 0): 5}
    with pytest.raises(ConfigurationError):
        RecordedModel(log_of(kit, "a"), overrides=override)


def test_a_model_needs_a_log() -> None:
    """core 12.7: a model without a log is refused, and what is no log too."""
    with pytest.raises(ConfigurationError, match="at least one log"):
        RecordedModel()
    wrong: Any = 5
    with pytest.raises(ConfigurationError, match="a log is read from"):
        RecordedModel(wrong)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        RecordedModel("there/is/none.jsonl")


def test_its_name(kit: SimpleNamespace) -> None:
    """core 12.7: it is called as the model that was recorded, unless it is given a name."""
    log = log_of(kit, "a")
    silent = RecordedLog("silent", SessionHeader("q", 0), (), True)
    header = HeaderLogged(RequestHeader(CallConfig("p", "headed")), "initial")
    headed = replace(log, events=(Event(0, 0, header),))
    assert RecordedModel(silent, log).model == "m"
    assert RecordedModel(headed, log).model == "headed"
    assert RecordedModel(silent).model == "recorded"
    model = RecordedModel(log, provider="p", model="n", max_tokens=5)
    assert (model.provider, model.model, model.max_tokens) == ("p", "n", 5)
    assert isinstance(model, LocalModel)


async def test_where_logs_come_from(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 12.7: a log, a recording, a file, a folder, a session and its rows play the same."""
    log = log_of(kit, "a", "b")
    folder = tmp_path / "recording"
    write_recording(folder, log)

    class Clock:
        def time_ms(self) -> int:
            return 0

    live = Session(SessionHeader("s", 0), clock=Clock())
    for event in log.events:
        live.append(event.data, surface=event.surface_op, sources=event.source_event_seqs)
    for source in (
        log,
        Recording("r", log),
        folder,
        str(folder),
        folder / "session.jsonl",
        str(folder / "session.jsonl"),
        live,
        live.to_json(),
        (folder / "session.jsonl").read_text(encoding="utf-8").split("\n"),
    ):
        model = RecordedModel(source)
        assert [await answer(model), await answer(model)] == ["a", "b"]
