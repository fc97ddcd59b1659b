"""From a checked request to a run: the provider says how, a driver makes the child."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from ..actors.agent import Agent
from ..actors.stray import as_exception, is_stray
from ..messages.errors import ConfigurationError
from ..messages.lossless import type_name
from .run import SubagentRun

if TYPE_CHECKING:
    from ..providers.contract import SubagentProvider
    from .birth import Birth
    from .driver import Child, Driver
    from .service import SubagentService

_logger = logging.getLogger(__name__)

_MISSING = object()


async def bear(
    service: SubagentService,
    drivers: Mapping[type[Any], Driver],
    provider: SubagentProvider,
    birth: Birth,
) -> SubagentRun:
    """Have the child made that `birth` stands for.

    Returns:
        A run whose child is published and has not begun.

    Raises:
        BaseException: The signal's cause.
        ConfigurationError: If provider or driver do not keep their contract.
        Exception: What either of them raised. An exit or a cancellation that it lets
            escape is a failure of its own, not the caller's.
    """
    try:
        child = await _made(drivers, provider, birth)
    except BaseException as error:
        if isinstance(error, Exception) or not is_stray(error, asyncio.current_task()):
            raise
        raise as_exception(error) from error
    try:
        return SubagentRun(service, birth, _checked(child))
    except BaseException:
        await _let_go(child, birth)
        raise


async def _made(
    drivers: Mapping[type[Any], Driver], provider: SubagentProvider, birth: Birth
) -> Child:
    name = birth.descriptor.provider
    spec: object = await _promised(
        provider.prepare_one_shot(birth.request), f"prepare_one_shot of provider {name!r}"
    )
    birth.signal.raise_if_cancelled()
    driver = drivers.get(type(spec))
    if driver is None:
        raise ConfigurationError(
            f"provider {name!r} returned a {type_name(spec)}, for which no driver is registered; "
            "add one with runtime.subagents.register_driver(...)"
        )
    child: Child = await _promised(driver.create(spec, birth), f"create of {type_name(driver)}")
    return child


def _promised(answer: object, giver: str) -> Awaitable[Any]:
    if not inspect.isawaitable(answer):
        raise ConfigurationError(f"{giver} must be async; it returned {type_name(answer)} at once")
    return answer


def _checked(child: Child) -> Child:
    local: object = getattr(child, "local_agent", _MISSING)
    whole = all(callable(getattr(child, part, None)) for part in ("begin", "cancel", "release"))
    if not whole or not (local is None or isinstance(local, Agent)):
        raise ConfigurationError(
            f"a driver made {type_name(child)}, which is no child: it needs local_agent (an Agent "
            "or None), begin, cancel and release"
        )
    return child


async def _let_go(child: object, birth: Birth) -> None:
    """Free a child that no run can be made around, as far as it lets itself be freed."""
    release: Any = getattr(child, "release", None)
    if not callable(release):
        return
    try:
        pending: object = release()
        if inspect.isawaitable(pending):
            await pending
    except BaseException as error:
        if not is_stray(error, asyncio.current_task()):
            raise
        _logger.exception("child %r could not be used, nor released", birth.id)
