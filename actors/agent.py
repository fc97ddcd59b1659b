"""The agent: an actor whose inbox is a fold of its log.

Its methods run on the runtime's loop, where nothing can come between two lines
that do not await. From another thread, and in most programs, use the
`AgentHandle`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from ..messages.chunk import Usage
from ..messages.content import ContentLike, text_of
from ..messages.message import MessageId, UserMessage, sound_message, user_message
from ..messages.options import AgentOptions
from ..messages.payload import AbortCause, CallConfig, InboxTarget, RequestHeader, TurnEndReason
from .abort import abort
from .acceptance import Acceptance, Letter, check_storing, delivered
from .actor import EventLoopActor
from .announcement import announce_change, announce_status
from .cancellation import CancellationToken
from .driver import DriverSteps, drive
from .fold import select_output, usage_of
from .idleness import until_idle
from .inbox import Inbox
from .postbox import AgentMailbox
from .refusal import check_open, check_thread, refuse_own_turn
from .registration import Registration
from .scope import Scope
from .snapshot import SnapshotTrack

if TYPE_CHECKING:
    from .host import AgentHost
    from .session import Session
    from .system import ActorSystem
    from .tools.registry import ToolView
    from .turn import Turn

Status: TypeAlias = Literal["idle", "running"]

USER_CANCEL = AbortCause("user")
DISPOSED = AbortCause("disposed")


class Agent(EventLoopActor):
    """One agent: its session, its inbox, and the turns it takes.

    Made by ``runtime.agents.create`` and by a delegation, never directly.

    Attributes:
        id: The agent's and its session's id.
        runtime: Where it lives.
        session: Its log.
        options: What it is run with.
        parent: The agent that delegated to it, or None for a root.
        scope: What is registered in it is seen by this agent alone.
        inbox: What waits to be claimed.
        turn: The turn in progress, or None.
        phase: What it is doing: ``idle``, ``starting``, ``assembling``, ``model``,
            ``back-off``, ``tools``, ``stopping`` or ``closed``.
        phase_since: When that began, in seconds of the runtime's clock.
        before_first_step: Called once, when the first step has been admitted.
        on_closing: Called when its disposal begins, before its turn is aborted.
        turns: Turns it has opened in this process.
        last_end: How the last turn of this process ended, or None; ``kind`` is ``completed``,
            ``max-tokens``, ``aborted``, ``blocked`` or ``error``, with `error` saying which.
        tool_calls: Tool calls it has made in this process.
        acceptance: The deliveries that are not stored yet; None when there are none.
    """

    # Slots: with a dict, these alone would be a sixth of what a waiting child needs.
    __slots__ = (
        "_followers",
        "_task",
        "acceptance",
        "announced",
        "before_first_step",
        "closing",
        "config",
        "ended",
        "ending",
        "entry",
        "fault",
        "header",
        "id",
        "inbox",
        "last_end",
        "on_closing",
        "options",
        "parent",
        "phase",
        "phase_since",
        "published",
        "runtime",
        "scope",
        "session",
        "snapshots",
        "system_text",
        "token",
        "tool_calls",
        "tool_view",
        "turn",
        "turns",
    )

    def __init__(
        self,
        runtime: AgentHost,
        session: Session,
        options: AgentOptions,
        parent: Agent | None = None,
    ) -> None:
        self.id = session.header.id
        self.runtime = runtime
        self.session = session
        self.options = options
        self.parent = parent
        self.scope = Scope(self.id)
        self.inbox = Inbox(session, self._announce_change, runtime.settings.max_pending)
        self.turn: Turn | None = None
        self.token: CancellationToken | None = None
        self.phase = "idle"
        self.phase_since = runtime.clock.monotonic()
        self.published = False
        self.closing = False
        self.fault: BaseException | None = None
        self.before_first_step: Any = None
        self.config: CallConfig | None = None
        self.header: RequestHeader | None = None
        self.system_text: str | None = None
        self.tool_view: ToolView = runtime.tools.view(self.scope)
        self.snapshots: SnapshotTrack | None = None
        self.turns = 0
        self.last_end: TurnEndReason | None = None
        self.tool_calls = 0
        self.acceptance: Acceptance | None = None
        self.entry: Registration | None = None
        self.announced = False
        self.ending: asyncio.Task[None] | None = None
        self.ended = False
        self.on_closing: Callable[[Agent], None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._followers: list[Callable[[], None]] | None = None
        super().__init__()
        self._mailbox.attach(self)

    def __repr__(self) -> str:
        return f"<Agent {self.id} {self.status}>"

    @property
    def status(self) -> Status:
        """``running`` from the wake to the rest behind the last turn, else ``idle``."""
        return "idle" if self._task is None else "running"

    @property
    def depth(self) -> int:
        """Levels of delegation above: the recorded or the runtime's own, whichever is deeper."""
        return max(self.session.header.delegation_depth or 0, self.options.subagent_depth or 0)

    @property
    def answer(self) -> str:
        """Text of the last message with content, else what was streamed so far. Any thread."""
        return text_of(select_output(self.session.log))

    @property
    def usage(self) -> Usage | None:
        """Tokens of its own requests so far, failed ones too; None for no report. Any thread."""
        return usage_of(self.session.header, self.session.log)

    def followup(
        self, content: ContentLike, *, source: Any = None, id: MessageId | None = None
    ) -> MessageId:
        """Queue a prompt: it gets a turn of its own, first in, first out.

        Args:
            content: A string or content blocks.
            source: Frozen or plain JSON object with a ``kind``; None is the user.
            id: Unique among the pending messages; None makes one.

        Returns:
            The message's id. It names the delivery, never a result. Where a delivery has
            to be stored, `accepted` tells when it is.

        Raises:
            ActorDeadError: If the agent is disposed.
            MailboxFullError: If its inbox is at its bound.
            DeliveryError: If the id is pending already.
            ConfigurationError: If an argument is of the wrong kind or JSON would lose a
                part of it, or the call comes from outside of the runtime's loop.
            SessionError: ``NOT_PUBLISHED`` during set-up, ``LOG_BROKEN`` after a log failure.
        """
        return self.deliver(self.message(content, source, id), "next-turn", waking=True)

    def steer(
        self, content: ContentLike, *, source: Any = None, id: MessageId | None = None
    ) -> MessageId:
        """Hand in input for the next step of the turn in progress; idle, it starts a turn.

        Arguments, result and errors as `followup`.
        """
        return self.deliver(self.message(content, source, id), "next-step", waking=True)

    def inject(
        self, content: ContentLike, *, source: Any = None, id: MessageId | None = None
    ) -> MessageId:
        """Leave context for the next step, whoever wakes the agent for it.

        Arguments, result and errors as `followup`.
        """
        return self.deliver(self.message(content, source, id), "next-step", waking=False)

    def message(
        self, content: ContentLike, source: Any = None, id: MessageId | None = None
    ) -> UserMessage:
        """Make an input message out of what a caller handed over."""
        return user_message(self.runtime.ids.new("message") if id is None else id, content, source)

    def deliver(self, message: UserMessage, target: InboxTarget, *, waking: bool) -> MessageId:
        """Accept a message: log it, and wake the agent if it is waking input.

        Waking input that meets a cancelled turn is kept for a turn of its own
        behind it. Errors as `followup`. Source: spec core 7, 9.
        """
        check_open(self)
        check_storing(self)
        if waking and self.token is not None and self.token.cancelled:
            target = "next-turn"
        accepts, seq = self.session.accepts, self.session.seq
        self.inbox.append(target, message, waking=waking, held=accepts)
        if accepts:
            self.acceptance = self.acceptance or Acceptance(self)
            self.acceptance.take(message.id, seq)
        elif waking and message.id in self.inbox:  # an observer may have taken it out again
            self._wake()
        return message.id

    def accepted(self, message_id: MessageId) -> Letter | None:
        """When a delivery of this process is accepted for good. Loop only.

        None if it is already; else a future of its id, or of why it was not accepted.
        """
        return None if self.acceptance is None else self.acceptance.letter(message_id)

    def end_acceptance(self) -> None:
        """Every delivery is stored, or refused."""
        self.acceptance = None
        self.wake_for_pending()
        if self._task is None:
            self._release_followers()

    def wake_for_pending(self, *, prompts: bool = False) -> None:
        """Wake, if something waking is pending, or with `prompts` any prompt."""
        if self.inbox.waking or (prompts and self.inbox.has("next-turn")):
            self._wake()

    def cancel(self, cause: AbortCause = USER_CANCEL, *, keep_inbox: bool = False) -> None:
        """Drop what is pending and abort the turn in progress.

        The first cause counts. Started tools are waited for; the model is not.

        Args:
            cause: What the log will say.
            keep_inbox: Leave pending messages for the next wake.

        Raises:
            ConfigurationError: If `cause` is no `AbortCause`, or the call comes from
                outside of the runtime's loop.
        """
        abort(self, cause, keep_inbox=keep_inbox)

    def refuse_own_turn(self) -> None:
        """`refusal.refuse_own_turn`."""
        refuse_own_turn(self, self._task)

    async def when_idle(self) -> TurnEndReason | None:
        """Wait until no turn is in progress or due; returns at once when idle. Loop only.

        Returns:
            `last_end`: how the last turn of this process ended, or None if there was none.

        Raises:
            DeadlockError: From the turn itself, which would wait for its own end.
        """
        check_thread(self)
        self.refuse_own_turn()
        await until_idle(self)
        return self.last_end

    def on_idle(self, then: Callable[[], None]) -> None:
        """Have `then` called once no turn is in progress, due or being accepted. Loop only."""
        if self._task is None and self.acceptance is None:
            then()
        elif self._followers is None:
            self._followers = [then]
        else:
            self._followers.append(then)

    def forget(self, then: Callable[[], None]) -> None:
        """Call `then` no more."""
        if self._followers is not None and then in self._followers:
            self._followers.remove(then)

    # What pykka's side needs: content is a follow-up, everything else a signal.

    def _new_urn(self, system: ActorSystem) -> str:
        return self.id

    @staticmethod
    def _create_actor_inbox() -> Any:
        return AgentMailbox()

    def _start_actor_loop(self) -> None:
        """An agent has no loop of its own: a wake starts its driver."""

    def on_receive(self, message: Any) -> MessageId | Awaitable[MessageId]:
        """Queue what was told or asked as a follow-up; the answer is the message's id."""
        if not isinstance(message, UserMessage):
            message = self.message(message)
        return delivered(self, sound_message(message), "next-turn", waking=True)

    # What the driver and the registry use.

    def begin_phase(self, phase: str) -> None:
        """Note what the agent is doing from now on; nothing that goes on behind its end counts."""
        if self.phase == "closed":
            return
        self.phase = phase
        self.phase_since = self.runtime.clock.monotonic()

    def rest(self) -> None:
        """The driver has nothing left to do."""
        if self._task is None:
            return
        self._task = self.token = self.turn = None
        self.begin_phase("idle")
        announce_status(self, "idle")
        if self._task is None and self.acceptance is None:
            self._release_followers()

    def begin_disposal(self) -> None:
        """Accept no more wakes and abort what runs; what is pending stays in the log."""
        self.closing = True
        if self.on_closing is not None:
            self.on_closing(self)
        self.cancel(DISPOSED, keep_inbox=True)

    def end_task(self) -> None:
        """Let go of a turn that ignored its cancellation."""
        if self._task is not None:
            self._task.cancel()
            self.rest()

    def close(self) -> None:
        """The end: nothing is accepted any more."""
        self.phase = "closed"
        self.inbox.close()
        self._release_followers()
        self._unregister()
        self._mailbox.close()

    @property
    def _mailbox(self) -> AgentMailbox:
        return cast("AgentMailbox", self.actor_inbox)

    _announce_change = announce_change

    def _wake(self) -> None:
        if self.closing or self.fault is not None or self.token is not None:
            return
        self.token = CancellationToken()
        self.begin_phase("starting")
        runtime = self.runtime
        steps = DriverSteps(drive(self), runtime.watch, self)
        self._task = runtime.track(steps, None, self.id)
        announce_status(self, "running")

    def _release_followers(self) -> None:
        followers, self._followers = self._followers, None
        for then in followers or ():
            try:
                then()
            except Exception:
                self.runtime.logger.exception("a follower of agent %r failed", self.id)
