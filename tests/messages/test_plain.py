"""Single values of others: texts, numbers, and what an error quotes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.fragment import Fragment, check_fragment
from broodline.actors.models import RetryPolicy
from broodline.actors.models.failure import failure_of
from broodline.actors.tools import Tool
from broodline.messages.codec import decode_event, decode_payload
from broodline.messages.errors import (
    BroodlineError,
    ConfigurationError,
    ModelError,
    SessionCorruptError,
    SessionFormatUnsupportedError,
)
from broodline.messages.header_codec import decode_header
from broodline.messages.plain import is_finite, plain_text, quoted

HUGE = 10**5000  # more digits than Python writes
NO_FLOAT = 10**400  # more than a float can hold
LONE = "\ud800"


class Hostile:
    """Raises from whatever an error might do with it."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __str__(self) -> str:
        raise RuntimeError("no str")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no eq")

    __hash__ = object.__hash__


def _deep() -> Any:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    return value


# By name: pytest cannot write all of these either.
STRANGE: dict[str, Any] = {
    "huge": HUGE,
    "huge below zero": -HUGE,
    "no float": NO_FLOAT,
    "hostile": Hostile(),
    "deep": _deep(),
    "lone surrogate": LONE,
    "nan": float("nan"),
    "bool": False,
    "bytes": b"x",
}
NO_NUMBERS: dict[str, Any] = {
    "huge": HUGE,
    "huge below zero": -HUGE,
    "no float": NO_FLOAT,
    "no float below zero": -NO_FLOAT,
    "infinite": float("inf"),
    "bool": True,
}
EVENT: dict[str, Any] = {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}
HEADER: dict[str, Any] = {"version": 0, "id": "s", "createdAt": 1}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize(
    "key", ["type", "seq", "time", "ignorable", "surfaceOp", "sourceEventSeqs"]
)
def test_a_strange_envelope_is_a_malformed_one(key: str, name: str) -> None:
    """core 1.2, 1.3 #10: whatever stands in an envelope, reading it ends in an error of ours."""
    with pytest.raises((SessionCorruptError, SessionFormatUnsupportedError)):
        decode_event({**EVENT, key: STRANGE[name]})


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize(
    "key", sorted({"version", "id", "createdAt", "cwd", "parentSession", "seedLength", "origin"})
)
def test_a_strange_header_is_refused(key: str, name: str) -> None:
    """core 1.1 #16, #17, #19: whatever stands in a header, reading it ends in an error of ours."""
    with pytest.raises(BroodlineError):
        decode_header({**HEADER, key: STRANGE[name]})


def test_a_text_in_a_header_can_be_written() -> None:
    """core 1.3: an id or a path that UTF-8 cannot write is refused."""
    for key, value in (("id", f"s{LONE}"), ("cwd", f"/home/{LONE}"), ("parentSession", LONE)):
        with pytest.raises(ConfigurationError, match="lone surrogate"):
            decode_header({**HEADER, key: value})


def test_the_name_of_a_type_can_be_written() -> None:
    """core 1.3: an event's type with a lone surrogate is refused."""
    with pytest.raises(ConfigurationError, match="lone surrogate"):
        decode_payload(f"x/{LONE}", {})


def test_a_temperature_is_lossless() -> None:
    """core 1.3: negative zero is refused where a number is, too."""
    header = {"config": {"provider": "p", "model": "m", "temperature": -0.0}}
    with pytest.raises(ConfigurationError, match="negative zero"):
        decode_payload("request/header", {"header": header, "reason": "initial"})


class Shout(str):
    __slots__ = ()


def test_text_in_a_block_is_exactly_text() -> None:
    """core 1.3: a subclass of str in a content block is refused."""
    content = [{"type": "text", "text": Shout("a")}]
    data = {"id": "m", "role": "user", "source": {"kind": "user"}, "content": content}
    with pytest.raises(ConfigurationError, match="needs text as str"):
        decode_payload("user/message", data)


def test_results_within_results_have_an_end() -> None:
    """core 1.3, 1.4: tool results nested too deep are a damaged event, not a crash."""
    block: dict[str, Any] = {"type": "text", "text": "a"}
    for _ in range(20_000):
        block = {"type": "tool-result", "toolCallId": "c", "content": [block]}
    data = {"id": "m", "role": "user", "source": {"kind": "user"}, "content": [block]}
    with pytest.raises(SessionCorruptError, match="too deep"):
        decode_event({**EVENT, "type": "user/message", "data": data, "surfaceOp": "append"})


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_a_number_that_no_float_holds_is_refused(name: str) -> None:
    """core 10.1 #224, 11.1, 12.6: finite means that a float can hold it."""
    number = NO_NUMBERS[name]
    with pytest.raises(ConfigurationError):
        Tool("a", "b", {"type": "object"}, lambda a, c: 1, timeout=number)
    with pytest.raises(ConfigurationError):
        check_fragment(Fragment("section", "a", "b", order=number))
    for field in ("base", "cap", "jitter"):
        with pytest.raises(ConfigurationError):
            RetryPolicy(**{field: number})
    assert not is_finite(number)


class Bare(ModelError):
    """Never calls the constructor of its class."""

    def __init__(self) -> None:
        pass


ERRORS: dict[str, Exception] = {
    "bare": Bare(),
    "no float": ModelError("x", retry_after=NO_FLOAT),
    "code": ModelError("x", LONE),
    "request id": ModelError("x", request_id=LONE),
    "text": ValueError(LONE),
}


@pytest.mark.parametrize("name", ERRORS)
def test_any_error_has_facts_that_can_be_logged(name: str) -> None:
    """core 12.5: the facts of a failure never raise and can be written as UTF-8."""
    failure = failure_of(ERRORS[name])
    for text in (failure.message, failure.code, failure.request_id or ""):
        text.encode()


@given(st.text(st.characters()))
def test_plain_text_is_what_utf8_can_write(text: str) -> None:
    """core 1.3: text is kept as it is or refused, and both exactly when UTF-8 says so."""
    try:
        text.encode()
    except UnicodeEncodeError:
        with pytest.raises(ConfigurationError, match="a note has a lone surrogate"):
            plain_text(text, "a note")
    else:
        assert plain_text(text, "a note") is text


@pytest.mark.parametrize("name", STRANGE)
def test_an_error_can_quote_anything(name: str) -> None:
    """DESIGN section 8: a message says what was wrong, whatever it was."""
    quoted(STRANGE[name]).encode()
    assert len(quoted("x" * 10_000)) < 300
