"""What the ``broodline`` command understands: its sub-commands and their options."""

from __future__ import annotations

import os
import re
from typing import Annotated, TypeAlias

import typer

from .console.command import HELP as RUN_HELP
from .console.command import run
from .console.usage import PlainCommand, PlainGroup
from .sessions.command import COMMANDS as SESSION_COMMANDS
from .sessions.command import HELP as SESSIONS_HELP
from .survey.errand import Errand, Telling
from .survey.folder import Selection
from .survey.survey import Order

app = typer.Typer(
    name="broodline",
    cls=PlainGroup,
    rich_markup_mode=None,
    help="Broodline, an actor runtime for delegation between agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from . import __version__

        typer.echo(f"broodline {__version__}")
        raise typer.Exit


@app.callback()
def broodline(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Broodline, an actor runtime for delegation between agents."""


_BRACKETS = re.compile(r"\[(?:!.|[^!])[^]]*\]", re.DOTALL)
"""A set of characters; a bracket that stands first in it is one of them."""


def _folder(value: str | None) -> str | None:
    if value == "":
        raise typer.BadParameter("the path is empty")
    try:
        os.path.abspath(value or "/")
    except OSError as error:
        raise typer.BadParameter("the current folder is gone; go to another") from error
    return value


def _pattern(value: str | None) -> str | None:
    """Refuse what Python and find would read differently, and brackets that are not closed."""
    if value is None:
        return None
    if not value or any(part in value for part in ("\\", "/", "[^", "[[")):
        raise typer.BadParameter("a pattern has *, ?, [abc] or [!abc] and no slash, such as *.py")
    if "[" in _BRACKETS.sub("", value):
        raise typer.BadParameter("a [ is not closed; a pattern has *, ?, [abc] or [!abc]")
    return value


def _store(value: str | None) -> str | None:
    if value is not None:
        kind, _, place = value.partition(":")
        if kind not in ("sqlite", "jsonl") or not place:
            raise typer.BadParameter("a store is sqlite:PATH or jsonl:FOLDER")
    return value


_HELP = """Survey a folder of real files with a tree of agents: one for each folder.

Every agent lists its folder, counts and reads its files with tools, and delegates each folder \
in it to a child; the root merges what they return into a report. The model is rules, plain \
Python functions: it needs no key and no network. Hidden names and __pycache__ are passed over. \
Progress goes to stderr, the report to stdout."""


_CHECK_HELP = """Check recorded logs against every rule of a log.

A log is a file of JSON lines, as `run --record` writes them. The exit code is 0 if all are \
sound, 1 if one is not, 2 if there is nothing at a path."""


Folder: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="PATH",
        callback=_folder,
        help="Folder to survey; the installed package if absent.",
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of the report.")
]
Explain: TypeAlias = Annotated[
    bool, typer.Option("--explain", help="Print below each fact the command that checks it.")
]
Match: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN", callback=_pattern, help="Survey files named like this, as *.py."
    ),
]
Follow: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--follow/--no-follow",
        help="Follow links, as find -L does; the installed package is read so anyway.",
        show_default=False,
    ),
]
Depth: TypeAlias = Annotated[
    int,
    typer.Option(
        min=0,
        max=64,
        metavar="N",
        help="Levels of agents below the root; deeper folders are read there.",
    ),
]
Jobs: TypeAlias = Annotated[
    int,
    typer.Option(
        min=1,
        max=1000,
        metavar="N",
        help="Tool calls, delegations too, that one agent runs at once.",
    ),
]
Pace: TypeAlias = Annotated[
    float,
    typer.Option(
        min=0,
        max=60,
        metavar="SECONDS",
        help="How long the model thinks before each message; 0.3 is nice to watch.",
    ),
]
Kept: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="STORE",
        callback=_store,
        help="Keep the sessions, and go on where a killed run stopped: sqlite:PATH or "
        "jsonl:FOLDER.",
    ),
]
Live: TypeAlias = Annotated[
    bool, typer.Option("--live/--no-live", help="Draw the tree of agents on a terminal.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@app.command(cls=PlainCommand, help=_HELP, short_help="Survey a folder with a tree of agents.")
def demo(
    path: Folder = None,
    as_json: AsJson = False,
    explain: Explain = False,
    match: Match = None,
    follow: Follow = None,
    depth: Depth = 4,
    jobs: Jobs = 8,
    pace: Pace = 0.0,
    store: Kept = None,
    live: Live = True,
    quiet: Quiet = False,
) -> None:
    """Survey a folder with a tree of agents and leave with its exit code."""
    if follow is None:
        follow = path is None
    root = os.path.dirname(os.path.abspath(__file__)) if path is None else os.path.abspath(path)
    order = Order(root, Selection(follow, match), depth, jobs, pace, store=store)
    code = Errand(order, Telling(as_json, explain, live, quiet)).run()
    raise typer.Exit(code)


Paths: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="PATH...", help="Logs, or folders in which every *.jsonl is one."),
]
CheckJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of the table.")
]
OnlyFaults: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only what is not sound.")
]

app.command(cls=PlainCommand, help=RUN_HELP, short_help="Give a task to a real model.")(run)


@app.command(cls=PlainCommand, help=_CHECK_HELP, short_help="Check recorded logs.")
def check(paths: Paths, as_json: CheckJson = False, quiet: OnlyFaults = False) -> None:
    """Check recorded logs and leave with the exit code."""
    from .recordings_command import check as check_logs

    raise typer.Exit(check_logs(paths, as_json, quiet))


sessions = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, (_function, _help, _short) in SESSION_COMMANDS.items():
    sessions.command(_name, cls=PlainCommand, help=_help, short_help=_short)(_function)
app.add_typer(
    sessions,
    name="sessions",
    help=SESSIONS_HELP,
    short_help="Look at stored sessions, check and move them.",
)
