"""Layers, restrictions, guards and views of the tool registry."""

# Bodies, hooks and cases are written as lambdas, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.scope import Scope
from broodline.actors.tools import Tool, ToolContext, ToolRegistry
from broodline.messages.errors import ConfigurationError, UnsupportedSchemaError

MakeTool = Callable[..., Tool]


@pytest.mark.parametrize("global_first", [True, False])
async def test_a_scoped_tool_hides_the_global_one(
    registry: ToolRegistry, make_tool: MakeTool, global_first: bool
) -> None:
    """core 18.9 #197: in either order the scope sees its own; disposal brings the other back."""
    everyones, own, scope = make_tool("a"), make_tool("a"), Scope("one")
    if global_first:
        registry.register(everyones)
    registry.register(own, scope=scope)
    if not global_first:
        registry.register(everyones)
    assert registry.view(scope).get("a") is own
    assert registry.view().get("a") is everyones
    assert registry.view(Scope("other")).get("a") is everyones
    await scope.dispose()
    assert registry.view(scope).get("a") is everyones


def test_one_name_once_a_layer(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 18.9 #198: the second tool of a name in one layer is refused, globally or scoped."""
    scope = Scope("one")
    for layer in (None, scope):
        registry.register(make_tool("a"), scope=layer)
        with pytest.raises(ConfigurationError, match="'a' is registered"):
            registry.register(make_tool("a"), scope=layer)


def test_a_taken_back_name_is_free(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 10.1: a disposed registration leaves nothing; disposing twice is harmless."""
    first = registry.register(make_tool("a"))
    first.dispose()
    assert registry.view().names == ()
    second = make_tool("a")
    registry.register(second)
    first.dispose()
    assert registry.view().get("a") is second


def test_malformed_restrictions_are_refused(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 18.9 #199: no scope, no list or an unknown name is refused; known names are told."""
    scope = Scope("one")
    registry.register(make_tool("b"))
    registry.register(make_tool("a"))
    with pytest.raises(ConfigurationError, match="needs a scope"):
        registry.restrict(None, allow=["a"])
    with pytest.raises(ConfigurationError, match="allow=, deny= or both"):
        registry.restrict(scope)
    with pytest.raises(ConfigurationError, match=r"unknown tool 'x'; it inherits: 'a', 'b'"):
        registry.restrict(scope, deny=["x", "a"])
    with pytest.raises(ConfigurationError, match=r"unknown tools 'x', 'y'; it inherits: 'a', 'b'"):
        registry.restrict(scope, allow=["y"], deny=["x"])
    with pytest.raises(ConfigurationError, match="must be a list of tool names"):
        registry.restrict(scope, allow="a")
    assert registry.view(scope) is registry.view()


def test_own_tools_cannot_be_restricted(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 18.9 #200: the name of a tool of the scope itself is unknown to restrict."""
    scope = Scope("one")
    registry.register(make_tool("own"), scope=scope)
    with pytest.raises(ConfigurationError, match="unknown tool 'own'; it inherits: none"):
        registry.restrict(scope, allow=["own"])


def test_own_tools_survive_every_restriction(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 10.1: a scope's own tools are added unfiltered, even under a hidden name."""
    scope, own = Scope("one"), make_tool("a")
    registry.register(make_tool("a"))
    registry.register(make_tool("b"))
    registry.restrict(scope, allow=[])
    assert registry.view(scope).names == ()
    registry.register(own, scope=scope)
    assert registry.view(scope).tools == (own,)


def test_allow_lists_intersect(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 18.9 #202: two allow lists give the intersection; lifting one restores its part."""
    scope = Scope("one")
    for name in "abcd":
        registry.register(make_tool(name))
    first = registry.restrict(scope, allow=["a", "b"])
    second = registry.restrict(scope, allow=["b", "c"])
    assert registry.view(scope).names == ("b",)
    first.dispose()
    assert registry.view(scope).names == ("b", "c")
    second.dispose()
    assert registry.view(scope).names == ("a", "b", "c", "d")


def test_deny_admits_later_tools_and_allow_does_not(
    registry: ToolRegistry, make_tool: MakeTool
) -> None:
    """core 10.1: a tool registered later is seen under a deny list, not under an allow list."""
    allowing, denying = Scope("allowing"), Scope("denying")
    registry.register(make_tool("a"))
    registry.restrict(allowing, allow=["a"])
    registry.restrict(denying, deny=["a"])
    registry.register(make_tool("late"))
    assert registry.view(allowing).names == ("a",)
    assert registry.view(denying).names == ("late",)


def test_a_restriction_is_copied(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 10.1: changing the list afterwards changes no restriction."""
    scope, names = Scope("one"), ["a"]
    registry.register(make_tool("a"))
    registry.register(make_tool("b"))
    registry.restrict(scope, allow=names)
    names.append("b")
    assert registry.view(scope).names == ("a",)


def test_restrictions_reach_descendants_only(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 18.9 #204: a parent scope's restriction narrows a descendant, not a sibling."""
    parent = Scope("parent")
    child, grandchild = Scope("child", parent), Scope("grandchild")
    grandchild.bind(child)
    sibling = Scope("sibling")
    registry.register(make_tool("a"))
    registry.register(make_tool("b"))
    registry.restrict(parent, deny=["a"])
    registry.restrict(child, deny=["b"])
    assert registry.view(parent).names == ("b",)
    assert registry.view(child).names == ()
    assert registry.view(grandchild).names == ()
    assert registry.view(sibling).names == ("a", "b")


def test_a_parents_own_tool_is_filtered_below_it(
    registry: ToolRegistry, make_tool: MakeTool
) -> None:
    """core 10.1: a tool is exempt only in its own scope; heirs see it through all restrictions."""
    parent = Scope("parent")
    child = Scope("child", parent)
    registry.register(make_tool("a"))
    registry.register(make_tool("own"), scope=parent)
    registry.restrict(parent, allow=["a"])
    assert registry.view(parent).names == ("a", "own")
    assert registry.view(child).names == ("a",)


def test_the_nearest_layer_wins(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 10.1: inherited tools come from the nearest ancestor that has the name."""
    far = Scope("far")
    near = Scope("near", far)
    leaf = Scope("leaf", near)
    tools = [make_tool("a") for _ in range(3)]
    for tool, layer in zip(tools, (None, far, near), strict=True):
        registry.register(tool, scope=layer)
    assert registry.view(leaf).get("a") is tools[2]
    assert registry.view(far).get("a") is tools[1]


async def test_a_disposed_scope_takes_nothing(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 18.11 #257: registering, restricting or guarding through a disposed scope raises."""
    scope = Scope("gone")
    registry.register(make_tool("a"))
    await scope.dispose()
    with pytest.raises(ConfigurationError, match="'gone' is disposed"):
        registry.register(make_tool("b"), scope=scope)
    with pytest.raises(ConfigurationError, match="'gone' is disposed"):
        registry.restrict(scope, allow=["a"])
    with pytest.raises(ConfigurationError, match="'gone' is disposed"):
        registry.guard(lambda context: None, scope=scope)
    assert registry.view(scope) is registry.view()


def test_only_tools_are_registered(registry: ToolRegistry) -> None:
    """core 10.1: what is no Tool is refused with a way out."""
    function: Any = print
    with pytest.raises(ConfigurationError, match="@tool"):
        registry.register(function)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), True, "5"])
def test_bad_timeouts_are_refused(make_tool: MakeTool, timeout: Any) -> None:
    """core 18.9 #224: a timeout is positive and finite, or the tool cannot be made."""
    with pytest.raises(ConfigurationError, match="timeout must be a positive, finite number"):
        make_tool(timeout=timeout)


async def never(*_: Any) -> Any:
    raise AssertionError


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"name": ""}, "name must be"),
        ({"name": None}, "name must be"),
        ({"execute": 1}, "execute must be callable"),
        ({"render": 1}, "render must be a plain function"),
        ({"concurrency_safe": 1}, "concurrency_safe must be a bool"),
        ({"concurrency_safe": never}, "concurrency_safe must be a bool or a plain function"),
        ({"render": never}, "render must be a plain function"),
        ({"name": "smile \ud83d"}, "name of a tool has a lone surrogate"),
    ],
)
def test_malformed_tools_are_refused(make_tool: MakeTool, fields: Any, text: str) -> None:
    """core 10.1: a tool is checked when it is made."""
    with pytest.raises(ConfigurationError, match=text):
        make_tool(**fields)


