"""The seam to a model: one method that streams.

Source: spec core 12.2, 12.3.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from ...messages.chunk import Chunk
from ...messages.request import ModelRequest


class Model(Protocol):
    """Something that answers a request with a stream of chunks.

    Writing one takes an async generator::

        class Echo:
            provider = "echo"
            model = "echo-1"

            async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
                answer = f"You sent {len(request.messages)} messages."
                yield BlockStart(0, "text")
                yield TextDelta(0, answer)
                yield BlockEnd(0, Text(answer))
                yield UsageChunk(Usage(input_tokens=12, output_tokens=6))
                yield Finish("stop")

    What holds for every model:

    - Chunks obey the grammar of `StreamGrammar`; one that does not fails the
      request with ``MALFORMED_RESPONSE``. The last chunk is a `Finish`.
    - A failure is either raised as a `ModelError` or streamed as
      ``Finish("error", ModelFailure(...))``; both come to the same. Any other
      exception becomes the code ``UNKNOWN``, which is not tried again.
    - A model does not retry: the agent does, by the provider's `RetryPolicy`.
    - The stream runs on the runtime's loop and must not block it. When the
      turn is cancelled, ``request.signal`` fires and the pending ``anext`` is
      cancelled; then the stream is closed. It may clean up and must then end.
    - `stream` may be called again before an earlier stream has ended: one model
      serves all agents.

    A model may also have ``max_tokens: int | None``, the ceiling of one response
    where neither the agent nor the request sets one; and ``async def aclose()``, with
    which a runtime that it was given to has it close its connections: see `ClosableModel`.

    Attributes:
        provider: Name that agents ask for; a registry may serve it under others.
        model: The model's own name, such as ``"claude-sonnet-4-5"``.
    """

    @property
    def provider(self) -> str: ...  # noqa: D102

    @property
    def model(self) -> str: ...  # noqa: D102

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Start one response; nothing is sent before the first ``anext``.

        An async generator is closed with ``aclose`` whatever happens. The request
        is shared and frozen: read it, never change it.
        """
        ...


@runtime_checkable
class ClosableModel(Protocol):
    """A model that holds connections."""

    async def aclose(self) -> None:
        """Let go of what is open on the running loop.

        Called when a runtime that the model was given to has ended its agents. Another
        runtime may still use the model, or use it later: what is in use stays open.
        """
        ...
