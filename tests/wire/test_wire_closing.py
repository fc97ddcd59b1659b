"""Whatever clients do, a closed server leaves nothing behind."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from broodline import ConfigurationError
from broodline.testing import nothing_left
from broodline.testing.wire import WireRequest, WireServer, Word, endless, say, silent
from broodline.testing.wire import server as server_module

Dial = Callable[[WireServer], socket.socket]
Body = Callable[..., dict[str, Any]]


@pytest.fixture
def dial() -> Iterator[Dial]:
    """Clients that stay open over the end of the server."""
    opened: list[socket.socket] = []

    def connect(server: WireServer) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        opened.append(client)
        return client

    yield connect
    for client in opened:
        client.close()


@pytest.fixture
def post(dial: Dial, body: Body) -> Callable[[WireServer], socket.socket]:
    def send(server: WireServer) -> socket.socket:
        client = dial(server)
        data = json.dumps(body("openai")).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(data)}\r\n\r\n"
        client.sendall(head.encode() + data)
        return client

    return send


def gone(client: socket.socket) -> bool:
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        return True
    return True


def stopped(server: WireServer, client: socket.socket) -> bool:
    """Close the server; nothing of it is left, and the client is told."""
    server.close()
    return server.open_connections == 0 and gone(client)


def test_a_server_that_nobody_asked() -> None:
    """core 12.5: a server that was never asked leaves nothing."""
    with nothing_left(grace=0.0), WireServer() as server:
        assert server.openai_url == f"http://127.0.0.1:{server.port}/v1"
        assert server.anthropic_url == f"http://127.0.0.1:{server.port}"


def test_an_idle_connection(dial: Dial) -> None:
    """core 12.5: a client that has asked nothing yet does not hold the end up."""
    with WireServer() as server:
        client = dial(server)
        assert not server.wait_requests(1, 0.0)
        assert stopped(server, client)


def test_a_connection_that_is_kept_alive(post: Callable[..., socket.socket]) -> None:
    """core 12.5: an answered connection stays open till the server closes it."""
    with WireServer() as server:
        server.play(say("a"))
        client = post(server)
        found = b""
        while not found.endswith(b"0\r\n\r\n"):
            found += client.recv(65536)
        assert server.open_connections == 1
        assert stopped(server, client)


def test_half_a_request(dial: Dial) -> None:
    """core 12.5: a request that never gets whole is not recorded and holds nothing up."""
    with WireServer() as server:
        client = dial(server)
        client.sendall(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 10\r\n\r\n12345")
        early = dial(server)
        early.sendall(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 10\r\n\r\n12345")
        early.close()
        assert server.wait_closed(leaving=1)
        assert stopped(server, client)
        assert server.requests == []


@pytest.mark.parametrize("before", ["headers", "first", "text", "finish"])
def test_a_silent_answer(post: Callable[..., socket.socket], before: Any) -> None:
    """core 12.5: an answer that waits is ended by the end of the server."""
    with WireServer() as server:
        server.play(silent(before))
        client = post(server)
        assert server.wait_silent()
        assert stopped(server, client)


def test_an_endless_answer_that_nobody_reads(post: Callable[..., socket.socket]) -> None:
    """core 12.5: a write that is stuck because nobody reads is ended too."""
    with WireServer() as server:
        server.play(endless("x" * 100_000))
        client = post(server)
        assert server.wait_requests()
        client.recv(1)
        assert stopped(server, client)


@pytest.mark.parametrize("word", [say("one", "two"), endless("two", every=600)])
def test_a_slow_answer(post: Callable[..., socket.socket], word: Word) -> None:
    """core 12.5: a pause between two frames is ended too."""
    with WireServer(pause=600) as server:
        server.play(word)
        client = post(server)
        data = b""
        while b"assistant" not in data:
            data += client.recv(65536)
        server.close()
        assert server.open_connections == 0
        data += b"".join(iter(lambda: client.recv(65536), b""))
    assert b"two" not in data


def test_many_at_once(post: Callable[..., socket.socket]) -> None:
    """core 12.5: connections in every state are closed together."""
    with WireServer() as server:
        words: list[Word] = [silent("headers"), silent("text"), endless()]
        server.play(*words * 10)
        clients = [post(server) for _ in range(30)]
        assert server.wait_silent(20)
        assert server.wait_requests(30)
        assert server.open_connections == server.connections == 30
        server.close()
        assert server.open_connections == 0
        assert all(gone(client) for client in clients)


def test_an_early_end_of_the_block(post: Callable[..., socket.socket]) -> None:
    """core 12.5: a test that fails within the block leaves nothing either."""
    with pytest.raises(KeyError), nothing_left(grace=0.0), WireServer() as server:
        server.play(silent())
        with post(server):
            assert server.wait_silent()
            raise KeyError


def test_it_starts_once() -> None:
    """DESIGN 8: a server starts once, ends any number of times, and has no address outside."""
    server = WireServer()
    server.close()
    with pytest.raises(ConfigurationError, match="does not run"):
        _ = server.port
    server.start()
    with pytest.raises(ConfigurationError, match="starts once"):
        server.start()
    server.close()
    server.close()
    with pytest.raises(ConfigurationError, match="starts once"):
        server.start()
    with pytest.raises(ConfigurationError, match="does not run"):
        _ = server.openai_url


def test_a_taken_port() -> None:
    """DESIGN 8: a port that is taken is told by an OSError, and nothing is left."""
    with nothing_left(grace=0.0), WireServer() as server, pytest.raises(OSError, match="in use"):
        WireServer(port=server.port).start()


def test_what_a_rule_raises_comes_out(plain_server: Callable[..., Any]) -> None:
    """DESIGN 8: a rule's error is answered with a 500 and raised at the end of the block."""

    def rule(request: WireRequest) -> Word:
        raise LookupError("no such story")

    with pytest.raises(ExceptionGroup) as caught, WireServer() as server:
        server.rule = rule
        status, data = plain_server(server)
        assert status == 500
        assert "no such story" in data
    assert caught.group_contains(LookupError, match="no such story")


