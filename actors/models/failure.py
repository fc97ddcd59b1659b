"""From an exception to the facts that are logged, and back.

Source: spec core 12.5.
"""

from __future__ import annotations

import asyncio
import math
from typing import cast

from ...messages.chunk import Finish, ModelFailure
from ...messages.errors import ModelError
from ...messages.lossless import SAFE_INTEGER
from ...messages.plain import is_finite
from .redaction import error_text, redact, render_chain

ABORTED = "ABORTED"
UNKNOWN = "UNKNOWN"
MALFORMED_RESPONSE = "MALFORMED_RESPONSE"


def failure_of(exc: BaseException, *, aborted: bool = False) -> ModelFailure:
    """The facts of `exc`; never raises, and never holds what looks like a secret.

    A `ModelError` keeps its facts. Anything else becomes ``UNKNOWN`` with its chain
    of causes as the text.

    Args:
        exc: What the model, or anything on the way to it, raised.
        aborted: Whether the request's signal had fired; the code is then ``ABORTED``.
    """
    if isinstance(exc, ModelError):
        return ModelFailure(
            redact(error_text(exc)),
            ABORTED if aborted else _code(_fact(exc, "code")),
            _status(_fact(exc, "status")),
            _milliseconds(_fact(exc, "retry_after")),
            _short(_fact(exc, "request_id")),
        )
    cancelled = aborted or isinstance(exc, asyncio.CancelledError)
    return ModelFailure(render_chain(exc), ABORTED if cancelled else UNKNOWN)


def finish_of(exc: BaseException, *, aborted: bool = False) -> Finish:
    """The terminal chunk that stands for `exc`: ``aborted`` or ``error``.

    It is ``aborted`` when the request's signal had fired or the code is ``ABORTED``.
    """
    failure = failure_of(exc, aborted=aborted)
    return Finish("aborted" if failure.code == ABORTED else "error", failure)


def error_of(failure: ModelFailure) -> ModelError:
    """The exception that stands for `failure`: the inverse of `failure_of`."""
    wait = failure.provider_retry_after_ms
    return ModelError(
        failure.message,
        failure.code,
        status=failure.status,
        retry_after=None if wait is None else wait / 1000,
        request_id=failure.request_id,
    )


def malformed(fact: str) -> ModelError:
    """The error of a model whose stream or answer cannot be used."""
    return ModelError(f"malformed model response: {fact}", MALFORMED_RESPONSE)


# A ModelError may come from anyone's code: what is not what it should be is left out.


def _fact(error: ModelError, name: str) -> object:
    try:
        return getattr(error, name, None)  # a subclass may not have called __init__
    except Exception:
        return None


def _code(code: object) -> str:
    return redact(code, 64) if isinstance(code, str) and code else UNKNOWN


def _status(status: object) -> int | None:
    return status if type(status) is int and 100 <= status <= 599 else None


def _milliseconds(seconds: object) -> int | None:
    if not is_finite(seconds):
        return None
    wait = cast(float, seconds)
    if wait < 0:
        return None
    if wait >= SAFE_INTEGER / 1000:
        return SAFE_INTEGER  # still a wait: the policy has to see how long it is
    # Rounded up: never earlier than asked for. The tolerance keeps 0.03 s at 30 ms.
    return math.ceil(wait * 1000 - 1e-6)


def _short(request_id: object) -> str | None:
    return redact(request_id, 200) if isinstance(request_id, str) and request_id else None
