"""The picture of who lives under whom."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from broodline.actors.models import RuleModel, ScriptedModel, hang, text
from broodline.providers.contract import SubagentRequest
from broodline.supervision.runtime import Runtime
from broodline.supervision.tree import Tree


async def test_empty(open_runtime: Any) -> None:
    """DESIGN 2: a runtime without agents has an empty picture."""
    runtime = await open_runtime()
    tree = runtime.tree()
    assert (tree.roots, str(tree)) == ((), "(no agents)")
    assert tree.to_dict()["roots"] == []


async def test_shape(open_runtime: Any) -> None:
    """DESIGN 2: children stand under their parents, oldest first, with what is known of them."""
    runtime = await open_runtime(ScriptedModel(each=[hang("x")]))
    root = await runtime.agents.create()
    lone = await runtime.agents.create()
    one = await runtime.subagents.start("spawn", SubagentRequest("p", root, label="one"))
    two = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    deep = await runtime.subagents.start("spawn", SubagentRequest("p", one.local_agent))
    tree = runtime.tree()
    assert [node.id for node in tree.roots] == [root.id, lone.id]
    assert [node.id for node in tree.roots[0].children] == [one.id, two.id]
    assert [node.id for node in tree] == [root.id, one.id, deep.id, two.id, lone.id]
    first = tree.find(one.id)
    assert first is not None
    assert (first.label, first.provider, first.mode, first.depth) == ("one", "spawn", "one-shot", 1)
    assert tree.find("nobody") is None
    top = tree.roots[0]
    assert (top.label, top.provider, top.mode, top.depth) == (None, None, None, 0)


async def test_states(open_runtime: Any, settle: Any) -> None:
    """DESIGN 4: a parent waits while a child runs; a child with its result is settled."""
    gate = asyncio.Event()

    async def gated(_request: Any) -> Any:
        await gate.wait()
        return text("done")

    runtime = await open_runtime(ScriptedModel(each=[gated]))
    root = await runtime.agents.create()
    assert runtime.tree().roots[0].state == "idle"
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await settle()
    node = runtime.tree().roots[0]
    assert (node.state, node.children[0].state) == ("waiting", "running")
    assert (node.children[0].phase, node.children[0].turn, node.children[0].step) == ("model", 1, 1)
    gate.set()
    await run.result
    node = runtime.tree().roots[0]
    assert (node.state, node.children[0].state, node.children[0].step) == ("idle", "settled", 0)
    await run.dispose()
    assert runtime.tree().roots[0].children == ()


async def test_since(open_runtime: Any) -> None:
    """DESIGN 2: since says how long the agent has been doing what it does."""

    class Hands:
        now = 100.0

        def monotonic(self) -> float:
            return self.now

        def time_ms(self) -> int:
            return 5

        async def sleep(self, seconds: float) -> None:
            raise NotImplementedError

    clock = Hands()
    runtime = await open_runtime(clock=clock)
    await runtime.agents.create()
    clock.now = 107.5
    tree = runtime.tree()
    assert (tree.roots[0].since, tree.time) == (7.5, 5)
    clock.now = 1.0
    assert runtime.tree().roots[0].since == 0.0


async def test_frozen(open_runtime: Any) -> None:
    """DESIGN 2: a picture does not change, also when the agents do."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    tree = runtime.tree()
    await root.dispose()
    assert tree.find(root.id) is not None
    assert runtime.tree().roots == ()
    with pytest.raises(FrozenInstanceError):
        tree.roots[0].state = "running"


async def test_readable(open_runtime: Any) -> None:
    """DESIGN 2: as text, one line an agent, branches drawn, labels first."""
    runtime = await open_runtime()
    root = await runtime.agents.create(id="root")
    runs = [
        await runtime.subagents.start("spawn", SubagentRequest("p", root, label=label))
        for label in ("first", None)
    ]
    for run in runs:
        await run.result
    lines = str(runtime.tree()).split("\n")
    assert lines[0].startswith("root [idle for ")
    assert lines[1].startswith(f"├─ first ({runs[0].id}) by spawn [settled for ")
    assert lines[1].endswith(", turn 1]")
    assert lines[2].startswith(f"└─ {runs[1].id} by spawn [settled")


async def test_one_line(open_runtime: Any) -> None:
    """DESIGN 2: whatever a label holds, an agent is one line, without codes for a terminal."""
    runtime = await open_runtime()
    root = await runtime.agents.create(id="root")
    forged = "a\n└─ forged [idle]\r\x1b[2J\u202e\u2028" + "x" * 9_999
    await runtime.subagents.start("spawn", SubagentRequest("p", root, label=forged))
    text = str(runtime.tree())
    assert len(text.splitlines()) == 2
    assert len(text) < 500
    assert "a\\n└─ forged [idle]\\r\\x1b[2J\\u202e\\u2028xxx" in text
    assert runtime.tree().roots[0].children[0].label == forged


