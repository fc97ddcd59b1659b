"""Assembling: the fast path, async providers, interceptors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest

from broodline.actors.assembly import Assembly, PromptAssembling, PromptContext
from broodline.actors.hooks import Hooks
from broodline.actors.prompt import ASSEMBLE, PromptRegistry
from broodline.actors.scope import Scope
from broodline.messages.errors import PromptError


@pytest.fixture
def hooks() -> Hooks:
    return Hooks()


@pytest.fixture
def prompt(hooks: Hooks) -> PromptRegistry:
    return PromptRegistry(hooks)


CONTEXT = PromptContext("agent", "/w", "p", "m")


async def both(prompt: PromptRegistry, context: PromptContext = CONTEXT) -> Assembly:
    """The assembly, which both ways must agree on."""
    now = prompt.assemble_now(context)
    later = await prompt.assemble(context)
    assert now == later
    return later


async def test_both_ways_agree(prompt: PromptRegistry) -> None:
    """core 11.1: with and without waiting the prompt is the same."""
    prompt.section("a", "{{model}}")
    prompt.section("b", lambda context: f"in {context.cwd}")
    prompt.context("c", lambda _context: "C")
    assert await both(prompt) == Assembly("m\n\nin /w", (("c", "C"),))


async def test_fixed_is_made_once(prompt: PromptRegistry) -> None:
    """DESIGN section 7: fixed texts give the same object to every agent that sees the same."""
    prompt.section("a", "A {{x}}")
    prompt.variable("x", "X")
    prompt.context("c", "C")
    first = prompt.assemble_now(replace(CONTEXT, scope=Scope("one")))
    assert prompt.assemble_now(replace(CONTEXT, scope=Scope("two"), cwd="/other")) is first
    assert await prompt.assemble(CONTEXT) is first


async def test_shadowed_built_in_is_fixed(prompt: PromptRegistry) -> None:
    """core 11.1: a built-in variable that is shadowed by a text makes no difference any more."""
    prompt.section("a", "{{model}}")
    prompt.variable("model", "ours")
    first = prompt.assemble_now(CONTEXT)
    assert prompt.assemble_now(replace(CONTEXT, model="n")) is first


async def test_fixed_follows_built_ins(prompt: PromptRegistry) -> None:
    """core 11.1: the built-in variables that are used are looked at each step."""
    prompt.section("a", "{{model}}")
    one = await both(prompt)
    two = await both(prompt, replace(CONTEXT, model="n"))
    assert (one.system, two.system) == ("m", "n")
    assert prompt.assemble_now(replace(CONTEXT, cwd="/unused")) is one


async def test_many_models(prompt: PromptRegistry) -> None:
    """core 11.1: more combinations of built-ins than are remembered stay right."""
    prompt.section("a", "{{model}} {{cwd}}")
    for number in [*range(100), *range(100)]:
        context = replace(CONTEXT, model=f"m{number}")
        assert (await both(prompt, context)).system == f"m{number} /w"
    blueprint = prompt._blueprint(None)  # pyright: ignore[reportPrivateUsage]
    assert len(blueprint._assemblies or ()) <= 64  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("scoped", [False, True])
async def test_fixed_follows_registrations(prompt: PromptRegistry, scoped: bool) -> None:
    """core 11.1: what is registered or disposed between two steps shows in the second."""
    scope = Scope("agent")
    context = replace(CONTEXT, scope=scope)
    where = scope if scoped else None
    prompt.section("a", "A")
    assert (await both(prompt, context)).system == "A"
    section = prompt.section("b", "B", scope=where)
    assert (await both(prompt, context)).system == "A\n\nB"
    section.dispose()
    assert (await both(prompt, context)).system == "A"
    prompt.section("b", "{{x}}", scope=where)
    variable = prompt.variable("x", "1", scope=where)
    assert (await both(prompt, context)).system == "A\n\n1"
    variable.dispose()
    prompt.variable("x", "2", scope=where)
    assert (await both(prompt, context)).system == "A\n\n2"
    prompt.context("c", "C", scope=where)
    assert (await both(prompt, context)).contexts == (("c", "C"),)


async def test_scoped_sees_global_change(prompt: PromptRegistry) -> None:
    """core 11.1: a scope with registrations of its own follows the global layer too."""
    context = replace(CONTEXT, scope=Scope("agent"))
    prompt.persona("P", scope=context.scope)
    assert (await both(prompt, context)).system == "P"
    prompt.section("b", "B")
    assert (await both(prompt, context)).system == "P\n\nB"


async def test_async_section(prompt: PromptRegistry) -> None:
    """core 11.1: an async section is not asked without waiting, and rendered with it."""
    asked: list[int] = []

    async def section(context: PromptContext) -> str:
        asked.append(1)
        await asyncio.sleep(0)
        return f"{context.agent_id} on {{{{model}}}}"

    prompt.section("a", section)
    assert prompt.assemble_now(CONTEXT) is None
    assert asked == []
    assert (await prompt.assemble(CONTEXT)).system == "agent on m"
    assert asked == [1]


@pytest.mark.parametrize("kind", ["variable", "context"])
async def test_async_providers(prompt: PromptRegistry, kind: str) -> None:
    """core 11.1: variables and contexts may be async as well, also as callable objects."""

    class Provider:
        async def __call__(self, _context: PromptContext) -> str:
            await asyncio.sleep(0)
            return "X"

    prompt.section("a", "A {{x}}")
    if kind == "variable":
        prompt.variable("x", Provider())
    else:
        prompt.variable("x", "X")
        prompt.context("c", Provider())
    assert prompt.assemble_now(CONTEXT) is None
    assembly = await prompt.assemble(CONTEXT)
    assert assembly.system == "A X"
    assert assembly.contexts == ((("c", "X"),) if kind == "context" else ())


async def test_async_but_unused(prompt: PromptRegistry) -> None:
    """core 11.1: an async variable that no section uses, or a shadowed section, costs no wait."""

    async def provider(_context: PromptContext) -> str:
        raise AssertionError

    scope = Scope("agent")
    prompt.section("a", "A")
    prompt.section("b", provider)
    prompt.section("b", "B", scope=scope)
    prompt.variable("x", provider)
    assert (await both(prompt, replace(CONTEXT, scope=scope))).system == "A\n\nB"


async def test_async_in_disguise(prompt: PromptRegistry) -> None:
    """core 11.1: a plain function that returns an awaitable is found out once, then known."""
    asked: list[int] = []
    ran: list[int] = []

    async def text() -> str:
        ran.append(1)
        return "A"

    def section(_context: PromptContext) -> Awaitable[str]:
        asked.append(1)
        return text()

    prompt.section("a", section)
    assert prompt.assemble_now(CONTEXT) is None
    assert (asked, ran) == ([1], [])
    assert (await prompt.assemble(CONTEXT)).system == "A"
    assert prompt.assemble_now(CONTEXT) is None
    assert (asked, ran) == ([1, 1], [1])


async def test_async_in_disguise_known_to_all(prompt: PromptRegistry) -> None:
    """core 11.1: what was found out for one scope holds for the scopes that ask later."""
    asked: list[int] = []

    async def text() -> str:
        return "A"

    def section(_context: PromptContext) -> Awaitable[str]:
        asked.append(1)
        return text()

    prompt.section("a", section)
    assert prompt.assemble_now(CONTEXT) is None
    scope = Scope("later")
    prompt.persona("P", scope=scope)
    assert prompt.assemble_now(replace(CONTEXT, scope=scope)) is None
    assert asked == [1]


async def test_async_variable_of_a_function(prompt: PromptRegistry) -> None:
    """core 11.1: a section function is not asked twice a step for an async variable it may use."""
    asked: list[int] = []

    def section(_context: PromptContext) -> str:
        asked.append(1)
        return "{{x}}"

    async def provider(_context: PromptContext) -> str:
        return "X"

    prompt.section("a", section)
    prompt.variable("x", provider)
    assert prompt.assemble_now(CONTEXT) is None
    assert (await prompt.assemble(CONTEXT)).system == "X"
    assert asked == [1]


async def test_async_failure(prompt: PromptRegistry) -> None:
    """core #250: an async section that raises is named; its error is the cause."""
    error = OSError("gone")

    async def section(_context: PromptContext) -> str:
        raise error

    prompt.section("guide", section)
    with pytest.raises(PromptError, match="prompt section 'guide' failed: OSError") as caught:
        await prompt.assemble(CONTEXT)
    assert caught.value.__cause__ is error


