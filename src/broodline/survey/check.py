"""The shell commands that check the facts (GNU find, grep, coreutils)."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Checks:
    """Shell commands that tell the facts once more.

    Attributes:
        shared: Two functions of the shell that the commands call: F finds, T names text files.
        commands: One short command for each fact, by its name.
    """

    shared: tuple[str, str]
    commands: dict[str, str]

    def whole(self) -> dict[str, str]:
        """The commands with all they need, each to be run by itself."""
        before = "\n".join(self.shared)
        return {name: f"{before}\n{command}" for name, command in self.commands.items()}


def checks_of(root: str, selection: Selection) -> Checks:
    """The commands for one survey, in the order of the report.

    Args:
        root: Absolute path of the survey's top.
        selection: What the survey counted.
    """
    pruned = rf"\( -name '.*' -o -name {PASSED_OVER} \) -prune"
    start = f"LC_ALL=C find {'-L' if selection.follow else '-H'} {shlex.quote(root)} -mindepth 1"
    named = f" -name {shlex.quote(selection.match)}" if selection.match is not None else ""
    count = "-printf . | wc -c"
    names = r"tr -cd '\0' | wc -c"
    outline = f"T -name '*.py' | {shlex.quote(sys.executable)} -W ignore -c {shlex.quote(_OUTLINE)}"
    return Checks(
        (
            f'F() {{ {start} {pruned} "$@"; }}',
            rf"""T() {{ F -o -type f{named} "$@" -exec grep -aLZP '\0' {{}} +; }}""",
        ),
        {
            "folders": f"F -o -type d {count}",
            "files": f"F -o -type f{named} {count}",
            "python_files": f"T -name '*.py' | {names}",
            "text_files": f"T | {names}",
            "lines": "T | xargs -0r cat | wc -l",
            "bytes": "T | xargs -0r cat | wc -c",
            "largest": (
                r"T | xargs -0r stat -L --printf '%s %n\0'"
                r" | LC_ALL=C sort -z -k1,1nr -k2 | head -z -n 1 | tr '\0' '\n'"
            ),
            "functions": outline,
            "undocumented": outline,
            "unparsed": outline,
            "marks": f"T | LC_ALL=C xargs -0r grep -ahwE '{'|'.join(MARK_WORDS)}' | wc -l",
            "not_text": rf"F -o -type f{named} -exec grep -alZP '\0' {{}} + | {names}",
            "denied": rf"F -o \( -type d -o -type f{named} \) ! -readable {count}",
            "loops": "F -o -false 2>&1 | grep -c 'File system loop'",
            "hidden": f"F {count}",
            "links": f"F -o -type l {count}",
            "special": rf"F -o \( -type b -o -type c -o -type p -o -type s \) {count}",
        },
    )
