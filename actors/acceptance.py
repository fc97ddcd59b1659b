"""Accepting a message for good: it counts once its insert is on disk.

Until then it is held in the inbox, where nobody claims it. One that cannot be stored is
taken back by a cancelling splice behind its insert, and whoever sent it gets the cause.

Source: DESIGN section 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from ..messages.errors import SessionError, SessionLeasedError
from ..messages.message import MessageId, UserMessage
from ..messages.payload import DeliveryRefused, InboxTarget
from .checkpoint import flushed, undurable

if TYPE_CHECKING:
    from .agent import Agent

Letter = asyncio.Future[MessageId]


class Acceptance:
    """The messages of one agent that its store has not confirmed yet. Loop only.

    There is one while there are such messages, and one flush at a time, which later
    messages join.
    """

    __slots__ = ("_agent", "_confirming", "_letters")

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._confirming = False
        # What waits, with the number of its insert; one id may have been sent twice.
        self._letters: list[tuple[int, MessageId, Letter]] = []

    def take(self, message_id: MessageId, seq: int) -> None:
        """Wait for the insert of a held message, which has the number `seq`, to be stored."""
        letter: Letter = asyncio.get_running_loop().create_future()
        letter.add_done_callback(_look_at)
        if not self._confirming:
            self._confirming = True
            agent = self._agent
            agent.runtime.spawn(self._confirm(), name=f"acceptance of {agent.id}")
        self._letters.append((seq, message_id, letter))

    def letter(self, message_id: MessageId) -> Letter | None:
        """What a message waits for, settled with its id or with why it was not accepted.

        None if it waits for nothing; of an id that was sent again the latest.
        """
        known = (letter for _, known, letter in reversed(self._letters) if known == message_id)
        return next(known, None)

    def give_up(self) -> None:
        """Wait no longer for the store: the agent leaves, and its log with it.

        What is taken back while the log is still open is stored behind its insert, if that
        is stored at all; once the log is sealed it could not be.
        """
        late = TimeoutError("the agent ended before its store had answered")
        self._refuse(undurable(self._agent.id, late))

    async def _confirm(self) -> None:
        agent = self._agent
        stored = True
        try:
            # What took the place of a held message is held too, and nobody waits for it.
            while self._letters or (stored and agent.inbox.held):
                stored = await self._store()
        finally:
            for _, _, letter in self._letters:
                letter.cancel()
            agent.end_acceptance()

    async def _store(self) -> bool:
        """Whether what was logged when it began is stored; if not, all that waits is refused."""
        session = self._agent.session
        mark, writer = session.seq, session.writer
        try:
            if writer is not None:
                await flushed(session, writer)
        except SessionError as error:
            self._refuse(error)
            return False
        except Exception as error:
            self._refuse(undurable(session.id, error))
            return False
        self._accept(mark)
        return True

    def _accept(self, stored_seq: int) -> None:
        """Let everybody know whose insert has a number below `stored_seq`."""
        agent = self._agent
        agent.inbox.let_go(stored_seq)
        letters, self._letters = self._letters, []
        for seq, message_id, letter in letters:
            if seq >= stored_seq:
                self._letters.append((seq, message_id, letter))
            elif not letter.done():
                letter.set_result(message_id)
        agent.wake_for_pending()

    def _refuse(self, error: SessionError) -> None:
        """Take back what waits and is not stored: nothing behind the first failure is."""
        writer = self._agent.session.writer
        if writer is not None:
            self._accept(writer.stored_seq)
        letters, self._letters = self._letters, []
        for _, message_id, letter in letters:
            take_back(self._agent, message_id, error)
            if not letter.done():
                letter.set_exception(error)
        for message_id in self._agent.inbox.held:
            take_back(self._agent, message_id, error)


def delivered(
    agent: Agent, message: UserMessage, target: InboxTarget, *, waking: bool
) -> MessageId | Coroutine[Any, Any, MessageId]:
    """Deliver a message now; where that has to be stored, what to await for it. Loop only.

    With a store that failed before, the message is logged only when that answers again.

    Raises:
        Exception: As `Agent.deliver`.
    """
    writer = agent.session.writer
    if not agent.session.accepts or writer is None:
        return agent.deliver(message, target, waking=waking)
    if writer.failure is not None:
        return _once_it_answers(agent, message, target, waking=waking)
    message_id = agent.deliver(message, target, waking=waking)
    letter = agent.accepted(message_id)
    return message_id if letter is None else _confirmed(agent, message_id, letter)


async def _once_it_answers(
    agent: Agent, message: UserMessage, target: InboxTarget, *, waking: bool
) -> MessageId:
    session = agent.session
    if session.writer is not None:
        await flushed(session, session.writer)
    agent.wake_for_pending()
    message_id = agent.deliver(message, target, waking=waking)
    letter = agent.accepted(message_id)
    return message_id if letter is None else await _confirmed(agent, message_id, letter)


async def _confirmed(agent: Agent, message_id: MessageId, letter: Letter) -> MessageId:
    try:
        return await asyncio.shield(letter)
    except asyncio.CancelledError:
        # Called off before it was accepted; the same id may have been sent again since.
        if not letter.done() and agent.accepted(message_id) is letter:
            take_back(agent, message_id, SessionError("called off", code="CANCELLED"))
        raise


def check_storing(agent: Agent) -> None:
    """Do nothing while the store of an agent answers, or need not.

    Raises:
        SessionError: ``DURABILITY_FAILED``: it did not answer the last time. It is asked
            again by every delivery that can wait, and now and then.
    """
    writer = agent.session.writer
    if agent.session.accepts and writer is not None and writer.failure is not None:
        agent.runtime.recovery.park(agent)
        raise undurable(agent.id, writer.failure)


def take_back(agent: Agent, message_id: MessageId, error: SessionError) -> None:
    """Take a held message out of the inbox again, as one that was never accepted."""
    try:
        seq = agent.inbox.refuse(message_id)
        if seq is not None:
            agent.session.append(DeliveryRefused(seq, message_id, error.code), ignorable=True)
    except Exception:
        if not agent.session.sealed and not isinstance(error, SessionLeasedError):
            agent.runtime.logger.exception(
                "message %r to agent %r could not be stored, nor taken back", message_id, agent.id
            )


def _look_at(letter: Letter) -> None:
    if not letter.cancelled():
        letter.exception()  # who sent it in a hurry has not kept it; the log tells
