"""A local HTTP server that speaks the formats of real model providers, and misbehaves on demand.

For tests of a program that talks to OpenAI's Chat Completions or Anthropic's Messages,
or to a server compatible with one of them: the SDK, the network and the parsing are
the real ones, only the model is not::

    from broodline.testing.wire import WireServer, call, calls, cut, say, status

    with WireServer() as server:
        server.play(
            status(429, retry_after=0.01),
            calls(call("add", {"a": 1, "b": 2})),
            cut(after="text"),
            say("It is ", "three."),
        )
        client = openai.OpenAI(api_key="any", base_url=server.openai_url)
        ...
        assert server.requests[0].headers["authorization"] == "Bearer any"
        assert server.wait_closed(leaving=1)

One word answers one request, in order of arrival, whichever format it is in and whether
it wants a stream. `WireServer.rule` answers what the script does not. In tests on an
event loop use ``until_closed``, ``until_requests`` and ``until_silent``.

=====================  ==========================================================
`say`, `calls`         an answer of text, of tool calls
`ceiling`              cut by the token ceiling, also within a call's arguments
`empty`                a regular end without content
`refusal`              refused, or filtered
`status`               an HTTP error: 401, 429 with ``retry-after``, 500, 529, ...
`context_too_long`     the error for a prompt that is too long
`no_quota`             the error for an account without money
`cut`                  the connection breaks at a given stage
`frame`                a body byte by byte
`malformed`            a frame that cannot be read
`truncated`            the body ends within a frame
`silent`               nothing comes until `WireServer.release`
`endless`              goes on until somebody closes
`error_frame`          an error within a stream that has begun
=====================  ==========================================================

``python -m broodline.testing.wire`` serves a built-in model for trying out
``broodline run`` without a key; see ``--help``.
"""

from __future__ import annotations

from .connection import Rule
from .request import WireRequest
from .script import (
    USAGE,
    Answer,
    Call,
    Word,
    call,
    calls,
    ceiling,
    context_too_long,
    cut,
    empty,
    endless,
    error_frame,
    frame,
    malformed,
    no_quota,
    refusal,
    say,
    silent,
    status,
    truncated,
)
from .server import WireServer
from .turn import Turn

__all__ = [
    "USAGE",
    "Answer",
    "Call",
    "Rule",
    "Turn",
    "WireRequest",
    "WireServer",
    "Word",
    "call",
    "calls",
    "ceiling",
    "context_too_long",
    "cut",
    "empty",
    "endless",
    "error_frame",
    "frame",
    "malformed",
    "no_quota",
    "refusal",
    "say",
    "silent",
    "status",
    "truncated",
]
