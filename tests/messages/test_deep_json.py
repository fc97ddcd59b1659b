"""JSON of any depth."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.messages import deep_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_writes_as_json_does(value: Any) -> None:
    """core 1.3: what it writes is what `json` writes."""
    assert deep_json.write(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(VALUES, st.sampled_from([None, 1, "\t"]))
def test_reads_as_json_does(value: Any, indent: Any) -> None:
    """core 1.3: what it reads is what `json` reads."""
    text = json.dumps(value, indent=indent)
    assert deep_json.read(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "[", "[1", "[1,]", "{", '{"a"', '{"a":', '{"a":1,}', "{1:2}", "[1 2]", "1 2", "nul",
     "NaN", "-Infinity", "01", "1.", '"a', '{"a":1,"a":2}', "]", "[}", '"\n"', "+1", ".5"],
)  # fmt: skip
def test_refuses_what_is_no_json(text: str) -> None:
    """core 1.3: what is no JSON, or would lose a key, is refused."""
    with pytest.raises(ValueError, match=r"."):
        deep_json.read(text)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_depth(opening: str) -> None:
    """core 1.3: five thousand levels and more go both ways."""
    closing = "]" if opening == "[" else "}"
    text = opening * 20_000 + "1" + closing * 20_000
    assert deep_json.write(deep_json.read(text)) == text
