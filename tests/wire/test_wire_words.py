"""What an SDK reads in each word, in both formats, streamed and whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broodline import ConfigurationError
from broodline.messages.chunk import Usage
from broodline.testing.wire import (
    WireServer,
    call,
    calls,
    ceiling,
    context_too_long,
    cut,
    empty,
    endless,
    error_frame,
    malformed,
    no_quota,
    refusal,
    say,
    silent,
    status,
)

Read = Callable[..., Any]

both = pytest.mark.parametrize("name", ["openai", "anthropic"])
streamed = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
FULL = Usage(10, 5, cache_read_tokens=3, cache_write_tokens=2, reasoning_tokens=7)


@both
def test_each_piece_of_text_is_a_delta(server: WireServer, read: Read, name: str) -> None:
    """core 12.3: pieces arrive one by one, as they were given."""
    server.play(say("Hello ", "wörld", " \n", "🦆"))
    found = read(name)
    assert found.texts == ["Hello ", "wörld", " \n", "🦆"]


@both
@streamed
def test_text_and_reasoning(server: WireServer, read: Read, name: str, stream: bool) -> None:
    """core 12.3: an answer brings reasoning, text, and a finish of its format."""
    server.play(say("Four", ".", reasoning=("2 + ", "2"), signature="signed"))
    found = read(name, stream)
    assert "".join(found.texts) == "Four."
    assert "".join(found.reasoning) == "2 + 2"
    assert found.finish == {"openai": "stop", "anthropic": "end_turn"}[name]
    assert found.signature == (None if name == "openai" else "signed")


@both
@streamed
def test_calls(server: WireServer, read: Read, name: str, stream: bool) -> None:
    """core 12.3: calls stand side by side behind the text, each with an id, a name, arguments."""
    server.play(calls(call("add", {"a": 1, "b": "ü"}), call("read", "{}", "mine"), text="I add. "))
    found = read(name, stream)
    assert "".join(found.texts) == "I add. "
    assert [one[1] for one in found.calls] == ["add", "read"]
    assert found.calls[1][0] == "mine"
    assert found.calls[0][0] not in ("", "mine")
    assert found.finish == {"openai": "tool_calls", "anthropic": "tool_use"}[name]
    if name == "anthropic":
        assert found.inputs == [{"a": 1, "b": "ü"}, {}]
    else:
        assert [one[2] for one in found.calls] == ['{"a":1,"b":"ü"}', "{}"]


def test_a_call_without_arguments_streams_none(server: WireServer, read: Read) -> None:
    """Messages API: a tool use without arguments has one empty piece, and means an object."""
    server.play(calls(call("list", {})))
    found = read("anthropic")
    assert found.calls[0][2] == ""
    assert found.inputs == [{}]


@both
def test_arguments_come_in_pieces(server: WireServer, plain: Any, name: str) -> None:
    """core 12.3: arguments of more than one character come in more than one delta."""
    server.play(calls(call("add", {"a": 1})))
    data = plain(name).read().decode()
    assert '{"a":1}' not in data.replace("\\", "")
    assert data.count("partial_json" if name == "anthropic" else '{"arguments":') >= 2


@both
def test_arguments_that_are_no_json(server: WireServer, read: Read, name: str) -> None:
    """core 12.3: arguments go over the wire as the text that they are."""
    server.play(calls(call("add", "[not, json")))
    if name == "openai":
        assert read(name).calls[0][2] == "[not, json"
    else:
        with pytest.raises(ValueError, match="JSON"):
            read(name)  # the SDK's own accumulation cannot read them; raw events can


@both
def test_ids_of_calls_never_come_twice(server: WireServer, read: Read, name: str) -> None:
    """core 12.3: the server makes ids that are unique over all its answers."""
    server.play(*[calls(call("a", {}), call("b", {}))] * 3)
    ids = [one[0] for _ in range(3) for one in read(name).calls]
    assert len(set(ids)) == 6


@both
@streamed
def test_ceiling(server: WireServer, read: Read, name: str, stream: bool) -> None:
    """core 12.4: the ceiling may cut text, and a call in the middle of its arguments."""
    server.play(ceiling("Once upon"), ceiling("I write ", call("write", '{"pa')))
    first, second = read(name, stream), None
    if (name, stream) != ("anthropic", True):
        second = read(name, stream)
    assert "".join(first.texts) == "Once upon"
    assert first.finish == {"openai": "length", "anthropic": "max_tokens"}[name]
    if second is not None:
        assert second.finish == first.finish
        assert second.calls[0][1] == "write"
    if name == "openai" and second is not None:
        assert second.calls[0][2] == '{"pa'


def test_ceiling_in_a_call_closes_its_block(server: WireServer, plain: Any) -> None:
    """Messages API: at the ceiling the block of a cut call is closed, its JSON is not whole."""
    server.play(ceiling(call("write", '{"pa')))
    data = plain("anthropic").read().decode()
    assert '"partial_json":"{\\""' in data
    assert '"partial_json":"pa"' in data
    assert data.count("event: content_block_stop") == 1
    assert '"stop_reason":"max_tokens"' in data


@both
@streamed
def test_empty(server: WireServer, read: Read, name: str, stream: bool) -> None:
    """core 12.5: an empty answer ends regularly and has no content."""
    server.play(empty())
    found = read(name, stream)
    assert (found.texts, found.calls, found.reasoning) == ([], [], [])
    assert found.finish == {"openai": "stop", "anthropic": "end_turn"}[name]


@both
@streamed
def test_filtered(server: WireServer, read: Read, name: str, stream: bool) -> None:
    """core 12.5: a filtered answer says so in its finish reason."""
    server.play(refusal("No."))
    found = read(name, stream)
    assert found.finish == {"openai": "content_filter", "anthropic": "refusal"}[name]
    assert found.texts == ["No."]
    if name == "anthropic":
        assert found.details.type == "refusal"


@streamed
def test_words_of_a_refusal(server: WireServer, read: Read, stream: bool) -> None:
    """Chat Completions: a refusal in words has a field of its own and a regular finish."""
    server.play(refusal("No.", filtered=False))
    found = read("openai", stream)
    assert (found.texts, found.refusal, found.finish) == ([], ["No."], "stop")


@streamed
def test_openai_adds_up_usage(server: WireServer, read: Read, stream: bool) -> None:
    """core 12.3: OpenAI's counts overlap; they are made from disjoint ones."""
    more = {"stream_options": {"include_usage": True}} if stream else {}
    server.play(say("a", usage=FULL))
    usage = read("openai", stream, **more).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (15, 12, 27)
    assert usage.prompt_tokens_details.cached_tokens == 3
    assert usage.prompt_tokens_details.cache_write_tokens == 2
    assert usage.completion_tokens_details.reasoning_tokens == 7


