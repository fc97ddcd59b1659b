"""What a run is asked for, and how it speaks of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done.

    Attributes:
        task: The prompt of the root agent.
        model: ``provider:name``.
        path: Absolute path of the folder that the tools read.
        base_url: Another server of the provider's format, or None.
        depth: Levels of agents below the root; at 0 nobody can delegate.
        jobs: Tool calls, delegations too, that one agent runs at once.
        max_tokens: Ceiling of one response; None leaves it to the model.
        max_steps: Most requests of one agent.
        system: What the root is told it is, in place of our own words; or None.
        timeout: Seconds a model may be silent.
        retries: Most retries of one request.
        record: Folder for the log of every session, or None.
    """

    task: str
    model: str
    path: str
    base_url: str | None = None
    depth: int = 2
    jobs: int = 8
    max_tokens: int | None = None
    max_steps: int = 100
    system: str | None = None
    timeout: float = 600.0
    retries: int = 5
    record: str | None = None

    @property
    def provider(self) -> str:
        """Who serves the model."""
        return self.model.partition(":")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Manner:
    """How the run speaks.

    Attributes:
        as_json: One JSON document instead of the text.
        live: Show the tree of agents while they work, where that can be done.
        quiet: No progress.
        reasoning: Show what the root thinks, where the model says it.
    """

    as_json: bool = False
    live: bool = True
    quiet: bool = False
    reasoning: bool = False
