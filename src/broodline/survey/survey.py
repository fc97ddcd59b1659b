"""One survey from start to end: a root agent, its tree, and what they found."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..actors.fold import select_output
from ..actors.handle import AgentHandle
from ..actors.models import RuleModel
from ..actors.store import Store
from ..actors.stores.memory import MemoryStore
from ..messages.content import text_of
from ..messages.errors import BroodlineError, SessionError
from ..messages.event import Event
from ..messages.payload import TurnEnd
from ..supervision.furnishing import store_named
from ..supervision.runtime import Runtime
from ..supervision.tool import SubagentTool
from .board import Board, number_of
from .facts import Facts
from .folder import EVERYTHING, Selection
from .ground import PAGE, Ground
from .heritage import HeirProvider, Heritage
from .name import shown
from .report import Report
from .rules import next_message
from .task import PERSONA, Task
from .toolset import survey_tools
from .watch import watch

TICK = 0.1
"""Seconds between two looks at the board."""

ANSWER_LIMIT = 4 << 20
"""Most bytes of an answer: it holds a few dozen paths, each of which may have some thousand."""

LONGEST_HOLD = 60.0
"""Seconds the loop may be held before it is logged: the parser keeps the interpreter's lock to
itself for as long as one of the files surveyed takes, which is no news."""

PATIENCE = 5.0
"""Seconds that work in progress may take to stop."""

ELSEWHERE = "this survey is at work in another process, in the same store; wait for it or stop it"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be surveyed, and how.

    Attributes:
        root: Absolute path of a folder.
        selection: Which entries in it count.
        depth: Levels of agents below the root agent; what is deeper an agent reads itself.
        jobs: Tool calls, delegations among them, that one agent runs at once.
        pace: Seconds the model thinks before each message.
        page: Most names in one listing.
        store: Where the sessions are kept, as `store_named` takes it; None keeps none.
    """

    root: str
    selection: Selection = EVERYTHING
    depth: int = 4
    jobs: int = 8
    pace: float = 0.0
    page: int = PAGE
    store: str | None = None

    @property
    def id(self) -> str:
        """The id of the root agent in a store: the same for the same survey."""
        wanted = [self.root, self.selection.follow, self.selection.match, self.depth, self.page]
        digest = hashlib.sha256(json.dumps(wanted).encode("utf-8", "surrogatepass"))
        return f"survey-{digest.hexdigest()[:16]}"


class Interruption:
    """Whether the survey is to stop, and what asked for it. On the loop."""

    def __init__(self) -> None:
        self.cause: str | None = None
        self._event = asyncio.Event()

    def request(self, cause: str) -> None:
        """Stop the survey; the first cause counts."""
        if self.cause is None:
            self.cause = cause
            self._event.set()

    async def wait(self) -> None:
        """Wait until somebody asks for it."""
        await self._event.wait()


async def survey(
    order: Order,
    board: Board,
    interruption: Interruption,
    tick: Callable[[], None],
    say: Callable[[str], None] = lambda line: None,
) -> Report:
    """Run a survey to its end, or until it is interrupted. Leaves nothing running.

    Args:
        order: What to survey.
        board: Kept up to date meanwhile.
        interruption: Stops the whole tree.
        tick: Called about every `TICK` seconds, on the loop.
        say: Told in one line what was found in the store, if anything was.
    """
    start = asyncio.get_running_loop().time()
    facts: Facts | None = None
    problem: str | None = None
    try:
        facts, problem = await _run(order, board, interruption, tick, say)
    except (BroodlineError, ExceptionGroup) as error:
        # The runtime did not let go of everything, or could not even begin: told, not raised.
        problem = _told(error)
    drawn = board.picture or board
    status = "ok" if problem is None else "failed"
    if interruption.cause is not None and facts is None:
        status = "interrupted"
    return Report(
        order.root,
        order.selection,
        status,
        facts,
        agents=drawn.agents,
        turns=drawn.turns,
        calls=drawn.calls,
        seconds=asyncio.get_running_loop().time() - start,
        stopped=drawn.stopped,
        left=len(board.running),
        problem=interruption.cause if status == "interrupted" else problem,
        kept=order.store is not None,
    )


def _told(error: BroodlineError | ExceptionGroup[Exception]) -> str:
    """What went wrong, in words about the survey where the error speaks of its session."""
    if isinstance(error, SessionError) and error.code in (
        "SESSION_LEASED",
        "SESSION_ALREADY_EXISTS",
    ):
        return ELSEWHERE
    return str(error)


