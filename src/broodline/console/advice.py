"""What a person can do about a failure, by its code."""

from __future__ import annotations

import re

from ..actors.models.advice import MARK, unadvised
from ..messages.chunk import ModelFailure
from .neutral import one_line
from .order import Order

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""Where the key of each provider comes from."""

_BY_CODE = {
    "RATE_LIMIT": "try again later, or with fewer --jobs",
    "QUOTA": "the account has nothing left to spend; see to its plan and billing",
    "SERVER": "the provider has trouble; try again later, or raise --retries",
    "TIMEOUT": "try again, or raise --timeout",
    "TRANSPORT": "check the network and --base-url",
    "CONTEXT_WINDOW_EXCEEDED": "ask for less at once, or take a model with a larger window",
    "INVALID_REQUEST": "check the model's name, --max-tokens and --base-url",
    "MALFORMED_RESPONSE": "check that the server speaks this provider's format",
    "EMPTY_RESPONSE": "try again, or word the task differently",
    "REFUSAL": "the model declined; word the task differently",
    "RESPONSE_TOO_LARGE": "ask for less at once",
    "STEP_LIMIT": "raise --max-steps",
}

NOT_FOUND = 404

_FOR_PYTHON = re.compile(r"; raise Runtime\([^)]*\)[^;]*")
"""What a failure advises those who write Python; the advice here takes its place."""

_WHOSE = re.compile(r"^\S+ at \S+: ")
"""How a failure names model and address in front."""


def advice(failure: ModelFailure, order: Order) -> str | None:
    """What to do next, or None where nothing is known."""
    if failure.code == "AUTH":
        key = KEYS.get(order.provider)
        return f"check the key in {key}" if key else "check the key"
    if failure.status is not None and 300 <= failure.status < 400:
        return "give the address that it sends to as --base-url; it is not followed"
    own = failure.message.partition(MARK)[2]
    if own and (failure.status == NOT_FOUND or failure.code == "MALFORMED_RESPONSE"):
        return own  # the adapter has seen what the address looks like
    if failure.status == NOT_FOUND:
        return "check the model's name and --base-url"
    wait = (failure.provider_retry_after_ms or 0) / 1000
    if wait >= 1:
        return f"try again in {wait:,.0f} s; the provider asks to wait that long"
    return _BY_CODE.get(failure.code)


def problem_text(failure: ModelFailure) -> str:
    """The failure in one line: code, status, what was said, and the request's id."""
    status = f" {failure.status}" if failure.status is not None else ""
    request = f" (request {failure.request_id})" if failure.request_id else ""
    return f"{failure.code}{status}: {said(failure)}{request}"


def short_cause(failure: ModelFailure) -> str:
    """What was said of a failure, without whose it is; on one line."""
    return one_line(" ".join(_WHOSE.sub("", said(failure)).split()))


def said(failure: ModelFailure) -> str:
    """What was said of a failure, without the advice, which is for those who write Python."""
    return _FOR_PYTHON.sub("", unadvised(failure.message))
