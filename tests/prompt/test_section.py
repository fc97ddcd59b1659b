"""Sections: layers, order, strict rendering, the persona, the complete section."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.assembly import PromptContext, TextSource
from broodline.actors.hooks import Hooks
from broodline.actors.prompt import PERSONA, PromptRegistry
from broodline.actors.scope import Scope
from broodline.messages.errors import ConfigurationError, PromptError


@pytest.fixture
def prompt() -> PromptRegistry:
    return PromptRegistry(Hooks())


def system(prompt: PromptRegistry, scope: Scope | None = None, **values: Any) -> str | None:
    assembly = prompt.assemble_now(PromptContext("agent", scope=scope, **values))
    assert assembly is not None
    return assembly.system


def fixed(text: str) -> TextSource:
    return text


def given(text: str) -> TextSource:
    def section(_context: PromptContext) -> str:
        return text

    return section


def never(_context: PromptContext) -> str:
    raise AssertionError("a provider that must not be asked was asked")


def test_nothing_registered(prompt: PromptRegistry) -> None:
    """core 11.1: without sections there is no system text, not an empty one."""
    assert system(prompt) is None


def test_order(prompt: PromptRegistry) -> None:
    """core #244: ascending order; ties by registration; joined by a blank line."""
    prompt.section("ten", "T", order=10)
    prompt.section("identity", "I", order=-100)
    prompt.section("first zero", "Z1")
    prompt.section("second zero", "Z2")
    prompt.section("half", "H", order=0.5)
    assert system(prompt) == "I\n\nZ1\n\nZ2\n\nH\n\nT"


def test_ties_across_layers(prompt: PromptRegistry) -> None:
    """core #244: of equal order in different layers the one registered first comes first."""
    scope = Scope("a")
    prompt.section("one", "1")
    prompt.section("two", "2", scope=scope)
    prompt.section("three", "3")
    assert system(prompt, scope) == "1\n\n2\n\n3"


@pytest.mark.parametrize("order", [float("nan"), float("inf"), -float("inf"), True, "1", None])
def test_order_must_be_finite(prompt: PromptRegistry, order: Any) -> None:
    """core 11.1: an order that is no finite number is refused at registration."""
    with pytest.raises(ConfigurationError, match="prompt section 'a': order must be a finite"):
        prompt.section("a", "x", order=order)
    assert system(prompt) is None


@pytest.mark.parametrize("name", ["", None, 7])
def test_name_must_be_text(prompt: PromptRegistry, name: Any) -> None:
    """core 11.1: a section without a name is refused."""
    with pytest.raises(ConfigurationError, match="needs a name"):
        prompt.section(name, "x")


@pytest.mark.parametrize("text", [None, 7, ["x"]])
def test_text_must_be_text_or_function(prompt: PromptRegistry, text: Any) -> None:
    """core 11.1: a section is a string or a function; anything else is refused by name."""
    with pytest.raises(ConfigurationError, match="prompt section 'a' must be a string or a func"):
        prompt.section("a", text)


def test_duplicate_in_global_layer(prompt: PromptRegistry) -> None:
    """core 11.1: a name that is taken in the layer is refused; the first stays."""
    prompt.section("a", "first")
    with pytest.raises(ConfigurationError, match="'a' is registered already in the global layer"):
        prompt.section("a", "second")
    assert system(prompt) == "first"


def test_duplicate_in_scope(prompt: PromptRegistry) -> None:
    """core 11.1: the same in a scope's layer, whose name the error gives."""
    scope = Scope("child")
    prompt.section("a", "first", scope=scope)
    with pytest.raises(ConfigurationError, match="registered already in scope 'child'"):
        prompt.section("a", "second", scope=scope)
    assert system(prompt, scope) == "first"


def test_kinds_have_names_of_their_own(prompt: PromptRegistry) -> None:
    """core 11.1: a section, a variable and a context may share a name."""
    prompt.section("a", "S {{a}}")
    prompt.variable("a", "V")
    prompt.context("a", "C")
    assembly = prompt.assemble_now(PromptContext("agent"))
    assert assembly is not None
    assert assembly.system == "S V"
    assert assembly.contexts == (("a", "C"),)


def test_free_after_dispose(prompt: PromptRegistry) -> None:
    """core 11.1: a name is free again when its registration is disposed."""
    prompt.section("a", "first").dispose()
    assert system(prompt) is None
    prompt.section("a", "second")
    assert system(prompt) == "second"


