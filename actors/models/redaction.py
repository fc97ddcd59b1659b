"""Texts of errors, fit to be logged: rendered safely, short, without keys.

Providers put what they were sent into their error texts. What is logged here is
read by people and by models, and stays.
"""

from __future__ import annotations

import re
import traceback
from typing import cast

TEXT_LIMIT = 2000
"""Characters of a rendered error that are kept."""

_SCAN_LIMIT = 16_000
_MARK = "[redacted]"

_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    # https://user:password@host
    (re.compile(r"(://)[^/\s:@]{1,256}:[^/\s@]{1,256}@"), rf"\1{_MARK}@"),
    # Bearer abcdefgh, Basic dXNlcjpwYXNz
    (re.compile(r"(?i)\b(bearer|basic)\s{1,8}[a-z0-9._~+/=-]{8,}"), rf"\1 {_MARK}"),
    # keys that can be told by their first letters, also half hidden behind asterisks
    (
        re.compile(
            r"\b(?:(?:sk|pk|rk|xox[a-z]|gh[a-z]|github_pat|glpat|hf|gsk|xai)[-_][\w*-]{8,}"
            r"|(?:AIza|AKIA|ASIA|ya29\.)[\w-]{10,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
        ),
        _MARK,
    ),
    # api_key=..., "x-api-key": "...", Authorization: ..., password: ...
    (
        re.compile(
            r"(?i)((?:x[-_])?(?:api|access|secret|private|subscription)[-_ ]?key(?:[-_]id)?"
            r"|authorization|(?:access|refresh|id|auth|api|session|bearer)[-_]?token"
            r"|client[-_]?secret|secret|passw(?:or)?d|passphrase|set-cookie|cookie|[?&](?:key|token|sig))"
            r"([\"']?\s{0,8}[:=]\s{0,8}[\"']?)[^\s\"',;&)}\]]{1,4096}"
        ),
        rf"\1\2{_MARK}",
    ),
)


def redact(text: str, limit: int = TEXT_LIMIT) -> str:
    """`text` without what looks like a credential or a lone surrogate, cut to `limit` characters.

    A guard for texts of others, not a promise: do not put secrets into errors.
    """
    clean = text[:_SCAN_LIMIT]
    if not clean.isascii():
        clean = clean.encode(errors="backslashreplace").decode()
    for pattern, replacement in _SECRETS:
        clean = pattern.sub(replacement, clean)
    if len(clean) > limit or len(text) > _SCAN_LIMIT:
        clean = clean[: limit - 1].rstrip() + "…"
    return clean


def error_text(error: BaseException) -> str:
    """``str(error)``, or its class name where that is empty or fails."""
    try:
        # A hostile __str__ may raise anything, or return a str subclass of its own.
        return "".join(str(error)) or type(error).__name__
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return f"{type(error).__name__} (its text cannot be rendered)"


def render_chain(error: BaseException, links: int = 8) -> str:
    """The error and what it came from: ``ValueError: bad <- KeyError: 'x'``.

    Follows explicit causes, and contexts that were not suppressed, and the first
    members of an exception group. Each error is named once, so a cycle ends; after
    `links` errors it stops. Redacted and cut.
    """
    rendered: list[str] = []
    seen: set[int] = set()
    waiting = [error]
    while waiting and len(rendered) < links:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        rendered.append(_named(current))
        waiting.extend(_origins(current))
    if waiting:
        rendered.append("…")
    return redact(" <- ".join(rendered))


def redacted_trace(error: BaseException) -> str | None:
    """The traceback of `error` without credentials; None when it holds none to begin with.

    For a log: an error that shows none is logged as it is, with all that tools find in it.
    """
    trace = "".join(traceback.format_exception(error))
    clean = redact(trace, len(trace) + 1)
    return None if clean == trace else clean


def _named(error: BaseException) -> str:
    name, text = type(error).__name__, error_text(error)
    return text if text.startswith(name) else f"{name}: {text}"


def _members(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return []
    return list(cast("BaseExceptionGroup[BaseException]", error).exceptions[:3])


def _origins(error: BaseException) -> list[BaseException]:
    try:
        origin = error.__cause__
        if origin is None and not error.__suppress_context__:
            origin = error.__context__
        members = _members(error)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a class may turn these into properties of its own
        return []
    found: list[BaseException] = [*members]
    if isinstance(origin, BaseException):
        found.append(origin)
    return found
