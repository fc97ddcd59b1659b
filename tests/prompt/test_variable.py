"""Variables: asked lazily, once, nearest first."""

from __future__ import annotations

from typing import Any

import pytest

from broodline.actors.assembly import PromptContext
from broodline.actors.hooks import Hooks
from broodline.actors.prompt import PromptRegistry
from broodline.actors.scope import Scope
from broodline.messages.errors import ConfigurationError, PromptError


@pytest.fixture
def prompt() -> PromptRegistry:
    return PromptRegistry(Hooks())


def system(prompt: PromptRegistry, scope: Scope | None = None, **values: Any) -> str | None:
    assembly = prompt.assemble_now(PromptContext("agent", scope=scope, **values))
    assert assembly is not None
    return assembly.system


@pytest.mark.parametrize("name", ["Bad", "2nd", "_x", "a-b", "a b", "é", "a\n"])
def test_name(prompt: PromptRegistry, name: str) -> None:
    """core 11.1: a variable's name has the form that a placeholder can have."""
    with pytest.raises(ConfigurationError, match="cannot be the name of a prompt variable"):
        prompt.variable(name, "x")


def test_duplicate(prompt: PromptRegistry) -> None:
    """core 11.1: a variable that is there in the layer is refused."""
    prompt.variable("x", "1")
    with pytest.raises(ConfigurationError, match="prompt variable 'x' is registered already"):
        prompt.variable("x", "2")


def test_nearest_wins(prompt: PromptRegistry) -> None:
    """core 11.1: the nearest variable wins, also in a global section."""
    outer = Scope("outer")
    inner = Scope("inner", outer)
    prompt.section("a", "{{x}}")
    prompt.variable("x", "global")
    prompt.variable("x", "outer", scope=outer)
    prompt.variable("x", "inner", scope=inner)
    assert [system(prompt, scope) for scope in (None, outer, inner)] == ["global", "outer", "inner"]
    inner.dispose_now()
    assert system(prompt, inner) == "outer"


def test_shadowed_never_asked(prompt: PromptRegistry) -> None:
    """core 11.1: a shadowed variable's function is not called."""
    child = Scope("child")
    prompt.section("a", "{{x}}")

    def never(_context: PromptContext) -> str:
        raise AssertionError

    prompt.variable("x", never)
    prompt.variable("x", "near", scope=child)
    assert system(prompt, child) == "near"


def test_built_in_shadowed(prompt: PromptRegistry) -> None:
    """core 11.1: the built-in variables are the outermost layer: a registration shadows them."""
    prompt.section("a", "{{model}}")
    registration = prompt.variable("model", "a good one")
    assert system(prompt, model="m") == "a good one"
    registration.dispose()
    assert system(prompt, model="m") == "m"


def test_unused_never_asked(prompt: PromptRegistry) -> None:
    """core #249: a variable that no section uses is not asked."""
    asked: list[int] = []

    def provider(_context: PromptContext) -> str:
        asked.append(1)
        return "x"

    prompt.variable("x", provider)
    prompt.section("a", lambda _context: "no placeholder")
    assert system(prompt) == "no placeholder"
    assert asked == []


def test_asked_once(prompt: PromptRegistry) -> None:
    """core 11.1: a variable is asked once a step, however often it is used, and each step anew."""
    asked: list[int] = []

    def provider(_context: PromptContext) -> str:
        asked.append(1)
        return str(len(asked))

    prompt.variable("x", provider)
    prompt.section("a", "{{x}} {{x}}")
    prompt.section("b", "{{x}}")
    assert system(prompt) == "1 1\n\n1"
    assert system(prompt) == "2 2\n\n2"


def test_no_value_unused(prompt: PromptRegistry) -> None:
    """core #249: a variable without a value is no error while no section uses it."""
    prompt.variable("x", lambda _context: None)
    prompt.section("a", "A")
    assert system(prompt) == "A"


def test_no_value_used(prompt: PromptRegistry) -> None:
    """core #249: used, it is an error that names section and variable."""
    prompt.variable("x", lambda _context: None)
    prompt.section("guide", "{{x}}")
    with pytest.raises(PromptError, match="prompt section 'guide': variable 'x' has no value"):
        system(prompt)


@pytest.mark.parametrize("name", ["provider", "model", "cwd"])
def test_built_in_without_value(prompt: PromptRegistry, name: str) -> None:
    """core #249: a built-in variable may have no value either."""
    prompt.section("guide", f"{{{{{name}}}}}")
    with pytest.raises(PromptError, match=f"variable '{name}' has no value here"):
        system(prompt)


def test_empty_value(prompt: PromptRegistry) -> None:
    """core #249: an empty string is a value."""
    prompt.variable("x", "")
    prompt.section("a", "<{{x}}>")
    assert system(prompt) == "<>"


def test_raising(prompt: PromptRegistry) -> None:
    """core #250: a variable's function that raises is named with the section that used it."""
    error = OSError("gone")

    def provider(_context: PromptContext) -> str:
        raise error

    prompt.variable("x", provider)
    prompt.section("guide", "{{x}}")
    with pytest.raises(
        PromptError, match="prompt section 'guide': prompt variable 'x' failed: OSError: gone"
    ) as caught:
        system(prompt)
    assert caught.value.__cause__ is error


def test_wrong_type(prompt: PromptRegistry) -> None:
    """core 11.1: a value that is no text is an error, not converted."""

    def wrong(_context: PromptContext) -> Any:
        return 7

    prompt.variable("x", wrong)
    prompt.section("guide", "{{x}}")
    with pytest.raises(PromptError, match="prompt variable 'x' gave a int"):
        system(prompt)
