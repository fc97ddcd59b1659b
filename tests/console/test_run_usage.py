"""What is wrong with a command line is said in one line, and nothing is asked of a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from broodline.command import app
from broodline.console import command
from broodline.testing.wire import WireServer

MODEL = ("--model", "openai:demo")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys are there, nothing else is set."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "BROODLINE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")


def run(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(app, ["run", *arguments], **options)


WRONG = {
    "no model": ((), "no model: give --model openai:NAME or --model anthropic:NAME, or set"),
    "blank model": (("--model", " "), "no model: give "),
    "no provider": (("--model", "demo"), "openai:NAME or anthropic:NAME"),
    "unknown": (("--model", "acme:\x1b[2J"), "'acme:\\x1b[2J' names no model that is known"),
    "no name": (("--model", "openai:"), "says no model; write openai:"),
    "no url": ((*MODEL, "--base-url", "localhost:80"), "--base-url must be an address such as"),
    "ftp": ((*MODEL, "--base-url", "ftp://a/b"), "--base-url must be an address such as"),
    "no host": ((*MODEL, "--base-url", "http:///v1"), "--base-url must be an address such as"),
    "port": ((*MODEL, "--base-url", "http://a:b/v1"), "--base-url must be an address such as"),
    "no folder": ((*MODEL, "--path", "/no/such"), "--path /no/such: there is no such folder"),
    "file": ((*MODEL, "--path", __file__), "this is a file; name the folder that it is in"),
    "empty path": ((*MODEL, "--path", ""), "the path is empty"),
    "system": ((*MODEL, "--system", " "), "--system is empty"),
    "record": ((*MODEL, "--record", __file__), "file exists; name another folder"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(case: str) -> None:
    """run: a command that cannot be done ends with 2 and one line that says what to do."""
    arguments, told = WRONG[case]
    done = run("Do it.", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("run: ")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr


def test_a_folder_that_is_gone_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """run: a command started in a folder that was removed says so; no output is blamed."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    ways = (("run", "Do it.", *MODEL), ("run", "Do it.", *MODEL, "--path", "/", "--record", "a"))
    for words in (*ways, ("demo", ".")):
        done = CliRunner().invoke(app, words)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "the current folder is gone" in done.stderr


def test_a_url_is_not_repeated() -> None:
    """run: a base URL that is refused may hold a password, so it is not shown."""
    done = run("Do it.", *MODEL, "--base-url", "user:hunter2@host")
    assert done.exit_code == 2
    assert "hunter2" not in done.stderr + done.stdout


@pytest.mark.parametrize(("task", "stdin"), [("", None), (" \n", None), ("-", ""), ("-", "\n ")])
def test_a_task_without_words_is_refused(task: str, stdin: str | None) -> None:
    """run: an empty task, given or read, is wrong usage."""
    done = run(task, *MODEL, input=stdin)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert " is empty; " in done.stderr
    assert "what is to be done" in done.stderr


def test_a_task_that_is_no_text_is_refused() -> None:
    """run: bytes on stdin that are no text are wrong usage, not a traceback."""
    done = run("-", *MODEL, input=b"\xff\xfe")
    assert done.exit_code == 2
    assert done.stderr.startswith("run: the task on stdin cannot be read: ")


def test_a_task_that_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """run: an argument of broken bytes, and a stdin that is closed, are wrong usage."""
    done = run("a \udcff", *MODEL)
    assert (done.exit_code, "run: the task is no text in utf-8" in done.stderr) == (2, True)
    with pytest.raises(typer.Exit) as ended:
        monkeypatch.setattr(sys, "stdin", None)
        command.run("-", model="openai:demo")
    assert ended.value.exit_code == 2


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    """run: a folder that holds a recording is refused before anything is asked."""
    (tmp_path / "session.jsonl").write_text("kept\n")
    done = run("Do it.", *MODEL, "--record", str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr == (
        f"run: --record {tmp_path}: it holds a recording already; name another folder\n"
    )
    assert (tmp_path / "session.jsonl").read_text() == "kept\n"


@pytest.mark.parametrize("option", ["--depth", "--jobs", "--max-tokens", "--timeout", "--retries"])
def test_numbers_out_of_range_are_refused(option: str) -> None:
    """run: an option whose number makes no sense is wrong usage."""
    done = run("Do it.", *MODEL, option, "-1")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"run: invalid value for '{option}': ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run",), "run: missing argument 'TASK'; try broodline run --help\n"),
        (("run", "a", "--nope"), "run: no such option: --nope"),
        (("run", "a", "--\x1b[2J"), "run: no such option: --\\x1b[2J"),
        (("demo", "--depth", "x"), "demo: invalid value for '--depth': "),
        (("demo", "a", "b"), "demo: got unexpected extra argument"),
        (("check",), "check: missing argument 'PATH...'; try broodline check --help\n"),
        (("nope",), "broodline: no such command 'nope'; try broodline --help\n"),
        (("--nope",), "broodline: no such option: --nope; try broodline --help\n"),
    ],
)
def test_wrong_usage_has_one_form(words: tuple[str, ...], told: str) -> None:
    """run: what the parser refuses is one plain line with the help to read, in every command."""
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(told)
    named = words[0] if words[0] in ("run", "demo", "check") else ""
    assert done.stderr.endswith(f"; try broodline {named} --help\n".replace("  ", " "))


@pytest.mark.parametrize("name", ["run", "demo"])
def test_the_help_fits_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """run: at 80 columns an option takes two lines at most, and none shows a type."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    text = CliRunner().invoke(app, [name, "--help"]).stdout
    options = text.split("Options:\n")[1]
    lines = options.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("  -")]
    assert max(b - a for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)) <= 2
    assert max(map(len, text.splitlines())) <= 80
    assert "<" not in options.replace("<=", "")
    assert "--depth N " in options


def test_no_option_takes_a_key() -> None:
    """run: a key on the command line would be seen by others, and the help says so."""
    words = " ".join(run("--help").stdout.split())
    assert "OPENAI_API_KEY" in words
    assert "there is no option for it" in words
    assert "--api-key" not in words


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_missing_key_says_which_variable_to_set(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """run: without the key of the provider asked for nothing starts, whatever other key is set."""
    monkeypatch.delenv(f"{provider.upper()}_API_KEY")
    done = run("Do it.", "--model", f"{provider}:demo")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"run: no key: set {provider.upper()}_API_KEY; ")


BLOCKED = """
import sys

package = sys.argv[1]

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from broodline.cli import main
sys.argv[:2] = ["broodline"]
main()
"""


@pytest.mark.parametrize("extra", ["openai", "anthropic"])
def test_a_missing_extra_says_what_to_install(extra: str) -> None:
    """run: without the package of the provider the one line has the command that installs it."""
    words = [extra, "run", "Do it.", "--model", f"{extra}:demo"]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f'pip install "broodline[{extra}]"' in done.stderr


def test_wrong_usage_asks_no_model(server: WireServer) -> None:
    """run: what is refused is refused before a connection is made."""
    done = run("Do it.", *MODEL, "--base-url", server.openai_url, "--path", "/no/such")
    assert done.exit_code == 2
    assert server.connections == 0


def test_check_is_a_command(tmp_path: Path) -> None:
    """check: the command leaves with the code of what it found."""
    done = CliRunner().invoke(app, ["check", str(tmp_path), "--json"])
    assert done.exit_code == 2
    assert "no *.jsonl is in this folder" in done.stderr
