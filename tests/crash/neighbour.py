"""A second process at a store: does what its input says, a line each, and answers each.

``python neighbour.py KIND PLACE LEASE_TIMEOUT``; the commands are ``create AGENT``,
``resume AGENT``, ``send AGENT MESSAGE``, ``finish AGENT``, which lets a turn go on that was asked
``hold``, and ``flush AGENT``. At the end of its input it leaves the store.
"""

from __future__ import annotations

import asyncio
import json
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from hazard import HazardError, store_of

from broodline import AgentHandle, BroodlineError, RuleModel, Runtime, SessionError
from broodline.actors.models import Conversation

LONGEST = 60.0
"""Seconds until one that does not answer is taken for hanging."""


class Neighbour:
    """Such a process, as the one who started it sees it.

    Args:
        process: As started.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def tell(self, *words: str) -> None:
        """Give a command without waiting for its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{' '.join(words)}\n".encode())

    def answer(self) -> dict[str, Any]:
        """The answer to the oldest command that has none: empty, or what was refused."""
        output = self._process.stdout
        assert output is not None
        ready, _, _ = select.select([output], [], [], LONGEST)
        line = output.readline() if ready else b""
        if not line:
            self._process.kill()
            said = self._process.stderr.read().decode() if self._process.stderr else ""
            raise HazardError(f"process {self._process.pid} does not answer: {said[-2000:]}")
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, *words: str) -> dict[str, Any]:
        """Give a command and wait for its answer."""
        self.tell(*words)
        return self.answer()

    def stop(self) -> None:
        """Let it stand still, until `go_on`."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it run again."""
        self._process.send_signal(signal.SIGCONT)

    def leave(self) -> int:
        """Let it leave its store and end; returns its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(LONGEST)


@contextmanager
def neighbour(kind: str, place: Path, lease_timeout: float = 30.0) -> Generator[Neighbour]:
    """Start one; it is killed at the end if it is still there."""
    command = [sys.executable, __file__, kind, str(place), str(lease_timeout)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
    with process:
        try:
            yield Neighbour(process)
        finally:
            process.kill()


class _Desk:
    def __init__(self) -> None:
        self._agents: dict[str, AgentHandle] = {}
        self._let = asyncio.Event()
        self._asked = asyncio.Event()

    async def rule(self, conversation: Conversation) -> str:
        """Answer, or wait until it is let."""
        if conversation.prompt == "hold":
            self._asked.set()
            await self._let.wait()
        return f"{conversation.prompt} is done"

    async def do(self, runtime: Runtime, verb: str, name: str, message: str = "") -> None:
        """One command."""
        if verb == "create":
            self._agents[name] = await runtime.agents.create(id=name)
            return
        if verb == "resume":
            self._agents[name] = await runtime.agents.resume(name)
            return
        agent = self._agents.get(name)
        if agent is None:
            raise SessionError("it was not made here", code="NO_AGENT")
        if verb == "flush":
            await runtime.sessions.flush(agent.agent.session)
            return
        if verb == "send":
            await agent.followup(message, id=message)
        else:
            self._let.set()
        await (self._asked.wait() if message == "hold" else agent.when_idle())


async def _work(kind: str, place: Path, lease_timeout: float) -> None:
    desk = _Desk()
    store = store_of(kind, place, lease_timeout=lease_timeout, window=0.005)
    async with Runtime(model=RuleModel(desk.rule), store=store) as runtime:
        while line := await asyncio.to_thread(sys.stdin.readline):
            answer: dict[str, Any] = {}
            try:
                await desk.do(runtime, *line.split())
            except BroodlineError as error:
                cause = error.__cause__
                why = cause.code if isinstance(cause, BroodlineError) else error.code
                answer = {"code": error.code, "why": why, "retryable": error.retryable}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
