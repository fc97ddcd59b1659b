"""The functions of a Python file, and which of them have no docstring.

A function is every ``def`` and ``async def`` statement, methods and nested ones
too. Source is parsed, never run.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from dataclasses import dataclass

from .passage import chunks_of

MAX_SOURCE = 2 << 20
"""Largest source that is parsed, in bytes: a syntax tree takes some hundred times as much."""

_PARSER = threading.Lock()
"""One tree is built at a time: CPython 3.11 counts the depth of the tree in progress in one
place for all threads, and raises SystemError when a garbage collection lets another one in."""


class NotParsedError(Exception):
    """The file is text but no Python that this interpreter can parse; `line` is 0 if unknown."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class Outline:
    """Number of functions, and ``(line, name)`` of each without a docstring, by line."""

    functions: int
    undocumented: tuple[tuple[int, str], ...]


def read_outline(path: str, check: Callable[[], None] = lambda: None) -> Outline:
    """Parse the Python file at `path`.

    Raises:
        NotParsedError: A syntax error, too deep a nesting, or more than `MAX_SOURCE` bytes.
        NotSurveyedError: As `chunks_of`.
    """
    source = bytearray()
    large = False
    for chunk in chunks_of(path, check):
        # Read on to the end: a NUL byte further down makes it no text at all.
        large = large or len(source) + len(chunk) > MAX_SOURCE
        if not large:
            source += chunk
    if large:
        raise NotParsedError(f"larger than {MAX_SOURCE >> 20} MiB")
    return outline_of(bytes(source))


def outline_of(source: bytes) -> Outline:
    """The outline of Python source; raises `NotParsedError`."""
    try:
        with _PARSER:
            tree = ast.parse(source)
    except SyntaxError as error:
        raise NotParsedError(error.msg or "syntax error", error.lineno or 0) from error
    except (ValueError, LookupError) as error:
        raise NotParsedError(str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise NotParsedError("nested too deeply") from error
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    bare = [(node.lineno, node.name) for node in functions if not _has_docstring(node)]
    return Outline(len(functions), tuple(sorted(bare)))


def _has_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None
