"""What to do about a failed request: the last words of its text.

They stand behind `MARK`, so that who knows better, such as a command with options of
its own, can leave them out. Source: DESIGN section 8.
"""

from __future__ import annotations

from collections.abc import Mapping

from .endpoint import Endpoint

MARK = "; what to do: "

_BY_CODE: Mapping[str, str] = {
    "QUOTA": "see to the plan and the billing of the account",
    "CONTEXT_WINDOW_EXCEEDED": "shorten the conversation, or ask a model with a larger window",
    "INVALID_REQUEST": "check the model's name and the settings of the request",
    "REFUSAL": "change the prompt, or ask another model",
}

_ELSEWHERE = "give the address that it sends to as base_url=; it is not followed"


def advised(text: str, code: str, status: int | None, variable: str, hint: str = "") -> str:
    """`text` with the advice that fits behind it, if there is one.

    Args:
        text: What happened, to whom.
        code: Of the failure.
        status: Of the HTTP response.
        variable: The environment's name for the key.
        hint: What may be wrong with the base URL; empty when it looks right.
    """
    advice = _advice(code, status, variable, hint)
    return f"{text.rstrip('. ')}{MARK}{advice}" if advice else text


def unadvised(text: str) -> str:
    """`text` without its advice."""
    return text.partition(MARK)[0]


def _advice(code: str, status: int | None, variable: str, hint: str) -> str:
    if status is not None and 300 <= status < 400:
        return _ELSEWHERE
    if hint and (status == 404 or code == "MALFORMED_RESPONSE"):
        return hint
    if code == "AUTH":
        return f"check the key (from {variable}, or api_key=) and what it may use"
    if code == "TRANSPORT":
        return "check the server, and the way to it"
    if status == 404:
        return "check the model's name and the base URL"
    return _BY_CODE.get(code, "")


def url_hint(server: Endpoint, ending: str, *, version: bool) -> str:
    """What may be wrong with a base URL under which nothing is served; empty if it looks right.

    Args:
        server: Who is asked.
        ending: What the SDK puts behind the URL itself, such as ``/chat/completions``.
        version: Whether the URL should end in ``/v1``.
    """
    if server.path.endswith(ending):
        return f"leave {ending} off the base URL {server.url}; it is put there anyway"
    if version and not server.path.endswith("/v1"):
        return f"the base URL {server.url} does not end in /v1, as that of most servers does"
    return ""
