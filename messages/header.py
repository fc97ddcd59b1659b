"""The session header: immutable facts beside the log, never shown to a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FORMAT_VERSION = 0


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """Identity and lineage of one session.

    Attributes:
        id: The session's and its agent's id.
        created_at: Epoch milliseconds.
        cwd: Absolute path, or None.
        parent_session: Id of the delegating parent; lineage only.
        seed_length: How many leading events came from the parent's log (fork).
        origin: ``"subagent"`` or None; a hint, never an authority.
        delegation_depth: 0 for a root; a child is its parent plus one. None is 0.
        agent_preset: Kept on read, without a meaning here.
    """

    id: str
    created_at: int
    cwd: str | None = None
    parent_session: str | None = None
    seed_length: int | None = None
    origin: Literal["subagent"] | None = None
    delegation_depth: int | None = None
    agent_preset: str | None = None
    version: int = FORMAT_VERSION


def is_own_seq(header: SessionHeader, seq: int) -> bool:
    """Whether the event at `seq` is the session's own, not inherited by a fork.

    The one rule used by every fold. Source: DESIGN section 5.
    """
    return seq >= (header.seed_length or 0)
