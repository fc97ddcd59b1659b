"""The inbox: what an agent has been sent and has not claimed yet.

Two ordered lists, both folds of the log. ``next-turn`` holds prompts, one a
turn, strictly first in, first out; ``next-step`` holds steering and context,
taken as a whole at the next step boundary. Every change is an event, committed
before the lists change and before anybody is told (spec core section 7).

All of it runs on the runtime's loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from ..messages.errors import DeliveryError, MailboxFullError
from ..messages.message import MessageId, UserMessage
from ..messages.payload import InboxSpliced, InboxTarget
from .fold import replay_inbox
from .session import Session

Change: TypeAlias = Literal["enqueue", "dequeue", "discard"]
Notify: TypeAlias = Callable[[Change, UserMessage, InboxTarget], None]


def normalise_splice(length: int, start: int, delete_count: int) -> tuple[int, int]:
    """Bring a splice into range: the first index and how many items go.

    A negative start counts from the end; what lies outside is clamped.
    Source: spec core section 7.
    """
    first = max(length + start, 0) if start < 0 else min(start, length)
    return first, max(0, min(delete_count, length - first))


class Inbox:
    """Both lists of one agent, and the only way to change them.

    Args:
        session: Where every change is logged.
        notify: Told of each message that came, was claimed or was dropped.
        bound: Most messages that may be pending in both lists together; None is no bound.
    """

    __slots__ = ("_bound", "_ids", "_lists", "_notify", "_session")

    def __init__(self, session: Session, notify: Notify, bound: int | None) -> None:
        self._session = session
        self._notify: Notify | None = notify
        self._bound = bound
        pending = replay_inbox(session.header, session.events) if session.seq else ([], [])
        self._lists: dict[InboxTarget, list[UserMessage]] = {
            "next-turn": pending[0],
            "next-step": pending[1],
        }
        self._ids: set[MessageId] = {m.id for both in pending for m in both}

    @property
    def next_turn(self) -> tuple[UserMessage, ...]:
        """The prompts that wait, oldest first."""
        return tuple(self._lists["next-turn"])

    @property
    def next_step(self) -> tuple[UserMessage, ...]:
        """What joins at the next step boundary, oldest first."""
        return tuple(self._lists["next-step"])

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._ids

    def has(self, target: InboxTarget) -> bool:
        """Whether that list holds anything."""
        return bool(self._lists[target])

    def append(self, target: InboxTarget, message: UserMessage) -> None:
        """Put a message at the end of a list; errors as `splice`."""
        self.splice(target, len(self._lists[target]), 0, (message,))

    def prepend(self, target: InboxTarget, message: UserMessage) -> None:
        """Put a message at the head of a list; errors as `splice`."""
        self.splice(target, 0, 0, (message,))

    def replace(self, message_id: MessageId, message: UserMessage) -> bool:
        """Put `message` in the place of a pending one; False if that is not pending."""
        place = self._find(message_id)
        if place is None:
            return False
        self.splice(place[0], place[1], 1, (message,), outcome="canceled")
        return True

    def remove(self, message_id: MessageId) -> bool:
        """Drop a pending message; False if it is not pending."""
        place = self._find(message_id)
        if place is None:
            return False
        self.splice(place[0], place[1], 1, outcome="canceled")
        return True

    def clear(self) -> None:
        """Drop everything, next-step first."""
        for target in ("next-step", "next-turn"):
            self.splice(target, 0, len(self._lists[target]), outcome="canceled")

    def claim(self, target: InboxTarget) -> tuple[UserMessage, ...]:
        """Take what a step consumes: all of next-step; for ``next-turn`` one prompt behind it."""
        batch = self.splice("next-step", 0, len(self._lists["next-step"]))
        if target == "next-turn":
            batch += self.splice("next-turn", 0, 1)
        return batch

    def splice(
        self,
        target: InboxTarget,
        start: int,
        delete_count: int,
        inserted: Sequence[UserMessage] = (),
        *,
        outcome: Literal["canceled"] | None = None,
    ) -> tuple[UserMessage, ...]:
        """Remove and insert at one place of one list; returns what was removed.

        Nothing removed and nothing inserted is no event.

        Raises:
            DeliveryError: ``DUPLICATE_MESSAGE`` if an inserted id is pending already.
            MailboxFullError: If the bound would be passed.
        """
        items = self._lists[target]
        first, count = normalise_splice(len(items), start, delete_count)
        if not count and not inserted:
            return ()
        removed = tuple(items[first : first + count])
        self._check(removed, inserted)
        self._session.append(InboxSpliced(target, first, count, tuple(inserted), outcome))
        items[first : first + count] = inserted
        for message in removed:
            self._ids.discard(message.id)
        for message in inserted:
            self._ids.add(message.id)
        self._tell(target, removed, inserted, "discard" if outcome else "dequeue")
        return removed

    def close(self) -> None:
        """Let go of the listener; what is pending stays in the log."""
        self._notify = None

    def _tell(
        self,
        target: InboxTarget,
        removed: Sequence[UserMessage],
        inserted: Sequence[UserMessage],
        change: Change,
    ) -> None:
        notify = self._notify
        if notify is None:
            return
        for message in removed:
            notify(change, message, target)
        for message in inserted:
            notify("enqueue", message, target)

    def _check(self, removed: Sequence[UserMessage], inserted: Sequence[UserMessage]) -> None:
        leaving = {message.id for message in removed} if removed and inserted else ()
        arriving: set[MessageId] = set()
        for message in inserted:
            known = message.id in self._ids and message.id not in leaving
            if known or message.id in arriving:
                raise DeliveryError(
                    f"message {message.id!r} is pending already in the inbox of "
                    f"{self._session.header.id!r}; give each message an id of its own",
                    code="DUPLICATE_MESSAGE",
                    details={"messageId": message.id, "agent": self._session.header.id},
                )
            arriving.add(message.id)
        bound = self._bound
        growth = len(inserted) - len(removed)
        if bound is not None and growth > 0 and len(self._ids) + growth > bound:
            raise MailboxFullError(
                f"the inbox of {self._session.header.id!r} is full with {len(self._ids)} pending "
                f"messages (bound {bound}); send again when some are worked off",
                details={"agent": self._session.header.id, "bound": bound},
            )

    def _find(self, message_id: MessageId) -> tuple[InboxTarget, int] | None:
        if message_id not in self._ids:
            return None
        for target, items in self._lists.items():
            for index, message in enumerate(items):
                if message.id == message_id:
                    return target, index
        return None