def test_child_persona(prompt: PromptRegistry) -> None:
    """core #242: a child's persona is its own; parent and siblings keep the global one."""
    parent, child, sibling = Scope("parent"), Scope("child"), Scope("sibling")
    prompt.section("identity", "I", order=-100)
    prompt.persona("global")
    prompt.section(PERSONA, "of the child", scope=child)
    assert system(prompt, child) == "I\n\nof the child"
    assert system(prompt, parent) == "I\n\nglobal"
    assert system(prompt, sibling) == "I\n\nglobal"
    assert system(prompt) == "I\n\nglobal"


def test_child_persona_ends_with_child(prompt: PromptRegistry) -> None:
    """core #242: after the child is disposed nothing of it is left."""
    child = Scope("child")
    prompt.persona("global")
    prompt.persona("of the child", scope=child)
    assert system(prompt, child) == "of the child"
    child.dispose_now()
    assert system(prompt, child) == "global"
    assert system(prompt, Scope("child")) == "global"


def test_empty_persona(prompt: PromptRegistry) -> None:
    """core 11.1, providers 5 (3): an empty persona is one: it shadows and says nothing."""
    child = Scope("child")
    prompt.persona("global")
    prompt.persona("", scope=child)
    assert system(prompt, child) is None


def test_nearest_shadows(prompt: PromptRegistry) -> None:
    """core 11.2: along a chain the nearest layer counts, and its end uncovers the next."""
    outer = Scope("outer")
    inner = Scope("inner", outer)
    prompt.section("a", "global")
    prompt.section("a", "outer", scope=outer)
    near = prompt.section("a", "inner", scope=inner)
    assert system(prompt, inner) == "inner"
    near.dispose()
    assert system(prompt, inner) == "outer"
    outer.dispose_now()
    assert system(prompt, inner) == "global"


def test_inherited_through_bare_scopes(prompt: PromptRegistry) -> None:
    """core 11.2: a scope without registrations sees those of a distant ancestor."""
    top = Scope("top")
    bottom = Scope("bottom", Scope("middle", top))
    prompt.section("a", "top", scope=top)
    assert system(prompt, bottom) == "top"


def test_never_upward(prompt: PromptRegistry) -> None:
    """core 11.2: a parent does not see what its descendant registered."""
    parent = Scope("parent")
    prompt.section("a", "child", scope=Scope("child", parent))
    assert system(prompt, parent) is None


def test_bound_after_first_prompt(prompt: PromptRegistry) -> None:
    """core 11.2: a scope that is bound late inherits from the next prompt on."""
    preset = Scope("preset")
    child = Scope("child")
    prompt.section("a", "A", scope=child)
    prompt.section("b", "B", scope=preset)
    assert system(prompt, child) == "A"
    child.bind(preset)
    assert system(prompt, child) == "A\n\nB"


def test_shadowed_provider_never_asked(prompt: PromptRegistry) -> None:
    """core #243: a shadowed section's function is not called."""
    child = Scope("child")
    prompt.section("a", never)
    prompt.section("a", "nearer", scope=child)
    assert system(prompt, child) == "nearer"


def test_shadowing_takes_its_own_order(prompt: PromptRegistry) -> None:
    """core 11.1: a shadowing section stands at its own order, not at the shadowed one's."""
    child = Scope("child")
    prompt.section("a", "global", order=-50)
    prompt.section("b", "B")
    prompt.section("a", "own", order=50, scope=child)
    assert system(prompt, child) == "B\n\nown"


@pytest.mark.parametrize("text", ["", "  ", "\n\n"])
@pytest.mark.parametrize("wrap", [fixed, given])
def test_empty_section_dropped(
    prompt: PromptRegistry, text: str, wrap: Callable[[str], TextSource]
) -> None:
    """core #251: a section that renders to nothing leaves no double blank line."""
    prompt.section("a", "A")
    prompt.section("empty", wrap(text))
    prompt.section("b", "B")
    assert system(prompt) == "A\n\nB"


def test_emptied_by_variable(prompt: PromptRegistry) -> None:
    """core #251: a section is empty by what it renders to, not by what is written."""
    prompt.section("a", "A")
    prompt.section("empty", "{{nothing}}")
    prompt.variable("nothing", "")
    assert system(prompt) == "A"