def test_schemas_of_tools_are_checked(make_tool: MakeTool) -> None:
    """core 10.1: parameters and output schema must be of the subset."""
    with pytest.raises(UnsupportedSchemaError, match=r"parameters of tool 'x'.*object"):
        make_tool("x", parameters={"type": "string"})
    with pytest.raises(UnsupportedSchemaError, match=r"output schema of tool 'x'.*anyOf"):
        make_tool("x", output_schema={"anyOf": []})


def test_views_are_shared_and_stable(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 10.1: the same view is handed out while nothing changes, to all who see the same."""
    registry.register(make_tool("b"))
    registry.register(make_tool("a"))
    everyones = registry.view()
    assert everyones.names == ("a", "b")
    assert [schema.name for schema in everyones.schemas] == ["a", "b"]
    assert registry.view(Scope("x")) is everyones
    report, children = make_tool("report"), [Scope(f"child {n}") for n in range(3)]
    for child in children:
        registry.register(report, scope=child)
        registry.restrict(child, deny=["a"])
    views = [registry.view(child) for child in children]
    assert views[0] is views[1] is views[2]
    assert registry.view() is everyones
    assert registry.view(Scope("grandchild", children[0])).names == ("b", "report")


def test_a_change_elsewhere_keeps_a_view(registry: ToolRegistry, make_tool: MakeTool) -> None:
    """core 10.1: what another scope registers touches no view but its own and its heirs'."""
    one, other = Scope("one"), Scope("other")
    heir = Scope("heir", one)
    registry.register(make_tool("a"), scope=one)
    view, inherited = registry.view(one), registry.view(heir)
    registry.register(make_tool("b"), scope=other)
    assert registry.view(one) is view
    registry.register(make_tool("c"), scope=one)
    assert registry.view(one).names == ("a", "c")
    assert registry.view(heir) is not inherited
    assert registry.view(heir).names == ("a", "c")


async def test_nothing_of_a_disposed_scope_stays(
    registry: ToolRegistry, make_tool: MakeTool
) -> None:
    """core 10.1: with a scope go its tools, restrictions, guards and views."""
    registry.register(make_tool("a"))
    scope = Scope("one")
    registry.register(make_tool("own"), scope=scope)
    registry.restrict(scope, deny=["a"])
    registry.guard(lambda context: "no", scope=scope)
    view = weakref.ref(registry.view(scope))
    await scope.dispose()
    gc.collect()
    assert view() is None
    assert registry.guards(scope) == ()
    assert registry.view(scope) is registry.view()


def test_guards_stand_in_order(registry: ToolRegistry) -> None:
    """core 10.1: global guards first, then the farthest ancestor's."""
    far = Scope("far")
    near = Scope("near", far)
    asked: list[str] = []

    def guard(name: str) -> Callable[[ToolContext], None]:
        return lambda context: asked.append(name)

    registry.guard(guard("near"), scope=near)
    registry.guard(guard("far"), scope=far)
    last = registry.guard(guard("global"))
    for one in registry.guards(near):
        one(ToolContext("c", "t", {}))
    assert asked == ["global", "far", "near"]
    last.dispose()
    assert len(registry.guards(near)) == 2
    assert len(registry.guards(None)) == 0


def test_guards_are_plain(registry: ToolRegistry) -> None:
    """core 10.1: a guard is synchronous; a coroutine function is refused."""

    async def guard(context: ToolContext) -> str | None:
        return None

    refused: Any = guard
    with pytest.raises(ConfigurationError, match="plain function"):
        registry.guard(refused)


def test_only_three_things_reach_the_model(make_tool: MakeTool) -> None:
    """core 10.1: name, description and parameters are what a model sees of a tool."""
    tool = make_tool("a", timeout=3, output_schema={"type": "string"})
    assert tool.schema.name == "a"
    assert tool.schema.description == "Does a."
    assert tool.schema.parameters is tool.parameters
    with pytest.raises(TypeError):
        tool.parameters["type"] = "string"