def test_a_rule_that_answers_with_something_else(plain_server: Callable[..., Any]) -> None:
    """DESIGN 8: a rule must answer with a word; what it gave is named."""
    with pytest.raises(ExceptionGroup) as caught, WireServer() as server:
        server.rule = lambda request: "Hello"  # type: ignore[assignment, return-value]  # the point
        assert plain_server(server)[0] == 500
    assert caught.group_contains(ConfigurationError, match="'Hello' is no word")


def test_an_error_of_the_block_goes_first(plain_server: Callable[..., Any]) -> None:
    """DESIGN 8: where the block itself fails, the server's trouble is a note at its error."""

    def rule(request: WireRequest) -> Word:
        raise LookupError("no such story")

    with pytest.raises(KeyError) as caught, WireServer() as server:
        server.rule = rule
        plain_server(server)
        raise KeyError("mine")
    assert "no such story" in caught.value.__notes__[0]


def test_a_rule_that_does_not_return(
    post: Callable[..., socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 8: closing does not wait for ever on a rule, and says so."""
    monkeypatch.setattr(server_module, "_GRACE", 0.01)
    let_go = threading.Event()

    def rule(request: WireRequest) -> Word:
        let_go.wait()
        return say("late")

    server = WireServer()
    server.rule = rule
    server.start()
    post(server)
    assert server.wait_requests()
    with pytest.raises(TimeoutError, match="has not returned"):
        server.close()
    let_go.set()
    assert server.wait_closed()


async def test_on_a_loop(post: Callable[..., socket.socket]) -> None:
    """core 12.5: `async with` opens and closes it as well."""
    async with WireServer() as server:
        server.play(silent())
        client = post(server)
        assert await server.until_silent()
    assert server.open_connections == 0
    assert gone(client)


@pytest.fixture
def plain_server(body: Body) -> Callable[..., Any]:
    """Ask a given server and read its whole answer."""

    def ask(server: WireServer) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps(body("openai")))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    return ask
