"""Logs written to files that `read_log` and other readers of the format take.

Source: spec core 15.1, 15.2, 5.5.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..messages import deep_json
from ..messages.codec import encode_event
from ..messages.errors import ConfigurationError
from ..messages.header_codec import encode_header
from ..messages.packed import pack_rows
from .recording import LogSource, RecordedLog, read_log
from .recording_line import unreadable


def log_rows(log: RecordedLog) -> Iterator[dict[str, Any]]:
    """The rows of a log in the form it was recorded in: header, then events, none packed."""
    header = {"type": "session", **encode_header(log.header)}
    if not log.projected:
        header.setdefault("delegationDepth", 0)
    yield header
    for event in log.events:
        row = encode_event(event)
        if log.projected:
            del row["seq"], row["time"]
        yield row


def write_log(source: LogSource, path: str | os.PathLike[str]) -> None:
    """Write one log: UTF-8, a line a row, long streams packed.

    What is read back is the same log. The file appears whole or not at all; one that
    was there is replaced. Any thread, a live session on its own loop only.

    Args:
        source: A live `Session`, or anything else that `read_log` takes.
        path: The file. Its folder must be there.

    Raises:
        ConfigurationError: If the file cannot be written.
        SessionError: As `read_log`, for a source that has to be read.
    """
    log = read_log(source)
    try:
        _put(Path(path), "".join(_lines(log)).encode())
    except (OSError, ValueError) as error:
        raise unreadable(os.fspath(path), error, "written") from None


def row_line(row: dict[str, Any]) -> str:
    """A row as the line of a log file, without its line end."""
    try:
        return json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        return deep_json.write(row)


def _lines(log: RecordedLog) -> Iterator[str]:
    for row in pack_rows(log_rows(log)):
        yield f"{row_line(row)}\n"


def _put(target: Path, data: bytes) -> None:
    draft = target.with_name(f"{target.name}.part")
    try:
        draft.write_bytes(data)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_recording(folder: str | os.PathLike[str], root: LogSource, *children: LogSource) -> None:
    """Write the logs of one scenario: ``session.jsonl`` and ``session.N.jsonl``, N from 1.

    Args:
        folder: Made if it is not there.
        root: The top-level session.
        children: The others; replay hands them out in this order, so give them in the
            order in which they first asked their model: that of their creation will do.

    Raises:
        ConfigurationError: If the folder holds a recording already, or cannot be written.
        SessionError: As `read_log`, for a source that has to be read.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        there = sorted(path.name for path in target.glob("session*.jsonl"))
    except (OSError, ValueError) as error:
        raise unreadable(str(target), error, "written") from None
    if there:
        raise ConfigurationError(
            f"{target} holds a recording already ({there[0]}); name another folder, or take its "
            "session*.jsonl away first"
        )
    logs = [read_log(source) for source in (root, *children)]
    for number, log in enumerate(logs):
        write_log(log, target / (f"session.{number}.jsonl" if number else "session.jsonl"))