def test_none_leaves_out(prompt: PromptRegistry) -> None:
    """core 11.1: a section function that returns None leaves the section out."""
    prompt.section("a", lambda _context: None)
    assert system(prompt) is None


def test_text_is_kept(prompt: PromptRegistry) -> None:
    """core 11.1: white space within a section is not touched."""
    prompt.section("a", "  A\n")
    assert system(prompt) == "  A\n"


def test_function_is_asked_each_step(prompt: PromptRegistry) -> None:
    """core 11.1: a function is asked once a step with the asking agent's context."""
    asked: list[PromptContext] = []

    def section(context: PromptContext) -> str:
        asked.append(context)
        return f"step {len(asked)} of {{{{model}}}}"

    prompt.section("a", section)
    context = PromptContext("agent", model="m")
    for number in (1, 2):
        assembly = prompt.assemble_now(context)
        assert assembly is not None
        assert assembly.system == f"step {number} of m"
    assert asked == [context, context]


def test_substituted(prompt: PromptRegistry) -> None:
    """core #245: {{provider}}, {{model}} and {{cwd}} are there."""
    prompt.section("a", "{{provider}}/{{model}} in {{cwd}}")
    assert system(prompt, provider="p", model="m", cwd="/w") == "p/m in /w"


@pytest.mark.parametrize("group", ["{{ model }}", "{{}}", "{{Bad}}", "{{{model}}}"])
@pytest.mark.parametrize("wrap", [fixed, given])
def test_malformed_names_section(
    prompt: PromptRegistry, group: str, wrap: Callable[[str], TextSource]
) -> None:
    """core #245: a malformed group is an error that names the section, fixed text or function."""
    prompt.section("guide", wrap(f"Use {group}."))
    with pytest.raises(PromptError, match=re.escape(f"prompt section 'guide': '{group}'")):
        system(prompt, model="m")


@pytest.mark.parametrize("name", ["unknown", "constructor", "keys", "get", "scope", "agent_id"])
def test_unknown_names_section(prompt: PromptRegistry, name: str) -> None:
    """core #245: only what is registered is known: no attribute of anything, no inherited key."""
    prompt.section("guide", f"Use {{{{{name}}}}}.")
    prompt.variable("known", "x")
    with pytest.raises(PromptError) as caught:
        system(prompt, model="m")
    assert str(caught.value) == (
        f"prompt section 'guide': there is no variable '{name}'; register it with "
        f"variable('{name}', ...) or use one of: cwd, known, model, provider"
    )


def test_lone_opening_is_literal(prompt: PromptRegistry) -> None:
    """core #246: {{ without a later }} stands as it is."""
    prompt.section("a", "a {{ b {{model")
    assert system(prompt) == "a {{ b {{model"


def test_later_section_does_not_close(prompt: PromptRegistry) -> None:
    """core #246: each section is rendered by itself: another one's }} does not count."""
    prompt.section("a", "open {{")
    prompt.section("b", "close }}")
    assert system(prompt) == "open {{\n\nclose }}"


def test_not_rescanned(prompt: PromptRegistry) -> None:
    """core 11.1: substituted text is never scanned again, alone or with its surroundings."""
    prompt.section("a", "{{x}} {{x}}model}}")
    prompt.variable("x", "{{")
    assert system(prompt, model="m") == "{{ {{model}}"
    prompt.section("b", "{{y}}")
    prompt.variable("y", "{{model}} {{ bad }}")
    assert system(prompt, model="m") == "{{ {{model}}\n\n{{model}} {{ bad }}"


def test_works_after_fix(prompt: PromptRegistry) -> None:
    """core #250 (unit half): a section that failed fails each time, and is fine once replaced."""
    broken = prompt.section("a", "{{ x }}")
    for _ in range(2):
        with pytest.raises(PromptError):
            system(prompt)
    broken.dispose()
    prompt.section("a", "fixed")
    assert system(prompt) == "fixed"


def test_raising_section(prompt: PromptRegistry) -> None:
    """core #250: a section function that raises is named; its error is the cause."""
    error = KeyError("lost")

    def section(_context: PromptContext) -> str:
        raise error

    prompt.section("guide", section)
    with pytest.raises(PromptError, match="prompt section 'guide' failed: KeyError") as caught:
        system(prompt)
    assert caught.value.__cause__ is error


