"""From exceptions to facts: spec core 12.5 and 18.12."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from broodline.actors.models import ScriptedModel, error_of, fail, failure_of, finish_of
from broodline.actors.models.redaction import TEXT_LIMIT, redact, render_chain
from broodline.messages.chunk import Finish, ModelFailure
from broodline.messages.errors import ModelError


class Hostile(Exception):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __str__(self) -> str:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


class Slippery(Exception):
    @property
    def __cause__(self) -> BaseException | None:  # type: ignore[override]  # pyright: ignore
        raise RuntimeError("no")


class Shouting(str):
    __slots__ = ()

    def startswith(self, *_args: Any) -> bool:  # pyright: ignore
        raise RuntimeError("no")


def test_a_model_error_keeps_its_facts() -> None:
    """core 12.5: code, status, retry-after and request id of a ModelError are kept."""
    error = ModelError("slow down", "RATE_LIMIT", status=429, retry_after=1.25, request_id="r1")
    assert failure_of(error) == ModelFailure("slow down", "RATE_LIMIT", 429, 1250, "r1")


def test_facts_survive_there_and_back() -> None:
    """core 12.5: a failure made into an error and back is the same failure."""
    failure = ModelFailure("slow down", "RATE_LIMIT", 429, 1234, "r1")
    assert failure_of(error_of(failure)) == failure
    assert failure_of(error_of(ModelFailure("x"))) == ModelFailure("x")


async def test_raised_and_streamed_failures_are_the_same(
    play: Callable[..., Awaitable[Any]],
) -> None:
    """core 18.12 #263: a failure raised mid-stream and one streamed have equal facts."""
    facts: dict[str, Any] = {"status": 503, "retry_after": 2.0, "request_id": "r1"}
    model = ScriptedModel(
        shared=[
            fail("SERVER", "down", after="Hel", **facts),
            fail("SERVER", "down", after="Hel", emit=True, **facts),
        ]
    )
    first, second = await play(model), await play(model)
    assert second.error is None
    assert finish_of(first.error) == second.assembler.finish
    assert first.content == second.content


def test_a_foreign_error_is_unknown() -> None:
    """core 12.5: an error of another kind becomes UNKNOWN with its class and text."""
    assert failure_of(ValueError("bad")) == ModelFailure("ValueError: bad", "UNKNOWN")


def raised(break_it: Callable[[], None]) -> ValueError:
    with pytest.raises(ValueError, match="outer") as caught:
        break_it()
    return caught.value


def test_an_explicit_cause_is_rendered() -> None:
    """core 12.5: the chain goes by the explicit cause, not by what was being handled."""

    def break_it() -> None:
        try:
            raise OSError("handled")
        except OSError:
            raise ValueError("outer") from KeyError("inner")

    assert render_chain(raised(break_it)) == "ValueError: outer <- KeyError: 'inner'"


def test_an_implicit_context_is_rendered() -> None:
    """core 12.5: without an explicit cause the chain goes by what was being handled."""

    def break_it() -> None:
        try:
            raise KeyError("inner")
        except KeyError:
            raise ValueError("outer")  # noqa: B904 - the context is the point

    assert render_chain(raised(break_it)) == "ValueError: outer <- KeyError: 'inner'"


def test_a_suppressed_context_is_not_rendered() -> None:
    """core 12.5: what ``from None`` hides stays hidden."""

    def break_it() -> None:
        try:
            raise KeyError("inner")
        except KeyError:
            raise ValueError("outer") from None

    assert render_chain(raised(break_it)) == "ValueError: outer"


def test_a_cycle_of_causes_ends() -> None:
    """core 12.5: rendering is safe on cycles."""
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert failure_of(first).message == "ValueError: a <- ValueError: b"
    first.__cause__ = first
    assert failure_of(first).message == "ValueError: a"


def test_a_long_chain_is_cut() -> None:
    """core 12.5: a chain of a thousand causes is rendered to a few."""
    error = ValueError("0")
    for number in range(1, 1000):
        outer = ValueError(str(number))
        outer.__cause__ = error
        error = outer
    message = failure_of(error).message
    assert message.startswith("ValueError: 999 <- ValueError: 998")
    assert message.endswith("ValueError: 992 <- …")


def test_a_group_names_its_first_members() -> None:
    """core 12.5: of an exception group the first members are rendered too."""
    group = ExceptionGroup("two", [ValueError("a"), KeyError("b")])
    message = failure_of(group).message
    assert "two" in message
    assert "ValueError: a" in message
    assert "KeyError: 'b'" in message


@pytest.mark.parametrize(
    "error",
    [
        Hostile(RuntimeError("no")),
        Hostile(RecursionError()),
        Hostile(asyncio.CancelledError()),
        Hostile(GeneratorExit()),
        Hostile(None),
        Hostile(7),
    ],
)
def test_a_hostile_text_is_survived(error: Exception) -> None:
    """core 12.5: an error whose text cannot be rendered is named by its class."""
    failure = failure_of(error)
    assert failure.code == "UNKNOWN"
    assert "Hostile (its text cannot be rendered)" in failure.message


def test_a_hostile_string_is_survived() -> None:
    """core 12.5: a text that is a string of somebody's own class is copied before use."""
    assert failure_of(Hostile(Shouting("odd"))).message == "Hostile: odd"
    assert failure_of(ModelError(Shouting("odd"), Shouting("ODD"))) == ModelFailure("odd", "ODD")