async def _run(
    order: Order,
    board: Board,
    interruption: Interruption,
    tick: Callable[[], None],
    say: Callable[[str], None],
) -> tuple[Facts | None, str | None]:
    ground = Ground(order.root, order.selection, order.page)
    store = MemoryStore(keep_ended=False) if order.store is None else store_named(order.store)
    heritage = None if order.store is None else Heritage(store, order.id)
    async with _runtime(order, ground, store, heritage) as runtime:
        if heritage is not None:
            outcome = outcome_in(await heritage.log_of(order.id))
            if outcome[0] is not None:
                tick()
                board.picture = await heritage.picture()
                board.on_disk = board.picture.calls
                say(f"demo: the survey of {shown(order.root)} is finished: told as it is on disk")
                return outcome
        with watch(runtime, board):
            root = await _root(runtime, order, board, heritage)
            if board.on_disk is not None:
                tick()
                calls = number_of(board.on_disk, "call")
                verb = "is" if board.on_disk == 1 else "are"
                say(f"demo: continuing the survey of {shown(order.root)}: {calls} {verb} on disk")
            await root.followup(Task("", order.depth).prompt())
            done = await finished(root, interruption, tick)
            outcome = outcome_in(root.agent.session.events) if done else (None, None)
            await root.dispose()
            tick()
        if heritage is not None and done:
            board.picture = await heritage.picture()
    return outcome


async def _root(
    runtime: Runtime, order: Order, board: Board, heritage: Heritage | None
) -> AgentHandle:
    """A new root agent, or the one of an earlier run."""
    if heritage is None:
        return await runtime.agents.create()
    if not await heritage.log_of(order.id):
        return await runtime.agents.create(id=order.id)
    # First the right to write it: what is read then is nobody else's any more.
    root = await runtime.agents.resume(order.id)
    board.on_disk = await heritage.read()
    return root


def _runtime(order: Order, ground: Ground, store: Store, heritage: Heritage | None) -> Runtime:
    heirs = [] if heritage is None else [HeirProvider(heritage)]
    return Runtime(
        model=RuleModel(
            lambda conversation: next_message(conversation.messages), latency=order.pace
        ),
        tools=[
            *survey_tools(ground),
            SubagentTool(
                heirs[0].name if heirs else "spawn",
                max_depth=order.depth,
                result_limit=ANSWER_LIMIT,
            ),
        ],
        providers=heirs,
        persona=PERSONA,
        store=store,
        tool_parallelism=order.jobs,
        max_steps=None,
        max_response_chars=None,
        request_timeout=None,
        dispose_timeout=PATIENCE,
        stall_threshold=LONGEST_HOLD,
    )


async def finished(root: AgentHandle, interruption: Interruption, tick: Callable[[], None]) -> bool:
    """Wait for the root agent; False if an interruption came first.

    Args:
        root: At work.
        interruption: Ends the wait, not the agent.
        tick: Called about every `TICK` seconds.
    """

    async def idle() -> None:
        await root.when_idle()

    waits = {asyncio.create_task(idle()), asyncio.create_task(interruption.wait())}
    try:
        done: set[asyncio.Task[None]] = set()
        while not done:
            tick()
            done, _ = await asyncio.wait(waits, timeout=TICK, return_when=asyncio.FIRST_COMPLETED)
        return interruption.cause is None
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


def outcome_in(events: Sequence[Event]) -> tuple[Facts | None, str | None]:
    """What the root agent answered by its log, and what is wrong with it."""
    end = next((event.data for event in reversed(events) if isinstance(event.data, TurnEnd)), None)
    if end is None or end.reason.kind != "completed":
        failure = end.reason.error if end is not None else None
        return None, failure.message if failure is not None else "the root agent did not finish"
    try:
        facts = Facts.from_json(text_of(select_output(events, 0)))
    except ValueError as error:
        return None, f"the root agent did not answer with facts: {error}"
    return facts, problem_of(facts)


def problem_of(facts: Facts) -> str | None:
    """Why these facts are not the whole: the folder itself was unreadable, or an agent failed."""
    for reason, noted in facts.skipped.items():
        if any(path == "" for path, _line, _detail in noted.first):
            return f"the folder could not be read: {reason}"
    if facts.failed.count:
        path, _line, detail = facts.failed.first[0]
        where = path or "the folder itself"
        if facts.failed.count == 1:
            return f"1 folder was not surveyed, {where}: {detail}"
        return f"{facts.failed.count:,} folders were not surveyed, {where} first: {detail}"
    return None
