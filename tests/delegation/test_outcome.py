"""What a child's log comes to, and how long a text may be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.messages.chunk import ModelFailure
from broodline.messages.payload import AbortCause, TurnEnd, TurnEndReason
from broodline.supervision.outcome import diagnostic_of, stop_reason
from broodline.supervision.truncation import bounded

KINDS: list[tuple[Any, str]] = [
    ("completed", "completed"),
    ("max-tokens", "max-tokens"),
    ("aborted", "aborted"),
    ("blocked", "refusal"),
    ("error", "error"),
    ("interrupted", "error"),
    ("something-new", "error"),
]


@pytest.mark.parametrize(("kind", "reason"), KINDS)
def test_mapping(kind: Any, reason: str) -> None:
    """service OS-16, providers 2.6: every kind of turn end has its stop reason."""
    assert stop_reason(TurnEnd(1, TurnEndReason(kind)), cancelled=False) == reason


def test_no_accounting_turn() -> None:
    """service OS-16: a run whose child consumed nothing is an error."""
    assert stop_reason(None, cancelled=False) == "error"


@pytest.mark.parametrize(("kind", "reason"), KINDS)
def test_cancelled(kind: Any, reason: str) -> None:
    """service OS-15: a cancelled run is aborted unless its turn is recorded as completed."""
    wanted = "completed" if reason == "completed" else "aborted"
    assert stop_reason(TurnEnd(1, TurnEndReason(kind)), cancelled=True) == wanted


def test_cancelled_before_any_turn() -> None:
    """providers 2.6: teardown that beats the loop's bookkeeping is aborted, not an error."""
    assert stop_reason(None, cancelled=True) == "aborted"


def test_diagnostic() -> None:
    """providers 1: the diagnostic names code and message of a failed turn, bounded."""
    failed = TurnEndReason("error", error=ModelFailure("disk full", "IO"))
    assert diagnostic_of(failed) == "IO: disk full"
    assert diagnostic_of(TurnEndReason("completed")) is None
    assert diagnostic_of(TurnEndReason("aborted", reason=AbortCause("user"))) is None
    long = diagnostic_of(TurnEndReason("error", error=ModelFailure("é" * 5000, "IO")))
    assert long is not None
    assert len(long.encode()) <= 4096


def test_bound_is_inclusive() -> None:
    """providers 6, #92: a text of exactly the limit is unchanged, one more byte is cut."""
    assert bounded("x" * 4096, 4096) == "x" * 4096
    cut = bounded("x" * 4097, 4096)
    assert cut.endswith("[truncated: 4097 bytes in all]")
    assert len(cut) == 4096


@given(st.text(max_size=400), st.integers(64, 500))
def test_bound(text: str, limit: int) -> None:
    """providers 15 (12): a cut text keeps a whole prefix, shows its marker and fits the limit."""
    result = bounded(text, limit)
    assert len(result.encode()) <= limit
    if len(text.encode()) <= limit:
        assert result == text
    else:
        kept, _, marker = result.rpartition("\n")
        assert marker == f"[truncated: {len(text.encode())} bytes in all]"
        assert text.startswith(kept)


def test_bound_of_lone_surrogates() -> None:
    """providers 15 (12): what cannot be encoded does not break the cut."""
    assert bounded("\ud800" * 100, 64).endswith("bytes in all]")
