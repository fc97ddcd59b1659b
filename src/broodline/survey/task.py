"""The prompt of a surveying agent: which folder, and how many levels it may delegate."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..messages.content import text_of
from ..messages.message import Message, UserMessage

PERSONA = """\
You survey folders of files. List your folder first. Then count its files, find the to-do \
marks in them, read its Python files, and delegate every folder in it to a child of its own, \
all in one message. Merge what comes back and answer with the facts as one line of JSON."""


@dataclass(frozen=True, slots=True)
class Task:
    """What one agent is asked.

    Attributes:
        folder: Path below the survey's top as `shown`; ``""`` is the top.
        levels: Levels of agents allowed below this one; at 0 it reads all that is below itself.
    """

    folder: str
    levels: int

    def prompt(self) -> str:
        """The words for a model; the last line is the task as JSON."""
        where = f"the folder {self.folder}" if self.folder else "the whole folder"
        who = (
            "delegating each folder in it to a child"
            if self.levels
            else "reading all that is below it yourself"
        )
        task = json.dumps({"folder": self.folder, "levels": self.levels})
        return f"Survey {where}, {who}.\n{task}"

    def child(self, folder: str) -> Task:
        """The task for a folder in this one."""
        return Task(folder, self.levels - 1)

    @classmethod
    def read(cls, prompt: str) -> Task | None:
        """The task in a prompt, or None when there is none."""
        try:
            task: Any = json.loads(prompt.rpartition("\n")[2])
            return cls(str(task["folder"]), int(task["levels"]))
        except (ValueError, TypeError, KeyError):
            return None

    @classmethod
    def of_call(cls, arguments: str) -> Task | None:
        """The task that a call of the delegation tool hands out, or None."""
        try:
            return cls.read(str(json.loads(arguments)["prompt"]))
        except (ValueError, TypeError, KeyError):
            return None


def task_of(messages: Iterable[Message]) -> Task | None:
    """The first task that a user message of the conversation holds."""
    for message in messages:
        if isinstance(message, UserMessage):
            task = Task.read(text_of(message.content))
            if task is not None:
                return task
    return None
