"""How a failed call is told to the model: one text, and a code where there is one.

Source: spec core 10.2.
"""

from __future__ import annotations

from ...messages.content import Text
from ...messages.errors import BroodlineError
from ...messages.lossless import type_name
from ...messages.payload import ErrorInfo
from .decision import ToolOutcome

ABORT_ERROR = "AbortError"
TOOL_ERROR = "ToolError"


def failed(message: str, code: str | None = None, *, name: str = TOOL_ERROR) -> ToolOutcome:
    """An error outcome whose content is ``Error: <message>``."""
    info = None if code is None else ErrorInfo(name, code)
    return ToolOutcome((Text(f"Error: {message}"),), True, info)


def aborted(*, dispatched: bool) -> ToolOutcome:
    """The outcome of a call that its caller called off."""
    if dispatched:
        return failed("tool call aborted", "ABORTED", name=ABORT_ERROR)
    return failed("tool call aborted before dispatch", "ABORTED_BEFORE_DISPATCH", name=ABORT_ERROR)


def outcome_of(error: BaseException) -> ToolOutcome:
    """The outcome of a call in which something was raised; safe with any exception."""
    message = message_of(error)
    if not isinstance(error, BroodlineError):
        return failed(message)
    try:
        code = _writable(str(error.code))
    except KeyboardInterrupt:
        raise
    except BaseException:
        code = type(error).default_code
    return failed(message, code, name=type_name(error))


def message_of(error: BaseException) -> str:
    """What an exception says, whatever its own conversion to a string does."""
    try:
        text = _writable(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return f"{type_name(error)} (its message cannot be read)"
    return text if text.strip() else type_name(error)


def _writable(text: str) -> str:
    """The text without lone surrogates, as exactly a string."""
    return str.encode(text, errors="backslashreplace").decode()
