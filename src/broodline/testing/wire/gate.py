"""What a wire server refuses before it looks at its script."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .anthropic_check import anthropic_fault
from .form import mapping
from .frame import FormatName
from .openai_check import openai_fault
from .script import Status

_PATHS: Mapping[FormatName, str] = {"openai": "/chat/completions", "anthropic": "/v1/messages"}


def format_of(path: str, headers: Mapping[str, str]) -> FormatName:
    """Whose format a request is of: by its path, else by its headers."""
    plain = urlsplit(path).path
    for name, end in _PATHS.items():
        if plain.endswith(end):
            return name
    return "anthropic" if "anthropic-version" in headers or "x-api-key" in headers else "openai"


def json_object(raw: bytes) -> dict[str, Any] | None:
    """The JSON object of a body, or None where it is none."""
    try:
        return mapping(json.loads(raw))
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Gate:
    """Checks path, method, key and form of each request.

    Attributes:
        key: The only one that is let in; None lets every request in.
        strict: Whether the form of a request is held to the provider's rules.
    """

    key: str | None = None
    strict: bool = True

    def refusal(
        self,
        name: FormatName,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: dict[str, Any] | None,
    ) -> Status | None:
        """The error to answer with, or None for a request that is let in."""
        if not urlsplit(path).path.endswith(_PATHS[name]):
            return Status(404, text=f"{method} {path}: only POST …{_PATHS[name]} is served here.")
        if method != "POST":
            return Status(405, headers={"allow": "POST"})
        if self.key is not None and self.key not in _keys(name, headers):
            return Status(401, text=_wrong_key(name, headers))
        if body is None:
            return Status(400, text="The body of the request is no JSON object.")
        fault = self._fault(name, headers, body) if self.strict else None
        return None if fault is None else Status(400, text=fault)

    def _fault(
        self, name: FormatName, headers: Mapping[str, str], body: dict[str, Any]
    ) -> str | None:
        if name == "openai":
            return openai_fault(body)
        if "anthropic-version" not in headers:
            return "anthropic-version: header is required"
        return anthropic_fault(body)


def _keys(name: FormatName, headers: Mapping[str, str]) -> list[str]:
    """The keys of a request: as a bearer, or in the header of the provider or of Azure."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    own = headers.get("x-api-key" if name == "anthropic" else "api-key")
    found = [own] if own is not None else []
    return [*found, bearer.strip()] if kind.lower() == "bearer" else found


def _wrong_key(name: FormatName, headers: Mapping[str, str]) -> str:
    """The error's text; it repeats the key, as servers do that should not."""
    keys = _keys(name, headers)
    if not keys:
        return "You didn't provide an API key." if name == "openai" else "x-api-key is required"
    if name == "openai":
        return f"Incorrect API key provided: {keys[0]}. Find yours in your account's settings."
    return f"invalid x-api-key: {keys[0]}"
