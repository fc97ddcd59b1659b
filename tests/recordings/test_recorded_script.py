"""From a log to what its model said: one entry a request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.models import (
    Entry,
    RecordedModel,
)
from broodline.actors.models.recorded_script import entries_of
from broodline.messages.chunk import BlockStart, Finish, ModelFailure
from broodline.messages.content import Text, ToolCall
from broodline.messages.header import SessionHeader
from broodline.messages.payload import (
    AbortCause,
    EndSeed,
    RetryPlanned,
    RetryStarted,
)

SERVER = ModelFailure("down", "SERVER", 503)
ABORTED = Finish("aborted", ModelFailure("cancelled", "ABORTED"))


def entries(build: Any) -> list[Entry]:
    return entries_of(event.data for event in build.events)


def shape(entry: Entry) -> tuple[int, bool, str | None]:
    """Chunks of an entry, whether it then hangs, the code that it then raises."""
    return (
        len(entry.verbatim or ()),
        entry.hangs,
        None if entry.failure is None else entry.failure.code,
    )


def retry(build: Any, failure: ModelFailure = SERVER) -> None:
    build.add(RetryPlanned("r", build.turn, build.step, "p", "normal", "k", 1, 1, failure))
    build.add(RetryStarted("r", build.turn, build.step, 1))


def test_one_entry_a_response(kit: SimpleNamespace) -> None:
    """core 12.7: a log is split at its finish chunks; each entry streams them as they were."""
    build = kit.build().start().ask(ToolCall("a", "probe", "{}"))
    build.result("a", (build.call("a"),))
    build.end_step().next_step(2).say("done").end()
    build.start(2).say("more").end()
    played = entries(build)
    assert [shape(entry) for entry in played] == [(4, False, None), *[(5, False, None)] * 2]
    assert played[1].verbatim == tuple(kit.said("done"))


def test_a_streamed_failure_is_an_entry(kit: SimpleNamespace) -> None:
    """core 12.7: an attempt that ended with an error finish is an entry of its own."""
    build = kit.build().start()
    build.stream(Finish("error", SERVER))
    retry(build)
    build.say("x").end()
    assert [shape(entry) for entry in entries(build)] == [(1, False, None), (5, False, None)]


def test_a_raised_failure_is_an_entry(kit: SimpleNamespace) -> None:
    """core 12.5: an attempt that raised left no finish; the retry says what it raised, and when."""
    build = kit.build().start()
    retry(build)
    build.stream(*kit.said("half")[:2])
    retry(build, ModelFailure("slow", "TIMEOUT"))
    build.say("x").end()
    assert [shape(entry) for entry in entries(build)] == [
        (0, False, "SERVER"),
        (2, False, "TIMEOUT"),
        (5, False, None),
    ]
    assert entries(build)[0].failure == SERVER


@pytest.mark.parametrize("streamed", [0, 2])
def test_a_failure_that_ended_the_turn(streamed: int, kit: SimpleNamespace) -> None:
    """core 12.5: an attempt that raised and was not tried again fails with the turn's error."""
    build = kit.build().start()
    build.stream(*kit.said("half")[:streamed])
    build.end("error", error=ModelFailure("no", "AUTH", 401))
    assert [shape(entry) for entry in entries(build)] == [(streamed, False, "AUTH")]


def test_an_error_behind_the_response_is_not_the_models(kit: SimpleNamespace) -> None:
    """core 12.7: a turn that failed after its response, in a tool say, adds no entry."""
    build = kit.build().start().ask(ToolCall("a", "probe", "{}"))
    build.end("error", error=ModelFailure("no", "UNKNOWN"))
    assert len(entries(build)) == 1


@pytest.mark.parametrize("streamed", [0, 2])
def test_a_cancelled_request_hangs(streamed: int, kit: SimpleNamespace) -> None:
    """core 12.7: a cancelled request streams what had come, then waits to be cancelled.

    Whether or not something readable was kept of it as a message.
    """
    for kept in (True, False) if streamed else (False,):
        build = kit.build().start()
        seqs = build.stream(*kit.said("half")[:streamed])
        if kept:
            build.reply(Text("half"), sources=seqs, usage=None, interrupted=True)
        build.end("aborted", reason=AbortCause("user"))
        assert [shape(entry) for entry in entries(build)] == [(streamed, True, None)]
        build.start(2).say("x").end()
        assert len(entries(build)) == 2