@streamed
def test_anthropic_counts_cached_tokens_apart(server: WireServer, read: Read, stream: bool) -> None:
    """core 12.3: Anthropic's input is disjoint; its output contains the thinking."""
    server.play(say("a", usage=FULL))
    usage = read("anthropic", stream).usage
    assert (usage.input_tokens, usage.output_tokens) == (10, 12)
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (3, 2)
    assert usage.output_tokens_details.thinking_tokens == 7


@both
@streamed
def test_absent_counts_stay_absent(server: WireServer, read: Read, name: str, stream: bool) -> None:
    """core 12.3: what was not counted is not sent as a zero."""
    more = {"stream_options": {"include_usage": True}} if name == "openai" and stream else {}
    server.play(say("a"))
    usage = read(name, stream, **more).usage
    if name == "openai":
        assert usage.prompt_tokens_details is None
        assert usage.completion_tokens_details is None
    else:
        assert usage.cache_read_input_tokens is None
        assert usage.output_tokens_details is None


def test_usage_is_sent_only_where_asked_for(server: WireServer, read: Read) -> None:
    """Chat Completions: a stream has usage with include_usage only, and then if there is any."""
    asked = {"stream_options": {"include_usage": True}}
    server.play(say("a"), say("a", usage=None), say("a", usage=None))
    assert read("openai").usage is None
    assert read("openai", **asked).usage is None
    assert read("openai", stream=False).usage is None


