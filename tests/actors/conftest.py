"""What the tests of the actor runtime share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from broodline.actors.system import ActorSystem


@pytest.fixture
async def system() -> AsyncIterator[ActorSystem]:
    """A runtime on the test's own loop."""
    async with ActorSystem(shutdown_timeout=5) as system:
        yield system


@pytest.fixture
def threaded() -> Iterator[ActorSystem]:
    """A runtime with a loop in a thread of its own, for tests that block."""
    with ActorSystem(shutdown_timeout=5) as system:
        yield system
