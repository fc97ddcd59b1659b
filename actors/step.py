"""One step: a model response and the tools it asks for (spec core 8.11 to 8.15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..messages.content import Block, ToolCall
from ..messages.errors import ConfigurationError
from ..messages.lossless import FrozenDict
from ..messages.message import AssistantMessage
from ..messages.payload import (
    AssistantReplied,
    CallConfig,
    HeaderLogged,
    RequestHeader,
)
from ..messages.plain import plain_text
from ..messages.request import ModelRequest
from .envelope import CEILING_DEFAULTED, same_envelope
from .models.protocol import Model
from .notice import RequestProposal
from .retrying import wait_for_retry
from .stream import Attempt, read_response
from .tool_port import run_tools
from .verdict import proposed

if TYPE_CHECKING:
    from .turn import Turn


async def respond(turn: Turn) -> bool:
    """Ask the model, log its answer, run its tool calls.

    Returns:
        Whether tool results are owed to the model: another step must follow.

    Raises:
        TurnAborted: If the turn was cancelled meanwhile.
        ModelError: If the request failed for good.
    """
    turn.check()
    agent = turn.agent
    config = await _propose(turn)
    turn.check()
    models = agent.runtime.models
    model = models.get(config.provider)
    ceiling = None if config.max_tokens is not None else getattr(model, "max_tokens", None)
    if ceiling is not None:
        config = agent.runtime.envelopes.with_ceiling(config, ceiling)
    _log_header(turn, config, CEILING_DEFAULTED if ceiling is not None else None)
    if model is None:
        model = models.require(config.provider)
    attempt = await _ask(turn, model, config)
    content = attempt.assembler.message_content()
    _log_message(turn, config, attempt, content, interrupted=None)
    finish = attempt.assembler.finish
    if finish is not None and finish.kind == "max-tokens":
        turn.ceiling = True
    calls = [block for block in content if type(block) is ToolCall]
    if not calls:
        return False
    agent.begin_phase("tools")
    await run_tools(turn, calls)
    turn.check()
    return not turn.concluded


async def _propose(turn: Turn) -> CallConfig:
    agent = turn.agent
    if agent.config is None:
        agent.config = agent.runtime.envelopes.config(agent.options)
    config = agent.config
    for interceptor in agent.runtime.hooks.interceptors("agent/request", agent.scope):
        answer = interceptor(RequestProposal(agent, config, turn.number, turn.step))
        if hasattr(answer, "__await__"):
            answer = await answer
        config = proposed(answer, config, agent.id)
    if not config.provider or not config.model:
        raise _no_route(agent.id, config.provider)
    return config


def _no_route(agent_id: str, provider: str | None) -> ConfigurationError:
    if provider:
        said = f"asks provider {provider!r}, but for no model of it; give model= beside provider="
    else:
        said = "has no provider to ask; give Runtime(model=...), or provider= and model="
    return ConfigurationError(f"agent {agent_id} {said} when the agent is created", code="NO_ROUTE")


def _log_header(turn: Turn, config: CallConfig, defaults: FrozenDict | None) -> None:
    agent, known = turn.agent, turn.agent.header
    system, tools = agent.system_text or None, agent.tool_view.schemas or None
    header = agent.runtime.envelopes.header(config, system, tools, defaults)
    if same_envelope(header, known):
        return
    plain_text(system or "", f"system text of agent {agent.id}")
    reason = _reason(turn, known)
    first = reason == "initial"
    logged = agent.runtime.envelopes.first(header) if first else HeaderLogged(header, reason)
    turn.session.append(logged)
    agent.header = header


def _reason(turn: Turn, known: RequestHeader | None) -> Literal["initial", "resume", "change"]:
    if known is not None:
        return "change"
    return "initial" if turn.session.request_header is None else "resume"


async def _ask(turn: Turn, model: Model, config: CallConfig) -> Attempt:
    """Request until one succeeds or no retry is left."""
    number = 0
    while True:
        turn.check()
        number += 1
        if turn.session.checkpoints:
            await turn.checkpoint()
        turn.agent.begin_phase("model")
        attempt = await read_response(turn, model, _request(turn, config))
        if turn.token.cancelled:
            if attempt.failure is None and attempt.assembler.finish is not None:
                return attempt
            _log_interrupted(turn, config, attempt)
            turn.check()
        if attempt.failure is None:
            return attempt
        await wait_for_retry(turn, config, attempt.failure, number, attempt.take_cause())


def _request(turn: Turn, config: CallConfig) -> ModelRequest:
    agent, header = turn.agent, turn.agent.header
    return ModelRequest(
        config,
        turn.session.messages(),
        agent.system_text,
        (header.tools if header is not None else None) or (),
        agent.id,
        turn.token,
    )


def _log_interrupted(turn: Turn, config: CallConfig, attempt: Attempt) -> None:
    """Keep what a person could already read; half-made tool calls are dropped."""
    content = attempt.assembler.interrupted_content()
    if content:
        _log_message(turn, config, attempt, content, interrupted=True)


def _log_message(
    turn: Turn,
    config: CallConfig,
    attempt: Attempt,
    content: tuple[Block, ...],
    *,
    interrupted: bool | None,
) -> None:
    message_id = turn.agent.runtime.ids.new("message")
    source, finish = turn.agent.runtime.envelopes.source(config), attempt.assembler.finish
    if finish is not None and finish.replay_state is not None:
        source = FrozenDict({**source, "replayState": finish.replay_state})
    message = AssistantMessage(message_id, content, source)
    reply = AssistantReplied(turn.number, turn.step, message, attempt.assembler.usage, interrupted)
    turn.session.append(reply, surface="append", sources=tuple(attempt.seqs))
