"""Where requests go: a base URL, taken apart so that its secrets are never shown."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from ...messages.errors import ConfigurationError

OPENAI_URL = "https://api.openai.com/v1"
VARIABLE = "OPENAI_BASE_URL"

_OFFICIAL = ("api.openai.com", "azure.com", "microsoft.com")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server of the format.

    Attributes:
        url: Without user, password, query and fragment: fit to be shown.
        headers: What the user and password of the URL come to.
        query: The URL's query, sent with every request.
        secrets: Parts of the URL that no text may show.
    """

    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    query: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def official(self) -> bool:
        """Whether OpenAI or Azure answers there, and not a compatible server."""
        host = f".{urlsplit(self.url).hostname}"
        return any(host.endswith(f".{known}") for known in _OFFICIAL)

    @property
    def hint(self) -> str:
        """What to try when nothing is served there; empty when the URL looks right."""
        if self.official or urlsplit(self.url).path.rstrip("/").endswith("/v1"):
            return ""
        return f"the base URL {self.url} does not end in /v1, as that of most servers does"


def endpoint_of(given: object) -> Endpoint:
    """Read a base URL; None takes the one in the environment, or OpenAI's own.

    Raises:
        ConfigurationError: ``INVALID_BASE_URL`` for what is no http(s) URL with a host.
            The text does not show it: it may hold a password.
    """
    url = os.environ.get(VARIABLE) or OPENAI_URL if given is None else given
    parts = _split(url) if isinstance(url, str) else None
    if parts is None:
        where = VARIABLE if given is None else "base_url"
        raise ConfigurationError(
            f"{where} is no URL of a server; write it as {OPENAI_URL} or http://127.0.0.1:8000/v1",
            code="INVALID_BASE_URL",
        )
    query = dict(parse_qsl(parts.query))
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    host = parts.netloc.rpartition("@")[2]
    shown = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    raw = (parts.password or parts.username or "", password or user, *query.values())
    headers: dict[str, str] = {}
    if user or password:
        pair = base64.b64encode(f"{user}:{password}".encode()).decode()
        headers["Authorization"] = f"Basic {pair}"
        raw += (pair,)
    return Endpoint(shown, headers, query, tuple(dict.fromkeys(one for one in raw if one)))


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if usable else None
