"""Models of Anthropic's Messages API, and of every server that speaks it.

`model` is the adapter; `request`, `history` and `call` make the body, `stream`, `block`
and `usage` read the events, `failure` tells what went wrong: all of these are pure.
`access` and `response` reach the server through the official SDK, which is loaded when a
model is made.
"""
