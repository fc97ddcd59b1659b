"""``broodline sessions`` as the command line knows it: its sub-commands and their options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

import typer

from ..messages.errors import BroodlineError
from ..survey.errand import tell
from ..survey.name import shown
from .sheet import INTERRUPTED, USAGE, code_for, interruptible, say, say_guess

HELP = """Look at stored sessions, check them, and move them between stores and files.

A store is named sqlite:PATH or jsonl:FOLDER. Looking at one changes nothing in it, and does not \
disturb a process that uses it. Exit codes: 0 done and sound, 1 something is not sound or failed, \
2 nothing is there to work on."""

LIST_HELP = """List the sessions of a store, children below their parents.

No log is read for it."""

SHOW_HELP = """Show one session: what it is, what it has come to, and its events.

On a terminal the last 100 events, unless it is said which."""

VERIFY_HELP = """Check stores and logs against every rule of a log.

Names the first bad event of each session. A store is checked as a whole too; a session that \
cannot be read does not keep the others from being checked. Nothing is written, and a process \
may go on using the store."""

EXPORT_HELP = """Write sessions of a store into a folder of recordings, or into another store.

One tree becomes session.jsonl and session.N.jsonl, several a folder each. A session is written \
whole or not at all; an unfinished turn stays as it is."""

IMPORT_HELP = """Put logs, recordings or the sessions of another store into a store.

SOURCE is a log, a folder in which every *.jsonl is one, or a store. If an id is taken in the \
store, nothing is written at all. What is in the recorded form keeps its placeholders; it can be \
looked at and exported, not resumed."""

StoreName: TypeAlias = Annotated[
    str, typer.Argument(metavar="STORE", help="sqlite:PATH or jsonl:FOLDER.")
]
NewStoreName: TypeAlias = Annotated[
    str, typer.Argument(metavar="STORE", help="sqlite:PATH or jsonl:FOLDER; made if not there.")
]
SessionId: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="Of the session.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Parent: TypeAlias = Annotated[
    str | None, typer.Option(metavar="ID", help="Only the direct children of this session.")
]
OnlyLive: TypeAlias = Annotated[
    bool, typer.Option("--live", help="Only what a process writes now.")
]
Limit: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="At most so many, 0 for all; on a terminal 100 if absent, elsewhere all.",
        show_default=False,
    ),
]
From: TypeAlias = Annotated[
    int | None,
    typer.Option("--from", min=0, metavar="SEQ", help="Only the events from this number on."),
]
Last: TypeAlias = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Only so many events at the end.")
]
Raw: TypeAlias = Annotated[
    bool, typer.Option("--raw", help="Print the lines of a log file, an event each.")
]
Places: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="STORE|LOG...", help="Stores, logs, or folders in which every *.jsonl is a log."
    ),
]
OneSession: TypeAlias = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Only this session.")
]
Sessions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--session", metavar="ID", help="Only this session; may be given again."),
]
Tree: TypeAlias = Annotated[
    str | None, typer.Option(metavar="ID", help="Only this session and all below it.")
]
Target: TypeAlias = Annotated[
    str, typer.Argument(metavar="TARGET", help="A folder, sqlite:PATH or jsonl:FOLDER.")
]
Source: TypeAlias = Annotated[
    str, typer.Argument(metavar="SOURCE", help="A log, a folder of logs, or a store.")
]


def list_command(
    store: StoreName,
    parent: Parent = None,
    live: OnlyLive = False,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions of a store and leave with the exit code."""

    def act() -> int:
        from .listing import list_sessions
        from .place import store_place

        place = store_place(store)
        say_guess(place)
        return list_sessions(place, parent=parent, live=live, limit=limit, as_json=as_json)

    _leave("list", act)


def show_command(
    store: StoreName,
    session_id: SessionId,
    first: From = None,
    last: Last = None,
    as_json: AsJson = False,
    raw: Raw = False,
) -> None:
    """Show one session and leave with the exit code."""

    def act() -> int:
        from .place import store_place
        from .showing import show

        if raw and as_json:
            say("show: --raw and --json are two forms of the same; give one of them")
            return USAGE
        place = store_place(store)
        say_guess(place)
        return show(place, session_id, first=first, last=last, as_json=as_json, raw=raw)

    _leave("show", act)


def verify_command(places: Places, session: OneSession = None, as_json: AsJson = False) -> None:
    """Check stores and logs and leave with the exit code."""

    def act() -> int:
        from .place import any_place
        from .verifying import verify

        found = [any_place(text) for text in places]
        say_guess(*found)
        return verify(found, session=session, as_json=as_json)

    _leave("verify", act)


def export_command(
    store: StoreName,
    target: Target,
    session: Sessions = None,
    tree: Tree = None,
    as_json: AsJson = False,
) -> None:
    """Export sessions and leave with the exit code."""

    def act() -> int:
        from .errand import export_sessions
        from .place import store_place

        place = store_place(store)
        say_guess(place)
        return export_sessions(place, target, ids=session or (), tree=tree, as_json=as_json)

    _leave("export", act)


def import_command(source: Source, store: NewStoreName, as_json: AsJson = False) -> None:
    """Import sessions and leave with the exit code."""

    def act() -> int:
        from .errand import import_sessions
        from .place import any_place, store_place

        found, place = any_place(source), store_place(store, new=True)
        say_guess(found, place)
        return import_sessions(found, place, as_json=as_json)

    _leave("import", act)


def _leave(name: str, act: Callable[[], int]) -> None:
    """Do it, tell in one line what refused it, and leave.

    Raises:
        typer.Exit: With the exit code.
    """
    try:
        with interruptible():
            code = act()
    except BroodlineError as error:
        say(f"{name}: {shown(error.message)}")
        code = code_for(error)
    except KeyboardInterrupt:
        tell("broodline: interrupted")
        code = INTERRUPTED
    raise typer.Exit(code)


COMMANDS: dict[str, tuple[Callable[..., None], str, str]] = {
    "list": (list_command, LIST_HELP, "List the sessions of a store."),
    "show": (show_command, SHOW_HELP, "Show one session and its events."),
    "verify": (verify_command, VERIFY_HELP, "Check stores and logs."),
    "export": (export_command, EXPORT_HELP, "Write sessions to files or another store."),
    "import": (import_command, IMPORT_HELP, "Put logs into a store."),
}
"""What there is: the function, its help and the short one."""
