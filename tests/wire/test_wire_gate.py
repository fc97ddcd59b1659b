"""What the server refuses, what it answers without a word, and what it records."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from broodline.testing.wire import WireServer, call, calls, say, silent, status

Post = Callable[..., Any]
Body = Callable[..., dict[str, Any]]

both = pytest.mark.parametrize("name", ["openai", "anthropic"])


def whole(client: socket.socket) -> bytes:
    """All that comes before the end."""
    return b"".join(iter(lambda: client.recv(65536), b""))


def error_of(name: str, answer: Any) -> dict[str, Any]:
    """The error of a body, once it has the form of its format."""
    data = json.loads(answer.read())
    if name == "anthropic":
        assert data["type"] == "error"
        assert data["request_id"] == answer.getheader("request-id")
    else:
        assert set(data) == {"error"}
        assert set(data["error"]) == {"message", "type", "param", "code"}
    error: dict[str, Any] = data["error"]
    return error


@both
def test_unknown_path(server: WireServer, at: Callable[..., Any], name: str) -> None:
    """core 12.5: a path that is not served is a 404 in the style of the asking SDK."""
    server.play(say("a"))
    headers = {"x-api-key": "k"} if name == "anthropic" else {"anthropic-version": None}
    for path in ("/v1/models", "/", "/v1/messages/count_tokens"):
        code, data = at(server, name, headers, path=path)
        assert code == 404
        assert path in json.loads(data)["error"]["message"]
        assert data.startswith('{"type":"error"') == (name == "anthropic")
    assert len(server.unplayed) == 1


@both
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods(server: WireServer, plain: Post, name: str, method: str) -> None:
    """core 12.5: another method than POST is a 405 that names it."""
    answer = plain(name, method=method)
    assert answer.status == 405
    assert answer.getheader("allow") == "POST"
    error_of(name, answer)


def test_head_has_no_body(server: WireServer) -> None:
    """core 12.5: HEAD is answered without a body, and the connection goes on."""
    ask = b" /v1/messages HTTP/1.1\r\nhost: x\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(b"HEAD" + ask + b"\r\nGET" + ask + b"connection: close\r\n\r\n")
        head, _, rest = whole(client).partition(b"\r\n\r\n")
    assert b" 405 " in head
    assert rest.startswith(b"HTTP/1.1 405 ")


@both
@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff", b"null", b"[" * 100_000])
def test_a_body_that_is_no_object(server: WireServer, plain: Post, name: str, data: bytes) -> None:
    """core 12.5: a body that is no JSON object is a 400, recorded with its bytes."""
    answer = plain(name, data=data)
    assert answer.status == 400
    assert "JSON" in error_of(name, answer)["message"]
    assert (server.requests[0].raw, server.requests[0].body) == (data, {})


def test_a_body_of_unknown_length(server: WireServer) -> None:
    """core 12.5: a body without a length is a 411, and the connection ends."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")
        assert b" 411 " in whole(client)
        assert server.wait_closed()


def test_what_is_no_http(server: WireServer) -> None:
    """core 12.5: bytes that are no HTTP get a 400 as JSON, and the connection ends."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(b"POST one two three four\r\n\r\n")
        data = whole(client)
        assert b" 400 " in data
        assert b'{"error":' in data
        assert server.wait_closed()


@both
@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, False),
        ({"authorization": "Bearer right"}, True),
        ({"authorization": "bearer right"}, True),
        ({"authorization": "Bearer wrong"}, False),
        ({"authorization": "right"}, False),
        ({"authorization": "Basic right"}, False),
    ],
)
def test_the_key(
    body: Body, name: str, headers: dict[str, str], allowed: bool, at: Callable[..., Any]
) -> None:
    """core 12.5: with a key set, any other one is a 401, and none is too."""
    with WireServer(key="right") as server:
        server.rule = lambda request: say("a")
        answer = at(server, name, headers)
    assert answer[0] == (200 if allowed else 401)
    if not allowed:
        kind = "authentication_error" if name == "anthropic" else "invalid_request_error"
        assert kind in answer[1]
        assert ("wrong" in answer[1]) == ("Bearer wrong" in headers.values())


def test_the_key_in_the_providers_own_header(at: Callable[..., Any]) -> None:
    """core 12.5: each provider has a header of its own for the key, and not the other's."""
    with WireServer(key="right") as server:
        server.rule = lambda request: say("a")
        codes = [
            at(server, name, {header: "right"})[0]
            for name in ("anthropic", "openai")
            for header in ("x-api-key", "api-key")
        ]
    assert codes == [200, 401, 401, 200]


