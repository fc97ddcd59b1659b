"""A wire server, the official SDKs pointed at it, and a plain HTTP client."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.testing.wire import WireServer

HI: list[Any] = [{"role": "user", "content": "hi"}]


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as server:
        yield server


@pytest.fixture
def openai_client(server: WireServer) -> Iterator[Any]:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(api_key="any", base_url=server.openai_url, max_retries=0) as client:
        yield client


@pytest.fixture
def anthropic_client(server: WireServer) -> Iterator[Any]:
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(api_key="any", base_url=server.anthropic_url, max_retries=0) as client:
        yield client


@pytest.fixture
def read(openai_client: Any, anthropic_client: Any) -> Callable[..., Any]:
    """Ask through an SDK and say what it understood, the same way for both formats."""

    def ask(name: str, stream: bool = True, **more: Any) -> Any:
        if name == "openai":
            if stream:
                return _openai_stream(openai_client, more)
            return _openai_whole(openai_client, more)
        if stream:
            return _anthropic_stream(anthropic_client, more)
        return _anthropic_whole(anthropic_client, more)

    return ask


@pytest.fixture
def body() -> Callable[..., dict[str, Any]]:
    """A request that keeps the rules of its format."""

    def make(name: str, stream: bool = True, **more: Any) -> dict[str, Any]:
        plain: dict[str, Any] = {"model": "m", "messages": HI, "stream": stream}
        return plain | ({"max_tokens": 100} if name == "anthropic" else {}) | more

    return make


@pytest.fixture
def plain(server: WireServer, body: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """POST without an SDK; the response is not read yet. Connections close with the test."""
    opened: list[http.client.HTTPConnection] = []

    def post(name: str, stream: bool = True, **given: Any) -> http.client.HTTPResponse:
        connection = given.pop("connection", None)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            opened.append(connection)
        path = "/v1/chat/completions" if name == "openai" else "/v1/messages"
        headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
        data = given.pop("data", None) or json.dumps(body(name, stream, **given.pop("more", {})))
        connection.request(
            given.pop("method", "POST"),
            given.pop("path", path),
            data,
            headers | given.pop("headers", {}),
        )
        assert not given
        return connection.getresponse()  # type: ignore[no-any-return]  # the connection is Any

    yield post
    for connection in opened:
        connection.close()


def _openai_stream(client: Any, more: dict[str, Any]) -> Any:
    found = SimpleNamespace(
        texts=[], reasoning=[], calls=[], finish=None, usage=None, refusal=[], signature=None
    )
    with client.chat.completions.create(model="m", messages=HI, stream=True, **more) as stream:
        for chunk in stream:
            found.usage = chunk.usage or found.usage
            for choice in chunk.choices:
                _openai_delta(choice, found)
    return found


def _openai_delta(choice: Any, found: Any) -> None:
    found.finish = choice.finish_reason or found.finish
    delta = choice.delta
    found.texts += [delta.content] if delta.content else []
    found.refusal += [delta.refusal] if delta.refusal else []
    thought = getattr(delta, "reasoning_content", None)
    found.reasoning += [thought] if thought else []
    for call in delta.tool_calls or ():
        if call.id:
            found.calls.append([call.id, call.function.name, ""])
        found.calls[call.index][2] += call.function.arguments


def _openai_whole(client: Any, more: dict[str, Any]) -> Any:
    answer = client.chat.completions.create(model="m", messages=HI, **more)
    choice = answer.choices[0]
    thought = getattr(choice.message, "reasoning_content", None)
    return SimpleNamespace(
        texts=[choice.message.content] if choice.message.content else [],
        reasoning=[thought] if thought else [],
        calls=[
            [c.id, c.function.name, c.function.arguments] for c in choice.message.tool_calls or ()
        ],
        finish=choice.finish_reason,
        usage=answer.usage,
        refusal=[choice.message.refusal] if choice.message.refusal else [],
        signature=None,
    )


def _anthropic_stream(client: Any, more: dict[str, Any]) -> Any:
    texts: list[str] = []
    reasoning: list[str] = []
    arguments: dict[int, str] = {}
    more = {"max_tokens": 100} | more
    with client.messages.stream(model="m", messages=HI, **more) as stream:
        for event in stream:
            if event.type == "content_block_delta":
                delta = event.delta
                if delta.type == "text_delta":
                    texts.append(delta.text)
                elif delta.type == "thinking_delta":
                    reasoning.append(delta.thinking)
                elif delta.type == "input_json_delta":
                    arguments[event.index] = arguments.get(event.index, "") + delta.partial_json
        found = _anthropic_message(stream.get_final_message())
    found.texts, found.reasoning = texts, reasoning
    for call, text in zip(found.calls, arguments.values(), strict=True):
        call[2] = text
    return found


def _anthropic_whole(client: Any, more: dict[str, Any]) -> Any:
    more = {"max_tokens": 100} | more
    return _anthropic_message(client.messages.create(model="m", messages=HI, **more))


def _anthropic_message(message: Any) -> Any:
    thoughts = [block for block in message.content if block.type == "thinking"]
    return SimpleNamespace(
        texts=[block.text for block in message.content if block.type == "text"],
        reasoning=[block.thinking for block in thoughts],
        signature=thoughts[0].signature if thoughts else None,
        redacted=[block.data for block in message.content if block.type == "redacted_thinking"],
        calls=[
            [block.id, block.name, json.dumps(block.input, separators=(",", ":"))]
            for block in message.content
            if block.type == "tool_use"
        ],
        inputs=[block.input for block in message.content if block.type == "tool_use"],
        finish=message.stop_reason,
        usage=message.usage,
        details=message.stop_details,
    )
