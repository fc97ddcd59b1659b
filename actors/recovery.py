"""Agents whose store does not answer, and finding out when it does again.

Such an agent begins nothing more: what is pending in its inbox stays there. Its store is
asked again after growing pauses, until it answers or the agent has gone.

Source: DESIGN section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages.errors import SessionError, SessionLeasedError
from .checkpoint import flushed

if TYPE_CHECKING:
    from .agent import Agent
    from .host import AgentHost

FIRST_PAUSE = 0.25
"""Seconds until a store that failed is asked again; each pause is twice the one before."""

LONGEST_PAUSE = 15.0
"""Seconds between two questions at most."""


class StoreRecovery:
    """The parked agents of one runtime. Loop only.

    Args:
        host: Its clock measures the pauses.
    """

    __slots__ = ("_host", "_parked", "_running")

    def __init__(self, host: AgentHost) -> None:
        self._host = host
        self._parked: dict[str, Agent] = {}
        self._running = False

    def __len__(self) -> int:
        return len(self._parked)

    def park(self, agent: Agent) -> None:
        """Wake `agent` when its store answers again, if something is due then."""
        self._parked[agent.id] = agent
        if self._running:
            return
        self._running = True
        self._host.logger.warning(
            "agent %r begins nothing more until its store answers again; it is asked now and then",
            agent.id,
        )
        self._host.spawn(self._ask_again(), name="store recovery")

    async def _ask_again(self) -> None:
        pause = FIRST_PAUSE
        try:
            while self._parked:
                await self._host.clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                for agent in tuple(self._parked.values()):
                    # Another of this id may have been parked meanwhile.
                    if await _over(agent) and self._parked.get(agent.id) is agent:
                        del self._parked[agent.id]
        finally:
            self._running = False


async def _over(agent: Agent) -> bool:
    """Whether there is no reason any more to keep `agent` parked; wakes it if it can go on."""
    session = agent.session
    if agent.closing or agent.ended or session.writer is None:
        return True
    try:
        await flushed(session, session.writer)
    except SessionLeasedError:
        return True
    except SessionError:
        return False
    agent.wake_for_pending(prompts=True)
    return True


async def can_begin(agent: Agent) -> bool:
    """Whether the store of an agent lets it begin a turn; one that it does not is parked."""
    session = agent.session
    writer = session.writer
    if not session.checkpoints or writer is None or writer.failure is None:
        return True
    try:
        await flushed(session, writer)
    except SessionLeasedError:
        return False
    except SessionError:
        agent.runtime.recovery.park(agent)
        return False
    return True
