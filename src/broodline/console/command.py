"""``broodline run`` as the command line knows it: options, and what is wrong with them."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn, TypeAlias
from urllib.parse import urlsplit

import typer

from ..actors.models.naming import model_named
from ..messages.errors import ConfigurationError
from ..survey.errand import USAGE, ground_problem, tell
from ..survey.folder import system_words
from ..survey.name import shown
from .advice import KEYS
from .errand import Errand
from .neutral import one_line
from .order import Manner, Order
from .record import Record

HELP = """Give a task to a real model, which may delegate parts of it to a tree of agents.

The agents read one folder with tools and change nothing in it. The answer goes to stdout as it \
comes, progress and what was used to stderr. The key comes from OPENAI_API_KEY or \
ANTHROPIC_API_KEY; there is no option for it, since every user of a machine can see the \
arguments of a command."""

MODEL_VARIABLE = "BROODLINE_MODEL"

TaskText: TypeAlias = Annotated[
    str, typer.Argument(metavar="TASK", help="What is to be done; - reads it from stdin.")
]
ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        envvar=MODEL_VARIABLE,
        metavar="PROVIDER:NAME",
        help="Whom to ask: openai:NAME or anthropic:NAME.",
    ),
]
BaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="Another server that speaks this format."),
]
Folder: TypeAlias = Annotated[
    str,
    typer.Option(
        "--path",
        metavar="FOLDER",
        help="What the tools read; the current folder if absent.",
        show_default=False,
    ),
]
Depth: TypeAlias = Annotated[
    int,
    typer.Option(min=0, max=64, metavar="N", help="Levels of agents below the root; 0 for none."),
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
MaxTokens: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, max=2**31, metavar="N", help="Ceiling of one response."),
]
MaxSteps: TypeAlias = Annotated[
    int, typer.Option(min=1, max=100_000, metavar="N", help="Most requests of one agent.")
]
System: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="What the root is told it is, in place of our words."),
]
Timeout: TypeAlias = Annotated[
    float,
    typer.Option(min=0.01, max=86_400, metavar="SECONDS", help="How long a model may be silent."),
]
Retries: TypeAlias = Annotated[
    int,
    typer.Option(
        min=0, max=1000, metavar="N", help="How often a request that failed is made again."
    ),
]
RecordTo: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--record", metavar="FOLDER", help="Write the log of every session there, as JSON lines."
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document at the end, and no text before.")
]
Live: TypeAlias = Annotated[
    bool, typer.Option("--live/--no-live", help="Draw the tree of agents on a terminal.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Reasoning: TypeAlias = Annotated[
    bool, typer.Option("--show-reasoning", help="Show what the root thinks, if its model tells.")
]


def run(
    task: TaskText,
    model: ModelName = None,
    base_url: BaseUrl = None,
    path: Folder = ".",
    depth: Depth = 2,
    jobs: Jobs = 8,
    max_tokens: MaxTokens = None,
    max_steps: MaxSteps = 100,
    system: System = None,
    timeout: Timeout = 600.0,
    retries: Retries = 5,
    record: RecordTo = None,
    as_json: AsJson = False,
    live: Live = True,
    quiet: Quiet = False,
    reasoning: Reasoning = False,
) -> None:
    """Do a task with a tree of agents and leave with the exit code."""
    order = Order(
        task=_task(task),
        model=_named(model),
        path=_folder(path),
        base_url=_url(base_url),
        depth=depth,
        jobs=jobs,
        max_tokens=max_tokens,
        max_steps=max_steps,
        system=_system(system),
        timeout=timeout,
        retries=retries,
        record=record,
    )
    manner = Manner(as_json, live, quiet, reasoning)
    raise typer.Exit(errand_of(order, manner).run())


def errand_of(order: Order, manner: Manner) -> Errand:
    """What `order` needs, made: nothing is asked of a model yet.

    Raises:
        typer.Exit: With 2, once a line on stderr has said what to do.
    """
    try:
        model = model_named(
            order.model,
            base_url=order.base_url,
            max_tokens=order.max_tokens,
            timeout=order.timeout,
        )
    except ConfigurationError as error:
        key = KEYS.get(order.provider)
        if error.code == "MISSING_CREDENTIAL" and key is not None:
            # Its own text is for those who write Python.
            _refuse(f"no key: set {key}; for a server that wants none any text will do")
        _refuse(error.message)
    return Errand(order, manner, model, _record(order.record))


def _task(given: str) -> str:
    if given != "-":
        return _text(given, "the task", "say what is to be done, or - to read it from stdin")
    if (stdin := sys.stdin) is None:
        _refuse("the task is to come from stdin, which is closed; give it as an argument")
    try:
        return _text(stdin.read(), "the task on stdin", "write there what is to be done")
    except (OSError, UnicodeDecodeError) as error:
        _refuse(f"the task on stdin cannot be read: {error}; give it as an argument")


def _text(given: str, subject: str, instead: str) -> str:
    if not given.strip():
        _refuse(f"{subject} is empty; {instead}")
    try:
        given.encode()
    except UnicodeEncodeError:
        _refuse(f"{subject} is no text in {sys.getfilesystemencoding()}; write it in that")
    return given


def _system(given: str | None) -> str | None:
    if given is None:
        return None
    return _text(given, "--system", "leave it out for our own words")


def _named(model: str | None) -> str:
    if model is None or not model.strip():
        _refuse(
            f"no model: give --model openai:NAME or --model anthropic:NAME, or set {MODEL_VARIABLE}"
        )
    return model


def _folder(path: str) -> str:
    problem, code = ("the path is empty", USAGE) if not path else ground_problem(path)
    if problem is not None:
        instead = "" if ";" in problem else "; name another folder"
        _refuse(f"--path {shown(path)}: {problem}{instead}", code)
    return _absolute(path, "--path")


def _absolute(path: str, option: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError:
        _refuse(f"{option} {shown(path)}: the current folder is gone; go to another")


def _url(given: str | None) -> str | None:
    """Refuse what no request could be sent to, without repeating it: it may hold a key."""
    if given is None:
        return None
    try:
        parts = urlsplit(given)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not given.isprintable() or " " in given:
        _refuse("--base-url must be an address such as http://127.0.0.1:8000/v1")
    return given


def _record(folder: str | None) -> Record | None:
    if folder is None:
        return None
    path = _absolute(folder, "--record")
    try:
        return Record(path)
    except FileExistsError as error:
        why = error.strerror or str(error)
        _refuse(f"--record {shown(folder)}: {why.lower()}; name another folder")
    except OSError as error:
        _refuse(f"--record {shown(folder)}: {system_words(error)}; name another folder")


def _refuse(problem: str, code: int = USAGE) -> NoReturn:
    tell(f"run: {one_line(problem)}")
    raise typer.Exit(code)