def test_section_of_wrong_type(prompt: PromptRegistry) -> None:
    """core 11.1: a section function that returns no text is named, with the type it gave."""

    def wrong(_context: PromptContext) -> Any:
        return 7

    prompt.section("guide", wrong)
    with pytest.raises(PromptError, match="prompt section 'guide' gave a int"):
        system(prompt)


def test_complete_is_all(prompt: PromptRegistry) -> None:
    """core 11.1: a complete section is the whole prompt; the others are not even asked."""
    prompt.section("a", never)
    prompt.section("whole", "All of {{model}}.", order=500, complete=True)
    assert system(prompt, model="m") == "All of m."


def test_complete_keeps_contexts(prompt: PromptRegistry) -> None:
    """core 11.1: contexts are no part of the system text and stay."""
    prompt.section("whole", "W", complete=True)
    prompt.context("c", "C")
    assembly = prompt.assemble_now(PromptContext("agent"))
    assert assembly is not None
    assert (assembly.system, assembly.contexts) == ("W", (("c", "C"),))


def test_two_complete(prompt: PromptRegistry) -> None:
    """core 11.1: two complete sections in effect are an error that names both."""
    child = Scope("child")
    prompt.section("one", "1", complete=True)
    prompt.section("two", "2", complete=True, scope=child)
    with pytest.raises(PromptError, match="prompt sections 'one' and 'two' are all complete"):
        system(prompt, child)
    assert system(prompt) == "1"


def test_complete_shadowed(prompt: PromptRegistry) -> None:
    """core 11.1: a complete section that is shadowed is not in effect."""
    child = Scope("child")
    prompt.section("one", "1", complete=True)
    prompt.section("b", "B")
    prompt.section("one", "ordinary", scope=child)
    assert system(prompt, child) == "B\n\nordinary"


def test_empty_complete(prompt: PromptRegistry) -> None:
    """core 11.1: an empty complete section is an empty prompt."""
    prompt.section("a", "A")
    prompt.section("whole", "", complete=True)
    assert system(prompt) is None


@pytest.mark.parametrize("kind", ["section", "context", "variable"])
def test_a_text_that_cannot_be_logged_fails_the_prompt(prompt: PromptRegistry, kind: str) -> None:
    """core 1.3, 11.1: half of a surrogate pair in a text is an error that names the text."""
    prompt.section("user", "{{name}}" if kind == "variable" else "hello")
    getattr(prompt, kind)("name", given("smile: \ud83d"))
    with pytest.raises(PromptError, match="'name' has a lone surrogate"):
        system(prompt)


@pytest.mark.parametrize("kind", ["section", "context", "variable"])
def test_a_fixed_text_that_cannot_be_logged_is_refused(prompt: PromptRegistry, kind: str) -> None:
    """core 1.3: half of a surrogate pair in a fixed text or in a name is refused at once."""
    with pytest.raises(ConfigurationError, match="lone surrogate"):
        getattr(prompt, kind)("name", "\ud83d")
    with pytest.raises(ConfigurationError):
        getattr(prompt, kind)("\ud83d", "hello")


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(1), GeneratorExit()])
def test_a_stray_error_fails_the_prompt_only(prompt: PromptRegistry, error: BaseException) -> None:
    """core 11.1 #250, DESIGN section 2: what a provider lets out is its own, whatever it is."""

    def broken(_context: PromptContext) -> str:
        raise error

    prompt.section("broken", broken)
    with pytest.raises(PromptError, match="section 'broken' failed"):
        system(prompt)


def test_an_error_without_a_text_is_told(prompt: PromptRegistry) -> None:
    """core 12.5: an error whose text cannot be had is named by its class."""

    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError

    def broken(_context: PromptContext) -> str:
        raise MuteError

    prompt.section("broken", broken)
    with pytest.raises(PromptError, match="MuteError"):
        system(prompt)


@pytest.mark.parametrize("names", ["todo", [1], b"todo", {"todo": 1}])
def test_hidden_contexts_are_a_list_of_names(prompt: PromptRegistry, names: Any) -> None:
    """core 11.1: one name instead of a list would hide something else, and is refused."""
    with pytest.raises(ConfigurationError, match="list of the names"):
        prompt.suppress_contexts(Scope("agent"), names=names)
