"""One call, from the model's wish to a result. It never raises.

Snapshot of the arguments, ``tools/pre-execute``, guards, ``tools/execute`` and
the body, the output schema, rendering, ``tools/post-execute``, ``tools/result``.

Source: spec core 10.2, section 9 for what a cancellation makes of a call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import Any

from ...messages.content import ToolCall
from ...messages.errors import (
    ConfigurationError,
    OperationCancelledError,
    SessionError,
    SubagentDepthError,
    SubagentError,
    ToolError,
)
from ...messages.lossless import freeze
from ...messages.message import UserMessage
from ..cancellation import CancellationToken
from ..scope import Scope
from .answer import answered, contained, messages_of, sound_content
from .arguments import read_arguments
from .body import call_body, fused
from .call_site import CallSite
from .decision import (
    UNSET,
    Accept,
    Allow,
    Ask,
    Block,
    Deny,
    Execution,
    PostExecute,
    ToolOutcome,
    ToolProgressed,
    ToolResulted,
)
from .failure import aborted, failed, message_of, outcome_of, own_frames
from .registry import ToolRegistry
from .tool import Tool, ToolContext

_LOGGER = logging.getLogger("broodline.tools")


async def run_call(
    call: ToolCall,
    *,
    registry: ToolRegistry,
    scope: Scope | None = None,
    agent: Any = None,
    signal: CancellationToken | None = None,
    system: Any = None,
    parent: ToolContext | None = None,
) -> ToolOutcome:
    """Run one call to its outcome, on the registry's loop.

    Args:
        call: Id, name and raw argument text.
        registry: Whose tools, hooks and guards count.
        scope: Whose view counts; None sees the global tools.
        agent: The live ``Agent``, or None.
        signal: Fires when the call is to end. A body that has started is awaited.
        system: The ``ActorSystem``; see `CallSite`.
        parent: The call in whose body this one is made, or None.

    Returns:
        The outcome; whatever goes wrong is one too. Only the cancellation of the
        calling task itself is raised.
    """
    token = CancellationToken() if signal is None else signal
    run = ToolRun(call, CallSite(registry, scope, agent, token, system, parent))
    await run.admit()
    await run.execute()
    return await run.settle()


class ToolRun:
    """A call on its way: `admit`, then `execute`, then `settle`, each once and in this order.

    The scheduler overlaps `execute` of several runs and keeps the other two in order.

    Attributes:
        outcome: None until something has decided it.
        context: What interceptors, guards and the body see.
    """

    __slots__ = ("_checked", "_fault", "_final", "_site", "context", "outcome")

    def __init__(self, call: ToolCall, site: CallSite) -> None:
        arguments, self._fault = read_arguments(call.arguments)
        self._site = site
        self.context = ToolContext(
            call.id,
            call.name,
            arguments,
            agent=site.agent,
            signal=site.signal,
            parent=site.parent,
            reporter=partial(_report, site) if site.registry.hooks.has("tools/progress") else None,
        )
        self.outcome: ToolOutcome | None = None
        self._final = False  # True: post-execute is not asked
        self._checked: tuple[Tool, list[str]] | None = None

    def parallel(self) -> bool:
        """Whether the call may overlap others, by the tool that is visible now."""
        if self._site.signal.cancelled:
            return False
        tool = self._site.registry.view(self._site.scope).get(self.context.name)
        if tool is None or tool.concurrency_safe is False or self._faults(tool):
            return False
        if tool.concurrency_safe is True:
            return True
        try:
            return answered(tool.concurrency_safe(self.context.arguments)) is True
        except BaseException as error:
            if not contained(error):
                raise
            _LOGGER.warning(
                "tool %r: its concurrency_safe failed; the call runs alone",
                tool.name,
                exc_info=True,
            )
            return False

    async def admit(self) -> None:
        """Ask ``tools/pre-execute`` and the guards; a refusal becomes the outcome."""
        site = self._site
        if site.signal.cancelled:
            self._end(aborted(dispatched=False))
            return
        interceptors = site.registry.hooks.interceptors("tools/pre-execute", site.scope)
        if interceptors:
            try:
                self.outcome = await self._ask(interceptors)
            except BaseException as error:
                if not contained(error):
                    raise
                self._end(self._failure(error, dispatched=False))
                return
        if self.outcome is None:
            self.outcome = self._guarded()

    async def execute(self) -> None:
        """Run the body, unless an outcome stands; leaves one in every case."""
        if self.outcome is not None:
            return
        site, context = self._site, self.context
        if site.signal.cancelled:
            self._end(aborted(dispatched=False))
            return
        tool = site.registry.view(site.scope).get(context.name)
        if tool is None:
            self.outcome = failed(f"unknown tool {context.name!a}", "UNKNOWN_TOOL")
            return
        faults = self._faults(tool)
        if faults:
            self.outcome = failed("invalid arguments: " + "; ".join(faults), "INVALID_ARGS")
            return
        if site.before_body is not None and not await self._stored(site.before_body):
            return
        try:
            value = await self._body(tool)
        except BaseException as error:
            if not contained(error):
                raise
            self.outcome = self._failure(error, dispatched=True)
        else:
            self.outcome = self._success(tool, value)

    async def _stored(self, before_body: Callable[[], Awaitable[None]]) -> bool:
        """Whether the body may run; if not, the outcome says why. Source: spec core 5.4."""
        try:
            await before_body()
        except SessionError as error:
            self.outcome = failed(error.message, error.code)
            return False
        if self._site.signal.cancelled:
            self._end(aborted(dispatched=False))
            return False
        return True

    async def settle(self) -> ToolOutcome:
        """Ask ``tools/post-execute``, apply a cancellation, tell the observers."""
        site, context = self._site, self.context
        outcome = self.outcome
        assert outcome is not None, "settle() comes behind execute()"
        contexts = context.close()
        if contexts:
            outcome = replace(outcome, contexts=contexts)
        if not self._final:
            interceptors = site.registry.hooks.interceptors("tools/post-execute", site.scope)
            for interceptor in interceptors:
                outcome = await self._review(interceptor, outcome)
        if site.signal.cancelled and not outcome.is_error:
            outcome = replace(aborted(dispatched=True), contexts=outcome.contexts)
        outcome = self._sealed(outcome)
        self.outcome = outcome
        if site.registry.hooks.has("tools/result"):
            site.registry.hooks.emit(
                "tools/result", ToolResulted(context, outcome), scope=site.scope
            )
        return outcome

    def _end(self, outcome: ToolOutcome) -> None:
        self.outcome = outcome
        self._final = True

    def _faults(self, tool: Tool) -> list[str]:
        """What is wrong with the arguments for a tool; checked once for each tool."""
        if self._fault is not None:
            return [self._fault]
        if self._checked is None or self._checked[0] is not tool:
            self._checked = (tool, tool.arguments.violations(self.context.arguments, "arguments"))
        return self._checked[1]

    async def _ask(self, interceptors: Any) -> ToolOutcome | None:
        decision: object = None
        for interceptor in interceptors:
            answer = interceptor(self.context)
            if answer is not None and isawaitable(answer):
                answer = await answer
            if answer is not None:
                decision = answer
        if decision is None or isinstance(decision, Allow):
            return None
        if isinstance(decision, Deny):
            return _denied(decision.reason)
        if isinstance(decision, Ask):
            return _denied("it needs approval, and nobody is there to give it", decision.reason)
        raise ConfigurationError(
            f"tools/pre-execute must answer Allow, Deny, Ask or None, not {type(decision).__name__}"
        )

    def _guarded(self) -> ToolOutcome | None:
        for guard in self._site.registry.guards(self._site.scope):
            try:
                reason: Any = answered(guard(self.context))
            except BaseException as error:  # a guard that cannot judge must not let pass
                if not contained(error):
                    raise
                self._tell(error)
                return _denied(f"a guard failed: {message_of(error)}")
            if reason is not None:
                return _denied(reason if isinstance(reason, str) else "a guard refused it")
        return None

    async def _body(self, tool: Tool) -> Any:
        site, context = self._site, self.context
        wrappers = site.registry.hooks.interceptors("tools/execute", site.scope)
        if not wrappers:
            return await call_body(tool, context, site.system)
        return await self._wrapped(tool, wrappers, 0, None)

    async def _wrapped(
        self, tool: Tool, wrappers: Any, index: int, signal: CancellationToken | None
    ) -> Any:
        context = self.context
        if signal is not None and signal is not context.signal:
            outer = context.signal
            with fused(outer, signal) as both:
                context.signal = both
                try:
                    return await self._wrapped(tool, wrappers, index, None)
                finally:
                    context.signal = outer
        if index == len(wrappers):
            return await call_body(tool, context, self._site.system)
        proceed = partial(self._wrapped, tool, wrappers, index + 1)
        value = wrappers[index](Execution(context, proceed))
        return await value if isawaitable(value) else value

    async def _review(self, interceptor: Any, outcome: ToolOutcome) -> ToolOutcome:
        """What one post-execute interceptor makes of an outcome."""
        try:
            answer = interceptor(PostExecute(self.context, outcome))
            if answer is not None and isawaitable(answer):
                answer = await answer
            if answer is None:
                return outcome
            if isinstance(answer, Block):
                return ToolOutcome(
                    sound_content(answer.feedback), True, contexts=messages_of(answer.contexts)
                )
            if isinstance(answer, Accept):
                return self._accepted(answer, outcome)
            raise ConfigurationError(
                f"tools/post-execute must answer Accept, Block or None, not {type(answer).__name__}"
            )
        except BaseException as error:
            if not contained(error):
                raise
            return self._failure(error, dispatched=True)

    def _accepted(self, answer: Accept, outcome: ToolOutcome) -> ToolOutcome:
        contexts: tuple[UserMessage, ...] = (*outcome.contexts, *messages_of(answer.contexts))
        if answer.value is UNSET:
            if answer.content is None:
                return replace(outcome, contexts=contexts)
            return replace(outcome, content=sound_content(answer.content), contexts=contexts)
        if answer.content is not None:
            raise ConfigurationError("Accept takes content or value, not both")
        if outcome.is_error or self._checked is None:
            raise ConfigurationError(
                "Accept cannot give a failed call a value; replace its content"
            )
        return replace(self._success(self._checked[0], answer.value), contexts=contexts)

    def _failure(self, error: BaseException, *, dispatched: bool) -> ToolOutcome:
        """The outcome of something raised; the signal's own error is an abort."""
        signal = self._site.signal
        if signal.cancelled and (
            error is signal.cause
            or isinstance(error, OperationCancelledError | asyncio.CancelledError)
        ):
            return aborted(dispatched=dispatched)
        self._tell(error)
        if isinstance(error, asyncio.CancelledError):
            return failed(f"tool {self.context.name!a} cancelled itself")
        return outcome_of(error)

    def _success(self, tool: Tool, value: Any) -> ToolOutcome:
        """The outcome of a returned value, checked and rendered."""
        try:
            return _rendered(tool, value)
        except BaseException as error:
            if not contained(error):
                raise
            self._tell(error)
            return failed(message_of(error), "INVALID_TOOL_OUTPUT")

    def _tell(self, error: BaseException) -> None:
        """Tell the developer of an error that the tool did not mean for the model."""
        if isinstance(error, ToolError):
            return
        refused = isinstance(error, SubagentError | SubagentDepthError)  # an answer, no fault
        _LOGGER.log(
            logging.INFO if refused else logging.WARNING,
            "tool %r of agent %r failed: %s",
            self.context.name,
            getattr(self._site.agent, "id", None),
            message_of(error),
            exc_info=None if refused else (type(error), error, own_frames(error)),
        )

    def _sealed(self, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome with what the context adds to it: conclusion and meta."""
        context = self.context
        if context.concluded and not outcome.is_error:
            outcome = replace(outcome, conclude=True)
        if context.meta is None:
            return outcome
        try:
            return replace(outcome, meta=freeze(context.meta, "meta of the call"))
        except ConfigurationError as error:
            invalid = failed(error.message, "INVALID_TOOL_OUTPUT")
            return outcome if outcome.is_error else replace(invalid, contexts=outcome.contexts)


def _report(site: CallSite, context: ToolContext, value: Any) -> None:
    site.registry.hooks.emit("tools/progress", ToolProgressed(context, value), scope=site.scope)


def _denied(*reasons: str) -> ToolOutcome:
    told = ": ".join(reason for reason in ("tool call denied", *reasons) if reason)
    return failed(message_of(ToolError(told)), "DENIED")


def _rendered(tool: Tool, value: Any) -> ToolOutcome:
    """The outcome of a returned value.

    Raises:
        ConfigurationError: It is no JSON, or outside the output schema.
        BaseException: What the tool's `render` raised.
    """
    frozen = freeze(value, f"the value returned by tool {tool.name!a}")
    if tool.output is not None:
        faults = tool.output.violations(frozen)
        if faults:
            raise ConfigurationError(
                f"tool {tool.name!a} returned a value outside its output schema: "
                + "; ".join(faults)
            )
    return ToolOutcome(sound_content(answered(tool.show(frozen))), value=frozen)
