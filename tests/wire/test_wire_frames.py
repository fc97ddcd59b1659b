"""The bytes on the wire, read without an SDK."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any

import pytest

from broodline.testing.wire import (
    WireServer,
    call,
    calls,
    error_frame,
    frame,
    malformed,
    say,
    truncated,
)

Post = Callable[..., Any]
Read = Callable[..., Any]

both = pytest.mark.parametrize("name", ["openai", "anthropic"])

OPENAI = """\
data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m",\
"service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":\
{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],\
"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m",\
"service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":\
{"content":"Hé"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m",\
"service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":\
{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m",\
"service_tier":"default","system_fingerprint":null,"choices":[],"usage":{"prompt_tokens":12,\
"completion_tokens":6,"total_tokens":18}}

data: [DONE]

"""

ANTHROPIC = """\
event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",\
"model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,\
"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"",\
"signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hé"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta",\
"signature":"c2lnbmVk"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use",\
"id":"toolu_1_0","name":"add","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",\
"partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",\
"partial_json":"{\\"a\\""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",\
"partial_json":":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},\
"usage":{"input_tokens":12,"output_tokens":6}}

event: message_stop
data: {"type":"message_stop"}

"""


def test_openai_to_the_byte(server: WireServer, plain: Post) -> None:
    """Chat Completions: role first, null usage in every chunk, the usage chunk, [DONE]."""
    server.play(say("Hé"))
    answer = plain("openai", more={"stream_options": {"include_usage": True}})
    assert answer.read().decode() == OPENAI


def test_anthropic_to_the_byte(server: WireServer, plain: Post) -> None:
    """Messages API: named events, a ping, a signed thought, a tool use in pieces."""
    server.play(calls(call("add", {"a": 1}), reasoning="Hé"))
    assert plain("anthropic").read().decode() == ANTHROPIC


def test_a_call_in_the_openai_format(server: WireServer, plain: Post) -> None:
    """Chat Completions: the first delta of a call has id, type, name; the others only arguments."""
    server.play(calls(call("add", {"a": 1}), call("b", {"c": 2})))
    data = plain("openai").read().decode().split("\n\n")
    chunks = [json.loads(line[6:]) for line in data if line.startswith("data: {")]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": None, "refusal": None}
    assert deltas[1:4] == [
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "call_1_0",
                    "type": "function",
                    "function": {"name": "add", "arguments": ""},
                }
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]},
    ]
    assert {one["index"] for delta in deltas[4:-1] for one in delta["tool_calls"]} == {1}


@both
def test_headers(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: a stream is chunked, names its type and date, and has the request's id."""
    server.play(say("a"))
    answer = plain(name)
    answer.read()
    assert answer.status == 200
    assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
    assert answer.getheader("cache-control") == "no-cache"
    assert answer.getheader("transfer-encoding") == "chunked"
    assert answer.getheader("date", "").endswith("GMT")
    assert answer.getheader("x-request-id" if name == "openai" else "request-id") == "req_1"


@both
def test_a_whole_answer_is_one_json(server: WireServer, plain: Post, name: str) -> None:
    """core 12.3: without `stream` the answer is one JSON object of a known length."""
    server.play(say("Hello"))
    answer = plain(name, stream=False)
    data = answer.read()
    assert answer.getheader("content-type") == "application/json"
    assert answer.getheader("content-length") == str(len(data))
    kind = json.loads(data)["object" if name == "openai" else "type"]
    assert kind == ("chat.completion" if name == "openai" else "message")


@both
@pytest.mark.parametrize("how", ["json", "shape", "utf8"])
def test_malformed(server: WireServer, plain: Post, name: str, how: Any) -> None:
    """core 12.5: one frame behind some text cannot be read; all around it is as it should be."""
    server.play(say("a", "b", "c"), malformed(how, of=say("a", "b", "c")))
    sound = plain(name).read().replace(b"-1", b"-2").replace(b"_1", b"_2")
    broken = plain(name).read()
    bad = [part for part in broken.split(b"\n\n") if part not in sound.split(b"\n\n")]
    assert len(bad) == 1
    assert broken.replace(bad[0] + b"\n\n", b"") == sound
    data = bad[0].partition(b"data: ")[2]
    if how == "shape":
        assert isinstance(json.loads(data), list)
    else:
        with pytest.raises(ValueError, match=r"Expecting|codec"):
            json.loads(data.decode())


@both
def test_malformed_breaks_an_sdk(server: WireServer, read: Read, name: str) -> None:
    """core 12.5: no SDK reads over a frame that is no JSON."""
    server.play(malformed("json"), malformed("utf8"))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"Expecting|codec|JSON|Invalid"):
            read(name)


@both
@pytest.mark.parametrize("word", [malformed(), truncated()], ids=["malformed", "truncated"])
def test_a_broken_whole_answer(server: WireServer, plain: Post, name: str, word: Any) -> None:
    """core 12.5: without a stream it is the body that cannot be read."""
    server.play(word)
    data = plain(name, stream=False).read()
    with pytest.raises(ValueError, match=r"Expecting|Unterminated|Invalid"):
        json.loads(data)


@both
def test_truncated(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: the body ends, orderly, within a frame, behind some text."""
    server.play(truncated(of=say("one", "two")))
    data = plain(name).read()
    assert b"one" in data
    assert not data.endswith(b"\n\n")


@both
def test_raw_frames(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: a body can be given byte by byte, in a stream and outside."""
    server.play(*[frame("data: \u00fc\n", b"\xff\r\n\r\n")] * 2, frame("x", content_type="text/x"))
    assert plain(name).read() == b"data: \xc3\xbc\n\xff\r\n\r\n"
    assert plain(name, stream=False).read() == b"data: \xc3\xbc\n\xff\r\n\r\n"
    assert plain(name).getheader("content-type") == "text/x"


@both
def test_an_error_frame_is_the_last(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: behind an error inside a stream nothing comes, and the body ends orderly."""
    server.play(error_frame("api_error", "Oh", of=say("Hel")), error_frame("api_error", "Oh"))
    data = plain(name).read()
    assert b"Hel" in data
    last = data.rstrip().split(b"\n\n")[-1]
    error = json.loads(last.partition(b"data: ")[2])["error"]
    assert (error["type"], error["message"]) == ("api_error", "Oh")
    assert last.startswith(b"event: error\n") == (name == "anthropic")
    assert b"Hel" not in plain(name).read()


@both
def test_a_connection_is_kept_alive(server: WireServer, plain: Post, name: str) -> None:
    """core 12.5: whole answers, streams and errors leave the connection usable."""
    server.play(say("a"), say("b"), frame("c"), truncated())
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for stream in (True, False, True, True):
        plain(name, stream, connection=connection).read()
    plain(name, connection=connection).read()  # used up
    plain(name, connection=connection, path="/nowhere").read()
    assert (server.connections, server.open_connections) == (1, 1)
    connection.close()
    assert server.wait_closed()
