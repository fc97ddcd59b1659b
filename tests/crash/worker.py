"""A process that works over a store until it is killed, or has done its share.

It brings its agents back, sends them prompts, delegates, and notes in a file what was
acknowledged to it. A failpoint kills it from inside, in the middle of a durable write.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from dataclasses import dataclass

from broodline import (
    AgentHandle,
    JsonlStore,
    RuleModel,
    Runtime,
    SqliteStore,
    Store,
    SubagentRequest,
    ToolCall,
    tool,
)
from broodline.actors.models import Conversation

ROOTS = ("root-0", "root-1", "root-2")


@dataclass(frozen=True, slots=True)
class Order:
    """What one worker is to do.

    Attributes:
        kind: ``sqlite`` or ``jsonl``.
        place: The path of the store.
        notes: The file that acknowledged messages are noted in.
        name: Begins the ids of its messages.
        seed: Of its choices.
        failpoint: Number of the call of the store's trace in which it dies; 0 for none.
        work: How many things it does before it leaves by itself.
    """

    kind: str
    place: str
    notes: str
    name: str
    seed: int
    failpoint: int
    work: int


def run(order: Order) -> None:
    """Work, in this process."""
    asyncio.run(_work(order))


def store_of(order: Order) -> Store:
    """The store with its failpoint."""
    left = order.failpoint

    def trace(_word: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    made = SqliteStore if order.kind == "sqlite" else JsonlStore
    return made(order.place, trace=trace, window=0.005)


@tool
def note(text: str) -> str:
    """Note a text."""
    return text


def rule(conversation: Conversation) -> str | ToolCall:
    """Note what was asked, then say so."""
    if not conversation.answered:
        return conversation.call("note", text=conversation.prompt)
    return f"noted {conversation.prompt}"


async def _work(order: Order) -> None:
    chance = random.Random(order.seed)
    file = os.open(order.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    async with Runtime(model=RuleModel(rule), tools=[note], store=store_of(order)) as runtime:
        roots = await _roots(runtime)
        os.write(file, b"begun\n")
        for number in range(order.work):
            root = chance.choice(roots)
            if chance.random() < 0.3:
                await _delegate(runtime, root)
            else:
                await _send(root, f"{order.name}-{number}", chance, file)
            if chance.random() < 0.2:
                await root.when_idle()
    os.close(file)


async def _roots(runtime: Runtime) -> list[AgentHandle]:
    stored = {header.id for header in await runtime.store.list()}
    agents = runtime.agents
    return [
        await (agents.resume(name) if name in stored else agents.create(id=name)) for name in ROOTS
    ]


async def _send(root: AgentHandle, name: str, chance: random.Random, file: int) -> None:
    """Several messages at once, each noted when it is acknowledged."""

    async def one(part: int) -> None:
        send = chance.choice((root.followup, root.steer, root.inject))
        message_id = await send(f"prompt {name}", id=f"{name}-{part}")
        os.write(file, f"{root.id} {message_id}\n".encode())

    await asyncio.gather(*(one(part) for part in range(chance.randint(1, 3))))


async def _delegate(runtime: Runtime, root: AgentHandle) -> None:
    run = await runtime.subagents.start("spawn", SubagentRequest(prompt="Go.", parent=root))
    await run.result
    await run.dispose()
