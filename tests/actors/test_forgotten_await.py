"""A reply that is used where its value was meant says what was forgotten."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pykka
import pytest

import broodline
from broodline import ConfigurationError, ReplyTimeoutError, Runtime, ScriptedModel, SubagentRequest
from broodline.actors.reply import Reply
from broodline.messages.errors import DeadlockError


@pytest.fixture
async def runtime() -> Any:
    async with Runtime(model=ScriptedModel(shared=["ok"] * 9)) as opened:
        yield opened


def advice(name: str, member: str) -> str:
    return (
        f"this is a Reply of '{name}' that was not awaited: write (await reply).{member}, "
        f"or reply.result().{member} in a thread"
    )


async def test_a_member_of_the_value(runtime: Any) -> None:
    """DESIGN 2: a look at what the value has says that the reply was not awaited, and how to."""
    pending = runtime.agents.create()
    with pytest.raises(AttributeError) as caught:
        print(pending.answer)
    assert str(caught.value) == advice("create agent", "answer")
    root = await pending
    settled = root.followup("go")
    with pytest.raises(AttributeError) as caught:
        print(settled.upper)
    assert str(caught.value) == advice("followup", "upper")


async def test_the_result_of_a_run(runtime: Any) -> None:
    """DESIGN 2: awaiting `.result` of the start, not of the run, is named."""
    root = await runtime.agents.create()
    reply = runtime.subagents.start("spawn", SubagentRequest("p", root))
    with pytest.raises(TypeError) as caught:
        await reply.result
    assert str(caught.value) == advice("start subagent", "result")
    with pytest.raises(AttributeError, match=r"write \(await reply\)\.result\.text"):
        print(reply.result.text)
    assert (await (await reply).result).text == "ok"


async def test_an_agent_that_was_not_awaited(runtime: Any) -> None:
    """DESIGN 2: parent= that is still a reply is refused with what to do."""
    reply = runtime.agents.create()
    started = runtime.subagents.start("spawn", SubagentRequest("p", reply))
    with pytest.raises(ConfigurationError, match=r"Reply of 'create agent'.*await it first"):
        await started
    with pytest.raises(ConfigurationError, match="await it first"):
        runtime.subagents.catalog(reply)
    await reply


def test_result_is_still_a_method() -> None:
    """DESIGN 2: `result` can be called, passed on, inspected and read about."""
    reply = Reply.of(7)
    assert reply.result() == reply.result(1) == reply.result(timeout=1) == 7
    call = reply.result
    assert callable(call)
    assert call() == 7
    assert call.__name__ == "result"
    assert list(inspect.signature(call).parameters) == ["timeout"]
    assert list(inspect.signature(Reply.result).parameters) == ["self", "timeout"]
    assert "Block this thread" in (inspect.getdoc(Reply.result) or "")


def test_what_python_looks_for_is_simply_missing() -> None:
    """DESIGN 2: hasattr, copy and inspect meet a missing name as with any object."""
    reply = Reply.of([7])
    assert not hasattr(reply, "text")
    assert not hasattr(reply, "__len__")
    assert copy.copy(reply).get() == [7]
    assert copy.deepcopy(reply).get() == [7]
    assert pickle.loads(pickle.dumps(Reply.of(7))).get() == 7
    assert inspect.isawaitable(reply)
    assert not inspect.iscoroutinefunction(reply)
    assert inspect.getmembers(reply)


@pytest.mark.parametrize("verb", ["get", "result"])
def test_a_wait_in_vain(verb: str) -> None:
    """DESIGN 8: running out of time is an error of ours, pykka's and Python's, saying for what."""
    reply: Reply[int] = Reply(None, "start subagent")
    with pytest.raises(ReplyTimeoutError) as caught:
        getattr(reply, verb)(timeout=0.01)
    error = caught.value
    assert isinstance(error, pykka.Timeout)
    assert isinstance(error, TimeoutError)
    assert isinstance(error, broodline.DeliveryError)
    assert (error.code, error.retryable) == ("REPLY_TIMEOUT", True)
    assert str(error).startswith(f".{verb}() waited 0.01 s for start subagent, which is not done")
    assert error.to_dict()["message"] == str(error)


@pytest.mark.parametrize("verb", ["get", "result"])
async def test_blocking_the_loop_names_the_method(runtime: Any, verb: str) -> None:
    """DESIGN 2: the error of a wait on the loop names the method that was used."""
    reply = runtime.agents.create()
    with pytest.raises(DeadlockError, match=rf"^\.{verb}\(\) would block"):
        getattr(reply, verb)()
    await reply
