"""The built-in model of ``python -m broodline.testing.wire``: it delegates, works, sums up.

The root thinks a sentence and hands its task to two children at once, each lists the top
of the folder and counts or searches its files, and the root tells what they said. What is
not offered is left out: without the delegation tool it works itself, without tools it only talks.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .form import is_list, mapping
from .request import WireRequest
from .script import Answer, Call, call, calls, say
from .turn import Turn

_DELEGATE = "subagent"
_TASKS = {
    "count": "Count the lines of the files at the top of the folder.",
    "find": "Find the to-do marks in the files at the top of the folder.",
}
"""What a helper is told, by the tool that it is to use."""

_PLAN = "Counting and searching do not depend on each other, so two helpers can do them at once."
"""What the root thinks before its first answer."""

_MOST_FILES = 20
_SHOWN = 300


def demo_rule(request: WireRequest) -> Answer:
    """Answer by what has happened since the last answer that called nothing."""
    since = _in_progress(request.turns)
    done = [one for turn in since for one in turn.calls]
    results = [text for turn in since for _, text in turn.results]
    asked = "\n".join(turn.text for turn in since if turn.role == "user")
    goal = next((name for name, task in _TASKS.items() if task in asked), None)
    if goal is None:
        if done and done[0].name == _DELEGATE:
            return _sum_up(results)
        handed = [
            call(_DELEGATE, {"description": f"{name} files", "prompt": task})
            for name, task in _TASKS.items()
        ]
        if not done and _fits(request, handed[0]):
            told = _words("I hand this to helpers, side by side. ")
            return calls(*handed, text=told, reasoning=_words(_PLAN))
    return _work(request, goal or "count", done, results)


def _in_progress(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """What follows the last answer that was one."""
    for at in range(len(turns) - 1, -1, -1):
        if turns[at].role == "assistant" and not turns[at].calls:
            return turns[at + 1 :]
    return turns


def _work(request: WireRequest, goal: str, done: list[Call], results: list[str]) -> Answer:
    listing = call("list", {"folder": ""})
    if not done:
        if _fits(request, listing):
            return calls(listing, text=_words("I look at what is there. "))
        return say(*_words(f"There is no tool for files here, so nothing to {goal}."))
    if len(done) == 1 and done[0].name == "list":
        files = _files_in(results[-1] if results else "")
        wanted = call(goal, {"folder": "", "files": files[:_MOST_FILES]})
        if files and _fits(request, wanted):
            return calls(wanted)
    found = _short(results[-1]) if results else "nothing"
    return say(*_words(f"The tool {done[-1].name} answered: {found}"))


def _sum_up(results: list[str]) -> Answer:
    told = "\n".join(f"- {_short(text)}" for text in results)
    return say(*_words(f"{len(results)} helpers are back. They say:\n{told}"))


def _fits(request: WireRequest, one: Call) -> bool:
    """Whether the tool is offered and takes these arguments."""
    schema = request.schemas.get(one.name)
    if schema is None:
        return False
    given = (mapping(json.loads(one.arguments)) or {}).keys()
    required: Any = schema.get("required") or ()
    return set(required) <= given <= (mapping(schema.get("properties")) or {}).keys()


def _files_in(listing: str) -> list[str]:
    """The names in an answer of the list tool; none where it was an error."""
    try:
        found = mapping(json.loads(listing)) or {}
    except ValueError:
        return []
    names = found.get("files")
    return [name for name in names if isinstance(name, str)] if is_list(names) else []


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "…"


def _words(text: str) -> tuple[str, ...]:
    """A piece for each word, its blank with it."""
    return tuple(re.findall(r"[^ ]+ *| +", text))
