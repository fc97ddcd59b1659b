"""Making and ending agents: whole, or nothing of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import ScriptedModel, call, text
from broodline.actors.tools.tool import Tool
from broodline.messages.content import text_of
from broodline.messages.errors import (
    ActorDeadError,
    ConfigurationError,
    DeadlockError,
    SessionError,
)
from broodline.messages.payload import AbortCause

EDGES = ("session/created", "agent/created", "agent/session-start", "agent/disposed")


def record(host: Any) -> list[str]:
    """Collects the edges of creation and disposal in their order."""
    seen: list[str] = []
    for event in (*EDGES, "session/disposed"):
        host.hooks.observe(event, lambda notice, event=event: seen.append(event))
    return seen


async def test_an_agent_in_setup_is_invisible(open_host: Any) -> None:
    """core #119: an agent whose set-up waits is not found, not listed, not announced."""
    host = await open_host()
    seen = record(host)
    entered, gate = asyncio.Event(), asyncio.Event()

    async def setup(agent: Agent) -> None:
        entered.set()
        await gate.wait()

    reply = host.agents.create(id="a", setup=setup)
    await entered.wait()
    assert host.agents.get("a") is None
    assert host.agents.list() == ()
    assert host.sessions.get("a") is None
    assert seen == []
    gate.set()
    assert (await reply).agent is host.agents.get("a")


async def test_a_raising_setup_leaves_nothing(open_host: Any) -> None:
    """core #120: after a set-up that raises, id, session and scope are free at once."""
    host = await open_host()
    seen = record(host)
    scopes: list[Any] = []

    def setup(agent: Agent) -> None:
        scopes.append(agent.scope)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await host.agents.create(id="a", setup=setup)
    assert seen == []
    assert scopes[0].disposed
    assert len(host.sessions) == 0
    assert (await host.agents.create(id="a")).id == "a"


async def test_order_of_a_creation(open_host: Any) -> None:
    """core #121: session/created, agent/created, agent/session-start(startup)."""
    host = await open_host()
    seen = record(host)
    sources: list[str] = []
    host.hooks.observe("agent/session-start", lambda notice: sources.append(notice.source))
    await host.agents.create()
    assert seen == ["session/created", "agent/created", "agent/session-start"]
    assert sources == ["startup"]


async def test_a_veto_of_the_agent_pairs_both_edges(open_host: Any) -> None:
    """core #122: a veto of agent/created is followed by both disposal edges."""
    host = await open_host()
    seen = record(host)

    def veto(notice: Any) -> None:
        raise RuntimeError("veto")

    host.hooks.observe("agent/created", veto)
    with pytest.raises(RuntimeError, match="veto"):
        await host.agents.create(id="a")
    assert seen == ["session/created", "agent/created", "agent/disposed", "session/disposed"]
    assert host.agents.get("a") is None
    assert host.sessions.get("a") is None


async def test_a_veto_of_the_session_pairs_its_edge_alone(open_host: Any) -> None:
    """core 6.2: a veto of session/created pairs that edge; the agent had none."""
    host = await open_host()
    seen = record(host)

    def veto(notice: Any) -> None:
        raise RuntimeError("veto")

    host.hooks.observe("session/created", veto)
    with pytest.raises(RuntimeError, match="veto"):
        await host.agents.create(id="a")
    assert seen == ["session/created", "session/disposed"]
    assert host.agents.get("a") is None


async def test_a_fired_signal_touches_nothing(open_host: Any) -> None:
    """core #123: a signal that has fired rejects the creation before any side effect."""
    host = await open_host()
    seen = record(host)
    called: list[Agent] = []
    signal = CancellationToken()
    cause = KeyError("changed my mind")
    signal.cancel(cause)
    with pytest.raises(KeyError) as refused:
        await host.agents.create(setup=called.append, signal=signal)
    assert refused.value is cause
    assert (seen, called, len(host.sessions)) == ([], [], 0)


