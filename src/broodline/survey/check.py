"""The shell command that checks each fact (GNU find, grep, coreutils)."""

from __future__ import annotations

import shlex
import sys

from .folder import PASSED_OVER, Selection
from .outline import MAX_SOURCE
from .passage import MARK_WORDS

_OUTLINE = f"""
import ast, sys
functions = bare = broken = 0
for path in sys.stdin.buffer.read().split(b"\\0")[:-1]:
    source = open(path, "rb").read()
    if b"\\0" in source:
        continue
    try:
        tree = ast.parse(source if len(source) <= {MAX_SOURCE} else "(")
    except Exception:
        broken += 1
        continue
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions += 1
            bare += ast.get_docstring(node, clean=False) is None
print(functions, "functions,", bare, "without docstring;", broken, "files do not parse")
"""


def commands(root: str, selection: Selection) -> dict[str, str]:
    """One command a fact, in the order of the report.

    Args:
        root: Absolute path of the survey's top.
        selection: What the survey counted.
    """
    pruned = rf"\( -name '.*' -o -name {PASSED_OVER} \) -prune"
    found = f"LC_ALL=C find {'-L' if selection.follow else '-H'} {shlex.quote(root)} -mindepth 1"
    every = f"{found} {pruned} -o"
    named = f" -name {shlex.quote(selection.match)}" if selection.match is not None else ""
    files = f"{every} -type f{named}"
    text = rf"{files} -exec grep -aLZP '\0' {{}} +"
    count = "-printf . | wc -c"
    python = rf"{files} -name '*.py' -exec grep -aLZP '\0' {{}} +"
    outline = f"{python} | {shlex.quote(sys.executable)} -W ignore -c {shlex.quote(_OUTLINE)}"
    return {
        "folders": f"{every} -type d {count}",
        "files": f"{files} {count}",
        "text_files": f"{text} | tr -cd '\\0' | wc -c",
        "not_text": rf"{files} -exec grep -alZP '\0' {{}} + | tr -cd '\0' | wc -c",
        "python_files": f"{python} | tr -cd '\\0' | wc -c",
        "lines": f"{text} | xargs -0r cat | wc -l",
        "bytes": f"{text} | xargs -0r cat | wc -c",
        "largest": (
            f"{text} | xargs -0r stat -L --printf '%s %n\\0'"
            " | LC_ALL=C sort -z -k1,1nr -k2 | head -z -n 1 | tr '\\0' '\\n'"
        ),
        "functions": outline,
        "undocumented": outline,
        "unparsed": outline,
        "marks": f"{text} | LC_ALL=C xargs -0r grep -ahwE '{'|'.join(MARK_WORDS)}' | wc -l",
        "hidden": f"{found} {pruned} {count}",
        "links": f"{every} -type l {count}",
        "special": rf"{every} \( -type b -o -type c -o -type p -o -type s \) {count}",
    }
