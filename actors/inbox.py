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


class _Splice:
    """A change, and what it takes to take it back."""

    __slots__ = ("event", "removed")

    def __init__(self, event: InboxSpliced, removed: tuple[UserMessage, ...]) -> None:
        self.event = event
        self.removed = removed


class Inbox:
    """Both lists of one agent, and the only way to change them.

    Args:
        session: Where every change is logged.
        notify: Told of each message that came, was claimed or was dropped.
        bound: Most messages that may be pending in both lists together; None is no bound.
    """

    __slots__ = ("_bound", "_changing", "_ids", "_next_step", "_next_turn", "_notify", "_session")

    def __init__(self, session: Session, notify: Notify, bound: int | None) -> None:
        self._session = session
        self._notify: Notify | None = notify
        self._bound = bound
        pending = replay_inbox(session.header, session.events) if session.seq else ([], [])
        self._next_turn, self._next_step = pending
        # Changes whose event is being told: who reads meanwhile sees the lists before them.
        self._changing: list[_Splice] | None = None
        # Only there while something is pending: most inboxes are empty most of the time.
        self._ids: dict[MessageId, None] | None = None
        for message in (*self._next_turn, *self._next_step):
            self._add_id(message.id)

    @property
    def next_turn(self) -> tuple[UserMessage, ...]:
        """The prompts that wait, oldest first."""
        return self._before_change("next-turn")

    @property
    def next_step(self) -> tuple[UserMessage, ...]:
        """What joins at the next step boundary, oldest first."""
        return self._before_change("next-step")

    def __len__(self) -> int:
        return len(self._next_turn) + len(self._next_step)

    def __contains__(self, message_id: object) -> bool:
        return self._ids is not None and message_id in self._ids

    def has(self, target: InboxTarget) -> bool:
        """Whether that list holds anything."""
        return bool(self._list(target))

    def append(self, target: InboxTarget, message: UserMessage) -> None:
        """Put a message at the end of a list; errors as `splice`."""
        self.splice(target, len(self._list(target)), 0, (message,))

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
        self.splice("next-step", 0, len(self._next_step), outcome="canceled")
        self.splice("next-turn", 0, len(self._next_turn), outcome="canceled")

    def claim(self, target: InboxTarget) -> tuple[UserMessage, ...]:
        """Take what a step consumes: all of next-step; for ``next-turn`` one prompt behind it."""
        batch = self.splice("next-step", 0, len(self._next_step))
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
        items = self._list(target)
        first, count = normalise_splice(len(items), start, delete_count)
        if not count and not inserted:
            return ()
        removed = tuple(items[first : first + count])
        self._check(removed, inserted)
        event = InboxSpliced(target, first, count, tuple(inserted), outcome)
        for splice in self._commit(_Splice(event, removed)):
            self._tell(splice)
        return removed

    def _commit(self, splice: _Splice) -> Sequence[_Splice]:
        """Change the lists and log it; a refusal of the log takes the change back.

        The lists go first so that a change made by an observer of this event builds
        on it, in memory as in the log. Returns what is to be told now: nothing for
        such a nested change, which is told behind the one it came from.
        """
        outermost = self._changing is None
        changing = self._changing = [] if self._changing is None else self._changing
        self._apply(splice)
        changing.append(splice)
        try:
            self._session.append(splice.event)
        except BaseException:
            changing.remove(splice)
            self._undo(splice)
            raise
        finally:
            if outermost:
                self._changing = None
        return changing if outermost else ()

    def _apply(self, splice: _Splice) -> None:
        data = splice.event
        items = self._list(data.target)
        items[data.start : data.start + data.removed_count] = data.inserted
        for message in splice.removed:
            self._drop_id(message.id)
        for message in data.inserted:
            self._add_id(message.id)

    def _undo(self, splice: _Splice) -> None:
        data = splice.event
        items = self._list(data.target)
        items[data.start : data.start + len(data.inserted)] = splice.removed
        for message in data.inserted:
            self._drop_id(message.id)
        for message in splice.removed:
            self._add_id(message.id)

    def _before_change(self, target: InboxTarget) -> tuple[UserMessage, ...]:
        items = self._list(target)
        if self._changing is None:
            return tuple(items)
        before = list(items)
        for splice in reversed(self._changing):
            data = splice.event
            if data.target == target:
                before[data.start : data.start + len(data.inserted)] = splice.removed
        return tuple(before)

    def close(self) -> None:
        """Let go of the listener; what is pending stays in the log."""
        self._notify = None

    def _tell(self, splice: _Splice) -> None:
        notify, data = self._notify, splice.event
        if notify is None:
            return
        change: Change = "discard" if data.outcome else "dequeue"
        for message in splice.removed:
            notify(change, message, data.target)
        for message in data.inserted:
            notify("enqueue", message, data.target)

    def _check(self, removed: Sequence[UserMessage], inserted: Sequence[UserMessage]) -> None:
        leaving = {message.id for message in removed} if removed and inserted else ()
        arriving: set[MessageId] = set()
        for message in inserted:
            known = message.id in self and message.id not in leaving
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
        if bound is not None and growth > 0 and len(self) + growth > bound:
            raise MailboxFullError(
                f"the inbox of {self._session.header.id!r} is full with {len(self)} pending "
                f"messages (bound {bound}); send again when some are worked off",
                details={"agent": self._session.header.id, "bound": bound},
            )

    def _find(self, message_id: MessageId) -> tuple[InboxTarget, int] | None:
        if message_id not in self:
            return None
        for index, message in enumerate(self._next_turn):
            if message.id == message_id:
                return "next-turn", index
        for index, message in enumerate(self._next_step):
            if message.id == message_id:
                return "next-step", index
        return None

    def _list(self, target: InboxTarget) -> list[UserMessage]:
        return self._next_turn if target == "next-turn" else self._next_step

    def _add_id(self, message_id: MessageId) -> None:
        if self._ids is None:
            self._ids = {}
        self._ids[message_id] = None

    def _drop_id(self, message_id: MessageId) -> None:
        if self._ids is not None:
            self._ids.pop(message_id, None)
            if not self._ids:
                self._ids = None
