"""Models behind OpenAI's Chat Completions, through the official SDK.

OpenAI itself, Azure (a client of the caller's), and every server that speaks the
same format. Needs the extra ``openai``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ....messages.chunk import Chunk
from ....messages.plain import name_text
from ....messages.request import ModelRequest
from ..bounds import sound_ceiling, sound_timeout
from ..client_pool import ClientPool
from ..credential import credential_of
from .client import foreign_client, loaded_sdk, own_client
from .failure import OpenAIFailures
from .frames import Closing, Frames, closed
from .name import own_names
from .request import request_body
from .server import is_official, server_of
from .stream import ChatStream

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIModel:
    """Asks a server of OpenAI's format and streams what it answers.

    ::

        model = OpenAIModel("gpt-5.2")  # key from OPENAI_API_KEY
        local = OpenAIModel("qwen3", base_url="http://127.0.0.1:8000/v1", api_key="none")

    One adapter serves every model name of its server: the request says which one is
    asked. The SDK's own retries are off; the agent retries by the policy of its
    registration. It may be used from several loops; connections belong to the loop.

    Args:
        model: The model that a runtime asks for where an agent names none.
        api_key: Default the environment variable ``OPENAI_API_KEY``.
        base_url: Another server, mostly ending in ``/v1``; default the variable
            ``OPENAI_BASE_URL``, else OpenAI. A user and a password in it are sent as
            basic authentication, in place of the key.
        provider: The name that agents ask for.
        max_tokens: Ceiling of a response where nobody sets one; None is the server's.
        timeout: Seconds that the connection may be silent; None is no bound.
        client: An ``AsyncOpenAI`` or ``AsyncAzureOpenAI`` of the caller's, instead of
            `api_key`, `base_url` and `timeout`; its retries are not used, and it is
            never closed here.

    Raises:
        ConfigurationError: ``MISSING_EXTRA``, ``MISSING_CREDENTIAL``,
            ``INVALID_CREDENTIAL``, ``INVALID_BASE_URL``, or an argument is wrong.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        provider: str = "openai",
        max_tokens: int | None = None,
        timeout: float | None = 600.0,
        client: AsyncOpenAI | None = None,
    ) -> None:
        self.model = name_text(model, "model of OpenAIModel")
        self.provider = name_text(provider, "provider of OpenAIModel")
        self.max_tokens = sound_ceiling(max_tokens, "OpenAIModel")
        silence = sound_timeout(timeout, "OpenAIModel")
        sdk = loaded_sdk()
        self._closing: Closing = set()
        if client is None:
            self._endpoint = server_of(base_url)
            key = credential_of(api_key, "OPENAI_API_KEY", "OpenAIModel")
            self._clients = ClientPool(own_client(sdk, self._endpoint, key, silence), _close)
        else:
            used, self._endpoint, key = foreign_client(sdk, client, api_key, base_url)
            self._clients = ClientPool(lambda: used, _keep)
        self._failures = OpenAIFailures(self.provider, self._endpoint, key)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Ask once and stream the answer; see `Model.stream`.

        Cancelled or closed in the middle, it closes the connection. An answer that was
        read to its end gives it back for the next request.

        Raises:
            ModelError: As the outcome is; without the SDK's error, and without the key.
        """
        trace = _Trace()
        try:
            async with aclosing(self._answer(request, trace)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except Exception as error:
            failure = self._failures.of(error, request.config.model, trace.request_id)
        else:
            return
        if trace.answer is not None and (spent := trace.answer.spent()) is not None:
            yield spent
        # Raised outside of the handler: the SDK's error, which holds the request and its
        # headers, is not even the context of ours.
        raise failure

    async def aclose(self) -> None:
        """Close this loop's connections, once the streams on them have ended.

        The model can be used again afterwards.
        """
        await closed(self._closing)
        await self._clients.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        where = f", base_url={self._endpoint.url!r}"
        return f"OpenAIModel({self.model!r}, provider={self.provider!r}{where})"

    async def _answer(self, request: ModelRequest, trace: _Trace) -> AsyncGenerator[Chunk, None]:
        body = request_body(
            request, official=is_official(self._endpoint), max_tokens=self.max_tokens
        )
        answer = trace.answer = ChatStream(own_names(tool.name for tool in request.tools))
        async with self._clients.use() as client:
            frames = await Frames.open(client, body, self._closing)
            trace.request_id = frames.request_id
            try:
                while await frames.read():
                    for chunk in answer.feed(frames.latest):
                        yield chunk
            finally:
                await frames.close()
        for chunk in answer.end():
            yield chunk


class _Trace:
    """What is known of a request when it fails."""

    __slots__ = ("answer", "request_id")

    def __init__(self) -> None:
        self.request_id: str | None = None
        self.answer: ChatStream | None = None


async def _close(client: AsyncOpenAI) -> None:
    await client.close()


async def _keep(client: AsyncOpenAI) -> None:
    """A caller's client is theirs to close."""