def test_redacted_thinking(server: WireServer, read: Read) -> None:
    """Messages API: a redacted block stands in front, with its data."""
    server.play(*[say("a", reasoning="b", redacted="hidden")] * 2)
    for stream in (True, False):
        found = read("anthropic", stream)
        assert found.redacted == ["hidden"]
        assert found.reasoning == ["b"]


@both
@streamed
def test_finish_of_ones_own(server: WireServer, read: Read, name: str, stream: bool) -> None:
    """core 12.3: a finish reason can be any word, as servers have new ones."""
    server.play(say("a", finish="strange"), calls(call("b", {}), finish="stop"))
    assert [read(name, stream).finish for _ in range(2)] == ["strange", "stop"]


@both
def test_error_in_the_stream(server: WireServer, read: Read, name: str) -> None:
    """core 12.5: an error inside a stream reaches the SDK with its type and text."""
    server.play(error_frame("overloaded_error", "Too much", of=say("Hel")))
    with pytest.raises(Exception, match="Too much") as caught:
        read(name)
    assert type(caught.value).__name__ in ("APIError", "OverloadedError", "APIStatusError")
    assert "overloaded_error" in str(getattr(caught.value, "body", ""))


@both
def test_error_frame_without_a_stream(server: WireServer, read: Read, name: str) -> None:
    """core 12.5: where nothing streams, the error is an HTTP error."""
    server.play(error_frame("overloaded_error", "Too much"))
    with pytest.raises(Exception, match="Too much") as caught:
        read(name, stream=False)
    assert getattr(caught.value, "status_code", None) == 500


@both
@pytest.mark.parametrize(
    ("code", "error"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (422, "UnprocessableEntityError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
        (503, "InternalServerError"),
    ],
)
def test_statuses(server: WireServer, read: Read, name: str, code: int, error: str) -> None:
    """core 12.5: the SDK makes its own error from each status, with a message and a request id."""
    server.play(status(code, text="What happened"))
    with pytest.raises(Exception, match="What happened") as caught:
        read(name)
    named = {kind.__name__ for kind in type(caught.value).__mro__}
    assert error in named
    assert getattr(caught.value, "request_id", None) == "req_1"


@both
def test_errors_with_a_kind_of_their_own(server: WireServer, read: Read, name: str) -> None:
    """core 12.5: no money and too long a prompt are told apart as each provider does."""
    server.play(no_quota(), context_too_long())
    seen: list[Any] = []
    for _ in range(2):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            read(name)
        seen.append(caught.value)
    money, length = seen
    if name == "openai":
        assert (money.status_code, money.code) == (429, "insufficient_quota")
        assert (length.status_code, length.code) == (400, "context_length_exceeded")
    else:
        assert money.status_code == 402
        assert money.body["error"]["type"] == "billing_error"
        assert length.status_code == 400
        assert "prompt is too long" in length.body["error"]["message"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: calls(), "at least one"),
        (lambda: cut("later"), "one of connect"),  # type: ignore[arg-type]  # the test's point
        (lambda: cut("tool", of=say("a")), "has no tool"),
        (lambda: cut("text", of=empty()), "has no text"),
        (lambda: cut("connect", orderly=True), "orderly"),
        (lambda: cut("text", orderly=True, reset=True), "orderly"),
        (lambda: malformed("xml"), "one of json"),  # type: ignore[arg-type]  # the test's point
        (lambda: silent("later"), "one of headers"),  # type: ignore[arg-type]  # the test's point
        (lambda: endless(""), "cannot be played"),
        (lambda: endless(every=-1), "cannot be played"),
        (lambda: endless("a", "b"), "cannot be played"),  # type: ignore[arg-type]  # the point
        (lambda: status(99), "from 200"),
        (lambda: status(600), "from 200"),
        (lambda: WireServer().play("Hello"), "no word"),  # type: ignore[arg-type]  # the point
        (lambda: WireServer().play(None), "play"),  # type: ignore[arg-type]  # the point
    ],
)
def test_words_that_make_no_sense(make: Callable[[], object], said: str) -> None:
    """DESIGN 8: a word that cannot be played is refused when it is made, and says why."""
    with pytest.raises(ConfigurationError, match=said):
        make()
