"""How a program hears what came of a turn: `when_idle`, `last_end`, `answer`, the log."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.models import RuleModel, ScriptedModel, fail, text
from broodline.messages.chunk import Chunk, TextDelta
from broodline.messages.errors import ModelError
from broodline.messages.payload import AbortCause
from broodline.messages.request import ModelRequest
from broodline.supervision.runtime import Runtime


def failures(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if "ended in an error" in record.getMessage()]


async def test_when_idle_says_how_the_turn_ended(open_host: Any) -> None:
    """DESIGN 2: when_idle of agent and handle returns how the last turn ended; None before."""
    host = await open_host(ScriptedModel(shared=[text("ok"), fail("AUTH", "no key")]))
    handle = await host.agents.create()
    assert await handle.when_idle() is None
    await handle.followup("one")
    completed = await handle.when_idle()
    assert completed.kind == "completed"
    await handle.followup("two")
    failed = await handle.agent.when_idle()
    assert (failed.kind, failed.error.code) == ("error", "AUTH")
    assert handle.last_end is handle.agent.last_end is failed
    await handle.dispose()
    assert await handle.when_idle() is failed


async def test_a_cancelled_turn_is_an_aborted_end(open_host: Any) -> None:
    """core 9: the end of a cancelled turn is told with its cause."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    handle = await host.agents.create()
    await handle.followup("go")
    await handle.cancel(AbortCause("user"))
    end = await handle.when_idle()
    assert end is None or (end.kind, end.reason) == ("aborted", AbortCause("user"))


async def test_the_answer_of_a_root(open_host: Any) -> None:
    """DESIGN 9: answer is the text of the last message with content, empty before there is one."""
    host = await open_host(ScriptedModel(shared=[text("first"), text("second"), fail("AUTH")]))
    handle = await host.agents.create()
    assert handle.answer == ""
    for said in ("first", "second", "second"):
        await handle.followup("go")
        await handle.when_idle()
        assert handle.answer == handle.agent.answer == said


def test_the_answer_in_a_program_without_a_loop() -> None:
    """DESIGN 9: a plain thread prints a root's answer with three lines."""
    with Runtime(model=ScriptedModel(shared=[text("hello")])) as runtime:
        root = runtime.agents.create().result(timeout=10)
        root.followup("go").result(timeout=10)
        end = root.when_idle().result(timeout=10)
        assert end is not None
        assert (end.kind, root.answer) == ("completed", "hello")


async def test_a_root_that_fails_is_not_silent(
    open_host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 8: a root's failed turn is a warning that names the agent, the code and the reason."""
    host = await open_host(ScriptedModel(shared=[fail("AUTH", "no key")]))
    handle = await host.agents.create(id="lead\x1b[2J")
    await handle.followup("go")
    await handle.when_idle()
    [record] = failures(caplog)
    assert (record.name, record.levelname) == ("broodline", "WARNING")
    # An id is any text: it must not steer the terminal on which a log is read.
    assert record.getMessage() == r"agent 'lead\x1b[2J': turn 1 ended in an error: AUTH: no key"
    assert record.exc_info is None


async def test_an_error_of_foreign_code_is_logged_with_its_traceback(
    open_host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 8: what a rule raised is logged with the place where it was raised."""

    def careless(conversation: Any) -> str:
        gold: dict[str, str] = {}
        return gold["gold"]

    host = await open_host(RuleModel(careless))
    handle = await host.agents.create()
    await handle.followup("go")
    await handle.when_idle()
    [record] = failures(caplog)
    assert record.exc_info
    assert "in careless" in caplog.text
    assert "KeyError: 'gold'" in record.getMessage()


async def test_a_failing_child_is_told_by_its_result(caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 8: the failed turn of a child is logged as INFO: its result says it."""
    from broodline import SubagentRequest

    caplog.set_level(logging.INFO, "broodline")
    async with Runtime(model=ScriptedModel(shared=[fail("AUTH", "no key")])) as runtime:
        root = await runtime.agents.create()
        run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
        assert (await run.result).stop_reason == "error"
        [record] = failures(caplog)
        assert record.levelname == "INFO"


async def test_a_log_that_cannot_be_closed_is_the_end(open_host: Any) -> None:
    """core D11: a turn whose end the log refused has ended in that error."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    handle = await host.agents.create()
    agent: Agent = handle.agent

    def veto(event: Any) -> None:
        if event.type == "turn/end":
            raise ValueError("full")

    agent.session.add_check(veto)
    await handle.followup("go")
    end = await handle.when_idle()
    assert end.kind == "error"
    assert "full" in end.error.message


async def test_a_detached_turn_was_aborted(open_host: Any) -> None:
    """DESIGN 4: a turn that ignored its cancellation is told as aborted, as in its log."""
    import asyncio

    stop = asyncio.Event()

    async def stubborn(conversation: Any) -> str:
        while not stop.is_set():
            try:
                await stop.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    host = await open_host(RuleModel(stubborn), dispose_timeout=0.05)
    handle = await host.agents.create()
    await handle.followup("go")
    for _ in range(5):
        await asyncio.sleep(0)
    await handle.dispose()
    assert handle.last_end is not None
    assert handle.last_end.kind == "aborted"
    stop.set()


async def test_the_tree_shows_a_failed_turn() -> None:
    """DESIGN 2: the tree says of an agent at rest that its last turn failed, and with what code."""
    model = ScriptedModel(shared=[fail("AUTH", "no key"), text("ok")])
    async with Runtime(model=model) as runtime:
        root = await runtime.agents.create(id="root")
        for failure in ("AUTH", None):
            await root.followup("go")
            await root.when_idle()
            node = runtime.tree().roots[0]
            assert node.failure == failure
            assert node.to_dict().get("failure") == failure
            assert ("turn 1 failed: AUTH]" in str(node)) == (failure is not None)


class Leaky:
    """A model of somebody else's: its errors show the key that it sent."""

    provider = "leaky"
    model = "leaky"

    def __init__(self, said: str, *, closing: bool = False) -> None:
        self.said = said
        self.closing = closing

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        try:
            yield TextDelta(0, "more than one character")
            if not self.closing:
                raise LookupError(self.said)
        finally:
            if self.closing:
                raise OSError(self.said)


async def test_no_key_in_the_log_of_a_failed_turn(
    open_host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 8: a foreign error's traceback is logged without the key that its text shows."""
    host = await open_host(Leaky("sent Authorization: Bearer abcdefgh12345678"))
    handle = await host.agents.create()
    await handle.followup("go")
    await handle.when_idle()
    [record] = failures(caplog)
    assert "abcdefgh12345678" not in caplog.text
    assert "Traceback" in record.getMessage()
    assert "LookupError: sent" in record.getMessage()


async def test_a_harmless_traceback_is_logged_whole(
    open_host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 8: an error without secrets is logged as it is, for tools that read it."""
    host = await open_host(Leaky("nothing secret"))
    handle = await host.agents.create()
    await handle.followup("go")
    await handle.when_idle()
    [record] = failures(caplog)
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ModelError)
    assert isinstance(record.exc_info[1].__cause__, LookupError)


async def test_no_key_in_the_log_of_a_stream_that_fails_to_close(
    open_host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 8: what a stream raises while it is closed is logged without keys."""
    host = await open_host(Leaky("password=hunter2hunter2", closing=True), max_response_chars=1)
    handle = await host.agents.create()
    await handle.followup("go")
    await handle.when_idle()
    closing = [r for r in caplog.records if "failed while closing" in r.getMessage()]
    assert len(closing) == 1
    assert "hunter2" not in caplog.text
