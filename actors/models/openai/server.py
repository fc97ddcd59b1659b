"""Whom an `OpenAIModel` asks: OpenAI itself, or a server that speaks its format."""

from __future__ import annotations

import os

from ..endpoint import Endpoint, endpoint_of, refuse_key

OPENAI_URL = "https://api.openai.com/v1"
URL_VARIABLE = "OPENAI_BASE_URL"

_OFFICIAL = ("api.openai.com", "azure.com", "microsoft.com")


def server_of(base_url: object) -> Endpoint:
    """Read a base URL; None takes the one in the environment, or OpenAI's own.

    Raises:
        ConfigurationError: ``INVALID_BASE_URL``, without showing it.
    """
    where = URL_VARIABLE if base_url is None else "base_url of OpenAIModel"
    given = os.environ.get(URL_VARIABLE) or OPENAI_URL if base_url is None else base_url
    server = endpoint_of(given, where)
    refuse_key(server, where)
    return server


def is_official(server: Endpoint) -> bool:
    """Whether OpenAI or Azure answers there, and not a compatible server."""
    return any(f".{server.host}".endswith(f".{known}") for known in _OFFICIAL)