def test_a_version_is_wanted(at: Callable[..., Any]) -> None:
    """Messages API: a request without `anthropic-version` is a 400, unless nothing is checked."""
    codes: list[Any] = []
    for strict in (True, False):
        with WireServer(strict=strict) as server:
            server.rule = lambda request: say("a")
            codes.append(at(server, "anthropic", {"anthropic-version": None}))
    assert [code for code, _ in codes] == [400, 200]
    assert "anthropic-version: header is required" in codes[0][1]


@both
def test_refusals_take_no_word(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: what is refused takes no word, asks no rule, and is recorded."""
    asked: list[int] = []
    server.rule = lambda request: asked.append(request.order)
    assert plain(name, more={"messages": []}).status == 400
    server.play(say("for the sound one"))
    assert plain(name, method="GET").status == 405
    assert len(server.unplayed) == 1
    assert b"for the sound one" in plain(name).read()
    assert [request.order for request in server.requests] == [0, 1, 2]
    assert asked == []


@both
def test_a_script_that_is_used_up(server: WireServer, plain: Post, name: str) -> None:
    """core 18.12 #276: a request without a word is a 500 that says so, and not a hang."""
    answer = plain(name)
    assert answer.status == 500
    assert "script is used up" in error_of(name, answer)["message"]


@both
def test_a_rule_answers_the_rest(server: WireServer, plain: Post, name: str) -> None:
    """core 12.7: the script goes first, then the rule; None of a rule is a used-up script."""
    server.play(say("scripted"))
    server.rule = lambda request: say(f"rule {request.order}") if request.order < 2 else None
    assert b"scripted" in plain(name).read()
    assert b"rule 1" in plain(name).read()
    assert plain(name).status == 500


def test_words_go_in_order_of_arrival(server: WireServer, plain: Post) -> None:
    """core 12.7: requests of both formats share one script."""
    server.play(say("first"), say("second"), say("third"))
    for name, text in (("openai", b"first"), ("anthropic", b"second"), ("openai", b"third")):
        assert text in plain(name).read()


@both
def test_what_is_recorded(server: WireServer, plain: Post, name: str) -> None:
    """core 12.7: a request is recorded whole, its headers by lower-case names."""
    server.play(say("a"), say("b"))
    plain(name, headers={"X-Twice": "1", "Authorization": "Bearer k"}, path=_path(name))
    plain(name, stream=False, path=_path(name) + "?beta=true")
    first, second = server.requests
    assert (first.format, first.method, first.stream) == (name, "POST", True)
    assert first.headers["x-twice"] == "1"
    assert first.headers["authorization"] == "Bearer k"
    assert "Bearer" not in repr(first)
    assert first.model == "m"
    assert first.text == "hi"
    assert json.loads(first.raw) == first.body
    assert (second.path, second.stream) == (_path(name) + "?beta=true", False)
    assert (first.order, second.order) == (0, 1)
    assert (first.connection, second.connection) == (0, 1)


def test_any_prefix_is_served(server: WireServer, plain: Post) -> None:
    """core 12.5: compatible servers have their paths behind prefixes of their own."""
    server.rule = lambda request: say("a")
    paths = ["/openai/deployments/x/chat/completions?api-version=1", "/api/v1/chat/completions"]
    assert [plain("openai", path=path).status for path in paths] == [200, 200]
    assert plain("anthropic", path="/proxy/v1/messages").status == 200


def test_requests_are_numbered_while_they_wait(server: WireServer, plain: Post) -> None:
    """core 12.7: a request is on record before it is answered."""
    seen: list[int] = []
    server.rule = lambda request: seen.append(len(server.requests)) or say("a")  # type: ignore[func-returns-value]  # append, then say
    plain("openai").read()
    assert seen == [1]


@both
def test_turns_of_a_request(server: WireServer, plain: Post, name: str) -> None:
    """core 12.2: a rule reads messages the same way in both formats."""
    server.play(say("a"))
    plain(name, more=HISTORY[name]).read()
    request = server.requests[0]
    assert request.system == "Be brief."
    assert request.tools == ("add",)
    assert request.schemas["add"]["required"] == ["a"]
    said = [turn for turn in request.turns if turn.role != "system"]
    assert [turn.text for turn in said] == ["Add.", "I add.", ""]
    assert [(one.name, json.loads(one.arguments), one.id) for one in said[1].calls] == [
        ("add", {"a": 1}, "c1")
    ]
    assert said[2].results == (("c1", "one"),)
    assert request.text == "one"


@both
def test_lenient_reading(plain: Post, name: str, at: Callable[..., Any]) -> None:
    """core 12.2: where nothing is checked, a rule can still look at any request."""
    odd = {"messages": [1, {"role": 2, "content": [3, {"text": 4}], "tool_calls": [5]}], "tools": 6}
    with WireServer(strict=False) as server:
        server.rule = lambda request: say(f"{request.turns}{request.tools}{request.system}")
        assert at(server, name, {}, odd)[0] == 200
        assert at(server, name, {}, {"messages": None, "model": 3})[0] == 200
        assert server.requests[1].text == server.requests[1].model == ""


@both
def test_words_of_a_status(server: WireServer, plain: Post, name: str) -> None:
    """core 12.6: an HTTP error carries the waits it was given, in every form."""
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    server.play(
        status(429, retry_after=0.01),
        status(429, retry_after=7, retry_after_ms=12.5),
        status(503, retry_after=date, headers={"Date": date, "X-Request-Id": "mine"}),
        status(500, {"strange": 1}),
        status(502, "<html>Bad gateway</html>", headers={"Content-Type": "text/html"}),
        status(529),
    )
    answers = [plain(name) for _ in range(6)]
    data = [answer.read().decode() for answer in answers]
    assert [answer.status for answer in answers] == [429, 429, 503, 500, 502, 529]
    assert answers[0].getheader("retry-after") == "0.01"
    assert answers[1].getheader("retry-after") == "7"
    assert answers[1].getheader("retry-after-ms") == "12.5"
    assert answers[2].headers.get_all("date") == [date]
    assert answers[2].getheader("x-request-id") == "mine"
    assert data[3] == '{"strange":1}'
    assert data[4] == "<html>Bad gateway</html>"
    assert answers[4].getheader("content-type") == "text/html"
    assert ("overloaded_error" in data[5]) == (name == "anthropic")


def test_a_client_that_left_before_its_answer(server: WireServer, body: Body) -> None:
    """core 12.5: a client that is gone when its answer is ready leaves no fault behind."""
    server.play(silent("headers", of=calls(*[call("a", {"b": "c" * 10_000})] * 50)))
    data = json.dumps(body("openai")).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(data)}\r\n\r\n"
        client.sendall(head.encode() + data)
        assert server.wait_silent()
        server.release()
    assert server.wait_closed()


def _path(name: str) -> str:
    return "/v1/chat/completions" if name == "openai" else "/v1/messages"


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
HISTORY: dict[str, dict[str, Any]] = {
    "openai": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Add."}]},
            {
                "role": "assistant",
                "content": "I add.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "add", "arguments": '{"a": 1}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
        ],
        "tools": [{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}],
    },
    "anthropic": {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "Add."},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I add."},
                    {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "one"}],
            },
        ],
        "tools": [{"name": "add", "input_schema": SCHEMA}],
    },
}


@pytest.fixture
def at(body: Body) -> Callable[..., Any]:
    """Ask a given server with headers of one's own, and read its whole answer."""

    def ask(
        server: WireServer,
        name: str,
        headers: dict[str, str | None],
        more: dict[str, Any] | None = None,
        path: str | None = None,
    ) -> tuple[int, str]:
        sent = {"anthropic-version": "2023-06-01"} | headers
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        try:
            connection.request(
                "POST",
                path or _path(name),
                json.dumps(body(name, **(more or {}))),
                {key: value for key, value in sent.items() if value is not None},
            )
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    return ask
