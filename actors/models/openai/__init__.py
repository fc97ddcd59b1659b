"""Models of OpenAI's Chat Completions, and of every server that speaks the format.

`model` is the adapter; `request`, `pairing`, `name` and `value` make the body,
`stream`, `calls` and `usage` read the frames, `failure` tells what went wrong: all of
these are pure. `server`, `client` and `frames` reach the server through the official SDK,
which is loaded when a model is made.
"""