def test_a_hostile_cause_is_survived() -> None:
    """core 12.5: an error whose cause cannot be read is rendered without it."""
    assert failure_of(Slippery("x")).message == "Slippery: x"


def test_an_interrupt_of_the_process_is_not_swallowed() -> None:
    """core 12.5: Ctrl-C during rendering goes through."""
    with pytest.raises(KeyboardInterrupt):
        failure_of(Hostile(KeyboardInterrupt()))


def test_an_error_without_a_text_is_named() -> None:
    """DESIGN section 8: an error with an empty text is shown by its class."""
    assert failure_of(TimeoutError()).message == "TimeoutError"
    assert failure_of(ModelError("")).message == "ModelError"


def test_an_error_while_the_signal_is_fired_is_an_abort() -> None:
    """core 18.12 #264: an error raised while the signal is fired ends aborted, facts kept."""
    assert failure_of(ValueError("bad"), aborted=True) == ModelFailure("ValueError: bad", "ABORTED")
    error = ModelError("slow down", "RATE_LIMIT", status=429)
    assert failure_of(error, aborted=True) == ModelFailure("slow down", "ABORTED", 429)
    assert finish_of(error, aborted=True).kind == "aborted"


def test_the_code_aborted_is_an_abort() -> None:
    """core 12.5: the code ABORTED makes an aborted finish without a signal."""
    assert finish_of(ModelError("gone", "ABORTED")) == Finish(
        "aborted", ModelFailure("gone", "ABORTED")
    )
    assert finish_of(ModelError("down", "SERVER")).kind == "error"
    assert finish_of(ValueError("bad")).kind == "error"


def test_a_cancelled_task_is_an_abort() -> None:
    """core 12.5: a CancelledError of a task is an abort, not an unknown failure."""
    assert failure_of(asyncio.CancelledError()).code == "ABORTED"


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("status", 42),
        ("status", "429"),
        ("status", True),
        ("retry_after", -1.0),
        ("retry_after", float("nan")),
        ("retry_after", float("inf")),
        ("retry_after", "3"),
        ("retry_after", True),
        ("request_id", 7),
        ("request_id", ""),
    ],
)
def test_a_fact_that_is_none_is_left_out(fact: str, value: Any) -> None:
    """core 12.5: the fields are validated: what cannot be a fact is left out."""
    assert failure_of(ModelError("x", "SERVER", **{fact: value})) == ModelFailure("x", "SERVER")


@pytest.mark.parametrize("code", ["", None, 7])
def test_a_code_that_is_none_is_unknown(code: Any) -> None:
    """core 12.5: a code that is no word becomes UNKNOWN."""
    error = ModelError("x")
    error.code = code
    assert failure_of(error).code == "UNKNOWN"


def test_a_retry_after_is_never_cut_short() -> None:
    """core 12.6: seconds become whole milliseconds, rounded up, without drift."""
    for seconds, milliseconds in ((0.0004, 1), (0.03, 30), (0.07, 70), (1.0, 1000), (0, 0)):
        error = ModelError("x", "RATE_LIMIT", retry_after=seconds)
        assert failure_of(error).provider_retry_after_ms == milliseconds


SECRET = "Zm9vYmFyMTIzNDU2"


@pytest.mark.parametrize(
    "text",
    [
        f"401: Incorrect API key provided: sk-{SECRET}",
        f"sk-ant-api03-{SECRET} is not valid",
        f"Authorization: Bearer {SECRET}",
        f"{{'authorization': 'Bearer {SECRET}'}}",
        f'{{"x-api-key": "{SECRET}"}}',
        f"api_key={SECRET}, model=x",
        f"ANTHROPIC_API_KEY={SECRET}",
        f"GET https://host/v1?key={SECRET}&alt=json",
        f"https://user:{SECRET}@host/path",
        f"access_token: {SECRET}",
        f"password={SECRET}",
        f"Cookie: {SECRET}",
        f"ghp_{SECRET}",
        f"AIza{SECRET}",
        f"eyJ{SECRET}.eyJ{SECRET}.{SECRET}",
        f"client-secret = '{SECRET}'",
    ],
)
def test_a_secret_is_never_in_a_failure(text: str) -> None:
    """core 12.5: keys, tokens and passwords in an error's text, cause or id are left out."""
    cause = ValueError("outer")
    cause.__cause__ = KeyError(text)
    for error in (ModelError(text, "AUTH", request_id=text), ValueError(text), cause):
        failure = failure_of(error)
        assert SECRET not in repr(failure)
        assert "[redacted]" in failure.message


@pytest.mark.parametrize(
    "text",
    [
        "the ceiling is max_tokens=4096, asked for 9000 tokens",
        "unexpected token: '}' at line 3",
        "the bearer of this message",
        "rate limit: 50 requests per minute (basic plan)",
        "task-oriented sk-learn",
        "connection to https://host:8443/v1 refused",
    ],
)
def test_an_innocent_text_is_left_alone(text: str) -> None:
    """DESIGN section 8: a message says what happened; what is no secret stays readable."""
    assert redact(text) == text


def test_a_long_text_is_cut() -> None:
    """DESIGN section 8: an error page of a megabyte is kept short, and quickly."""
    for text in ("x" * 10**6, "x" * (TEXT_LIMIT + 1), "a:" * 10**6, "://" * 10**6, " " * 10**6):
        assert len(failure_of(ModelError(text)).message) <= TEXT_LIMIT
