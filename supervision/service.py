"""``runtime.subagents``: starting children and keeping hold of them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..actors.registration import Registration
from ..actors.reply import Reply
from ..actors.stray import as_exception
from ..actors.teardown import refuse_self_wait
from ..messages.errors import (
    BroodlineError,
    ConfigurationError,
    DeadlockError,
    SubagentError,
    SubagentErrorCode,
)
from ..providers.contract import InProcessSpec, SubagentProvider, SubagentRequest
from ..providers.discovery import discover
from ..providers.spawn import SpawnProvider
from .admission import resolve
from .birth import Birth
from .brood import Brood, check_live, parent_gone
from .catalog import CatalogEntry, subagent_catalog
from .creation import bear
from .driver import Driver
from .in_process import InProcessDriver
from .roster import ProviderRoster
from .run import SubagentRun
from .soundness import parent_of, request_fault

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from ..actors.cancellation import CancellationToken
    from ..actors.handle import AgentHandle
    from ..actors.operation import Operation
    from .runtime import Runtime

_logger = logging.getLogger(__name__)


class SubagentService:
    """Delegation in one runtime.

    For programs: `start`, `register`, `register_driver`, `get`, `list`, `catalog`. What
    else there is serves the runtime.

    Args:
        runtime: Whose agents delegate.

    Attributes:
        system: The runtime.
        hooks: The runtime's.
        lock: Guards what may be asked for from several threads at once.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.system = runtime
        self.hooks = runtime.hooks
        self.lock = threading.Lock()
        self._roster = ProviderRoster(runtime)
        self._drivers: dict[type[Any], Driver] = {InProcessSpec: InProcessDriver(runtime)}
        self._broods: dict[str, Brood] = {}
        self._fired: deque[SubagentRun] = deque()
        self._firing = False
        self._closed = False

    def open(self) -> None:
        """Register ``spawn`` and the providers of installed packages, where the names are free.

        A third-party provider that is broken or takes a name is logged and passed over.
        """
        spawn = SpawnProvider()
        if self._roster.get(spawn.name) is None:
            self._roster.register(spawn)
        for provider in discover():
            try:
                self._roster.register(provider)
            except Exception:
                _logger.exception("the discovered provider %r was passed over", provider)

    # Providers and drivers

    def register(self, provider: SubagentProvider) -> Registration:
        """Make a provider available under its name. Any thread.

        Listeners are told on the loop: from another thread, soon after. Disposing the
        registration blocks new starts; runs that exist go on.

        Raises:
            SubagentError: ``DUPLICATE_PROVIDER`` if its name is taken.
            ConfigurationError: If it is no provider.
        """
        return self._roster.register(provider)

    def get(self, name: str) -> SubagentProvider | None:
        """The provider of that name, or None. Any thread."""
        return self._roster.get(name)

    def list(self) -> tuple[str, ...]:
        """The names of all providers, oldest first. Any thread."""
        return self._roster.names()

    def register_driver(self, spec_type: type[Any], driver: Driver) -> Registration:
        """Have `driver` make the children whose provider returns a spec of exactly this type.

        Raises:
            ConfigurationError: If the type has a driver already, or is no type, or the
                driver none.
        """
        kind = isinstance(spec_type, type)  # pyright: ignore[reportUnnecessaryIsInstance]
        if not kind or not callable(getattr(driver, "create", None)):
            raise ConfigurationError(
                "a driver is registered for a class of specs and needs an async create(spec, birth)"
            )
        if spec_type in self._drivers:
            raise ConfigurationError(
                f"{spec_type.__name__} has a driver already; remove that first or use another type"
            )
        self._drivers[spec_type] = driver
        return Registration(partial(self._drop_driver, spec_type))

    # Delegation

    def start(self, name: str, request: SubagentRequest) -> Reply[SubagentRun]:
        """Start a one-shot child through a provider. Any thread.

        The first failing check decides, and then nothing was made: the request's
        kind and its signal's, a signal that has fired, an open runtime, a live parent that
        is not about to end, the provider, the capabilities, the ceiling, the schema, the
        depth, the other fields, the provider's own refusal, the creation.

        Args:
            name: The provider's name.
            request: What to delegate. Firing its signal before the child is published
                takes the start back; afterwards it cancels the child's work.

        Returns:
            Settles when the child is published and its prompt is delivered. The run
            is the caller's to dispose of.

        Raises:
            BaseException: Through the reply: the signal's cause.
            SubagentError: ``CONTINUATION_UNAVAILABLE`` in a closed runtime, ``UNAUTHORIZED``
                without a live parent, ``NO_PROVIDER``, ``UNSUPPORTED_CAPABILITY``.
            UnsupportedSchemaError: If the schema is outside the subset.
            SubagentDepthError: If the child would sit deeper than ``max_depth``.
            ConfigurationError: If a field is malformed or the child cannot be set up.
        """
        fault = request_fault(request)
        if fault is not None:
            return Reply.failed(fault, self.system, "start subagent")
        if self._closed:
            return Reply.failed(_closed_error(), self.system, "start subagent")
        return self.system.operate(
            self._start, name, request, signal=request.signal, name="start subagent"
        )

    def catalog(self, parent: Agent | AgentHandle) -> tuple[CatalogEntry, ...]:
        """The direct children in `parent`'s own log, oldest first. Loop only."""
        agent = parent_of(parent)
        brood = self._broods.get(agent.id)
        if brood is not None and brood.parent is agent:
            return brood.catalog()
        return subagent_catalog(agent.session.header, agent.session.own_events())

    # What the runtime, the runs and the tree use; on the loop.

    @property
    def runs(self) -> tuple[SubagentRun, ...]:
        """Every run that is not disposed of. Any thread."""
        broods = tuple(self._broods.values())
        return tuple(run for brood in broods for run in tuple(brood.runs))

    def made(self) -> dict[str, SubagentRun | Birth]:
        """What children there are and are to be, by id, each parent's oldest first. Any thread."""
        made: dict[str, SubagentRun | Birth] = {}
        for brood in tuple(self._broods.values()):
            births = tuple(brood.births)  # read first: a run is there before its birth goes
            made.update((run.id, run) for run in tuple(brood.runs))
            for birth in births:
                made.setdefault(birth.id, birth)
        return made

    def cut_off(self, agent: Agent) -> None:
        """Cancel every start and all work below `agent`, from the top down, at once.

        What is to be called when the agent's end begins: a turn of it may wait for a child,
        and would keep the end waiting in turn. Nothing is released here.
        """
        pending = [agent]
        while pending:
            brood = self._broods.get(pending.pop().id)
            if brood is None or brood.under_end:
                continue
            brood.cut_off()
            brood.under_end = agent.closing
            below = [run.local_agent for run in brood.runs]
            pending.extend(child for child in reversed(below) if child is not None)

    def call_off(self, run: SubagentRun) -> None:
        """Cancel `run`, whose signal fired, and all that this fires in turn, before it returns.

        One after the other, not one inside the other: down a long chain of agents that
        wait for each other that would exhaust the call stack.
        """
        self._fired.append(run)
        if self._firing:
            return
        self._firing = True
        try:
            while self._fired:
                self._fired.popleft().cancel()
        finally:
            self._firing = False

    async def close(self) -> None:
        """Refuse every further start and dispose of every child, the deepest first.

        Raises:
            ExceptionGroup: What could not be released, after everything else was.
        """
        self._closed = True
        broods = tuple(self._broods.values())
        for brood in broods:
            brood.cut_off()
            brood.under_end = True
        ends = [end for brood in broods if (end := brood.end()) is not None]
        outcomes = await asyncio.gather(*ends, return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if failures:
            raise ExceptionGroup(
                "children could not be released while the runtime closed", failures
            )

    def dispose_run(self, run: SubagentRun, reply: Reply[None]) -> None:
        """Release `run` and settle `reply` with how that went; once a run, any thread."""
        try:
            self.system.call(self._dispose, run, reply)
        except BroodlineError as error:
            reply.fail(error)

    def _dispose(self, run: SubagentRun, reply: Reply[None]) -> None:
        try:
            pending = run.release()
        except BaseException as error:
            reply.fail(as_exception(error))
            if not isinstance(error, Exception):
                raise
            return
        if pending is None:
            reply.settle(None)
        else:
            self.system.spawn(_finish(pending, reply), name=f"end of run {run.id}")

    def _drop_driver(self, spec_type: type[Any]) -> None:
        del self._drivers[spec_type]

    def refused_wait(self, run: SubagentRun) -> Reply[None] | None:
        """The answer to a disposal that would wait for the very turn that asks for it."""
        if run.local_agent is None:
            return None
        try:
            refuse_self_wait(run.local_agent)
        except DeadlockError as error:
            refused: Reply[None] = Reply(self.system)
            refused.fail(error)
            return refused
        return None

    def end_above(self, run: SubagentRun) -> str | None:
        """What is about to end `run`, for people: the runtime or its parent; else None."""
        if self._closed:
            return "the runtime closed"
        brood = self._broods.get(run.parent.id)
        ended = run.parent.closing or (brood is not None and brood.under_end)
        return "its parent was disposed" if ended else None

    def forget(self, run: SubagentRun) -> None:
        """Let go of a run that is released."""
        brood = self._broods.get(run.parent.id)
        if brood is not None:
            brood.runs.pop(run, None)

    async def _start(
        self, operation: Operation[SubagentRun], name: str, request: SubagentRequest
    ) -> SubagentRun:
        brood = self._admit(parent_of(request.parent))
        provider = self._roster.require(name)
        resolved = resolve(name, provider, request, brood.parent, operation.token)
        birth = Birth(self.system.ids.new("session"), resolved, operation)
        brood.births[birth] = None
        try:
            run = await bear(self, self._drivers, provider, birth)
            brood.runs[run] = None
            await self._hand_over(run, birth, operation, request.signal)
        except BaseException:
            birth.withdraw()
            raise
        finally:
            birth.operation = None
            del brood.births[birth]
        run.begin(request.signal)
        return run

    async def _hand_over(
        self,
        run: SubagentRun,
        birth: Birth,
        operation: Operation[SubagentRun],
        signal: CancellationToken | None,
    ) -> None:
        """The caller takes the run over, unless it has gone: then nothing stays of it.

        A signal that fired behind the publication is no such case: it cancels the run.
        """
        try:
            birth.enter()
            if signal is None or not signal.cancelled:
                operation.accept()
        except BaseException:
            disposal = run.dispose()
            while not disposal.done():
                try:
                    await disposal
                except asyncio.CancelledError:
                    continue  # the one that called this start off
                except Exception:
                    _logger.exception("start of %r was taken back, but not all of it", run.id)
            raise

    def _admit(self, parent: Agent) -> Brood:
        if self._closed:
            raise _closed_error()
        if self.system.agents.get(parent.id) is not parent:
            raise parent_gone(parent.id)
        check_live(parent)
        brood = self._broods.get(parent.id)
        if brood is None:
            brood = self._broods[parent.id] = Brood(parent, self._brood_ended)
            parent.on_closing = self.cut_off
        return brood

    def _brood_ended(self, brood: Brood) -> None:
        if self._broods.get(brood.parent.id) is brood:
            del self._broods[brood.parent.id]


async def _finish(pending: Awaitable[None], reply: Reply[None]) -> None:
    try:
        await pending
    except BaseException as error:
        reply.fail(as_exception(error))
        if not isinstance(error, Exception):
            raise
    else:
        reply.settle(None)


def _closed_error() -> SubagentError:
    return SubagentError(
        "this runtime is closing or closed and starts no child any more; make a new Runtime",
        code=SubagentErrorCode.CONTINUATION_UNAVAILABLE,
    )