def test_a_cancelled_tool_is_no_request(kit: SimpleNamespace) -> None:
    """core 12.7: a turn cancelled after its response, or while waiting to retry, adds none."""
    build = kit.build().start().ask(ToolCall("a", "probe", "{}"))
    build.end("aborted", reason=AbortCause("user"))
    assert len(entries(build)) == 1
    build = kit.build().start()
    build.add(RetryPlanned("r", 1, 1, "p", "normal", "k", 1, 1, SERVER))
    build.end("aborted", reason=AbortCause("user"))
    assert [shape(entry) for entry in entries(build)] == [(0, False, "SERVER")]


def test_a_step_without_a_request(kit: SimpleNamespace) -> None:
    """core 12.7: a step that ended well without a response asked nothing."""
    assert entries(kit.build().start().end()) == []


def test_the_echo_of_a_cancellation(kit: SimpleNamespace) -> None:
    """core 12.7: an aborted finish that our own cancellation caused is made anew, not played.

    One that the provider sent by itself is an error of the turn, and played.
    """
    for end, expected in (
        ({"kind": "aborted", "reason": AbortCause("user")}, (1, True, None)),
        ({"kind": "error", "error": ABORTED.failure}, (2, False, None)),
    ):
        build = kit.build().start()
        build.stream(BlockStart(0, "text"), ABORTED)
        build.end(**end)
        assert [shape(entry) for entry in entries(build)] == [expected]
    for planned in (True, False):
        build = kit.build().start()
        build.stream(BlockStart(0, "text"), ABORTED)
        if planned:
            retry(build)
        build.say("x").end()
        assert [shape(entry) for entry in entries(build)] == [(2, False, None), (5, False, None)]


def test_a_stream_without_a_finish(kit: SimpleNamespace) -> None:
    """core #267: a stream that ended without a finish ends so again, and does not hang."""
    build = kit.build().start()
    build.reply(Text("hello"), sources=build.stream(*kit.said("hello")[:3]), usage=None)
    assert [shape(entry) for entry in entries(build.end())] == [(3, False, None)]
    build = kit.build().start()
    build.reply(sources=(), usage=None)
    assert [shape(entry) for entry in entries(build.end())] == [(0, False, None)]


@pytest.mark.parametrize("wants", [True, False])
def test_a_message_without_chunks(wants: bool, kit: SimpleNamespace) -> None:
    """core 1.8: where chunks were not recorded the message itself is played."""
    build = kit.build().start()
    content = [Text("x"), *([ToolCall("a", "probe", "{}")] if wants else [])]
    build.reply(*content)
    (entry,) = entries(build.end())
    assert (entry.content, entry.usage) == (tuple(content), kit.USAGE)
    assert entry.finish == Finish("tool-calls" if wants else "stop")


def test_a_script_is_split_too(kit: SimpleNamespace) -> None:
    """core 15.6: chunks alone are split at their finishes, and where their step changes."""
    build = kit.build()
    build.turn = build.step = 1
    build.stream(*kit.said("one"), *kit.said("two"), *kit.said("half")[:2])
    build.step = 2
    build.stream(*kit.said("three"))
    assert [shape(entry) for entry in entries(build)] == [
        (5, False, None),
        (5, False, None),
        (2, False, "RECORDING_ENDED"),
        (5, False, None),
    ]
    build.stream(*kit.asked(ToolCall("a", "probe", "{}")))
    assert [shape(entry) for entry in entries(build)][4:] == [(4, False, None)]
    build.stream(*kit.said("half")[:2])
    assert [shape(entry) for entry in entries(build)][5:] == [(2, False, "RECORDING_ENDED")]


def test_only_the_forks_own_requests(kit: SimpleNamespace) -> None:
    """core 12.7, #290: a fork child plays what came from seedLength on, nothing of its parent's."""
    build = kit.build().start().say("the parent's").end()
    length = len(build.events)
    build.add(EndSeed())
    log = build.start(2).say("its own").end().log(SessionHeader("c", 0, seed_length=length))
    model = RecordedModel(log)
    assert model.remaining == 1
    assert entries_of(e.data for e in log.own_events)[0].verbatim == tuple(kit.said("its own"))
