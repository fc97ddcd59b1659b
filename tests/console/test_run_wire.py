"""``broodline run`` over real connections, in both formats."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.models.recorded import RecordedModel
from broodline.actors.recording import read_recording
from broodline.actors.recording_check import check_log
from broodline.testing.wire import (
    Answer,
    WireRequest,
    WireServer,
    Word,
    call,
    calls,
    ceiling,
    cut,
    endless,
    error_frame,
    no_quota,
    refusal,
    say,
    silent,
    status,
)

TASK = "Do it."
KEY = "sk-test-0123456789-very-secret"


def asked(request: WireRequest) -> str:
    """The task, without what the runtime says beside it."""
    return next(turn.text for turn in request.turns if turn.role == "user").split("\n")[0]


def delegating(meet: threading.Barrier) -> Any:
    """A root that hands out two parts at once; the children answer once both have asked."""

    def rule(request: WireRequest) -> Answer:
        results = [text for turn in request.turns for _, text in turn.results]
        if (task := asked(request)) != TASK:
            meet.wait(timeout=30)
            return say(f"{task[:6]} is done. ")
        if results:
            return say("All ", "is done: ", *results)
        parts = [
            call("subagent", {"description": f"the {n} part", "prompt": f"part {n}"}) for n in "AB"
        ]
        return calls(*parts, text="I split it.")

    return rule


def test_children_work_at_the_same_time(server: WireServer, command: Any, tmp_path: Path) -> None:
    """run: both children are at the model before either has an answer; the root sums up."""
    server.rule = delegating(threading.Barrier(2))
    done = command.run(TASK, "--path", str(tmp_path), "--depth", "1")
    assert (done.returncode, done.stdout) == (
        0,
        "I split it.\n\nAll is done: part A is done. part B is done. \n",
    )
    lines = done.stderr.splitlines()
    assert lines[0] == f"run: {command.wire}:demo in {tmp_path}"
    assert {"run: the A part: started by root", "run: the B part: done, 18 tokens"} <= {*lines}
    assert lines[-1].startswith(
        "run: 3 agents, 3 turns, 2 tool calls, 0 retries, 48 tokens in, 24 out, "
    )
    assert lines[-1].endswith(" s, completed")


def test_what_a_model_is_offered(server: WireServer, one_command: Any, tmp_path: Path) -> None:
    """run: the root gets the tools, the task and our words; the last level cannot delegate."""
    server.rule = delegating(threading.Barrier(2))
    done = one_command.here(TASK, "--path", str(tmp_path), "--depth", "1", "--max-tokens", "77")
    assert done.returncode == 0
    root, *children, _last = server.requests
    assert sorted(root.tools) == ["count", "find", "list", "read", "show", "subagent"]
    assert root.text == "Do it."
    assert "With subagent you hand a part" in root.system
    for child in children:
        assert sorted(child.tools) == ["count", "find", "list", "read", "show"]
        assert child.system.startswith("You help with one part of a larger task.")
        assert "subagent" not in child.system
    for request in server.requests:
        assert request.stream
        assert request.model == "demo"
        assert 77 in (request.body.get("max_tokens"), request.body.get("max_completion_tokens"))


def test_persona_of_the_user(server: WireServer, one_command: Any) -> None:
    """run: --system takes the place of our words as it is, braces too; --depth 0 delegates none."""
    server.play(say("Ahoy."))
    done = one_command.here(TASK, "--system", "Talk like {{a}} pirate.", "--depth", "0")
    assert (done.returncode, done.stdout) == (0, "Ahoy.\n")
    assert server.requests[0].system == "Talk like {{a}} pirate."
    assert "subagent" not in server.requests[0].tools


def test_text_comes_out_while_the_model_still_speaks(server: WireServer, command: Any) -> None:
    """run: what was said is on stdout before the server says more."""
    server.play(silent("finish", of=say("Hello ", "world")))
    with command.start("Say it.") as process:
        assert process.stdout.read(11) == "Hello world"
        assert server.wait_silent()
        assert server.release() == 1
        out, _err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "\n")


def test_a_task_may_come_from_stdin(server: WireServer, one_command: Any) -> None:
    """run: - reads the task; the model may be named by the environment."""
    server.play(say("Yes."))
    one_command.environment["BROODLINE_MODEL"] = "anthropic:other"
    done = one_command.run("-", input="Line one\nläne two\n", encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, "Yes.\n")
    assert server.requests[0].text == "Line one\nläne two\n"


def test_a_refused_request_is_made_again(server: WireServer, command: Any) -> None:
    """run: 429 with a wait is told with code, status and wait, and the answer comes."""
    server.play(status(429, retry_after=0.01), say("Here."))
    done = command.run(TASK)
    assert (done.returncode, done.stdout) == (0, "Here.\n")
    assert "run: root: retrying in 0.01 s (RATE_LIMIT 429): " in done.stderr
    assert " 1 retry, " in done.stderr
    assert len(server.requests) == 2


def test_an_answer_that_broke_off_is_disowned(server: WireServer, one_command: Any) -> None:
    """run: what was shown of a failed attempt ends its line and is called thrown away."""
    server.play(cut(after="text", of=say("Once ", "upon ", "a ", "time.")), say("Whole."))
    done = one_command.here(TASK)
    assert done.returncode == 0
    broken, whole = done.stdout.split("\n", 1)
    assert broken
    assert "Once upon a time.".startswith(broken.strip())
    assert whole == "Whole.\n"
    told = done.stderr.splitlines()
    thrown = told.index("run: this answer broke off and is thrown away; the model begins again")
    assert " (TRANSPORT): " in told[thrown + 1]


@pytest.mark.parametrize("tries", [1, 2])
def test_the_last_answer_that_broke_off_is_disowned(
    server: WireServer, one_command: Any, tries: int
) -> None:
    """run: what was shown of the last attempt is called thrown away before the failure is told."""
    server.play(*[cut(after="text", of=say("Once ", "upon "))] * tries)
    done = one_command.here(TASK, "--retries", str(tries - 1))
    assert done.returncode == 1
    assert len(done.stdout.split("\n")) == tries + 1
    told = done.stderr.splitlines()
    assert sum("is thrown away" in line for line in told) == tries
    last = told.index("run: this answer broke off and is thrown away")
    assert told[last + 1].startswith("run: TRANSPORT: ")


def test_nothing_is_thrown_away_where_nothing_was_shown(
    server: WireServer, one_command: Any
) -> None:
    """run: with --json, or without a word, or where a refusal has words, nothing is disowned."""
    server.play(cut(after="text", of=say("Once ", "upon ")))
    assert "thrown" not in one_command.here(TASK, "--retries", "0", "--json").stderr
    for word in (cut(after="headers"), refusal()):
        server.play(word)
        done = one_command.here(TASK, "--retries", "0")
        assert (done.returncode, "thrown" in done.stderr) == (1, False)


def test_quiet_still_disowns_what_stdout_shows(server: WireServer, one_command: Any) -> None:
    """run: --quiet says nothing of a run that goes well but what makes sense of stdout."""
    server.play(cut(after="text", of=say("Once ", "upon ")), say("Whole."))
    done = one_command.here(TASK, "-q")
    assert done.returncode == 0
    assert done.stderr == "run: this answer broke off and is thrown away; the model begins again\n"


FAILURES: dict[str, tuple[Word, str, str]] = {
    "model": (status(404), "INVALID_REQUEST 404", "check the model's name and the base URL"),
    "rate": (status(429), "RATE_LIMIT 429", "try again later, or with fewer --jobs"),
    "quota": (no_quota(), "QUOTA", "see to its plan and billing"),
    "server": (status(500), "SERVER 500", "the provider has trouble"),
    "frame": (error_frame(), "SERVER", "the provider has trouble"),
    "refusal": (refusal(), "REFUSAL", "word the task differently"),
}


def test_a_wrong_key_is_told_and_not_shown(server: WireServer, command: Any) -> None:
    """run: 401 names the variable to look at, and the key is nowhere in what is said."""
    server.play(status(401, text=f"Incorrect API key provided: {KEY}"))
    done = command.run(TASK)
    assert (done.returncode, done.stdout) == (1, "")
    _title, trouble, advice, summary = done.stderr.splitlines()
    assert trouble.startswith("run: AUTH 401: ")
    assert advice == f"run: what to do: check the key in {command.variable}"
    assert summary.endswith(" s, failed")
    assert KEY not in done.stderr
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_says_what_to_do(server: WireServer, one_command: Any, kind: str) -> None:
    """run: a model that fails for good gives code, status and advice, and the exit code 1."""
    word, code, advice = FAILURES[kind]
    server.play(word)
    done = one_command.here(TASK, "--retries", "0")
    assert done.returncode == 1
    _title, trouble, hint, summary = done.stderr.splitlines()
    assert trouble.startswith(f"run: {code}")
    assert hint.startswith("run: what to do: ")
    assert advice in hint
    assert summary.endswith(" s, failed")
    assert "Traceback" not in done.stderr


def test_the_ceiling_is_a_failure_with_the_text_so_far(
    server: WireServer, one_command: Any
) -> None:
    """run: an answer cut by the token ceiling is shown, named, and ends with 1."""
    server.play(ceiling("As far as "))
    done = one_command.here(TASK)
    assert (done.returncode, done.stdout) == (1, "As far as \n")
    assert "run: what to do: raise --max-tokens\n" in done.stderr


def test_a_failed_child_is_no_failed_run(server: WireServer, one_command: Any) -> None:
    """run: a child's failure is told where it happens; the root decides what comes of it."""

    def rule(request: WireRequest) -> Any:
        if asked(request) != TASK:
            return status(400)
        results = [text for turn in request.turns for _, text in turn.results]
        delegate = call("subagent", {"description": "a part", "prompt": "part"})
        return say("It failed.") if results else calls(delegate)

    server.rule = rule
    done = one_command.here(TASK)
    assert (done.returncode, done.stdout) == (0, "It failed.\n")
    assert "run: a part: failed: INVALID_REQUEST: " in done.stderr


