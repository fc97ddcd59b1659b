"""Templates: what is a placeholder, and what is an error."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.template import TemplateSyntaxError, parse


@pytest.mark.parametrize(
    ("text", "names", "literals"),
    [
        ("", (), ("",)),
        ("plain", (), ("plain",)),
        ("{{model}}", ("model",), ("", "")),
        ("a {{x}} b {{y_2}} c", ("x", "y_2"), ("a ", " b ", " c")),
        ("{{x}}{{x}}", ("x", "x"), ("", "", "")),
        ("{{x}}}", ("x",), ("", "}")),
        ("{ {x} }", (), ("{ {x} }",)),
        ("}} first", (), ("}} first",)),
    ],
)
def test_parsed(text: str, names: tuple[str, ...], literals: tuple[str, ...]) -> None:
    """core #245: well-formed placeholders are cut out, everything else is literal."""
    template = parse(text)
    assert template.names == names
    assert template.literals == literals


@pytest.mark.parametrize(
    "text",
    [
        "{{ model }}",
        "{{model }}",
        "{{ model}}",
        "{{}}",
        "{{Bad}}",
        "{{bAd}}",
        "{{2nd}}",
        "{{_x}}",
        "{{a-b}}",
        "{{a.b}}",
        "{{model\n}}",
        "{{{model}}}",
        "{{{{model}}}}",
        "{{model}",
        "{{é}}",
    ],
)
def test_refused(text: str) -> None:
    """core #245: a group that is no placeholder is an error where a }} follows."""
    with pytest.raises(TemplateSyntaxError, match="is not a placeholder"):
        parse(f"before {text} after }}}}")


@pytest.mark.parametrize(
    "text", ["{{", "a {{ b", "{{model", "{{model}", "}} {{", "{{{", "{{x}} {{ {{"]
)
def test_lone_opening(text: str) -> None:
    """core #246: {{ without a later }} is literal."""
    template = parse(text)
    filled = template.fill(["V"] * len(template.names))
    assert filled == text.replace("{{x}}", "V")


def test_lone_opening_before_group() -> None:
    """core #246: a {{ that opens nothing is an error even when the }} ends a later group."""
    with pytest.raises(TemplateSyntaxError, match="at character 2"):
        parse("a {{ b {{model}}")


def test_complaint_shows_the_group() -> None:
    """core 11.1: the complaint quotes the whole group and says what to write."""
    with pytest.raises(TemplateSyntaxError, match=re.escape("'{{{x}}}' at character 3")):
        parse("hi {{{x}}}")
    with pytest.raises(TemplateSyntaxError, match=re.escape("write {{name}}")):
        parse("{{ x }}")


def test_long_group_is_cut() -> None:
    """core 11.1: a complaint about a long text stays short."""
    with pytest.raises(TemplateSyntaxError) as caught:
        parse("{{" + "x" * 10_000 + "!}}")
    assert len(str(caught.value)) < 400


@given(st.text(alphabet="{}ax A_\n", max_size=40))
def test_rule_of_the_whole(text: str) -> None:
    """core #245, #246: for any text: error exactly when some {{ with a }} behind opens no group."""
    rest = re.compile(r"\{\{[a-z][a-z0-9_]*\}\}").split
    position, wrong = 0, False
    while (opening := text.find("{{", position)) >= 0 and "}}" in text[opening + 2 :]:
        match = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}").match(text, opening)
        if match is None:
            wrong = True
            break
        position = match.end()
    if wrong:
        with pytest.raises(TemplateSyntaxError):
            parse(text)
        return
    template = parse(text)
    assert list(template.literals) == rest(text)
    assert template.fill([f"{{{{{name}}}}}" for name in template.names]) == text
