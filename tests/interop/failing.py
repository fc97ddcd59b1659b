"""Children that are published and then fail, run and release both."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from broodline.actors.agent import Agent
from broodline.messages.payload import AbortCause
from broodline.providers.contract import InProcessSpec, ResolvedRequest
from broodline.providers.spawn import SpawnProvider
from broodline.supervision.birth import Birth
from broodline.supervision.driver import Child, Done
from broodline.supervision.in_process import InProcessDriver
from broodline.supervision.runtime import Runtime


@dataclass(frozen=True, slots=True)
class FailingSpec:
    """A child of this runtime whose run fails."""


class FailingProvider:
    """Stands in the place of ``spawn``."""

    name = "spawn"
    capabilities = SpawnProvider.capabilities
    inherits_parent_context = False

    async def prepare_one_shot(self, request: ResolvedRequest) -> FailingSpec:
        """A child that is bound to fail."""
        return FailingSpec()


class FailingDriver:
    """Makes real children and lets their runs fail."""

    def __init__(self, runtime: Runtime) -> None:
        self._driver = InProcessDriver(runtime)

    async def create(self, spec: FailingSpec, birth: Birth) -> Child:
        """Create and publish the agent."""
        return _FailingChild(await self._driver.create(InProcessSpec(), birth))


class _FailingChild:
    def __init__(self, child: Child) -> None:
        self._child = child

    @property
    def local_agent(self) -> Agent | None:
        return self._child.local_agent

    def begin(self, done: Done) -> None:
        done(RuntimeError("the published run failed"))

    def cancel(self, cause: AbortCause) -> None:
        self._child.cancel(cause)

    def release(self) -> Awaitable[None]:
        return self._fail(self._child.release())

    async def _fail(self, release: Awaitable[None] | None) -> None:
        if release is not None:
            await release
        raise RuntimeError("the release failed")
