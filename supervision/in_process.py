"""Children that are agents of this runtime.

Source: spec providers section 2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, cast

from ..actors.creation import AgentSpec, Commit
from ..actors.fold import consumed_work, select_output
from ..actors.models.failure import UNKNOWN
from ..messages.errors import BroodlineError, ConfigurationError
from ..messages.event import Event
from ..messages.lossless import type_name
from ..messages.payload import AbortCause
from ..messages.result import SubagentResult
from ..providers.contract import InProcessSpec
from .composition import child_header, child_options, compose, delegation_scope
from .outcome import diagnostic_of, said_by, stop_reason

if TYPE_CHECKING:
    from ..actors.acceptance import Letter
    from ..actors.agent import Agent
    from ..actors.host import AgentHost
    from .birth import Birth
    from .driver import Done


class InProcessDriver:
    """Makes a child agent of an `InProcessSpec`.

    Args:
        host: Where the children live.
    """

    def __init__(self, host: AgentHost) -> None:
        self.host = host
        self.scope = delegation_scope(host.prompts)

    async def create(self, spec: InProcessSpec, birth: Birth) -> InProcessChild:
        """Create and publish the agent; see `Driver.create`."""
        parent, host = birth.parent, self.host
        seed = _sound_seed(spec.seed)
        length = 0 if seed is None else len(seed)
        child = InProcessChild(self, birth)
        agent_spec = AgentSpec(
            child_header(birth.id, host.clock.time_ms(), parent, birth.depth, length),
            child_options(parent.options, birth.request.agent_options, birth.depth),
            seed,
            child.set_up,
            parent,
            birth.signal,
            fresh=host.unique_ids,
        )
        await host.agents.establish(agent_spec)
        return child


class InProcessChild:
    """One child agent while its run lasts; see `Child`."""

    __slots__ = ("_birth", "_cancelled", "_done", "_driver", "_local")

    def __init__(self, driver: InProcessDriver, birth: Birth) -> None:
        self._driver = driver
        self._birth = birth
        self._local: Agent | None = None
        self._done: Done | None = None
        self._cancelled = False

    @property
    def local_agent(self) -> Agent | None:
        """The child's agent."""
        return self._local

    def set_up(self, agent: Agent) -> Commit:
        """Compose the agent while nobody can see it."""
        host = self._driver.host
        compose(agent, self._birth.request, self._driver.scope, host.prompts, host.tools)
        agent.before_first_step = self._describe
        self._local = agent
        return self._birth.announce

    def begin(self, done: Done) -> None:
        """Deliver the prompt and wait for the whole agent to be idle."""
        agent = self._agent
        self._done = done
        message_id = agent.followup(self._birth.request.prompt)
        letter = agent.accepted(message_id)
        if letter is None:
            agent.on_idle(self._finish)
        else:
            letter.add_done_callback(self._accepted)

    def _accepted(self, letter: Letter) -> None:
        """The prompt is stored, or never will be."""
        error = None if letter.cancelled() else letter.exception()
        done = self._done
        if error is None or done is None:
            self._agent.on_idle(self._finish)
            return
        self._done = None
        reason = "aborted" if self._cancelled else "error"
        code = error.code if isinstance(error, BroodlineError) else UNKNOWN
        done(SubagentResult((), reason, None, f"{code}: {said_by(error)}"))

    def cancel(self, cause: AbortCause) -> None:
        """Abort the turn in progress and drop what waits, which an end leaves in the log."""
        self._cancelled = True
        self._agent.cancel(cause, keep_inbox=cause.kind == "disposed")

    def release(self) -> Awaitable[None] | None:
        """Dispose of the agent; an answer that was not read yet is read on the way."""
        self._cancelled = True
        agents, agent = self._driver.host.agents, self._agent
        try:
            return None if agents.dispose_now(agent) else agents.end(agent)
        finally:
            agent.before_first_step = None  # it holds this object, which holds the agent

    @property
    def _agent(self) -> Agent:
        assert self._local is not None
        return self._local

    def _describe(self) -> None:
        self._agent.session.append(self._birth.descriptor)

    def _finish(self) -> None:
        done, self._done = self._done, None
        if done is None:
            return
        try:
            result = read_result(self._agent, cancelled=self._cancelled)
        except Exception as error:
            done(error)
        else:
            done(result)


def _sound_seed(seed: object) -> tuple[Event, ...] | None:
    if seed is None:
        return None
    if not isinstance(seed, tuple | list):
        raise ConfigurationError(f"a seed must be a tuple of events, not {type_name(seed)}")
    events: list[Event] = []
    for event in cast("Iterable[object]", seed):
        if not isinstance(event, Event):
            raise ConfigurationError(f"a seed must hold events, not {type_name(event)}")
        events.append(event)
    return tuple(events) or None


def read_result(agent: Agent, *, cancelled: bool) -> SubagentResult:
    """What the agent's own log, without any seed, comes to."""
    events = agent.session.own_events()
    end = consumed_work(events).end
    reason = stop_reason(end, cancelled=cancelled)
    diagnostic = None
    if end is not None and reason == "error":
        diagnostic = diagnostic_of(end.reason)
    return SubagentResult(select_output(events), reason, None, diagnostic)


__all__ = ["InProcessChild", "InProcessDriver", "read_result"]