async def test_cancelled(prompt: PromptRegistry) -> None:
    """core 9: assembling can be cancelled; that is no failure of the section."""
    gate = asyncio.Event()

    async def section(_context: PromptContext) -> str:
        await gate.wait()
        return "A"

    prompt.section("a", section)
    task = asyncio.create_task(prompt.assemble(CONTEXT))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_intercepted_in_order(hooks: Hooks, prompt: PromptRegistry) -> None:
    """core 11.1: interceptors, plain and async, rewrite the assembly one after the other."""
    prompt.section("a", "A")
    seen: list[PromptAssembling] = []

    async def first(notice: PromptAssembling) -> Assembly:
        seen.append(notice)
        await asyncio.sleep(0)
        return replace(notice.assembly, system=f"{notice.assembly.system}1")

    def second(notice: PromptAssembling) -> None:
        seen.append(notice)

    def third(notice: PromptAssembling) -> Assembly:
        return replace(notice.assembly, system=f"{notice.assembly.system}3", contexts=(("c", "C"),))

    for interceptor in (first, second, third):
        hooks.intercept(ASSEMBLE, interceptor)
    assert prompt.assemble_now(CONTEXT) is None
    assert await prompt.assemble(CONTEXT) == Assembly("A13", (("c", "C"),))
    assert [notice.assembly.system for notice in seen] == ["A", "A1"]
    assert all(notice.context is CONTEXT for notice in seen)


