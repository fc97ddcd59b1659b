"""A tree of files with everything that can be odd about one, and agents played by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from broodline.messages.content import Text, ToolCall, ToolResult
from broodline.messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from broodline.survey.facts import Facts
from broodline.survey.ground import Ground
from broodline.survey.rules import next_message
from broodline.survey.task import Task

Answer = tuple[str, bool]
Override = Callable[[ToolCall], Answer | None]


class HandPlay:
    """Plays agents by hand: the rules, the tools' plain work, and no runtime.

    `override` may answer a call in the tools' place. `messages` is the root's conversation.
    """

    def __init__(self, ground: Ground, override: Override = lambda call: None) -> None:
        self.ground = ground
        self.override = override
        self.agents = 0
        self.calls: list[ToolCall] = []
        self.messages: list[Message] = []

    def survey(self, levels: int = 4) -> Facts:
        return Facts.from_json(self.play(Task("", levels)))

    def play(self, task: Task) -> str:
        self.agents += 1
        messages: list[Message] = [UserMessage("prompt", (Text(task.prompt()),))]
        if self.agents == 1:
            self.messages = messages
        while not isinstance(said := next_message(messages), str):
            messages.append(AssistantMessage("said", tuple(said), {}))
            for call in said:
                self.calls.append(call)
                text, is_error = self.override(call) or (self.answer(call), False)
                result = ToolResult(call.id, (Text(text),), is_error)
                messages.append(ToolMessage("result", (result,), {}))
        messages.append(AssistantMessage("answer", (Text(said),), {}))
        return said

    def answer(self, call: ToolCall) -> str:
        arguments = json.loads(call.arguments)
        if call.name == "subagent":
            task = Task.read(arguments["prompt"])
            assert task is not None
            return self.play(task)
        work = self.ground.list_page if call.name == "list" else getattr(self.ground, call.name)
        return json.dumps(work(**arguments, check=lambda: None))


@pytest.fixture
def odd_tree(tmp_path: Path) -> Path:
    """A folder with odd names, encodings, links, loops, binaries, empties and caches."""
    root = tmp_path / "odd tree's $HOME"
    root.mkdir()

    def put(path: str | bytes, content: bytes = b"") -> None:
        target = os.path.join(os.fsencode(root), os.fsencode(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)

    put("plain.py", b'def told():\n    "Yes."\n\n\ndef bare():\n    pass  # TODO: more\n')
    put("sub/no newline.py", b"async def bare(): pass # FIXME")
    put("sub/deeper/still/deeper/and/on.py", b"# XXX\n# TODO HACK\nclass A:\n  def m(self): ...\n")
    put("broken.py", b"def a(:\n")
    put("sub/latin.py", "# é\n".encode("latin-1"))
    put("sub/cookie.py", "# coding: latin-1\ndef é(): 'x'\n".encode("latin-1"))
    put("notes.txt", b"\xff\xfe odd \xe9\r\nxTODO TODOx _HACK_\n\xc3\xa9TODO\n")
    put("binary.py", b"def a():\n\0\n")
    put("data/image.bin", bytes(range(256)) * 10)
    put("data/late.bin", b"x" * 100_000 + b"\0")
    put("empty.py")
    put("new\nline\n.py", b"def f(): 'told'\n")
    put(b"bytes \xff\xfe/\xff.py", b"def f(): pass\n")
    put("\u202eunicode \U0001f600/größe.md", b"# TODO\n")
    put("back\\slash/x.txt", b"1\n2\n3")
    put("-dash/-n.py", b"def f(): pass\n")
    put(".hidden.py", b"def f(): pass # TODO\n")
    put(".git/config", b"x\n")
    put("sub/__pycache__/a.pyc", b"\0")
    put("equal/b.md", b"z" * 200_000)
    put("equal/a.md", b"y" * 200_000)
    for folder in ("empty", "empty/inner", "sub/deeper/empty"):
        os.makedirs(root / folder)
    os.mkfifo(root / "pipe.py")
    (root / "link.py").symlink_to("plain.py")
    (root / "sub" / "up").symlink_to("..")
    (root / "twin").symlink_to("sub")
    (root / "nowhere").symlink_to("missing")
    (root / "self").symlink_to("self")
    return root


@pytest.fixture
def hand_play() -> type[HandPlay]:
    """The class that plays agents by hand."""
    return HandPlay
