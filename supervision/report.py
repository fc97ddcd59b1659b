"""What the parent's model reads of a delegation: pure functions over its result."""

from __future__ import annotations

from typing import Any

from ..messages.passage import encode_block
from ..messages.result import SubagentResult
from .outcome import said_by
from .truncation import DIAGNOSTIC_LIMIT, bounded

_HEADLINES = {
    "completed": "The subagent finished, but ending it failed.",
    "aborted": "The subagent was cancelled before it finished.",
    "error": "The subagent failed.",
    "max-tokens": "The subagent reached its token limit before it finished.",
    "refusal": "The subagent's task was declined.",
}


def value_of(run_id: str, result: SubagentResult) -> dict[str, Any]:
    """The value of a successful call: ``{kind, runId, output}``, all blocks kept."""
    output = [encode_block(block) for block in result.output]
    return {"kind": "foreground", "runId": run_id, "output": output}


def answer_text(value: dict[str, Any], limit: int) -> str:
    """The text blocks of a value without a separator, cut visibly at `limit` UTF-8 bytes."""
    blocks = value["output"]
    text = "".join(b["text"] for b in blocks if b["type"] == "text")
    return bounded(text, limit, _whole(value["runId"]))


def headline(stop_reason: str) -> str:
    """One sentence on why there is no plain answer; an unknown reason is named."""
    known = _HEADLINES.get(stop_reason)
    return f"The subagent ended abnormally: {stop_reason}." if known is None else known


def failure_text(
    result: SubagentResult | None,
    fault: Exception | None,
    left: Exception | None,
    limit: int,
    run_id: str = "",
) -> str:
    """What the model is told when there is no plain answer; nothing that is known is lost.

    Args:
        result: What the child came to, or None when it could not be had.
        fault: Why it could not be had.
        left: Why the child could not be released, or None.
        limit: Most UTF-8 bytes of the child's own text.
        run_id: Whose log has the whole of it.
    """
    parts = [headline("error" if result is None else result.stop_reason)]
    if fault is not None:
        parts.append(f"Fault: {bounded(said_by(fault), DIAGNOSTIC_LIMIT)}")
    if left is not None:
        parts.append(f"Release: {bounded(said_by(left), DIAGNOSTIC_LIMIT)}")
    if result is not None and result.diagnostic:
        parts.append(f"Diagnostic: {result.diagnostic}")
    if result is not None and result.text:
        kind = "Answer" if result.ok else "Partial answer"
        parts.append(f"{kind}:\n{bounded(result.text, limit, _whole(run_id))}")
    return "\n".join(parts)


def _whole(run_id: str) -> str:
    return f"see subagent {run_id} for the whole" if run_id else ""
