"""What Anthropic's SDK raises and its server tells, as a `ModelError`.

Pure. The SDK's errors are told by what they have, so that it need not be there:
a status and a response, or the names of their classes. Source: spec core 12.5;
Anthropic's API, errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ....messages.errors import ModelError
from ..redaction import error_text, render_chain
from ..wire_failure import code_of, lost, retry_after_of, root_text

_UNREADABLE = ("APIResponseValidationError", "DecodingError", "ValueError", "RecursionError")
_ANY_BREAKAGE = "APIConnectionError"
_NO_CREDENTIAL = "CredentialsError"


def told(
    body: object,
    *,
    status: int | None = None,
    said: str = "",
    headers: Mapping[str, str] | None = None,
) -> ModelError:
    """The error that a server told of in a body or in an event of a stream.

    Args:
        body: ``{"type": "error", "error": {"type", "message"}}``, or whatever came.
        status: HTTP status; None or one below 300 inside a stream.
        said: The text when the body holds none.
        headers: Of the response; an error inside a stream names no wait in them.
    """
    kind, text = _kind_and_text(body)
    text = text or said or "nothing"
    status = status if status is not None and 300 <= status <= 599 else None
    code = code_of(status, kind, text)
    facts = ", ".join(str(fact) for fact in (status, kind) if fact)
    return ModelError(
        f"the server said: {text}" + (f" ({facts})" if facts else ""),
        code,
        status=status,
        retry_after=retry_after_of(headers) if status is not None and headers else None,
        request_id=_request_id(body, headers),
    )


def error_of_sdk(error: BaseException, *, streaming: bool) -> ModelError:
    """The `ModelError` that stands for what the SDK raised.

    Args:
        error: What came out of the SDK; a `ModelError` is returned as it is.
        streaming: Whether the response had begun: what cannot be read then is the
            server's fault, before that it is the request's.
    """
    if isinstance(error, ModelError):
        return error
    names = [kind.__name__ for kind in type(error).__mro__]
    unreadable = _UNREADABLE if streaming else _UNREADABLE[:1]
    if any(name in unreadable for name in names):
        text = f"a part of the answer cannot be read: {render_chain(error)}"
        return ModelError(text, "MALFORMED_RESPONSE")
    if hasattr(error, "status_code") and hasattr(error, "response"):
        return _of_status(error)
    return _of_connection(error) or _of_the_rest(error, names)


def _of_status(error: Any) -> ModelError:
    headers: object = getattr(error.response, "headers", None)
    return told(
        getattr(error, "body", None),
        status=error.status_code if type(error.status_code) is int else None,
        said=error_text(error),
        headers=cast("Mapping[str, str]", headers) if isinstance(headers, Mapping) else None,
    )


def _of_connection(error: BaseException) -> ModelError | None:
    """None when it was no connection that failed.

    The SDK calls whatever breaks while it sends a connection error; what it was in
    truth is its cause.
    """
    code, cause = lost(error), error.__cause__
    if type(error).__name__ == _ANY_BREAKAGE and cause is not None:
        code = lost(cause)
    if code is None:
        return None
    said = "the request timed out" if code == "TIMEOUT" else "the connection failed"
    return ModelError(f"{said} ({root_text(error)})", code)


def _of_the_rest(error: BaseException, names: list[str]) -> ModelError:
    if _NO_CREDENTIAL in names:
        return ModelError(error_text(error), "AUTH")
    return ModelError(render_chain(error))


def _kind_and_text(body: object) -> tuple[str | None, str]:
    if not isinstance(body, Mapping):
        return None, body if isinstance(body, str) else ""
    facts = cast("Mapping[str, object]", body)
    error = facts.get("error", facts)
    if not isinstance(error, Mapping):
        return None, error if isinstance(error, str) else ""
    kind, text = (cast("Mapping[str, object]", error).get(key) for key in ("type", "message"))
    return kind if isinstance(kind, str) else None, text if isinstance(text, str) else ""


def _request_id(body: object, headers: Mapping[str, str] | None) -> str | None:
    named: object = headers.get("request-id") if headers else None
    if named is None and isinstance(body, Mapping):
        named = cast("Mapping[str, object]", body).get("request_id")
    return named if isinstance(named, str) and named else None