def test_nobody_listening_is_told(server: WireServer, one_command: Any) -> None:
    """run: an address where nobody listens is a TRANSPORT failure with advice."""
    one_command.url = "http://127.0.0.1:1/v1"
    done = one_command.here(TASK, "--retries", "0")
    assert done.returncode == 1
    assert "run: TRANSPORT: " in done.stderr
    assert "check the network and --base-url" in done.stderr


def test_the_document(server: WireServer, one_command: Any, tmp_path: Path) -> None:
    """run: --json prints one document with answer, usage, and the tree of agents."""
    server.rule = delegating(threading.Barrier(2))
    done = one_command.here(TASK, "--path", str(tmp_path), "--json", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document.pop("seconds") > 0
    tree = document.pop("tree")
    usage = document.pop("usage")
    assert document == {
        "status": "completed",
        "answer": "All is done: part A is done. part B is done. ",
        "stopReason": "completed",
        "error": None,
        "problem": None,
        "advice": None,
        "model": f"{one_command.wire}:demo",
        "agents": 3,
        "turns": 3,
        "toolCalls": 2,
        "retries": 0,
        "left": 0,
    }
    assert (usage["inputTokens"], usage["outputTokens"]) == (48, 24)
    assert [child["label"] for child in tree["children"]] == ["the A part", "the B part"]
    for agent in (tree, *tree["children"]):
        assert (agent["state"], agent["stopReason"], agent["turns"]) == ("done", "completed", 1)
    assert [agent["toolCalls"] for agent in (tree, *tree["children"])] == [2, 0, 0]
    assert tree["children"][0]["usage"]["inputTokens"] == 12


def test_the_document_of_a_failure(server: WireServer, one_command: Any) -> None:
    """run: with --json a failure is in the document: code, message, status, request id."""
    server.play(status(401, headers={"x-request-id": "req-7", "request-id": "req-7"}))
    done = one_command.here(TASK, "--json", "-q")
    document = json.loads(done.stdout)
    assert (done.returncode, document["status"], document["stopReason"]) == (1, "failed", "error")
    error = document["error"]
    assert (error["code"], error["status"], error["requestId"]) == ("AUTH", 401, "req-7")
    assert document["problem"].startswith("AUTH 401: ")
    assert document["advice"] == f"check the key in {one_command.variable}"
    assert document["tree"]["error"] == error
    assert KEY not in done.stdout


def test_logs_of_all_sessions_are_kept(
    server: WireServer, one_command: Any, tmp_path: Path
) -> None:
    """run: --record writes sound logs of the root and its children, which can be played again."""
    server.rule = delegating(threading.Barrier(2))
    folder = tmp_path / "new" / "record"
    done = one_command.here(TASK, "--path", str(tmp_path), "--record", str(folder))
    assert done.returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "session.1.jsonl",
        "session.2.jsonl",
        "session.jsonl",
    ]
    recording = read_recording(folder)
    logs = (recording.root, *recording.children)
    assert [check_log(log) for log in logs] == [(), (), ()]
    assert {log.header.cwd for log in logs} == {str(tmp_path)}
    assert [log.header.parent_session for log in logs] == [None, *[logs[0].header.id] * 2]
    RecordedModel(recording)
    assert KEY not in "".join(path.read_text() for path in folder.iterdir())