@pytest.mark.parametrize("event", ["session/created", "agent/created"])
async def test_a_signal_between_the_edges_takes_back(open_host: Any, event: str) -> None:
    """core 6.2: the signal is looked at again behind every edge; what went out is paired."""
    host = await open_host()
    seen = record(host)
    signal = CancellationToken()
    host.hooks.observe(event, lambda notice: signal.cancel(KeyError("late")))
    with pytest.raises(KeyError, match="late"):
        await host.agents.create(id="a", signal=signal)
    created = [edge for edge in seen if edge.endswith("created")]
    disposed = [edge for edge in seen if edge.endswith("disposed")]
    assert sorted(e.split("/")[0] for e in created) == sorted(e.split("/")[0] for e in disposed)
    assert host.agents.get("a") is None


async def test_a_signal_after_the_handle_does_nothing(open_host: Any) -> None:
    """core #124: a signal that fires after the handle was returned has no effect."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    signal = CancellationToken()
    handle = await host.agents.create(signal=signal)
    signal.cancel("late")
    handle.agent.followup("prompt")
    await handle.when_idle()
    assert handle.agent.session.events[-1].data.reason.kind == "completed"


@pytest.mark.parametrize("max_tokens", [0, -1, 1.5, True, "7", 2**53])
async def test_a_bad_ceiling_is_refused(open_host: Any, max_tokens: Any) -> None:
    """core #126: max_tokens must be a positive safe integer."""
    host = await open_host()
    with pytest.raises(ConfigurationError, match="max_tokens"):
        await host.agents.create(max_tokens=max_tokens)
    assert host.agents.list() == ()


async def test_two_disposals_are_one(open_host: Any) -> None:
    """core #127: concurrent disposals await one teardown; each edge fires once."""
    host = await open_host()
    seen = record(host)
    handle = await host.agents.create()
    seen.clear()
    await asyncio.gather(handle.dispose(), handle.dispose(), handle.dispose())
    assert seen == ["agent/disposed", "session/disposed"]


async def test_disposal_waits_for_a_tool_that_ignores_its_signal(open_host: Any) -> None:
    """core #128: a disposal waits for a started tool; the turn ends aborted(disposed)."""
    started, gate = asyncio.Event(), asyncio.Event()

    async def stubborn(args: Any, context: Any) -> str:
        started.set()
        await gate.wait()
        return "done"

    host = await open_host(ScriptedModel(shared=[call("stubborn")]))
    tool = Tool("stubborn", "waits", {"type": "object"}, stubborn)
    handle = await host.agents.create(tools=[tool])
    agent = handle.agent
    agent.followup("go")
    await started.wait()
    disposal = handle.dispose()
    await asyncio.sleep(0)
    assert not disposal.done()
    gate.set()
    await disposal
    reason = agent.session.events[-1].data.reason
    assert (reason.kind, reason.reason) == ("aborted", AbortCause("disposed"))


async def test_work_past_the_deadline_is_detached(open_host: Any) -> None:
    """core #128 as bounded by DESIGN 4: past the deadline the agent goes, its log is sealed."""
    started, gate = asyncio.Event(), asyncio.Event()

    async def stubborn(args: Any, context: Any) -> str:
        started.set()
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        return "done"

    host = await open_host(ScriptedModel(shared=[call("stubborn")]), dispose_timeout=0.01)
    tool = Tool("stubborn", "waits", {"type": "object"}, stubborn)
    handle = await host.agents.create(tools=[tool])
    agent = handle.agent
    agent.followup("go")
    await started.wait()
    await handle.dispose()
    assert host.agents.get(agent.id) is None
    assert host.sessions.get(agent.id) is None
    length = agent.session.seq
    gate.set()
    while host.tasks():
        await asyncio.sleep(0)
    assert agent.session.seq == length


async def test_the_session_is_there_when_the_agent_goes(open_host: Any) -> None:
    """core #129: a listener of agent/disposed still finds the session."""
    host = await open_host()
    handle = await host.agents.create()
    found: list[Any] = []
    host.hooks.observe(
        "agent/disposed", lambda notice: found.append(host.sessions.get(notice.agent.id))
    )
    await handle.dispose()
    assert found == [handle.agent.session]
    assert host.sessions.get(handle.id) is None