async def test_json(open_runtime: Any) -> None:
    """DESIGN 2: the JSON form is whole and leaves out what is not known."""
    runtime = await open_runtime()
    root = await runtime.agents.create(id="root")
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, label="first"))
    await run.result
    plain = json.loads(json.dumps(runtime.tree().to_dict()))
    (top,) = plain["roots"]
    assert "label" not in top
    assert "provider" not in top
    (child,) = top["children"]
    assert (child["id"], child["label"], child["mode"]) == (run.id, "first", "one-shot")
    assert (child["state"], child["turn"], child["children"]) == ("settled", 1, [])


async def test_very_deep(open_runtime: Any) -> None:
    """DESIGN 2: a chain deeper than the call stack is drawn all the same."""
    runtime = await open_runtime(RuleModel(lambda _c: "ok"), check_invariants=False)
    root = await runtime.agents.create()
    parent: Any = root.agent
    for _ in range(1500):
        run = await runtime.subagents.start("spawn", SubagentRequest("p", parent))
        parent = run.local_agent
    tree = runtime.tree()
    assert sum(1 for _ in tree) == 1501
    assert str(tree).count("\n") == 1500
    assert tree.to_dict()["roots"][0]["children"]
    assert isinstance(tree, Tree)
    await root.dispose()
    assert len(runtime.agents) == 0


def test_from_any_thread() -> None:
    """DESIGN 2: the picture is there at once from any thread while agents come and go."""
    with Runtime(model=RuleModel(lambda _c: "ok")) as runtime:
        root = runtime.agents.create().result(timeout=10)
        stop = threading.Event()
        seen: list[int] = []
        errors: list[BaseException] = []

        def look() -> None:
            try:
                while not stop.is_set():
                    seen.append(sum(1 for _ in runtime.tree()))
            except BaseException as error:
                errors.append(error)

        watcher = threading.Thread(target=look)
        watcher.start()
        for _ in range(100):
            run = runtime.subagents.start("spawn", SubagentRequest("p", root)).result(timeout=10)
            run.result.result(timeout=10)
            run.dispose().result(timeout=10)
        stop.set()
        watcher.join()
        assert errors == []
        assert set(seen) <= {1, 2}


async def test_remote_child(open_runtime: Any, stub: Any) -> None:
    """DESIGN 2: a child outside of the runtime stands under its parent too."""
    from broodline.messages.payload import AbortCause

    class Spec:
        pass

    class Far:
        local_agent = None

        def begin(self, done: Any) -> None:
            pass

        def cancel(self, cause: AbortCause) -> None:
            pass

        def release(self) -> None:
            pass

    class Driver:
        async def create(self, _spec: Any, _birth: Any) -> Far:
            return Far()

    runtime = await open_runtime()
    runtime.subagents.register_driver(Spec, Driver())
    runtime.subagents.register(stub(Spec()))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("stub", SubagentRequest("p", root, label="far"))
    (node,) = runtime.tree().roots[0].children
    assert (node.id, node.label, node.phase, node.state) == (run.id, "far", "remote", "running")
    assert runtime.tree().roots[0].state == "waiting"
    await run.dispose()


async def test_children_of_all_kinds_by_age(open_runtime: Any, stub: Any) -> None:
    """DESIGN 2: children stand oldest first, also where agents and remote ones alternate."""

    class Spec:
        """A child outside of the runtime."""

    class Child:
        local_agent = None

        def begin(self, done: Any) -> None:
            """Goes on and on."""

        def cancel(self, cause: Any) -> None:
            """Hears nothing."""

        def release(self) -> None:
            """Holds nothing."""

    class Driver:
        async def create(self, spec: Any, birth: Any) -> Child:
            return Child()

    runtime = await open_runtime()
    runtime.subagents.register_driver(Spec, Driver())
    runtime.subagents.register(stub(Spec()))
    root = await runtime.agents.create()
    runs = [
        await runtime.subagents.start(name, SubagentRequest("p", root))
        for name in ("stub", "stub", "spawn", "stub", "spawn")
    ]
    drawn = [node.id for node in runtime.tree().roots[0].children]
    assert drawn == [run.id for run in runs]


@pytest.mark.parametrize("moment", ["agent/created", "subagent/start", "agent/disposed"])
async def test_whole_at_every_moment(open_runtime: Any, moment: str) -> None:
    """DESIGN 2: a child has its label, provider and mode from publication to its last moment."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    seen: list[Any] = []
    runtime.hooks.observe(moment, lambda _notice: seen.extend(runtime.tree()))
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, label="l"))
    await run.dispose()
    children = [node for node in seen if node.depth == 1]
    assert all((n.label, n.provider, n.mode) == ("l", "spawn", "one-shot") for n in children)
    assert len(children) == (0 if moment == "agent/disposed" else 1)
