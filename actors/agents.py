"""The live agents: finding them, making them, ending them."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..messages.errors import ConfigurationError, SessionError
from ..messages.header import SessionHeader
from ..messages.header_codec import check_header
from ..messages.lossless import type_name
from ..messages.options import AgentOptions, check_options
from ..messages.plain import name_text
from .agent import Agent
from .cancellation import CancellationToken
from .choice import default_options, resumed_options
from .creation import AgentSpec, Commit, Setup, establish
from .fold import options_of
from .handle import AgentHandle
from .operation import Operation
from .reply import Reply
from .teardown import end, end_now, refuse_self_wait

if TYPE_CHECKING:
    from .host import AgentHost
    from .tools.tool import Tool


_Wanted: TypeAlias = tuple[str | None, str | None, int | None, str | None]
_Parts: TypeAlias = tuple[str | None, Sequence["Tool"], Setup | None]


class AgentRegistry:
    """``runtime.agents``: the live agents of one runtime.

    For programs: `create`, `resume`, `get`, `list`, `roots`, `is_owned_by`. What else
    there is serves the runtime; an agent is ended with ``handle.dispose()``.
    """

    __slots__ = ("_agents", "_host", "closed")

    def __init__(self, host: AgentHost) -> None:
        self._host = host
        self._agents: dict[str, Agent] = {}
        self.closed = False

    # Looking: any thread.

    def get(self, agent_id: str) -> Agent | None:
        """The exact live agent of that id, or None."""
        return self._agents.get(agent_id)

    def list(self) -> tuple[Agent, ...]:
        """All live agents, oldest first."""
        return tuple(self._agents.values())

    def roots(self) -> tuple[Agent, ...]:
        """The live agents that nobody delegated to, oldest first."""
        return tuple(agent for agent in self.list() if agent.parent is None)

    def is_owned_by(self, agent_id: str, owner: Agent) -> bool:
        """Whether the live agent of that id was made on behalf of `owner` itself."""
        agent = self._agents.get(agent_id)
        return agent is not None and agent.parent is owner

    def __len__(self) -> int:
        return len(self._agents)

    # Making

    def create(
        self,
        *,
        persona: str | None = None,
        id: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        reasoning_effort: str | None = None,
        cwd: str | None = None,
        tools: Sequence[Tool] = (),
        setup: Setup | None = None,
        signal: CancellationToken | None = None,
    ) -> Reply[AgentHandle]:
        """Make a root agent. Any thread.

        Args:
            persona: What the agent is told it is; None leaves the runtime's.
            id: Its id and its session's; None makes one.
            provider: Whom to ask; None is the runtime's model.
            model: Which of the provider's models; None is the runtime's model.
            max_tokens: Ceiling of one response, a positive safe integer.
            reasoning_effort: Passed to the model as it is.
            cwd: Absolute path that its work is about.
            tools: Seen by this agent alone.
            setup: Composes it before anybody can see it: plain or async, takes the
                agent, may return a function to call right before publication.
            signal: Fired before the agent is published, it takes everything back.

        Returns:
            Settles with the handle once the agent is published.

        Errors:
            ConfigurationError: A field is malformed, or no model of `provider` is registered.
            SessionError: ``SESSION_ALREADY_EXISTS`` if the id is live or stored.
            Exception: What the set-up or a veto raised.
        """
        wanted = (provider, model, max_tokens, reasoning_effort)
        return self._host.operate(
            self._create,
            id,
            cwd,
            wanted,
            (persona, tools, setup),
            signal=signal,
            name="create agent",
        )

    def resume(
        self,
        agent_id: str,
        *,
        persona: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        reasoning_effort: str | None = None,
        tools: Sequence[Tool] = (),
        setup: Setup | None = None,
        signal: CancellationToken | None = None,
    ) -> Reply[AgentHandle]:
        """Bring an agent back from its stored log. Any thread.

        Its header stays as it is, its turns go on counting, and what was pending
        is pending again: it opens no turn by itself and runs before anything new
        at the next wake. A turn that was cut off is closed as ``interrupted``, and its
        unanswered calls are answered with what is known of them. Arguments as
        `create`; model, ceiling and effort that are not given are those it had. Its
        persona and its own tools are not in its log: give them again.

        Errors:
            SessionError: ``SESSION_NOT_FOUND`` without a stored log,
                ``SESSION_ALREADY_EXISTS`` if the agent is live here.
            SessionLeasedError: If it is live in another process.
            SessionFormatUnsupportedError, SessionCorruptError: If its log is refused.
        """
        return self._host.operate(
            self._resume,
            agent_id,
            (provider, model, max_tokens, reasoning_effort),
            (persona, tools, setup),
            signal=signal,
            name="resume agent",
        )

    async def establish(self, spec: AgentSpec) -> AgentHandle:
        """`creation.establish`, with a handle. Loop only."""
        return AgentHandle(await establish(self._host, spec), self)

    # Ending

    def dispose(self, agent: Agent) -> Reply[None]:
        """See `AgentHandle.dispose`. Any thread."""
        host = self._host
        if not host.on_loop():
            if agent.ended and host.state == "closed":
                return Reply.of(None, host)
            return host.operate(end(agent), name="dispose agent")
        try:
            refuse_self_wait(agent)
            if end_now(agent):
                return Reply.of(None, host)
        except Exception as error:
            return Reply.failed(error, host, "dispose agent")
        return host.operate(end(agent), name="dispose agent")

    def dispose_now(self, agent: Agent) -> bool:
        """`teardown.end_now`. Loop only."""
        return end_now(agent)

    async def end(self, agent: Agent) -> None:
        """`teardown.end`. Loop only."""
        await end(agent)

    # The transactions' side

    def add(self, agent: Agent) -> None:
        """Enter an agent whose session has been entered."""
        self._agents[agent.id] = agent

    def remove(self, agent: Agent) -> None:
        """Take an agent out; one that took its id over meanwhile stays."""
        if self._agents.get(agent.id) is agent:
            del self._agents[agent.id]

    async def _create(
        self,
        operation: Operation[AgentHandle],
        agent_id: str | None,
        cwd: str | None,
        wanted: _Wanted,
        composition: _Parts,
    ) -> AgentHandle:
        check_options(*wanted)
        options = default_options(self._host.default_model, *wanted)
        self._check_provider(wanted[0])
        composed = _composed(*composition)
        header = SessionHeader(
            self._host.ids.new("session") if agent_id is None else agent_id,
            self._host.clock.time_ms(),
            cwd,
        )
        check_header(header)
        fresh = agent_id is None and self._host.unique_ids
        spec = AgentSpec(header, options, None, composed, None, operation.token, fresh=fresh)
        return await self.establish(spec)

    async def _resume(
        self,
        operation: Operation[AgentHandle],
        agent_id: str,
        wanted: _Wanted,
        composition: _Parts,
    ) -> AgentHandle:
        name_text(agent_id, "agent_id")
        check_options(*wanted)
        self._check_provider(wanted[0])
        composed = _composed(*composition)
        if agent_id in self._agents:
            raise SessionError(
                f"agent {agent_id} is live already; use runtime.agents.get({agent_id!r}), or "
                "dispose it first",
                code="SESSION_ALREADY_EXISTS",
            )
        session = await self._host.sessions.resume(agent_id)
        recorded = options_of(session.header, session.log)
        options = resumed_options(self._host.default_model, AgentOptions(*wanted), recorded)
        spec = AgentSpec(session.header, options, None, composed, None, operation.token, "resume")
        return AgentHandle(await establish(self._host, spec, session), self)

    def _check_provider(self, provider: str | None) -> None:
        models = self._host.models
        if provider is not None and models.get(provider) is None:
            known = ", ".join(models.names()) or "none"
            raise ConfigurationError(
                f"no model of provider {provider!r} is registered (there are: {known}); "
                "register one with runtime.models.register(...)"
            )


class _Composition:
    """The set-up of an agent that is made by a user rather than by a delegation."""

    __slots__ = ("_persona", "_setup", "_tools")

    def __init__(self, persona: str | None, tools: tuple[Tool, ...], setup: Setup | None) -> None:
        self._persona = persona
        self._tools = tools
        self._setup = setup

    def __call__(self, agent: Agent) -> Commit | Awaitable[Commit | None] | None:
        host = agent.runtime
        if self._persona is not None:
            host.prompts.persona(self._persona, scope=agent.scope)
        for tool in self._tools:
            host.tools.register(tool, scope=agent.scope)
        return None if self._setup is None else self._setup(agent)


def _composed(persona: str | None, tools: Sequence[Tool], setup: Setup | None) -> _Composition:
    """Check what an agent is to be composed of.

    Raises:
        ConfigurationError: Naming the argument.
    """
    if setup is not None and not callable(setup):
        raise ConfigurationError(f"setup must be a function of the agent, not {type_name(setup)}")
    try:
        listed = tuple(tools)
    except TypeError:
        raise ConfigurationError(
            f"tools must be a list of tools, not {type_name(tools)}; write tools=[...]"
        ) from None
    return _Composition(persona, listed, setup)
