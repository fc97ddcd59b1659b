"""Writing logs: what is written is what was there, whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.recording import read_log, read_recording
from broodline.actors.recording_writer import log_rows, write_log, write_recording
from broodline.messages.content import Text
from broodline.messages.errors import ConfigurationError
from broodline.messages.header import SessionHeader
from broodline.messages.payload import Descriptor, OpaquePayload, ToolFilter


def test_what_is_written_is_read_back(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 15.1: header and events of a written log are read back as they were, strictly."""
    build = kit.build()
    build.add(Descriptor("continuable", "spawn", "l", tool_filter=ToolFilter(("a",), ())))
    build.add(OpaquePayload("todo/write", {"todos": [{"content": "é\u2028\n"}]}))
    build.start().say("hello").end()
    header = SessionHeader("s", 5, "/srv", "p", None, "subagent", 2, "preset")
    write_log(build.log(header), tmp_path / "session.jsonl")
    again = read_log(tmp_path / "session.jsonl", form="strict")
    assert (again.header, again.events) == (header, tuple(build.events))


def test_the_bytes(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 15.1, 5.5: UTF-8, one row a line, ended by a line feed, runs packed, depth named."""
    build = kit.build().start()
    build.stream(*kit.said("é")[:1], *[kit.said("é")[1]] * 4)
    path = tmp_path / "session.jsonl"
    write_log(build.log(), str(path))
    text = path.read_bytes().decode()
    assert text.endswith("}\n")
    header, *rows = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
    assert header == {
        "type": "session",
        "version": 0,
        "id": "s",
        "createdAt": 0,
        "delegationDepth": 0,
    }
    assert [row["type"] for row in rows][-2:] == ["assistant/chunk", "text-chunks"]
    assert "é" in text
    assert [path.name for path in tmp_path.iterdir()] == ["session.jsonl"]


def test_a_projected_log_stays_projected(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 15.3: a projected log is written without numbers, times and a depth it did not have."""
    source = [json.dumps({**kit.HEADER, "cwd": "{{cwd}}"})]
    source += [json.dumps({"type": "turn/start", "data": {"turn": 1}})]
    log = read_log(source)
    write_log(log, tmp_path / "a.jsonl")
    assert read_log(tmp_path / "a.jsonl", form="projected").events == log.events
    assert [list(row) for row in log_rows(log)][1] == ["type", "data"]
    assert "delegationDepth" not in next(iter(log_rows(log)))


def test_what_was_there_is_replaced(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 15.1: a file that was there is the new log afterwards, nothing of the old one left."""
    path = kit.written("x" * 10_000)
    write_log(kit.build().start().log(), path)
    assert len(read_log(path).events) == 3


def test_a_failure_leaves_what_was_there(
    kit: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """core 5.5: if it cannot be written to its end, the old file stays and no draft is left."""
    path = kit.written("as it was")

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(ConfigurationError, match="cannot be written: no space left"):
        write_log(kit.build().start().log(), path)
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["none/session.jsonl", "a\0b", "."])
def test_a_place_where_nothing_can_be_written(
    name: str, kit: SimpleNamespace, tmp_path: Path
) -> None:
    """DESIGN 8: a path that takes no file is refused by its name, and no foreign error leaks."""
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_log(kit.build().log(), tmp_path / name)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_log(kit.build().log(), "")


def test_a_recording_is_written(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 15: the root is session.jsonl, the children follow in the order they are given."""
    logs = [kit.build().start().say(str(n)).log(SessionHeader(f"s{n}", 0)) for n in range(12)]
    folder = tmp_path / "runs" / "first"
    write_recording(folder, *logs)
    read = read_recording(folder)
    assert [log.header.id for log in read.logs] == [f"s{n}" for n in range(12)]
    assert [log.events for log in read.logs] == [log.events for log in logs]


def test_a_recording_is_not_written_over_another(kit: SimpleNamespace, tmp_path: Path) -> None:
    """DESIGN 8: a folder that holds a recording is refused, and the recording stays."""
    log = kit.build().start().say("x").log()
    write_recording(tmp_path, log, log)
    (tmp_path / "session.jsonl").unlink()
    with pytest.raises(ConfigurationError, match=r"holds a recording already \(session\.1\.jsonl"):
        write_recording(tmp_path, log)
    assert not (tmp_path / "session.jsonl").exists()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_recording(tmp_path / "session.1.jsonl", log)


def test_nothing_is_written_of_what_cannot_be_read(kit: SimpleNamespace, tmp_path: Path) -> None:
    """DESIGN 8: all logs are read before the first is written."""
    wrong: Any = 5
    with pytest.raises(ConfigurationError, match="a log is read from"):
        write_recording(tmp_path, kit.build().start().log(), wrong)
    assert list(tmp_path.iterdir()) == []


def test_text_of_every_kind(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 15.1: no character of a text ends a line or is lost."""
    said = "".join(map(chr, [*range(0, 0x3000, 7), 0x2028, 0x2029, 0x85, 0xFEFF, 0x1F600]))
    build = kit.build().start()
    build.reply(Text(said))
    write_log(build.log(), tmp_path / "session.jsonl")
    assert read_log(tmp_path / "session.jsonl").events == tuple(build.events)


def test_values_that_nest_deep(kit: SimpleNamespace, tmp_path: Path) -> None:
    """DESIGN 8: values may nest to any depth: written, read back, written again as they were."""
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    build = kit.build()
    build.add(OpaquePayload("todo/write", deep))
    write_log(build.log(), tmp_path / "one.jsonl")
    write_log(tmp_path / "one.jsonl", tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert (tmp_path / "one.jsonl").read_text().count("[") == 20_001
