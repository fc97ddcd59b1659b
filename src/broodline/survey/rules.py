"""The rules that stand in for a model: the next message as a function of the conversation.

The rules look at what was asked, which calls were made and what came back; from
that follows what is still missing. They keep nothing between two calls, so the
same conversation always gives the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..actors.repair import CLOSED_RESULT
from ..messages.content import ToolCall, ToolResult, text_of
from ..messages.message import AssistantMessage, Message, ToolMessage
from ..supervision.report import headline
from .facts import Facts, Largest, Noted, Place
from .folder import VANISHED
from .task import Task, task_of

CALLS_A_MESSAGE = 64
"""Most calls in one message; a wide folder is worked off in several."""

NO_TASK = 'I only survey folders: end the prompt with a line {"folder": "...", "levels": N}.'

REASON_KEPT = 300
"""Characters kept of what a failed tool or child said."""

LABEL_KEPT = 60
"""Characters of a folder's path in a child's label; the end is kept."""

_CALLED_OFF = ("Error: tool call aborted", f"Error: {headline('aborted')}")
"""How the result begins of a call, or a child, that a stop of the survey ended."""

_NONE = Noted().to_dict()
_NO_OUTLINE: dict[str, Any] = {
    "functions": 0,
    "undocumented": _NONE,
    "unparsed": _NONE,
    "skipped": [],
}

_Key = tuple[str, str]
"""A tool's name and its arguments as JSON: what tells one call from another."""


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    is_error: bool


@dataclass(slots=True)
class _Progress:
    """Which calls are still to be made, and the facts that are in."""

    answers: dict[_Key, _Answer]
    missing: list[_Key] = field(default_factory=list[_Key])
    facts: Facts = field(default_factory=Facts)

    def ask(self, name: str, **arguments: Any) -> _Answer | None:
        """The answer of a call made before; otherwise note that it must be made."""
        key = (name, json.dumps(arguments, separators=(",", ":")))
        answer = self.answers.get(key)
        if answer is None:
            self.missing.append(key)
        return answer


def next_message(messages: Sequence[Message]) -> str | list[ToolCall]:
    """The tool calls to make next, or the final answer: the facts as one line of JSON."""
    task = task_of(messages)
    if task is None:
        return NO_TASK
    calls, answers = _calls_of(messages)
    progress = _Progress(answers)
    _survey(progress, task, task.folder, deep=task.levels <= 0)
    if not progress.missing:
        return progress.facts.to_json()
    return [
        ToolCall(f"call-{calls + number}", name, arguments)
        for number, (name, arguments) in enumerate(progress.missing[:CALLS_A_MESSAGE], start=1)
    ]


def _survey(progress: _Progress, task: Task, folder: str, *, deep: bool) -> None:
    """Go through a folder as far as the answers reach."""
    for page in _pages(progress, folder, deep):
        progress.facts += Facts(
            folders=len(page["folders"]),
            hidden=page["hidden"],
            links=page["links"],
            special=page["special"],
            skipped=_by_reason(folder, page["skipped"]),
        )
        if page["files"]:
            _read_files(progress, folder, page["files"])
        if not deep:
            for name in page["folders"]:
                _delegate(progress, task, _join(folder, name))


def _pages(progress: _Progress, folder: str, deep: bool) -> Iterator[dict[str, Any]]:
    after = ""
    while True:
        answer = progress.ask("list", folder=folder, deep=deep, after=after)
        page = _value(progress, answer, folder)
        if page is None:
            return
        yield page
        if not page["after"]:
            return
        after = page["after"]


def _delegate(progress: _Progress, task: Task, folder: str) -> None:
    prompt = task.child(folder).prompt()
    answer = progress.ask("subagent", description=_label(folder), prompt=prompt)
    if answer is None:
        return
    if answer.is_error and "maxDepth" in answer.text:
        _survey(progress, task, folder, deep=True)
        return
    try:
        if answer.is_error:
            raise ValueError(answer.text)
        progress.facts += Facts.from_json(answer.text)
    except ValueError as error:
        _fail(progress, folder, str(error))