async def test_rewrite_is_for_one_step(hooks: Hooks, prompt: PromptRegistry) -> None:
    """core 11.1: what an interceptor made of one step does not leak into the next."""
    prompt.section("a", "A")

    def once(notice: PromptAssembling) -> Assembly:
        return replace(notice.assembly, system=f"{notice.assembly.system}!")

    registration = hooks.intercept(ASSEMBLE, once)
    assert (await prompt.assemble(CONTEXT)).system == "A!"
    assert (await prompt.assemble(CONTEXT)).system == "A!"
    registration.dispose()
    assert (await both(prompt)).system == "A"


async def test_interceptor_scoped(hooks: Hooks, prompt: PromptRegistry) -> None:
    """core #255: an interceptor of one agent leaves the others' prompts alone."""
    scope = Scope("a")
    prompt.section("a", "A")
    hooks.intercept(ASSEMBLE, lambda _notice: Assembly("mine"), scope=scope)
    assert (await prompt.assemble(replace(CONTEXT, scope=scope))).system == "mine"
    assert (await both(prompt, replace(CONTEXT, scope=Scope("b")))).system == "A"


async def test_complete_after_interceptors(hooks: Hooks, prompt: PromptRegistry) -> None:
    """core 11.1: the complete section takes the place of the system text after the interceptors."""
    prompt.section("whole", "W", complete=True)
    hooks.intercept(ASSEMBLE, lambda _notice: Assembly("rewritten", (("c", "C"),)))
    assert await prompt.assemble(CONTEXT) == Assembly("W", (("c", "C"),))