async def test_an_id_is_free_when_its_teardown_is_done(open_host: Any) -> None:
    """core #131: an id is refused until the disposal of its agent has ended."""
    gate = asyncio.Event()
    host = await open_host()
    handle = await host.agents.create(id="a")
    handle.agent.scope.add_cleanup(gate.wait)
    disposal = handle.dispose()
    with pytest.raises(SessionError) as refused:
        await host.agents.create(id="a")
    assert refused.value.code == "SESSION_ALREADY_EXISTS"
    gate.set()
    await disposal
    assert (await host.agents.create(id="a")).agent is not handle.agent


async def test_an_id_with_a_stored_log_is_taken(open_host: Any) -> None:
    """core 5.1: an id whose log is stored cannot be created again, only resumed."""
    host = await open_host()
    handle = await host.agents.create(id="a")
    handle.agent.inject("kept")
    await handle.dispose()
    with pytest.raises(SessionError, match="resume it or choose another id"):
        await host.agents.create(id="a")
    assert len(host.agents) == 0


async def test_one_id_created_twice_at_once_enters_once(open_host: Any) -> None:
    """core 6.2: of two creations of one id both may prepare, one enters, one leaves nothing."""
    host = await open_host()
    gate = asyncio.Event()

    async def setup(agent: Agent) -> None:
        await gate.wait()

    replies = [host.agents.create(id="a", setup=setup) for _ in range(2)]
    await asyncio.sleep(0)
    gate.set()
    outcomes = await asyncio.gather(*replies, return_exceptions=True)
    refused = [o for o in outcomes if isinstance(o, SessionError)]
    assert [error.code for error in refused] == ["SESSION_ALREADY_EXISTS"]
    assert len(host.agents) == 1


async def test_a_live_id_is_not_resumed(open_host: Any) -> None:
    """core #133: resuming a live id is refused."""
    host = await open_host()
    await host.agents.create(id="a")
    with pytest.raises(SessionError, match="live already"):
        await host.agents.resume("a")


async def test_resume_without_a_log_says_so(open_host: Any) -> None:
    """core #132: resuming what is not stored is a clear refusal."""
    host = await open_host()
    with pytest.raises(SessionError) as refused:
        await host.agents.resume("nobody")
    assert refused.value.code == "SESSION_NOT_FOUND"


async def test_resume_brings_pending_input_back(open_host: Any) -> None:
    """core #134: a pending inject is pending after a resume and precedes the next prompt."""
    model = ScriptedModel(shared=[text("ok")])
    host = await open_host(model)
    handle = await host.agents.create(id="a")
    handle.agent.inject("context")
    await handle.dispose()
    agent = (await host.agents.resume("a")).agent
    await asyncio.sleep(0)
    assert agent.status == "idle"
    assert [text_of(m.content) for m in agent.inbox.next_step] == ["context"]
    agent.followup("prompt")
    await agent.when_idle()
    sent = [text_of(m.content) for m in model.requests[0].messages]
    assert sent == ["context", "prompt"]


async def test_resume_goes_on_counting(open_host: Any) -> None:
    """core 6.2: turns go on after a resume, one end-seed is added, the header is logged again."""
    host = await open_host(ScriptedModel(shared=[text("one"), text("two")]))
    handle = await host.agents.create(id="a", persona="You count.")
    handle.agent.followup("first")
    await handle.when_idle()
    await handle.dispose()
    agent = (await host.agents.resume("a", persona="You count.")).agent
    agent.followup("second")
    await agent.when_idle()
    events = agent.session.events
    assert [e.data.turn for e in events if e.type == "turn/start"] == [1, 2]
    assert [e.data.reason for e in events if e.type == "request/header"] == ["initial", "resume"]
    assert [e.type for e in events].count("session/end-seed") == 1


async def test_resume_keeps_the_header(open_host: Any) -> None:
    """core #137: the header after a resume is the stored one."""
    host = await open_host()
    handle = await host.agents.create(id="a", cwd="/somewhere")
    handle.agent.inject("something to keep")
    before = handle.agent.session.header
    await handle.dispose()
    assert (await host.agents.resume("a")).agent.session.header == before


async def test_setup_may_not_drive(open_host: Any) -> None:
    """core #138: a follow-up from set-up is refused; nothing runs before publication."""
    host = await open_host(ScriptedModel(shared=[]))
    refused: list[str] = []

    def setup(agent: Agent) -> None:
        with pytest.raises(SessionError) as error:
            agent.followup("too early")
        refused.append(error.value.code)

    handle = await host.agents.create(setup=setup)
    assert refused == ["NOT_PUBLISHED"]
    assert handle.agent.session.seq == 0


