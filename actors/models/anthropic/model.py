"""Models of Anthropic's Messages API, by the official SDK (extra ``anthropic``).

Source: spec core 12.2 to 12.6; DESIGN sections 2, 6 and 8.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from ....messages.chunk import Chunk, Finish
from ....messages.errors import ConfigurationError, ModelError
from ....messages.plain import name_text
from ....messages.request import ModelRequest
from ..advice import advised, url_hint
from ..bounds import sound_ceiling, sound_timeout
from ..extra import load_extra
from .access import KEY_VARIABLE, borrowed_access, own_access
from .failure import error_of_sdk
from .request import MAX_TOKENS, body_of, names_of
from .response import AnthropicResponse
from .stream import AnthropicStream

_SUBJECT = "AnthropicModel"
PATH = "/messages"
"""What the SDK puts behind the base URL and ``/v1``."""

_IN_EXTRA_BODY = ("temperature", "thinking", "output_config")
"""What not every version of the SDK has a parameter for."""


class AnthropicModel:
    """A model of Anthropic's, or of a server that speaks the Messages API.

    ::

        async with Runtime(model=AnthropicModel("claude-sonnet-4-5")) as runtime:
            ...

    The request's ``config.model`` says which model is asked; `model` is only the name
    that an agent gets which names none. The SDK's own retries are off: the agent
    tries again, by the registration's `RetryPolicy`, and logs it.

    Args:
        model: Such as ``"claude-sonnet-4-5"``.
        api_key: The key; default the environment's ``ANTHROPIC_API_KEY``.
        base_url: Another server, with or without ``/v1`` at its end; default the
            environment's ``ANTHROPIC_BASE_URL``, then Anthropic's own.
        provider: Name that agents ask for.
        max_tokens: Ceiling of one response where nobody sets one; None is 8192, for the
            API demands a number.
        timeout: Seconds that the connection may be silent; None is no bound.
        client: An ``AsyncAnthropic`` of yours, or a kin of it (Bedrock, Vertex), instead
            of `api_key`, `base_url` and `timeout`. It is used without its retries, on
            the loop that it belongs to, and never closed.

    Attributes:
        provider: Name that agents ask for.
        model: The model's own name.
        max_tokens: Ceiling of one response where nobody sets one.

    Raises:
        ConfigurationError: ``MISSING_EXTRA``, ``MISSING_CREDENTIAL``,
            ``INVALID_CREDENTIAL``, ``INVALID_BASE_URL``, or an argument is wrong.
            No key is ever shown.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        provider: str = "anthropic",
        max_tokens: int | None = None,
        timeout: float | None = 600.0,
        client: Any = None,
    ) -> None:
        self.model = name_text(model, f"the model of {_SUBJECT}")
        self.provider = name_text(provider, f"the provider of {_SUBJECT}")
        self.max_tokens = sound_ceiling(max_tokens, _SUBJECT) or MAX_TOKENS
        silence = sound_timeout(timeout, _SUBJECT)
        sdk = load_extra("anthropic", "anthropic", _SUBJECT)
        if client is not None:
            if api_key is not None or base_url is not None:
                raise ConfigurationError(
                    f"{_SUBJECT} takes either client= or api_key= and base_url=, not both"
                )
            self._access = borrowed_access(sdk, client, _SUBJECT)
        else:
            self._access = own_access(sdk, api_key, base_url, silence, _SUBJECT)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Ask; one call of the API, without retries.

        Runs on the loop of the runtime; ends at once when it is cancelled or closed,
        and with it the connection.

        Raises:
            ModelError: Whatever went wrong; no error of the SDK leaves.
        """
        failure: ModelError | None = None
        response = AnthropicResponse()
        stream = AnthropicStream(names_of(request.tools))
        async with self._access.pool.use() as client:
            try:
                await response.open(client.messages.create(**_arguments(request)))
                while not stream.finished:
                    event = await response.next()
                    if event is None:
                        raise _cut(response)
                    for chunk in stream.feed(event):
                        yield self._clean(chunk, request, response)
            except Exception as error:
                failure = self._failure(error, request, response)
            finally:
                await response.close(whole=stream.finished)
        if failure is not None:
            if (spent := stream.spent()) is not None:
                yield spent
            # Outside the handler: an SDK's error as its context would bring the request along.
            raise failure

    async def aclose(self) -> None:
        """Close this loop's connections; the model can be used again."""
        await self._access.pool.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        where = f"base_url={self._access.server.url!r}"
        return f"{_SUBJECT}({self.model!r}, provider={self.provider!r}, {where})"

    def _clean(self, chunk: Chunk, request: ModelRequest, response: AnthropicResponse) -> Chunk:
        if type(chunk) is not Finish or chunk.failure is None:
            return chunk
        failure = replace(
            chunk.failure,
            message=self._told(request, chunk.failure.message, chunk.failure.code, None),
            request_id=self._scrub_id(response.header("request-id")),
        )
        return replace(chunk, failure=failure)

    def _failure(
        self, error: Exception, request: ModelRequest, response: AnthropicResponse
    ) -> ModelError:
        found = error_of_sdk(error, streaming=response.events is not None)
        return ModelError(
            self._told(request, found.message, found.code, found.status),
            found.code,
            status=found.status,
            retry_after=found.retry_after,
            request_id=self._scrub_id(found.request_id or response.header("request-id")),
        )

    def _told(self, request: ModelRequest, said: str, code: str, status: int | None) -> str:
        config, server = request.config, self._access.server
        text = self._access.scrub(f"{config.provider}:{config.model} at {server.url}: {said}")
        hint = url_hint(server, PATH, version=False)
        return advised(text, code, status, KEY_VARIABLE, hint)

    def _scrub_id(self, request_id: str | None) -> str | None:
        return self._access.scrub(request_id) if request_id else None


def _arguments(request: ModelRequest) -> dict[str, Any]:
    body = body_of(request)
    extra = {key: body.pop(key) for key in _IN_EXTRA_BODY if key in body}
    return {**body, "stream": True, "extra_body": extra or None}


def _cut(response: AnthropicResponse) -> ModelError:
    kind = response.header("content-type") or "no content-type"
    if "event-stream" not in kind and not response.begun:
        return ModelError(f"the server sent no stream of events ({kind})", "MALFORMED_RESPONSE")
    return ModelError("the answer ended before it was complete", "TRANSPORT")
