"""The built-in model for trying things out, step by step and in a whole run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from broodline import Runtime
from broodline.supervision.tool import SubagentTool
from broodline.survey.ground import Ground
from broodline.survey.toolset import survey_tools
from broodline.testing.wire import WireServer
from broodline.testing.wire.demo import demo_rule
from broodline.testing.wire.frame import FormatName
from broodline.testing.wire.request import WireRequest

Body = dict[str, Any]

FOLDER: Body = {"folder": {"type": "string"}}
FILES: Body = FOLDER | {"files": {"type": "array"}}
ALL: dict[str, Body] = {
    "list": FOLDER | {"deep": {}, "after": {}},
    "count": FILES,
    "find": FILES,
    "read": FILES,
    "subagent": {"description": {}, "prompt": {}},
}
TASK: Body = {"role": "user", "content": "Survey this."}
CONTEXT: Body = {"role": "user", "content": "Runtime context as it is now."}
LISTING = json.dumps({"files": ["a.py", "b.py"], "folders": []})


def offer(*names: str, required: tuple[str, ...] = ()) -> list[Body]:
    return [
        {"name": name, "input_schema": {"properties": ALL[name], "required": required}}
        for name in names
    ]


def ask(messages: list[Body], tools: list[Body], format: FormatName = "anthropic") -> Any:
    body = {"messages": messages, "tools": tools}
    return demo_rule(WireRequest(format, "POST", "/", {}, body, b"", 0, 0))


def answered(messages: list[Body], answer: Any, *results: str) -> list[Body]:
    """The history after an answer's calls were carried out."""
    uses = [
        {"type": "tool_use", "id": f"c{at}", "name": one.name, "input": json.loads(one.arguments)}
        for at, one in enumerate(answer.calls)
    ]
    told = [
        {"type": "tool_result", "tool_use_id": f"c{at}", "content": text}
        for at, text in enumerate(results)
    ]
    return [
        *messages,
        {"role": "assistant", "content": uses},
        {"role": "user", "content": told},
    ]


def calls_of(answer: Any) -> list[tuple[str, Body]]:
    return [(one.name, json.loads(one.arguments)) for one in answer.calls]


def helper(at: int) -> list[Body]:
    """The history of a helper: its prompt, and what the runtime says behind it."""
    answer = ask([TASK], offer(*ALL))
    return [{"role": "user", "content": calls_of(answer)[at][1]["prompt"]}, CONTEXT]


def test_the_root_delegates_twice_at_once() -> None:
    """DESIGN 4: the root hands its task to two helpers in one message."""
    answer = ask([TASK, CONTEXT], offer(*ALL, required=()))
    assert [name for name, _ in calls_of(answer)] == ["subagent", "subagent"]
    assert all(args.keys() == {"description", "prompt"} for _, args in calls_of(answer))
    assert len({args["prompt"] for _, args in calls_of(answer)}) == 2


def test_the_root_thinks_once() -> None:
    """DESIGN 4: only the first answer of the root comes with a thought, in pieces."""
    first = ask([TASK], offer(*ALL))
    assert len(first.reasoning) > 5
    assert "".join(first.reasoning).endswith(".")
    assert not ask(answered([TASK], first, "One.", "Two."), offer(*ALL)).reasoning
    assert not ask(helper(0), offer(*ALL)).reasoning


def test_the_root_sums_up() -> None:
    """DESIGN 4: when both are back, the root tells what they said, whatever came behind."""
    history = answered([TASK], ask([TASK], offer(*ALL)), "First says.", "Error: second fell.")
    for messages in (history, [*history, CONTEXT]):
        answer = ask(messages, offer(*ALL))
        assert not answer.calls
        text = "".join(answer.text)
        assert "2 helpers" in text
        assert "First says." in text
        assert "Error: second fell." in text


