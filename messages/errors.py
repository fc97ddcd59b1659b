"""Every error Broodline raises.

::

    BroodlineError                      code, retryable, details, to_dict()
    ├── ConfigurationError (ValueError)       a caller's argument or setting is wrong
    │   ├── UnsupportedSchemaError            a JSON schema outside the subset
    │   ├── DepthTypeError (TypeError)        a depth that is no safe integer
    │   ├── DepthRangeError (OverflowError)   a child below the deepest safe integer
    │   └── PromptError                       a section cannot be rendered
    ├── SessionError (RuntimeError)           a log refuses something
    │   ├── SessionFormatUnsupportedError     intact, but of a version or type not understood
    │   ├── SessionCorruptError               damaged or breaking an invariant
    │   └── SessionLeasedError                live in another process
    ├── DeliveryError (RuntimeError)          a message did not arrive
    │   ├── ActorDeadError (pykka's)          the receiver has stopped
    │   ├── MailboxFullError (queue.Full)     the receiver's inbox is at its bound
    │   ├── DeadlockError                     the wait could never end
    │   └── ReplyTimeoutError (TimeoutError,  a .result() or .get() had no answer in time
    │                          pykka's)
    ├── SubagentError (RuntimeError)          a delegation was refused or broke
    ├── SubagentDepthError (ValueError)       too many levels of delegation
    ├── ModelError (RuntimeError)             a model request failed
    ├── ToolError (RuntimeError)              a tool call failed
    └── OperationCancelledError               a caller's signal fired before acceptance

Route on `code`, never on the text. A text says what happened, to whom, and what
to do next. Failures of several children come as an `ExceptionGroup`.
"""

from __future__ import annotations

import queue
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar

import pykka


class BroodlineError(Exception):
    """Root of the tree.

    Attributes:
        code: Stable upper-case word to route on.
        retryable: Whether the same call may succeed later without a change.
        details: JSON-ready facts, never secrets.
    """

    code: str = "BROODLINE"
    retryable: bool = False
    default_code: ClassVar[str] = "BROODLINE"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        retryable: bool | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code if code is not None else type(self).default_code
        if retryable is not None:
            self.retryable = retryable
        self.details: dict[str, Any] = dict(details or {})

    @property
    def message(self) -> str:
        """The text alone."""
        return str(self.args[0]) if self.args else ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: ``{error, code, message, retryable, details}``."""
        return {
            "error": type(self).__name__,
            "code": str(self.code),
            "message": self.message,
            "retryable": self.retryable,
            "details": self.details,
        }


class ConfigurationError(BroodlineError, ValueError):
    """An argument, a setting or a registration is wrong; nothing was started."""

    default_code = "CONFIGURATION"


class UnsupportedSchemaError(ConfigurationError):
    """A JSON schema uses what the subset does not have; `violations` lists every place."""

    default_code = "UNSUPPORTED_SCHEMA"

    def __init__(self, violations: tuple[str, ...], *, subject: str = "schema") -> None:
        super().__init__(
            f"{subject} is outside the supported JSON-schema subset: " + "; ".join(violations),
            details={"violations": list(violations)},
        )
        self.violations = violations


class DepthTypeError(ConfigurationError, TypeError):
    """A depth or a ceiling of depth is no integer in 0..2**53-1."""

    default_code = "DEPTH_TYPE"


class DepthRangeError(ConfigurationError, OverflowError):
    """A child would sit deeper than 2**53-1."""

    default_code = "DEPTH_RANGE"


class PromptError(ConfigurationError):
    """A prompt section cannot be rendered."""

    default_code = "PROMPT"


class SessionError(BroodlineError, RuntimeError):
    """A session's log or registry refuses an operation."""

    default_code = "SESSION"


class SessionFormatUnsupportedError(SessionError):
    """An intact log of a version or with an event type this build does not know."""

    default_code = "SESSION_FORMAT_UNSUPPORTED"


class SessionCorruptError(SessionError):
    """A log is damaged or breaks an invariant."""

    default_code = "SESSION_CORRUPT"


class SessionLeasedError(SessionError):
    """The session is live in another process."""

    default_code = "SESSION_LEASED"
    retryable = True


class DeliveryError(BroodlineError, RuntimeError):
    """A message was not accepted."""

    default_code = "DELIVERY"


class ActorDeadError(DeliveryError, pykka.ActorDeadError):
    """The receiver has stopped; also a `pykka.ActorDeadError`."""

    default_code = "ACTOR_DEAD"


class MailboxFullError(DeliveryError, queue.Full):
    """The receiver's inbox is at its bound; wait until it has worked some off."""

    default_code = "MAILBOX_FULL"
    retryable = True


class DeadlockError(DeliveryError):
    """The wait could never end: it would block the loop or actor that must answer it."""

    default_code = "DEADLOCK"


class ReplyTimeoutError(DeliveryError, pykka.Timeout, TimeoutError):
    """A blocking wait had no answer in time; what was waited for goes on."""

    default_code = "REPLY_TIMEOUT"
    retryable = True


class SubagentErrorCode(StrEnum):
    """Why a delegation was refused or broke. Source: spec service section 4."""

    DUPLICATE_PROVIDER = "DUPLICATE_PROVIDER"
    NO_PROVIDER = "NO_PROVIDER"
    UNSUPPORTED_CAPABILITY = "UNSUPPORTED_CAPABILITY"
    CONTINUATION_UNAVAILABLE = "CONTINUATION_UNAVAILABLE"
    UNAUTHORIZED = "UNAUTHORIZED"
    TEARDOWN_FAILED = "TEARDOWN_FAILED"


class SubagentError(BroodlineError, RuntimeError):
    """A delegation was refused or broke; `code` is a `SubagentErrorCode`."""

    default_code = "SUBAGENT"


class SubagentDepthError(BroodlineError, ValueError):
    """A child would sit deeper than allowed."""

    default_code = "SUBAGENT_DEPTH"

    def __init__(self, attempted_depth: int, max_depth: int) -> None:
        super().__init__(
            f"subagent depth {attempted_depth} exceeds maxDepth {max_depth}",
            details={"attemptedDepth": attempted_depth, "maxDepth": max_depth},
        )
        self.attempted_depth = attempted_depth
        self.max_depth = max_depth


class ModelError(BroodlineError, RuntimeError):
    """A model request failed.

    Attributes:
        status: HTTP status, or None.
        retry_after: Seconds the provider asked to wait, or None.
        request_id: The provider's id of the request, or None.
    """

    default_code = "UNKNOWN"

    def __init__(
        self,
        message: str,
        code: str = "UNKNOWN",
        *,
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        details = {"status": status, "retryAfter": retry_after, "requestId": request_id}
        super().__init__(
            message,
            code=code,
            retryable=retryable,
            details={key: value for key, value in details.items() if value is not None},
        )
        self.status = status
        self.retry_after = retry_after
        self.request_id = request_id


class ToolError(BroodlineError, RuntimeError):
    """A tool call failed; raise it in a tool to choose the code the model sees."""

    default_code = "TOOL"


class OperationCancelledError(BroodlineError):
    """A caller's signal fired before the operation was accepted; nothing was done.

    Raised only when the signal's cause is not itself an exception.

    Attributes:
        reason: The cause that was handed to the signal.
    """

    default_code = "CANCELLED"

    def __init__(self, reason: object = None) -> None:
        super().__init__(f"cancelled before it was accepted: {reason!r}")
        self.reason = reason
