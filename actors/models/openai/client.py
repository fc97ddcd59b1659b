"""Clients of the official SDK: our own, and those of callers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....messages.errors import ConfigurationError
from ....messages.lossless import type_name
from ..credential import Credential
from ..endpoint import Endpoint, endpoint_of
from ..extra import load_extra

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_CONNECT = 10.0
"""Seconds that a connection may take to come about; far longer than any server needs."""


def own_client(
    sdk: Any, endpoint: Endpoint, credential: Credential, timeout: float | None
) -> Callable[[], AsyncOpenAI]:
    """What makes a client for a loop."""

    def make() -> AsyncOpenAI:
        connect = _CONNECT if timeout is None else min(timeout, _CONNECT)
        return _ready(
            sdk,
            sdk.AsyncOpenAI(
                api_key=credential.reveal(),
                base_url=endpoint.url,
                # The wait for a free connection is no silence of the server.
                timeout=sdk.Timeout(timeout, connect=connect, pool=None),
                max_retries=0,
                default_headers={"Authorization": endpoint.basic} if endpoint.basic else None,
                default_query=endpoint.query or None,
                # A redirection would take the prompt, and a key, to a server nobody named.
                http_client=sdk.DefaultAsyncHttpxClient(follow_redirects=False),
            ),
        )

    return make


def foreign_client(
    sdk: Any, client: object, api_key: object, base_url: object
) -> tuple[AsyncOpenAI, Endpoint, Credential]:
    """A caller's client without its retries, whom it asks, and its key, empty without one.

    Raises:
        ConfigurationError: If it is no asynchronous client of the SDK, or if a key or a
            URL was given as well.
    """
    if api_key is not None or base_url is not None:
        raise ConfigurationError(
            "OpenAIModel got client= and api_key= or base_url=; the client has both already"
        )
    if not isinstance(client, sdk.AsyncOpenAI):
        raise ConfigurationError(
            f"client of OpenAIModel must be an AsyncOpenAI or AsyncAzureOpenAI of the package "
            f"openai, not {type_name(client)}"
        )
    known: Any = client
    key: object = known.api_key
    credential = Credential(key if isinstance(key, str) else "")
    return (
        _ready(sdk, known.with_options(max_retries=0)),
        endpoint_of(str(known.base_url), "base_url of client="),
        credential,
    )


def loaded_sdk() -> Any:
    """The package, with what the first request needs of it.

    Raises:
        ConfigurationError: ``MISSING_EXTRA`` or ``BROKEN_EXTRA``.
    """
    sdk = load_extra("openai", "openai", "OpenAIModel")
    # The SDK puts these off to the first request, where they would hold up the loop.
    chat = load_extra("openai.resources.chat", "openai", "OpenAIModel")
    for name in ("AsyncChat", "AsyncCompletions"):
        getattr(chat, name, None)
    return sdk


def _ready(sdk: Any, client: Any) -> AsyncOpenAI:
    """The client, without the thread that it would start for its first request.

    It asks the system for its name in one, to be on the safe side; threads are the
    runtime's to start. Where the SDK changes this, the thread is back, and that is all.
    """
    name_of = getattr(getattr(sdk, "_base_client", None), "get_platform", None)
    if name_of is not None and getattr(client, "_platform", "") is None:
        client._platform = name_of()
    return client  # type: ignore[no-any-return]
