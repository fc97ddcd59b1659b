"""A driver file: what stands around the loop in one recorded scenario.

It says who else takes part (host, tools, hooks) and refers to the recording for
every word of theirs: nothing of a recording is copied here, and nothing here
tells the loop in which order to write its events.

Numbers count from 1 in the root's recorded log: ``say = 2`` is its second inbox
insert, ``call 3`` its third tool call.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from broodline.actors.models.retry import RetryPolicy

DRIVERS = Path(__file__).parent / "drivers"

Tool: TypeAlias = Literal["recorded", "subagent", "delegate"]
"""What a tool does.

``recorded`` returns, or fails with, what was recorded for the same call;
``subagent`` is the real `SubagentTool`, called by the name the model uses;
``delegate`` is a tool of the host that starts a child itself, without a label, with the
prompt of the next recorded child, and then returns what was recorded.
"""

_OCCASION = re.compile(r"idle|call \d+|chunk \d+|before step \d+\.\d+|stopping \d+")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Act(_Table):
    """One thing the host does: it says something or calls the turn off.

    Attributes:
        say: Which recorded inbox insert it hands in.
        how: By which of the agent's doors.
        cancel: The cause of a cancellation.
        when: ``idle``, when everything before is done; or at an occasion: ``call 2``,
            while the body of that call runs; ``chunk 2``, when the model has sent so
            many; ``before step 1.2``, while that step is being admitted; ``stopping
            1``, when a turn is about to end for the first time.
    """

    say: int | None = Field(None, ge=1)
    how: Literal["followup", "steer", "inject"] = "followup"
    cancel: Literal["user"] | None = None
    when: str = "idle"

    @field_validator("when")
    @classmethod
    def _occasion(cls, when: str) -> str:
        if not _OCCASION.fullmatch(when):
            raise ValueError(f"{when!r} is no occasion")
        return when

    @model_validator(mode="after")
    def _one_thing(self) -> Act:
        if (self.say is None) == (self.cancel is None):
            raise ValueError("an act is either say or cancel")
        return self


class Hook(_Table):
    """What a hook of the host answers, at a tool call or before a step.

    Attributes:
        call: At which tool call.
        step: Before which step, as ``1.2``.
        deny: Refuse the call with the words of that ``hook/result``.
        ask: Ask for an approval with the words of that ``approval/asked``.
        block: Put the words of that ``hook/result`` in the place of the result.
        add: Accept the result and add that inbox insert as context.
        defer: The tool itself defers that inbox insert.
        enter: Admit that ``user/message`` behind the others.
        stage: Put that inbox insert into the inbox and take it out again before.
    """

    call: int | None = Field(None, ge=1)
    step: str | None = None
    deny: int | None = Field(None, ge=1)
    ask: int | None = Field(None, ge=1)
    block: int | None = Field(None, ge=1)
    add: int | None = Field(None, ge=1)
    defer: int | None = Field(None, ge=1)
    enter: int | None = Field(None, ge=1)
    stage: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _one_place(self) -> Hook:
        at_call = any((self.deny, self.ask, self.block, self.add, self.defer))
        if (self.call is None, self.step is None) != (not at_call, self.enter is None):
            raise ValueError("a hook is at a call (deny, ask, block, add, defer) or a step (enter)")
        return self


class Retry(_Table):
    """The retry policy, in seconds."""

    retries: int
    base: float
    cap: float
    jitter: float = 0.0

    def policy(self) -> RetryPolicy:
        """The same for the runtime."""
        return RetryPolicy(retries=self.retries, base=self.base, cap=self.cap, jitter=self.jitter)


class Difference(_Table):
    """A difference that is meant; one that is told and not there is a failure too.

    Attributes:
        session: 0 is the root, then the children in their order.
        event: Its type and which of that type, as ``tool/result 1``.
        field: Where, as ``message.content.0.isError``.
        why: For people.
    """

    session: int = 0
    event: str
    field: str
    why: str


class Driver(_Table):
    """One driver file.

    Attributes:
        recording: The folder, below that of all recordings.
        host: What the host does, in order.
        tools: The tools by name.
        hooks: What the hooks of the host answer.
        retry: How failed requests are met; None is the runtime's own way.
        broken: Whether the run of each child fails once it is published, and its release.
        differs: The differences that are meant.
    """

    recording: str
    host: tuple[Act, ...]
    tools: dict[str, Tool] = {}
    hooks: tuple[Hook, ...] = ()
    retry: Retry | None = None
    broken: bool = False
    differs: tuple[Difference, ...] = ()


def read_driver(path: Path) -> Driver:
    """Read one driver file.

    Raises:
        ValueError: If it is malformed, naming the place.
    """
    return Driver.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


def driver_files(folder: Path = DRIVERS) -> tuple[Path, ...]:
    """All driver files, in the order of their names."""
    return tuple(sorted(folder.rglob("*.toml")))


def name_of(path: Path, folder: Path = DRIVERS) -> str:
    """What a scenario is called: its place below the folder of drivers."""
    return path.relative_to(folder).with_suffix("").as_posix()