@pytest.mark.parametrize(("at", "goal"), [(0, "count"), (1, "find")])
def test_a_helper_works(at: int, goal: str) -> None:
    """DESIGN 4: a helper lists, then counts or searches what was listed, then answers."""
    first = ask(helper(at), offer(*ALL))
    assert calls_of(first) == [("list", {"folder": ""})]
    history = answered(helper(at), first, LISTING)
    second = ask(history, offer(*ALL))
    assert calls_of(second) == [(goal, {"folder": "", "files": ["a.py", "b.py"]})]
    third = ask(answered(history, second, '{"bytes": 12}'), offer(*ALL))
    assert not third.calls
    assert '{"bytes": 12}' in "".join(third.text)


@pytest.mark.parametrize(
    "listing", ["Error: no such folder", "[]", '{"files": []}', '{"files": 3}']
)
def test_a_helper_without_files(listing: str) -> None:
    """DESIGN 4: where there are no files, a helper says what it got and calls nothing more."""
    history = answered(helper(0), ask(helper(0), offer(*ALL)), listing)
    answer = ask(history, offer(*ALL))
    assert not answer.calls
    assert listing in "".join(answer.text)


def test_without_delegation_the_root_works() -> None:
    """DESIGN 4: where there is no delegation tool, the root works itself."""
    assert calls_of(ask([TASK], offer("list", "count"))) == [("list", {"folder": ""})]


@pytest.mark.parametrize("tools", [[], offer("read", "find"), [{"name": "list"}]])
def test_without_tools_it_talks(tools: list[Body]) -> None:
    """DESIGN 4: no tool is called that is not offered, or that takes other arguments."""
    for messages in ([TASK], helper(0)):
        answer = ask(messages, tools)
        assert not answer.calls
        assert answer.text


def test_only_the_delegation_tool() -> None:
    """DESIGN 4: with the delegation tool alone the root delegates, and the helpers talk."""
    tools = offer("subagent")
    assert [name for name, _ in calls_of(ask([TASK], tools))] == ["subagent"] * 2
    assert not ask(helper(0), tools).calls


@pytest.mark.parametrize("name", ["list", "subagent"])
def test_a_tool_that_wants_more(name: str) -> None:
    """DESIGN 4: a tool that requires an argument which the model does not know is left alone."""
    assert not ask([TASK], offer(name, required=("unknown",))).calls


def test_a_second_task() -> None:
    """DESIGN 4: what was done for a task before counts for that task alone."""
    tools = offer(*ALL)
    history = answered([TASK], ask([TASK], tools), "First.", "Second.")
    history += [{"role": "assistant", "content": "Done."}, TASK]
    assert [name for name, _ in calls_of(ask(history, tools))] == ["subagent"] * 2


@pytest.mark.parametrize("name", ["openai", "anthropic"])
async def test_a_whole_run(tmp_path: Path, name: str) -> None:
    """DESIGN 4: through the real SDKs a root and two helpers come to an end, and close."""
    pytest.importorskip(name)
    (tmp_path / "a.py").write_text("# TODO: later\n")
    async with WireServer(key="k") as server:
        server.rule = demo_rule
        model = model_of(name, server)
        tools: list[Any] = [SubagentTool(), *survey_tools(Ground(str(tmp_path)))]
        async with model, Runtime(model=model, tools=tools) as runtime:
            root = await runtime.agents.create()
            await root.followup("Survey this.")
            await root.when_idle()
            text = root.answer or ""
        assert await server.until_closed()
        assert '"count":1' in text
        assert '"lines":1' in text
        assert len(server.requests) == 8


def model_of(name: str, server: WireServer) -> Any:
    if name == "openai":
        from broodline.actors.models.openai.model import OpenAIModel

        return OpenAIModel("demo", api_key="k", base_url=server.openai_url)
    from broodline.actors.models.anthropic.model import AnthropicModel

    return AnthropicModel("demo", api_key="k", base_url=server.anthropic_url)