def _read_files(progress: _Progress, folder: str, files: list[str]) -> None:
    """Count, find and read the files of one page; add the facts once all three are in."""
    python = [name for name in files if name.endswith(".py")]
    asked = [
        progress.ask("count", folder=folder, files=files),
        progress.ask("find", folder=folder, files=files),
    ]
    if python:
        asked.append(progress.ask("read", folder=folder, files=python))
    values = [_value(progress, answer, folder) for answer in asked]
    if None not in values:
        progress.facts += _facts_of(folder, files, [value for value in values if value])


def _facts_of(folder: str, files: list[str], values: list[dict[str, Any]]) -> Facts:
    """Join what the tools say of the same files; a file that any of them missed is skipped."""
    skipped: dict[str, str] = {}
    for value in values:
        for name, reason in value["skipped"]:
            skipped.setdefault(name, reason)
    count, find = values[0], values[1]
    outline = values[2] if len(values) > 2 else _NO_OUTLINE
    missed: dict[str, str] = dict(count["skipped"])
    text = [name for name in files if name not in missed]
    return Facts(
        files=len(files) - sum(reason == VANISHED for reason in missed.values()),
        text_files=len(text),
        python_files=sum(name.endswith(".py") for name in text),
        lines=count["lines"],
        bytes=count["bytes"],
        functions=outline["functions"],
        largest=_largest(folder, count["largest"]),
        undocumented=_noted(folder, outline["undocumented"]),
        marks=_noted(folder, find["marks"]),
        unparsed=_noted(folder, outline["unparsed"]),
        skipped=_by_reason(folder, skipped.items()),
    )


def _calls_of(messages: Sequence[Message]) -> tuple[int, dict[_Key, _Answer]]:
    """How many calls the conversation holds, and the answers by what was called."""
    made: dict[str, _Key] = {}
    answers: dict[_Key, _Answer] = {}
    for message in messages:
        for block in message.content:
            if isinstance(message, AssistantMessage) and isinstance(block, ToolCall):
                made[block.id] = (block.name, block.arguments)
            elif isinstance(message, ToolMessage) and isinstance(block, ToolResult):
                if was_cut_off(message, block):
                    continue
                answer = _Answer(text_of(block.content), block.is_error)
                answers[made[block.tool_call_id]] = answer
    return len(made), answers


def was_cut_off(message: ToolMessage, result: ToolResult) -> bool:
    """Whether a result only says that the survey ended before the call did: it is made again.

    Source: spec core 4; DESIGN section 4.
    """
    if message.id.startswith(CLOSED_RESULT):
        return True
    return result.is_error and text_of(result.content).startswith(_CALLED_OFF)


def _value(progress: _Progress, answer: _Answer | None, folder: str) -> dict[str, Any] | None:
    """The JSON object that a tool answered; None while there is none, or when it failed."""
    if answer is None:
        return None
    if answer.is_error:
        _fail(progress, folder, answer.text)
        return None
    value: dict[str, Any] = json.loads(answer.text)
    return value


def _fail(progress: _Progress, folder: str, reason: str) -> None:
    progress.facts += Facts(failed=Noted.of([(folder, 0, reason[:REASON_KEPT])]))


def _largest(folder: str, found: dict[str, Any] | None) -> Largest | None:
    if found is None:
        return None
    return Largest(_join(folder, found["path"]), found["bytes"], found["lines"])


def _noted(folder: str, document: dict[str, Any]) -> Noted:
    """A tool's note with the folder put before its paths."""
    noted = Noted.from_dict(document)
    places = ((_join(folder, path), line, detail) for path, line, detail in noted.first)
    return Noted(noted.count, tuple(places))


def _by_reason(folder: str, skipped: Iterable[Sequence[str]]) -> dict[str, Noted]:
    places: dict[str, list[Place]] = {}
    for path, reason in skipped:
        places.setdefault(reason, []).append((_join(folder, path), 0, ""))
    return {reason: Noted.of(places[reason]) for reason in sorted(places)}


def _join(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder and path else folder or path


def _label(folder: str) -> str:
    return folder if len(folder) <= LABEL_KEPT else f"…{folder[1 - LABEL_KEPT :]}"
