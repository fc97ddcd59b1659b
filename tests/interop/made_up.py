"""A made-up recording: a turn with a tool call, a child, an answer, and a second turn."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, Any]

DRIVER = """
recording = "made/up"
host = [{ say = 1 }, { say = 2 }]

[tools]
look = "recorded"
ask = "subagent"
"""
ROOT, CHILD = "root-id", "child-id"


@dataclass
class MadeUp:
    """Two logs and a driver, to be changed before they are written.

    Attributes:
        folder: Where they are written.
        root: The rows of the root, its header first.
        child: The rows of its child.
        driver: The text of the driver file.
    """

    folder: Path
    root: list[Row] = field(default_factory=list)
    child: list[Row] = field(default_factory=list)
    driver: str = DRIVER

    @property
    def recordings(self) -> Path:
        return self.folder / "recordings"

    @property
    def drivers(self) -> Path:
        return self.folder / "drivers"

    def write(self) -> list[str]:
        """Write everything; returns the options that lead a command to it."""
        place = self.recordings / "made" / "up"
        place.mkdir(parents=True, exist_ok=True)
        self.drivers.mkdir(exist_ok=True)
        for name, rows in (("session.jsonl", self.root), ("session.1.jsonl", self.child)):
            (place / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        (self.drivers / "one.toml").write_text(self.driver)
        return [f"--recordings={self.recordings}", f"--drivers={self.drivers}"]

    def row(self, kind: str, number: int = 1) -> Row:
        """That row of the root of a type, from 1."""
        return [row for row in self.root if row["type"] == kind][number - 1]

    def edit(self, kind: str, number: int, path: str, value: Any) -> None:
        """Change a member of a row of the root."""
        *parents, last = path.split(".")
        part: Any = self.row(kind, number)
        for name in parents:
            part = part[int(name) if isinstance(part, list) else name]
        part[int(last) if isinstance(part, list) else last] = value


def make_up(folder: Path) -> MadeUp:
    """A recording and its driver, which replay as they are."""
    made = MadeUp(folder)
    made.root = [_header(ROOT), *_prompt("m1", "Look and ask.", 1, "initial")]
    made.root += _calls(
        made.root, 1, 1, [("c1", "look", "{}"), ("c2", "ask", _json("errand", "Say ten."))]
    )
    made.root += _result(made.root, 1, 1, "c1", "look", "{}", "nothing there")
    made.root += _result(made.root, 1, 1, "c2", "ask", _json("errand", "Say ten."), "ten")
    made.root += [_row("step/end", turn=1, step=1), _row("step/start", turn=1, step=2)]
    made.root += _says(made.root, 1, 2, "It is ten.")
    made.root += _prompt("m5", "Thanks.", 2, None)
    made.root += _says(made.root, 2, 1, "Gladly.")
    child = {"parentSession": ROOT, "origin": "subagent", "delegationDepth": 1}
    made.child = [{**_header(CHILD), **child}, *_prompt("p1", "Say ten.", 1, "initial")]
    described = _row(
        "subagent/descriptor", version=2, mode="one-shot", provider="spawn", label="errand"
    )
    made.child.insert(4, described)
    made.child += _says(made.child, 1, 1, "ten")
    # Rows share parts until here, and a change is to be one change.
    made.root, made.child = json.loads(json.dumps([made.root, made.child]))
    return made


def _row(kind: str, **data: Any) -> Row:
    return {"type": kind, "data": data}


def _header(name: str) -> Row:
    header = {"id": name, "createdAt": 0, "cwd": "{{cwd}}", "delegationDepth": 0}
    return {"type": "session", "version": 0, **header}


def _json(description: str, prompt: str) -> str:
    return json.dumps({"description": description, "prompt": prompt})


def _prompt(name: str, text: str, turn: int, reason: str | None) -> list[Row]:
    content, source = [{"type": "text", "text": text}], {"kind": "user"}
    message: Row = {"id": name, "role": "user", "content": content, "source": source}
    splice = {"target": "next-turn", "start": 0}
    rows = [
        _row("agent/inbox/spliced", **splice, inserted=[message]),
        _row("turn/start", turn=turn),
        _row("agent/inbox/spliced", **splice, removedCount=1, inserted=[]),
        _row("step/start", turn=turn, step=1),
        {**_row("user/message", **message), "surfaceOp": "append"},
    ]
    if reason is not None:
        header = {"config": {"provider": "p", "model": "m"}, "system": "{{system}}"}
        rows.append(_row("request/header", header={**header, "tools": "{{tools}}"}, reason=reason))
    return rows


def _streamed(before: list[Row], turn: int, step: int, blocks: list[Row], finish: str) -> list[Row]:
    chunks: list[Row] = [
        {"type": "block-end", "index": index, "block": block} for index, block in enumerate(blocks)
    ]
    usage = {"inputTokens": 3, "outputTokens": 2}
    chunks.append({"type": "usage", "usage": usage})
    chunks.append({"type": "finish", "reason": {"kind": finish}})
    rows = [_row("assistant/chunk", turn=turn, step=step, chunk=chunk) for chunk in chunks]
    message = {
        "id": f"a{turn}{step}",
        "role": "assistant",
        "content": blocks,
        "source": {"kind": "model", "provider": "p", "model": "m"},
    }
    seqs = [len(before) - 1 + place for place in range(len(rows))]
    said = _row("assistant/message", turn=turn, step=step, message=message, usage=usage)
    return [*rows, {**said, "sourceEventSeqs": seqs, "surfaceOp": "append"}]


def _says(before: list[Row], turn: int, step: int, text: str) -> list[Row]:
    return [
        *_streamed(before, turn, step, [{"type": "text", "text": text}], "stop"),
        _row("step/end", turn=turn, step=step),
        _row("turn/end", turn=turn, reason={"kind": "completed"}),
    ]


def _calls(
    before: list[Row], turn: int, step: int, wanted: list[tuple[str, str, str]]
) -> list[Row]:
    blocks: list[Row] = [
        {"type": "tool-call", "id": name, "name": tool, "arguments": arguments}
        for name, tool, arguments in wanted
    ]
    return _streamed(before, turn, step, blocks, "tool-calls")


def _result(
    before: list[Row], turn: int, step: int, name: str, tool: str, arguments: str, text: str
) -> list[Row]:
    block = {"toolCallId": name, "content": [{"type": "text", "text": text}], "isError": False}
    message = {
        "id": f"r{name}",
        "role": "user",
        "content": [{"type": "tool-result", **block}],
        "source": {"kind": "tool", "callId": name},
    }
    call = _row("tool/call", turn=turn, step=step, callId=name, name=tool, arguments=arguments)
    result = _row("tool/result", turn=turn, step=step, message=message)
    return [call, {**result, "sourceEventSeqs": [len(before) - 1], "surfaceOp": "append"}]
