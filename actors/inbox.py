"""The inbox: what an agent has been sent and has not claimed yet.

Two ordered lists, both folds of the log. ``next-turn`` holds prompts, one a
turn, strictly first in, first out; ``next-step`` holds steering and context,
taken as a whole at the next step boundary. Every change is an event, committed
before the lists change and before anybody is told (spec core section 7).

A message may be *held*: it is pending, but its insert is not on disk yet, so nobody
claims it and it wakes nobody (DESIGN section 3).

All of it runs on the runtime's loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from ..messages.edge import PROMPT_CLAIMED
from ..messages.errors import DeliveryError, MailboxFullError
from ..messages.message import MessageId, UserMessage
from ..messages.payload import InboxSpliced, InboxTarget
from .fold import replay_inbox
from .session import Session
from .splice import Mark, Splice, normalise_splice

Change: TypeAlias = Literal["enqueue", "dequeue", "discard"]
Notify: TypeAlias = Callable[[Change, UserMessage, InboxTarget], None]


class Inbox:
    """Both lists of one agent, and the only way to change them.

    Args:
        session: Where every change is logged.
        notify: Told of each message that came, was claimed or was dropped.
        bound: Most messages that may be pending in both lists together; None is no bound.

    Attributes:
        waking: How many of the pending messages were sent to wake the agent and not
            put off by a cancellation since.
    """

    __slots__ = (
        "_bound",
        "_changing",
        "_held",
        "_ids",
        "_next_step",
        "_next_turn",
        "_notify",
        "_session",
        "waking",
    )

    def __init__(self, session: Session, notify: Notify, bound: int | None) -> None:
        self._session = session
        self._notify: Notify | None = notify
        self._bound = bound
        self._next_turn: list[UserMessage] = []
        self._next_step: list[UserMessage] = []
        if session.seq:
            self._next_turn, self._next_step = replay_inbox(session.header, session.events)
        # Changes whose event is being told: who reads meanwhile sees the lists before them.
        self._changing: list[Splice] | None = None
        self.waking = 0
        # Whether each pending message wakes. Only there while something is pending:
        # most inboxes are empty most of the time.
        self._ids: dict[MessageId, bool] | None = None
        # The held messages: the number of their insert, and whether they will wake.
        self._held: dict[MessageId, tuple[int, bool]] | None = None
        for message in (*self._next_turn, *self._next_step):
            self._add_id(message.id, waking=False)

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
        """Whether a claim of that list would find anything."""
        items = self._list(target)
        return bool(items) and (self._held is None or items[0].id not in self._held)

    @property
    def claimable(self) -> bool:
        """Whether a claim of either list would find anything."""
        return self.has("next-turn") or self.has("next-step")

    @property
    def held(self) -> tuple[MessageId, ...]:
        """What nobody claims yet, in the order in which it came."""
        return tuple(self._held or ())

    def append(
        self,
        target: InboxTarget,
        message: UserMessage,
        *,
        waking: bool = False,
        held: bool = False,
    ) -> None:
        """Put a message at the end of a list; errors as `splice`."""
        self.splice(target, len(self._list(target)), 0, (message,), waking=waking, held=held)

    def append_own(self, message: UserMessage) -> None:
        """Put in what the turn itself has to say at its next step; the bound is for senders.

        Raises:
            DeliveryError: ``DUPLICATE_MESSAGE`` if its id is pending already.
        """
        self.splice("next-step", len(self._next_step), 0, (message,), bounded=False)

    def prepend(self, target: InboxTarget, message: UserMessage) -> None:
        """Put a message at the head of a list; errors as `splice`."""
        self.splice(target, 0, 0, (message,))

    def replace(self, message_id: MessageId, message: UserMessage) -> bool:
        """Put `message` in the place of a pending one; False if that is not pending.

        It wakes the agent if that one did.
        """
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
        """Drop everything that is pending now, next-step first; what an observer adds stays."""
        prompts = [message.id for message in self._next_turn]
        self.splice("next-step", 0, len(self._next_step), outcome="canceled")
        if prompts == [message.id for message in self._next_turn[: len(prompts)]]:
            self.splice("next-turn", 0, len(prompts), outcome="canceled")
            return
        for message_id in prompts:  # an observer has moved them
            self.remove(message_id)

    def put_off(self) -> None:
        """Let what is pending wake nobody any more: it waits for a wake that comes later."""
        if self.waking and self._ids is not None:
            self._ids = dict.fromkeys(self._ids, False)
            self.waking = 0
        if self._held is not None:
            self._held = {id: (seq, False) for id, (seq, _) in self._held.items()}

    def claim(self, target: InboxTarget) -> tuple[UserMessage, ...]:
        """Take what a step consumes: all of next-step; for ``next-turn`` one prompt behind it.

        What is held stays, and so does what stands behind it in its list.
        """
        batch: tuple[UserMessage, ...] = ()
        if self._next_step:
            batch = self.splice("next-step", 0, self._free_length("next-step"))
        if target == "next-turn" and self.has("next-turn"):
            batch += self.splice("next-turn", 0, 1)
        return batch

    def let_go(self, stored_seq: int) -> None:
        """Hold no message any more whose insert has a number below `stored_seq`."""
        for message_id, (seq, waking) in tuple((self._held or {}).items()):
            if seq < stored_seq:
                self._unhold(message_id)
                if self._ids is not None and message_id in self._ids:
                    self._ids[message_id] = waking
                    self.waking += waking

    def refuse(self, message_id: MessageId) -> int | None:
        """Take back a held message that could not be stored.

        Returns:
            The number of the event that takes it back; None if it is not held any more.
        """
        if self._held is None or message_id not in self._held:
            return None
        place = self._find(message_id)
        if place is None:
            return None
        seq = self._session.seq
        self.splice(place[0], place[1], 1, outcome="canceled")
        return seq

    def splice(
        self,
        target: InboxTarget,
        start: int,
        delete_count: int,
        inserted: Sequence[UserMessage] = (),
        *,
        outcome: Literal["canceled"] | None = None,
        waking: bool = False,
        held: bool = False,
        bounded: bool = True,
    ) -> tuple[UserMessage, ...]:
        """Remove and insert at one place of one list; returns what was removed.

        Nothing removed and nothing inserted is no event. What is inserted wakes the
        agent if `waking`, or if it takes the place of something that did; it is held
        if `held`, or if it takes the place of something that is.

        Raises:
            DeliveryError: ``DUPLICATE_MESSAGE`` if an inserted id is pending already.
            MailboxFullError: If the bound would be passed.
        """
        items = self._list(target)
        first, count = normalise_splice(len(items), start, delete_count)
        if not count and not inserted:
            return ()
        removed = tuple(items[first : first + count])
        self._check(removed, inserted, self._bound if bounded else None)
        if target == "next-turn" and count == 1 and not first and not inserted and outcome is None:
            event = PROMPT_CLAIMED
        else:
            event = InboxSpliced(target, first, count, tuple(inserted), outcome)
        if outcome is not None and inserted and self._ids is not None:
            waking = waking or any(self._wakes(message.id) for message in removed)
            held = held or any(self._is_held(message.id) for message in removed)
        for splice in self._commit(Splice(event, removed, waking=waking, held=held)):
            self._tell(splice)
        return removed

    def _commit(self, splice: Splice) -> Sequence[Splice]:
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
            if not self._session.holds(splice.event):
                changing.remove(splice)
                self._undo(splice)
            raise
        finally:
            if outermost:
                self._changing = None
        return changing if outermost else ()

    def _apply(self, splice: Splice) -> None:
        data = splice.event
        items = self._list(data.target)
        items[data.start : data.start + data.removed_count] = data.inserted
        if splice.removed:
            splice.were = tuple([self._drop_id(message.id) for message in splice.removed])
        for message in data.inserted:
            self._add_id(message.id, waking=splice.waking and not splice.held)
            if splice.held:
                self._hold(message.id, waking=splice.waking)

    def _undo(self, splice: Splice) -> None:
        data = splice.event
        items = self._list(data.target)
        items[data.start : data.start + len(data.inserted)] = splice.removed
        for message in data.inserted:
            self._drop_id(message.id)
        for message, (waking, held) in zip(splice.removed, splice.were, strict=True):
            self._add_id(message.id, waking=waking)
            if held is not None:
                self._held = {**(self._held or {}), message.id: held}

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

    def _tell(self, splice: Splice) -> None:
        notify, data = self._notify, splice.event
        if notify is None:
            return
        change: Change = "discard" if data.outcome else "dequeue"
        for message in splice.removed:
            notify(change, message, data.target)
        for message in data.inserted:
            notify("enqueue", message, data.target)

    def _check(
        self, removed: Sequence[UserMessage], inserted: Sequence[UserMessage], bound: int | None
    ) -> None:
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

    def _add_id(self, message_id: MessageId, *, waking: bool) -> None:
        if self._ids is None:
            self._ids = {}
        self._ids[message_id] = waking
        self.waking += waking

    def _hold(self, message_id: MessageId, *, waking: bool) -> None:
        if self._held is None:
            self._held = {}
        self._held[message_id] = (self._session.seq, waking)

    def _unhold(self, message_id: MessageId) -> None:
        if self._held is not None:
            self._held.pop(message_id, None)
            if not self._held:
                self._held = None

    def _is_held(self, message_id: MessageId) -> bool:
        return self._held is not None and message_id in self._held

    def _wakes(self, message_id: MessageId) -> bool:
        if self._held is not None and message_id in self._held:
            return self._held[message_id][1]
        return self._ids is not None and self._ids.get(message_id, False)

    def _free_length(self, target: InboxTarget) -> int:
        """How many messages stand before the first held one."""
        items = self._list(target)
        if self._held is None:
            return len(items)
        held = (index for index, message in enumerate(items) if message.id in self._held)
        return next(held, len(items))

    def _drop_id(self, message_id: MessageId) -> Mark:
        """Forget a message; returns what it was."""
        held = None
        if self._held is not None:
            held = self._held.get(message_id)
            self._unhold(message_id)
        if self._ids is None:
            return False, held
        waking = self._ids.pop(message_id, False)
        self.waking -= waking
        if not self._ids:
            self._ids = None
        return waking, held
