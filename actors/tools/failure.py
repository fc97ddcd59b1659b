"""How a failed call is told to the model: one text, and a code where there is one.

Source: spec core 10.2.
"""

from __future__ import annotations

from types import TracebackType

from ...messages.content import Text
from ...messages.errors import BroodlineError
from ...messages.lossless import type_name
from ...messages.payload import ErrorInfo
from .decision import ToolOutcome

ABORT_ERROR = "AbortError"
TOOL_ERROR = "ToolError"

_ON_THE_WAY = ("broodline.", "concurrent.futures")


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
    """What an exception says, whatever its own conversion to a string does.

    One that does not speak for itself (nothing, a key, a number) is named by its type.
    """
    try:
        text = _writable(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return f"{type_name(error)} (its message cannot be read)"
    if not text.strip():
        return type_name(error)
    return text if _speaks(error) else f"{type_name(error)}: {text}"


def _speaks(error: BaseException) -> bool:
    """Whether its text was written for people: a string of its own, or a rendering of its own."""
    if not isinstance(error, Exception) or isinstance(error, StopIteration | StopAsyncIteration):
        return False
    rendering: object = type(error).__str__
    if rendering is KeyError.__str__:
        return False
    args = error.args
    return rendering is not BaseException.__str__ or (len(args) == 1 and isinstance(args[0], str))


def _writable(text: str) -> str:
    """The text without lone surrogates, as exactly a string."""
    return str.encode(text, errors="backslashreplace").decode()


def own_frames(error: BaseException) -> TracebackType | None:
    """The traceback from the first frame that is neither Broodline's nor the thread pool's.

    The way to a tool's function is the same for all tools and tells its author nothing.
    """
    frame = error.__traceback__
    while frame is not None:
        module = str(frame.tb_frame.f_globals.get("__name__", ""))
        if not module.startswith(_ON_THE_WAY):
            return frame
        frame = frame.tb_next
    return error.__traceback__