async def test_commit_runs_right_before_publication(open_host: Any) -> None:
    """core 6.2: what set-up returns is called behind it and before any edge; it may fail."""
    host = await open_host()
    seen = record(host)

    def commit() -> None:
        assert host.agents.list() == ()
        seen.append("commit")

    await host.agents.create(setup=lambda agent: commit)
    assert seen[:2] == ["commit", "session/created"]

    def broken() -> None:
        raise ValueError("no commit")

    with pytest.raises(ValueError, match="no commit"):
        await host.agents.create(id="b", setup=lambda agent: broken)
    assert host.sessions.get("b") is None


async def test_a_disposed_agent_takes_no_message(open_host: Any) -> None:
    """core 6.3: behind its disposal an agent refuses messages and says what to do."""
    host = await open_host()
    handle = await host.agents.create()
    await handle.dispose()
    with pytest.raises(ActorDeadError, match="resume"):
        await handle.followup("late")


async def test_a_wake_during_disposal_is_parked(open_host: Any) -> None:
    """core 6.3: a wake that arrives after the disposal began is accepted and never run."""
    gate = asyncio.Event()
    host = await open_host(ScriptedModel(shared=[]))
    handle = await host.agents.create(id="a")
    handle.agent.scope.add_cleanup(gate.wait)
    disposal = handle.dispose()
    handle.agent.followup("parked")
    gate.set()
    await disposal
    again = (await host.agents.resume("a")).agent
    assert [text_of(m.content) for m in again.inbox.next_turn] == ["parked"]


async def test_a_turn_may_not_wait_for_its_own_end(open_host: Any) -> None:
    """DESIGN 4 (W3): a tool that awaits the end of its own agent is refused with the reason."""
    host = await open_host(ScriptedModel(shared=[call("end_me"), text("ok")]))
    errors: list[BaseException] = []
    handles: list[Any] = []

    async def end_me(args: Any, context: Any) -> str:
        try:
            await handles[0].dispose()
        except DeadlockError as error:
            errors.append(error)
        return "still here"

    handle = await host.agents.create(tools=[Tool("end_me", "ends", {"type": "object"}, end_me)])
    handles.append(handle)
    handle.agent.followup("go")
    await handle.when_idle()
    assert [error.code for error in errors] == ["DEADLOCK"]  # type: ignore[attr-defined]
    assert handle.agent.session.events[-1].data.reason.kind == "completed"


async def test_a_failing_cleanup_does_not_keep_the_agent(open_host: Any) -> None:
    """DESIGN 4: what a disposal could not release is reported; the agent is gone all the same."""
    host = await open_host()
    handle = await host.agents.create(id="a")

    def broken() -> None:
        raise OSError("stuck")

    handle.agent.scope.add_cleanup(broken)
    with pytest.raises(ExceptionGroup) as failed:
        await handle.dispose()
    assert [str(error) for error in failed.value.exceptions] == ["stuck"]
    assert host.agents.get("a") is None
    assert host.sessions.get("a") is None


async def test_registry_queries(open_host: Any) -> None:
    """core 6.5: get, list in order of registration, roots, is_owned_by."""
    host = await open_host()
    agents = [(await host.agents.create(id=name)).agent for name in "cab"]
    assert list(host.agents.list()) == agents
    assert list(host.agents.roots()) == agents
    assert host.agents.get("a") is agents[1]
    assert not host.agents.is_owned_by("a", agents[0])


async def test_a_cleanup_that_hangs_does_not_keep_the_agent(open_host: Any) -> None:
    """DESIGN 4: a clean-up past the deadline is left behind with an outcome; the agent is gone."""
    host = await open_host(dispose_timeout=0.01)
    handle = await host.agents.create(id="a")
    gate = asyncio.Event()
    handle.agent.scope.add_cleanup(gate.wait)
    with pytest.raises(ExceptionGroup) as failed:
        await handle.dispose()
    gate.set()
    await handle.agent.scope.dispose()
    assert [type(error) for error in failed.value.exceptions] == [TimeoutError]
    assert host.agents.get("a") is None
    assert host.sessions.get("a") is None
