"""Where a model's server is: the URL to ask, the URL to show, and what stays secret of it.

Pure. HTTP libraries write the URL of each request into their logs, so a user and a
password in it are taken out and sent as the header that they stand for.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from ...messages.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Address:
    """A server.

    Attributes:
        url: Without user, password and query; what may be shown.
        basic: Value of the header that user and password stand for, or None.
        query: What every request carries behind its path.
        secrets: What no text may show: the password, and `basic`'s token.
    """

    url: str
    basic: str | None = field(default=None, repr=False)
    query: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def address_of(base_url: object, subject: str) -> Address:
    """Read a base URL; a ``/v1`` at its end is left out, for the SDK puts it there itself.

    Args:
        base_url: ``https://host[:port][/path]``.
        subject: Who needs it, for the error.

    Raises:
        ConfigurationError: If it is no such URL. The text does not show it.
    """
    parts = None
    if isinstance(base_url, str) and base_url.isascii() and base_url.isprintable():
        try:
            parts = urlsplit(base_url.strip())
            _ = parts.port  # read, for only then a wrong one is refused
        except ValueError:
            parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"the base_url of {subject} must be a URL such as https://host or http://host:8080/path"
        )
    host = parts.netloc.rpartition("@")[2]
    path = parts.path.rstrip("/").removesuffix("/v1")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    token = base64.b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    return Address(
        url=urlunsplit((parts.scheme, host, path, "", "")),
        basic=f"Basic {token}" if token else None,
        query=query,
        secrets=tuple(secret for secret in (password, token, *query.values()) if secret),
    )
