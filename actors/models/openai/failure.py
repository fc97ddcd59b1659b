"""What a failed chat completion means: from the SDK's exceptions to `ModelError`.

Told by what an exception holds, not by its class, so that this module needs no SDK.
Source: spec core 12.5; the classes of ``openai`` 1 to 3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ....messages.errors import ModelError
from ..advice import advised, url_hint
from ..credential import MARK, Credential
from ..endpoint import Endpoint
from ..failure import MALFORMED_RESPONSE, UNKNOWN
from ..redaction import error_text, render_chain
from ..wire_failure import code_of, lost, retry_after_of, root_text
from .server import is_official
from .value import as_list, as_object

KEY_VARIABLE = "OPENAI_API_KEY"
PATH = "/chat/completions"
"""What the SDK puts behind the base URL."""

_TELLING = 4  # shorter parts of a URL are no secret worth garbling every text for
_SAID = 600  # characters of a server's text that are kept

_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)
"""What the SDK lets through when it cannot read a frame."""


class OpenAIFailures:
    """Tells the failures of one adapter's requests, without its key.

    Args:
        provider: The adapter's name.
        endpoint: Whom it asks.
        credential: Its key; empty where a client has its own way to sign.
    """

    __slots__ = ("_credential", "_endpoint", "_provider", "_secrets")

    def __init__(self, provider: str, endpoint: Endpoint, credential: Credential) -> None:
        self._provider = provider
        self._endpoint = endpoint
        self._credential = credential
        self._secrets = tuple(one for one in endpoint.secrets if len(one) >= _TELLING)

    def of(self, error: Exception, model: str, request_id: str | None = None) -> ModelError:
        """The failure to raise in place of `error`; never raises itself.

        Args:
            error: What the SDK, the HTTP library below it or our own reading raised.
            model: Which model was asked.
            request_id: The server's id of the request, where its answer had begun.
        """
        found = _told(error)
        text = self._scrub(f"{self._provider}:{model} at {self._endpoint.url}: {found.message}")
        hint = "" if is_official(self._endpoint) else url_hint(self._endpoint, PATH, version=True)
        return ModelError(
            advised(text, found.code, found.status, KEY_VARIABLE, hint),
            found.code,
            status=found.status,
            retry_after=found.retry_after,
            request_id=self._scrub(found.request_id or request_id or "") or None,
        )

    def _scrub(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MARK)
        return self._credential.scrub(text)


def failure_in_frame(frame: Mapping[str, Any]) -> ModelError | None:
    """The failure that a frame tells of, or None when it is a chunk."""
    error: object = frame.get("error")
    if not error and frame.get("object") == "error":
        error = frame
    return _from_body(error, None, None) if error else None


def _told(error: Exception) -> ModelError:
    if isinstance(error, ModelError):
        return error
    lost_code = lost(error)
    if lost_code is not None:
        said = "the request timed out" if lost_code == "TIMEOUT" else "the connection failed"
        return ModelError(f"{said} ({root_text(error)})", lost_code)
    status: object = getattr(error, "status_code", None)
    if type(status) is int and not 200 <= status < 300:
        return _from_status(error, status)
    if type(status) is int or isinstance(error, _UNREADABLE) or _is_undecoded(error):
        text = f"malformed model response: {type(error).__name__}: {error_text(error)}"
        return ModelError(text, MALFORMED_RESPONSE)
    if hasattr(error, "body"):
        return _from_body(getattr(error, "body", None), None, error_text(error))
    return ModelError(render_chain(error), UNKNOWN)


def _is_undecoded(error: Exception) -> bool:
    """Whether a body is not packed as its headers say, by the HTTP library's word for it."""
    return any(kind.__name__ == "DecodingError" for kind in type(error).__mro__)


def _from_status(error: Exception, status: int) -> ModelError:
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", {})
    found = _from_body(getattr(error, "body", None), status, error_text(error))
    found.status = status
    found.retry_after = retry_after_of(headers)
    found.request_id = headers.get("x-request-id")
    return found


def _from_body(body: object, status: int | None, text: str | None) -> ModelError:
    """The failure that a server's JSON (or text) tells of."""
    facts = _facts(body)
    said = _first_text(facts.get("message"), facts.get("detail"), _plain(body), text)
    kinds = [str(facts[key]) for key in ("code", "type") if facts.get(key) not in (None, "")]
    if status is None:
        status = next((int(kind) for kind in kinds if kind.isdecimal() and len(kind) == 3), None)
        prefix = "the server broke off the answer with an error: "
    else:
        prefix = f"the server answered {status}: "
    code = _code(status, kinds, said)
    if code == UNKNOWN and not kinds:
        code = "SERVER"  # it had taken the request, and names no fault of ours
    return ModelError(prefix + said, code, status=status if (status or 0) >= 300 else None)


def _code(status: int | None, kinds: list[str], said: str) -> str:
    plain = code_of(status, None, said)
    for kind in kinds:
        code = code_of(status, kind, said)
        if code not in (plain, UNKNOWN):
            return code
    return plain


def _facts(body: object) -> Mapping[str, Any]:
    """The object that describes the error, wherever the server put it."""
    listed = as_list(body)
    facts = as_object(listed[0] if listed else body)
    if facts is None:
        return {}
    inner = as_object(facts.get("error"))
    return facts if inner is None else inner


def _plain(body: object) -> str | None:
    facts = as_object(body)
    if facts is not None:
        body = facts.get("error")
    return body if isinstance(body, str) else None


def _first_text(*given: object) -> str:
    for text in given:
        if isinstance(text, str) and text.strip():
            words = " ".join(text.split())
            return words if len(words) <= _SAID else words[:_SAID] + "…"
    return "(without a text)"
