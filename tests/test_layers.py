"""The shape of the house: who may import whom, how files are named, how long they get."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("messages", "actors", "providers", "supervision")
"""Each may import itself and what stands before it."""
DOOR = ROOT / "src" / "broodline"
FILES = sorted(
    [path for layer in LAYERS for path in (ROOT / layer).rglob("*.py")]
    + list(DOOR.rglob("*.py"))  # does not follow the links to the layers
)
REMOVED = {"chunk"}
"""Left the standard library with Python 3.13, where nothing can mistake them any more."""
VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "misc"}

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of what a module of a folder imports from this package."""
    package = ["broodline", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module or ""
        elif isinstance(node, ast.ImportFrom):
            origin = package[: len(package) - node.level + 1]
            origin += node.module.split(".") if node.module else []
            names = [""] if len(origin) > 1 else [name.name for name in node.names]
            yield from ((node.lineno, "." + ".".join([*origin, name]).strip(".")) for name in names)


@each_file
def test_no_layer_looks_up(path: Path) -> None:
    """DESIGN section 1: a folder imports itself and lower ones, relatively, never the door."""
    layer = path.relative_to(ROOT).parts[0]
    if layer == "src":
        return
    allowed = LAYERS[: LAYERS.index(layer) + 1]
    for line, name in imports_of(path):
        where = f"{path.relative_to(ROOT)}:{line} imports {name}"
        assert not name.startswith("broodline"), f"{where}; write it relatively"
        if name.startswith(".broodline"):
            assert name.split(".")[2] in allowed, where


@each_file
def test_names_say_what_lives_there(path: Path) -> None:
    """DESIGN section 1: no file is named after a stdlib module, none utils or helpers."""
    taken = sys.stdlib_module_names - REMOVED | VAGUE
    names = {*path.relative_to(ROOT).with_suffix("").parts} - {"__init__"}
    assert not names & taken


@each_file
def test_files_and_functions_stay_short(path: Path) -> None:
    """DESIGN section 1: at most 400 lines a file and 50 a function, its docstring not counted."""
    text = path.read_text()
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            length -= len((ast.get_docstring(node) or "").splitlines())
            assert length <= 50, f"{node.name} has {length} lines"


@pytest.mark.parametrize("folder", LAYERS)
def test_each_folder_says_what_lives_in_it(folder: str) -> None:
    """DESIGN section 1: the docstring of a folder says what lives there and what may not."""
    assert len(ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text())) or "") > 80
