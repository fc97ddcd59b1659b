"""Where requests go: a base URL, taken apart so that its secrets are never shown.

HTTP libraries write the URL of each request into their logs, so a user and a password
in it are taken out and sent as the header that they stand for.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from ...messages.errors import ConfigurationError
from ...messages.plain import quoted

_KEY = re.compile(r"(?i)key|token|secret|passw|credential|signature|^sig$|^auth")
"""Names in a query whose values are no settings: ``api-key``, ``access_token``, ``sig``."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server.

    Attributes:
        url: Without user, password, query and fragment: fit to be shown.
        basic: Value of the ``Authorization`` header that user and password stand for,
            or None.
        query: What every request carries behind its path.
        secrets: Parts of the URL that no text may show.
    """

    url: str
    basic: str | None = field(default=None, repr=False)
    query: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def host(self) -> str:
        """The server's name."""
        return urlsplit(self.url).hostname or ""

    @property
    def path(self) -> str:
        """What stands behind the server's name, without a slash at its end."""
        return urlsplit(self.url).path.rstrip("/")


def endpoint_of(given: object, where: str) -> Endpoint:
    """Read a base URL: ``https://host[:port][/path]``.

    Args:
        given: The URL.
        where: The argument or variable that it comes from, for the error.

    Raises:
        ConfigurationError: ``INVALID_BASE_URL`` for what is no http(s) URL with a host.
            The text does not show it: it may hold a password.
    """
    parts = _split(given) if isinstance(given, str) else None
    if parts is None:
        raise ConfigurationError(
            f"{where} is no URL of a server; write it as https://host/path or "
            "http://127.0.0.1:8000/path",
            code="INVALID_BASE_URL",
        )
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    host = parts.netloc.rpartition("@")[2]
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    token = base64.b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    # As it stands in the URL and as it is meant; a user alone may be a key.
    secrets = (parts.password or parts.username, password or user, token, *query.values())
    return Endpoint(
        urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")),
        f"Basic {token}" if token else None,
        query,
        tuple(dict.fromkeys(secret for secret in secrets if secret)),
    )


def refuse_key(server: Endpoint, where: str) -> None:
    """Refuse a key in the query, which every library below would write into its log.

    Raises:
        ConfigurationError: ``INVALID_BASE_URL``, naming the key and not showing it.
    """
    named = next((name for name in server.query if _KEY.search(name)), None)
    if named is not None:
        raise ConfigurationError(
            f"{where} holds {quoted(named)} in its query, which HTTP libraries log with every "
            "request; pass it as api_key=, or as the user or password of the URL",
            code="INVALID_BASE_URL",
        )


def _split(url: str) -> SplitResult | None:
    url = url.strip()
    if not (url.isascii() and url.isprintable() and " " not in url):
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if usable else None