def test_a_reader_that_leaves_stops_the_model(server: WireServer, one_command: Any) -> None:
    """run: when nobody reads the answer the request is closed, and the code is 141."""
    server.play(endless("more "))
    with one_command.start(TASK, stderr=None) as process:
        assert process.stdout.read(5) == "more "
        process.stdout.close()
        assert process.wait(30) == 141
    assert server.wait_closed()


def test_a_pipe_gets_the_text_as_it_is(server: WireServer, one_command: Any) -> None:
    """run: a program that reads the answer gets every character that the model said."""
    said = "a\x1b[31mred\x1b[0m\ttab\rover \u202e"
    server.play(calls(call("list", '{"folder": "\x1b[2J"}'), text=said), say("b"))
    done = one_command.run(TASK, text=False)
    assert done.stdout.decode() == f"{said}\n\nb\n"
    assert b"\x1b" not in done.stderr


def test_reasoning_is_shown_where_it_is_asked_for(server: WireServer, one_command: Any) -> None:
    """run: --show-reasoning tells on stderr what the root thinks; without it nothing does."""
    for number in range(2):
        server.play(say("Done.", reasoning=("First I ", "think.\nThen \x1b[2J", "speak.")))
        done = one_command.here(TASK, *["--show-reasoning"][:number])
        thoughts = [line for line in done.stderr.splitlines() if line.startswith("run: thinks: ")]
        assert done.stdout == "Done.\n"
        told = ["run: thinks: First I think.", "run: thinks: Then \\x1b[2Jspeak."]
        assert thoughts == (told if number else [])
