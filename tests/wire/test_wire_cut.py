"""Connections that end too early, at every stage."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from typing import Any

import pytest

from broodline.testing.wire import WireServer, call, calls, cut, say

Post = Callable[..., Any]
Read = Callable[..., Any]

both = pytest.mark.parametrize("name", ["openai", "anthropic"])
TOLD = calls(call("write", {"path": "a.txt", "text": "Once"}), text=("one ", "two ", "six "))

STAGES: dict[str, tuple[str, str]] = {
    "start": ("assistant", "one "),
    "text": ("two ", "six "),
    "tool": ("path", "Once"),
    "finish": ("tool_use|tool_calls", "DONE|message_stop"),
}
"""By stage: what has come, and what has not."""


def received(answer: http.client.HTTPResponse) -> tuple[bytes, BaseException | None]:
    try:
        return answer.read(), None
    except http.client.IncompleteRead as error:
        return error.partial, error


@both
@pytest.mark.parametrize("orderly", [False, True], ids=["abrupt", "orderly"])
@pytest.mark.parametrize("after", STAGES)
def test_each_stage(server: WireServer, plain: Post, name: str, after: Any, orderly: bool) -> None:
    """core 12.5: all up to the stage has come and nothing behind it, with an end or without."""
    server.play(cut(after, orderly, of=TOLD))
    data, error = received(plain(name))
    came, missing = (part.split("|") for part in STAGES[after])
    assert any(part.encode() in data for part in came)
    assert not any(part.encode() in data for part in missing)
    assert (error is None) == orderly
    assert data.endswith(b"\n\n")


@both
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("after", ["headers", "start", "text", "tool", "finish", "usage"])
def test_no_connection_is_left(
    server: WireServer, plain: Post, name: str, stream: bool, after: Any
) -> None:
    """core 12.5: a cut answer leaves no connection open, also where nothing streams."""
    server.play(cut(after, of=TOLD))
    answer = plain(name, stream)
    assert answer.status == 200
    assert received(answer)[1] is not None
    assert server.wait_closed()


@both
def test_headers_alone(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: a cut behind the headers brings no byte of the body."""
    server.play(cut("headers"), cut("headers", orderly=True))
    assert received(plain(name))[0] == b""
    assert received(plain(name)) == (b"", None)


@both
def test_before_the_request_is_read(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: a cut at the connection answers nothing, takes one word, records nothing."""
    server.play(cut("connect"), say("a"))
    with pytest.raises(ConnectionError):
        plain(name)
    assert server.requests == []
    assert len(server.unplayed) == 1
    assert plain(name).status == 200


@both
@pytest.mark.parametrize("reset", [False, True])
def test_a_kept_connection_is_cut_too(
    server: WireServer, plain: Post, name: str, reset: bool
) -> None:
    """core 12.5: on a connection that is kept alive the next request finds it closed."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    server.play(say("a"), cut("connect", reset=reset))
    plain(name, connection=connection).read()
    with pytest.raises(ConnectionError):
        plain(name, connection=connection)
    connection.close()
    assert server.wait_closed()
    assert len(server.requests) == 1


@both
def test_a_rule_cuts_before_a_byte(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: a rule has read the request; its cut at the connection sends no byte back."""
    server.rule = lambda request: cut("connect")
    with pytest.raises(ConnectionError):
        plain(name)
    assert len(server.requests) == 1
    assert server.wait_closed()


@both
def test_reset(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: a reset is an error of the connection, and no early end."""
    server.play(cut("text", reset=True))
    with pytest.raises(ConnectionResetError):
        plain(name).read()


def test_between_finish_and_usage(server: WireServer, plain: Post) -> None:
    """Chat Completions: usage comes behind the finish, so a cut may take it away alone."""
    asked = {"stream_options": {"include_usage": True}}
    server.play(cut("finish"), cut("usage"))
    first, second = (received(plain("openai", more=asked))[0] for _ in range(2))
    assert b"finish_reason" in first
    assert b"prompt_tokens" not in first
    assert b"prompt_tokens" in second
    assert b"DONE" not in second


@both
@pytest.mark.parametrize("after", ["connect", "headers", "start", "text", "tool", "finish"])
def test_an_sdk_tells_of_it(server: WireServer, read: Read, name: str, after: Any) -> None:
    """core 12.5: an SDK raises at every abrupt end, whatever the stage."""
    server.play(cut(after))
    with pytest.raises(Exception, match=r".") as caught:
        read(name)
    kinds = {kind.__name__ for kind in type(caught.value).__mro__}
    assert kinds & {"APIConnectionError", "TransportError"}