async def test_emptied_by_interceptor(hooks: Hooks, prompt: PromptRegistry) -> None:
    """core 11.1: an empty rewritten prompt is none."""
    prompt.section("a", "A")
    hooks.intercept(ASSEMBLE, lambda _notice: Assembly(""))
    assert (await prompt.assemble(CONTEXT)).system is None


async def test_interceptor_fails(hooks: Hooks, prompt: PromptRegistry) -> None:
    """core #250: an interceptor that raises is named; its error is the cause."""
    error = ValueError("no")

    def breaker(_notice: PromptAssembling) -> Assembly:
        raise error

    hooks.intercept(ASSEMBLE, breaker)
    with pytest.raises(PromptError, match=re.escape("breaker, an interceptor")) as caught:
        await prompt.assemble(CONTEXT)
    assert caught.value.__cause__ is error


async def test_interceptor_of_wrong_type(hooks: Hooks, prompt: PromptRegistry) -> None:
    """core 11.1: an interceptor that returns something else is named."""

    def wrong(_notice: PromptAssembling) -> Any:
        return "text"

    hooks.intercept(ASSEMBLE, wrong)
    with pytest.raises(PromptError, match="gave a str; it must return an Assembly"):
        await prompt.assemble(CONTEXT)


async def test_agents_without_registrations_cost_nothing(prompt: PromptRegistry) -> None:
    """DESIGN section 7: an agent without own registrations leaves nothing in the registry."""
    prompt.section("a", "A")
    prompt.persona("P", scope=Scope("with"))
    for number in range(50):
        await both(prompt, replace(CONTEXT, scope=Scope(f"agent {number}")))
    assert len(prompt._blueprints) == 1  # pyright: ignore[reportPrivateUsage]


async def test_nothing_left_of_an_agent(prompt: PromptRegistry) -> None:
    """core #242: a disposed scope leaves nothing in the registry."""
    for number in range(10):
        scope = Scope(f"agent {number}")
        prompt.persona("P", scope=scope)
        prompt.context("c", "C", scope=scope)
        await both(prompt, replace(CONTEXT, scope=scope))
        scope.dispose_now()
    assert not prompt._blueprints  # pyright: ignore[reportPrivateUsage]
    assert not prompt._scoped  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    "answer",
    [
        Assembly(7),  # type: ignore[arg-type]
        Assembly("half a smile: \ud83d"),
        Assembly(None, (("a", None),)),  # type: ignore[arg-type]
        Assembly(None, ("a",)),  # type: ignore[arg-type]
        Assembly(None, None),  # type: ignore[arg-type]
        Assembly(None, (("\ud83d", "a"),)),
    ],
)
async def test_interceptor_gives_what_cannot_be_logged(
    hooks: Hooks, prompt: PromptRegistry, answer: Assembly
) -> None:
    """core 1.3, 11.1: an assembly that no request can be made of is the interceptor's error."""

    def spoiler(_notice: PromptAssembling) -> Assembly:
        return answer

    hooks.intercept(ASSEMBLE, spoiler)
    with pytest.raises(PromptError, match="spoiler"):
        await prompt.assemble(CONTEXT)


async def test_interceptor_lets_a_cancellation_out(hooks: Hooks, prompt: PromptRegistry) -> None:
    """core #250, DESIGN section 2: a cancellation of its own fails the prompt, not the task."""

    async def cancelled(_notice: PromptAssembling) -> Assembly:
        raise asyncio.CancelledError

    hooks.intercept(ASSEMBLE, cancelled)
    with pytest.raises(PromptError, match="cancelled"):
        await prompt.assemble(CONTEXT)


async def test_a_provider_lets_a_cancellation_out(prompt: PromptRegistry) -> None:
    """core #250, DESIGN section 2: an async provider's own cancellation fails the prompt only."""

    async def cancelled(_context: PromptContext) -> str:
        raise asyncio.CancelledError

    prompt.section("s", cancelled)
    with pytest.raises(PromptError, match="section 's' failed"):
        await prompt.assemble(CONTEXT)
