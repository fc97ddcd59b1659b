"""Answers that wait, and answers without an end."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from broodline.testing.wire import WireServer, endless, say, silent

Post = Callable[..., Any]
Body = Callable[..., dict[str, Any]]

both = pytest.mark.parametrize("name", ["openai", "anthropic"])
STORY = say("one ", "two")


@pytest.fixture
def ask(server: WireServer, body: Body) -> Iterator[Callable[..., socket.socket]]:
    """Send a request over a bare socket, whose bytes can be looked at as they come."""
    opened: list[socket.socket] = []

    def send(name: str, stream: bool = True) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        opened.append(client)
        data = json.dumps(body(name, stream)).encode()
        path = "/v1/chat/completions" if name == "openai" else "/v1/messages"
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\nanthropic-version: 1\r\n"
        client.sendall(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
        return client

    yield send
    for client in opened:
        client.close()


def arrived(client: socket.socket) -> bytes:
    """What is there now; nothing is waited for."""
    client.setblocking(False)
    found = b""
    try:
        while data := client.recv(65536):
            found += data
    except BlockingIOError:
        return found
    finally:
        client.settimeout(10)
    return found


def until(client: socket.socket, end: bytes) -> bytes:
    found = b""
    while end not in found:
        data = client.recv(65536)
        assert data, found
        found += data
    return found


@both
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("before", ["headers", "first", "text", "finish"])
def test_each_place(
    server: WireServer, ask: Callable[..., Any], name: str, stream: bool, before: Any
) -> None:
    """core 12.5: a silent answer waits at its place, and goes on when it is released."""
    server.play(silent(before, of=STORY))
    client = ask(name, stream)
    assert server.wait_silent()
    first = arrived(client)
    assert (b"200" in first) == (before != "headers")
    assert (b"{" in first) == (before in ("text", "finish"))
    if stream:
        assert (b"two" in first) == (before == "finish")
    assert server.release() == 1
    rest = until(client, b"0\r\n\r\n")
    assert (first + rest).count(b"two") == 1


def test_release_frees_what_waits_now(server: WireServer, ask: Callable[..., Any]) -> None:
    """core 12.5: one release frees every answer that waits, and none that comes later."""
    assert server.release() == 0
    server.play(*[silent("first")] * 3)
    waiting = [ask("openai"), ask("anthropic")]
    assert server.wait_silent(2)
    assert server.release() == 2
    for client in waiting:
        until(client, b"0\r\n\r\n")
    ask("openai")
    assert server.wait_silent(1)


@both
@pytest.mark.parametrize("before", ["headers", "first", "text", "finish"])
def test_a_client_that_leaves_is_noticed(
    server: WireServer, ask: Callable[..., Any], name: str, before: Any
) -> None:
    """core 12.5: while an answer is silent, the server sees its client close."""
    server.play(silent(before))
    client = ask(name)
    assert server.wait_silent()
    assert server.open_connections == 1
    client.close()
    assert server.wait_closed()
    assert server.release() == 0


def test_a_request_sent_ahead_waits_its_turn(server: WireServer, ask: Callable[..., Any]) -> None:
    """core 12.5: bytes that come during a silence are no end of the client."""
    server.play(silent("first", of=say("one")))
    client = ask("openai")
    assert server.wait_silent()
    client.sendall(b"GET /later HTTP/1.1\r\nhost: x\r\n\r\n")
    assert not server.wait_closed(0.05)
    server.release()
    until(client, b"0\r\n\r\n")
    assert server.wait_requests(2)
    assert server.requests[1].path == "/later"


@both
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("part", ["text", "reasoning", "tool", "ping"])
def test_endless(
    server: WireServer, ask: Callable[..., Any], name: str, stream: bool, part: Any
) -> None:
    """core 12.5: an endless answer goes on until its client leaves, which the server notices."""
    server.play(endless("again ", part))
    client = ask(name, stream)
    found = b""
    mark = b"aga"  # arguments are cut into smaller pieces
    if stream and part == "ping":
        mark = b"event: ping" if name == "anthropic" else b": keep-alive"
    while found.count(mark) < 50:
        found += client.recv(65536)
    assert server.open_connections == 1
    client.close()
    assert server.wait_closed()


def test_an_endless_answer_can_be_slow(server: WireServer, ask: Callable[..., Any]) -> None:
    """core 12.5: between two slow pieces the server sees its client close."""
    server.play(endless(every=600))
    client = ask("openai")
    assert b"200" in client.recv(65536)
    client.close()
    assert server.wait_closed()


def test_pieces_can_be_paced(body: Body) -> None:
    """core 12.3: a pause between frames leaves the answer as it is."""
    with WireServer(pause=0.001) as server:
        server.play(say("one ", "two"))
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("POST", "/v1/chat/completions", json.dumps(body("openai")))
        data = connection.getresponse().read()
        connection.close()
    assert data.index(b"one ") < data.index(b"two") < data.index(b"[DONE]")


def test_waiting_ends_in_time(server: WireServer) -> None:
    """core 12.5: what does not happen is told by False, when the time is over."""
    assert not server.wait_requests(1, 0.01)
    assert not server.wait_silent(1, 0.01)
    assert server.wait_closed(0.0)


async def test_a_loop_waits_without_standing_still() -> None:
    """core 12.5: on a loop the same waits let other tasks go on."""
    async with WireServer() as server:
        server.play(silent("first"))
        assert not await server.until_requests(1, 0.01)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        ticks = itertools.count()
        data = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()

        async def ask() -> None:
            next(ticks)
            head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(data)}\r\n\r\n"
            writer.write(head.encode() + data)

        task = asyncio.create_task(ask())
        assert await server.until_requests(timeout=600)
        assert await server.until_silent(timeout=600)
        assert next(ticks) == 1
        assert await server.until_closed(leaving=1)
        assert not await server.until_closed(0.01)
        writer.close()
        await writer.wait_closed()
        assert await server.until_closed(600)
        await task
        del reader
