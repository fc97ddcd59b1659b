"""How a server of Anthropic's API is reached: clients of the SDK, and the secrets they hold."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass, replace
from typing import Any, Never

from ....messages.errors import ConfigurationError
from ....messages.plain import quoted
from ..client_pool import ClientPool
from ..credential import MARK, Credential, credential_of
from ..endpoint import Endpoint, endpoint_of, refuse_key
from ..redaction import redact

KEY_VARIABLE = "ANTHROPIC_API_KEY"
URL_VARIABLE = "ANTHROPIC_BASE_URL"
ANTHROPIC_URL = "https://api.anthropic.com"

_CONNECT_TIMEOUT = 10.0  # seconds; a server that is there answers the first packet at once


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """The clients to ask, and what no text may show.

    Attributes:
        pool: One client a loop.
        server: Whom they ask; its `url` is fit to be shown.
        secrets: Keys and passwords.
    """

    pool: ClientPool[Any]
    server: Endpoint
    secrets: tuple[Credential, ...]

    def scrub(self, text: str) -> str:
        """`text` without the secrets, and without whatever else looks like one."""
        for secret in self.secrets:
            text = secret.scrub(text)
        return redact(text)

    def __reduce__(self) -> Never:
        raise TypeError(
            "a model with a key is not written anywhere: it cannot be pickled or copied"
        )


def own_access(
    sdk: Any, api_key: object, base_url: object, timeout: float | None, subject: str
) -> Access:
    """Clients that are made here, from arguments or the environment.

    Args:
        sdk: The package.
        api_key: None is the environment's.
        base_url: None is the environment's, then Anthropic's own.
        timeout: Seconds of silence on the wire, or None.
        subject: Who asks, for errors.

    Raises:
        ConfigurationError: ``MISSING_CREDENTIAL``, ``INVALID_CREDENTIAL``, or a wrong URL.
    """
    address = _server_of(base_url, subject)
    credential = credential_of(api_key, KEY_VARIABLE, subject)

    def make() -> Any:
        settings: dict[str, Any] = {"api_key": credential.reveal(), "max_retries": 0}
        if address is not None:
            settings |= _settings_of(address, credential)
        connect = _CONNECT_TIMEOUT if timeout is None else min(timeout, _CONNECT_TIMEOUT)
        # Waiting for a free connection is no silence of the server.
        settings["timeout"] = sdk.Timeout(timeout, connect=connect, pool=None)
        # A redirection would take the prompt and the key to a server that nobody named.
        settings["http_client"] = sdk.DefaultAsyncHttpxClient(follow_redirects=False)
        return _ready(sdk, sdk.AsyncAnthropic(**settings))

    hidden = address.secrets if address is not None else ()
    return Access(
        ClientPool(make, _close),
        address or Endpoint(ANTHROPIC_URL),
        (credential, *map(Credential, hidden)),
    )


def borrowed_access(sdk: Any, client: Any, subject: str) -> Access:
    """A caller's client, without its retries; it is never closed.

    Raises:
        ConfigurationError: If it is no asynchronous client of the SDK.
    """
    adapt = getattr(client, "with_options", None)
    if adapt is None or not inspect.iscoroutinefunction(getattr(client, "close", None)):
        raise ConfigurationError(
            f"client= of {subject} must be an asynchronous client of the package anthropic, such "
            f"as AsyncAnthropic, not {quoted(type(client).__name__)}"
        )
    adapted = _ready(sdk, adapt(max_retries=0))
    found: list[object] = [getattr(client, name, None) for name in ("api_key", "auth_token")]
    try:
        address = endpoint_of(str(client.base_url), subject)
    except (ConfigurationError, AttributeError):
        address = None
    if address is not None:
        found += address.secrets
    secrets = tuple(Credential(key) for key in found if isinstance(key, str) and key)
    server = Endpoint(MARK) if address is None else address
    return Access(ClientPool(lambda: adapted, _leave), server, secrets)


def _server_of(base_url: object, subject: str) -> Endpoint | None:
    """The server that an argument or the environment names; None is Anthropic's own.

    A ``/v1`` at its end is left out, for the SDK puts it there itself.
    """
    where = URL_VARIABLE if base_url is None else f"base_url of {subject}"
    given = os.environ.get(URL_VARIABLE) or None if base_url is None else base_url
    if given is None:
        return None
    server = endpoint_of(given, where)
    refuse_key(server, where)
    return replace(server, url=server.url.removesuffix("/v1"))


def _ready(sdk: Any, client: Any) -> Any:
    """The client, without the thread that it would start for its first request.

    It asks the system for its name in one; threads are the runtime's to start. Where the
    SDK changes this, the thread is back, and that is all.
    """
    name_of = getattr(getattr(sdk, "_base_client", None), "get_platform", None)
    if name_of is not None and getattr(client, "_platform", "") is None:
        client._platform = name_of()
    return client


async def _close(client: Any) -> None:
    await client.close()


async def _leave(client: Any) -> None:
    """A caller's client stays open."""


def _settings_of(address: Endpoint, credential: Credential) -> dict[str, Any]:
    settings: dict[str, Any] = {"base_url": address.url}
    if address.query:
        settings["default_query"] = address.query
    if address.basic is not None:
        # The proxy before the server takes the one header, the server the other.
        settings["default_headers"] = {
            "Authorization": address.basic,
            "X-Api-Key": credential.reveal(),
        }
    return settings
