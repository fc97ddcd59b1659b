"""How a run ended, and the words and the document for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..messages.chunk import ModelFailure
from ..survey.board import number_of
from .advice import advice, problem_text
from .board import RunBoard, failure_dict
from .order import Order

Status: TypeAlias = Literal["completed", "failed", "interrupted"]

_ENDS = {
    "max-tokens": "the answer reached the ceiling of one response",
    "blocked": "the task was not let in",
    "aborted": "the root agent was cancelled",
    "interrupted": "the root agent was interrupted",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: ``completed`` with an answer, ``failed`` or ``interrupted``.
        answer: What the root said last; a part of it unless the status is ``completed``.
        stop_reason: Kind of the end of the root's last turn; None before the first.
        failure: What the root failed of.
        problem: What interrupted the run, or what else is wrong; None if nothing is.
        seconds: Wall time.
    """

    status: Status
    answer: str | None = None
    stop_reason: str | None = None
    failure: ModelFailure | None = None
    problem: str | None = None
    seconds: float = 0.0

    def trouble(self) -> str | None:
        """Why there is no whole answer, in one line; None when there is one."""
        if self.status != "failed":
            return None
        if self.failure is not None:
            return problem_text(self.failure)
        return self.problem or _ENDS.get(self.stop_reason or "", f"ended: {self.stop_reason}")

    def broke_off(self) -> bool:
        """Whether words of a message that came in are no answer; a refusal is one."""
        return self.failure is not None and self.failure.code != "REFUSAL"

    def advice(self, order: Order) -> str | None:
        """What a person can do about it; None where nothing is known."""
        if self.status != "failed":
            return None
        if self.failure is not None:
            return advice(self.failure, order)
        return "raise --max-tokens" if self.stop_reason == "max-tokens" else None

    def waits(self, board: RunBoard) -> list[str]:
        """Why requests were being made again when an interruption came, a line a reason."""
        if self.status != "interrupted":
            return []
        found: dict[str, list[str]] = {}
        for worker in board.workers.values():
            if worker.retry is not None:
                found.setdefault(problem_text(worker.retry.failure), []).append(worker.label)
        return [f"{_who(labels)} retrying after {why}" for why, labels in found.items()]

    def summary(self, board: RunBoard) -> str:
        """The last line of a run."""
        sums = [
            number_of(board.agents, "agent"),
            number_of(board.turns, "turn"),
            number_of(board.calls, "tool call"),
            number_of(board.retries, "retry", "retries"),
            str(board.tokens),
            f"{self.seconds:.1f} s",
        ]
        end = f"{self.status}: {self.problem}" if self.status == "interrupted" else self.status
        if left := len(board.running):
            sums.append(f"{number_of(left, 'agent')} could not be stopped")
        return f"run: {', '.join(sums)}, {end}"

    def to_dict(self, order: Order, board: RunBoard) -> dict[str, Any]:
        """The document of ``--json``."""
        return {
            "status": self.status,
            "answer": self.answer,
            "stopReason": self.stop_reason,
            "error": failure_dict(self.failure),
            "problem": self.problem or self.trouble(),
            "advice": self.advice(order),
            "model": order.model,
            "agents": board.agents,
            "turns": board.turns,
            "toolCalls": board.calls,
            "retries": board.retries,
            "left": len(board.running),
            "usage": board.tokens.to_dict(),
            "seconds": round(self.seconds, 3),
            "tree": board.tree(),
        }


def _who(labels: list[str]) -> str:
    if len(labels) == 1:
        return f"{labels[0]} was"
    return f"{number_of(len(labels), 'agent')} were"
