"""What a case demands, and the words with which it fails.

Not ``assert``: Python leaves that out when told to optimise, and a suite must not
pass because of it.
"""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from ...messages.errors import (
    BroodlineError,
    ConfigurationError,
    SessionError,
    SessionLeasedError,
)

T = TypeVar("T")

_SHOWN = 300  # characters of a value in an error
_CLASSES: dict[str, type[BroodlineError]] = {
    "CONFIGURATION": ConfigurationError,
    "SESSION_LEASED": SessionLeasedError,
}


def must(condition: object, text: str) -> None:
    """Fail with `text` unless the condition is true."""
    if not condition:
        raise AssertionError(text)


def equal(actual: T, wanted: T, what: str) -> None:
    """Fail unless both are equal; `what` names the actual one."""
    if actual != wanted:
        raise AssertionError(f"{what} should be {_short(wanted)}, but is {_short(actual)}")


class refused:  # noqa: N801 - reads as a word of the sentence in which it stands
    """A block that must be refused, with one of the codes.

    ::

        with refused("SESSION_NOT_FOUND", by="load of an id that nobody has stored"):
            await store.load("nobody")

    Args:
        codes: Any of them will do.
        by: What is tried, for the text of the failure.

    Attributes:
        error: What was raised.
    """

    error: BroodlineError

    def __init__(self, *codes: str, by: str) -> None:
        self._codes = codes
        self._by = by

    def __enter__(self) -> refused:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        due = f"it must be refused with {' or '.join(self._codes)}"
        if error is None:
            raise AssertionError(f"{self._by}: nothing was raised; {due}")
        if isinstance(error, AssertionError) or not isinstance(error, Exception):
            return False
        if not isinstance(error, BroodlineError):
            raise AssertionError(f"{self._by}: {_short(error)} was raised; {due}") from error
        code = str(error.code)
        if code not in self._codes:
            raise AssertionError(f"{self._by}: the code is {code} ({error}); {due}") from error
        wanted = _CLASSES.get(code, SessionError)
        if not isinstance(error, wanted):
            name = type(error).__name__
            raise AssertionError(
                f"{self._by}: {code} came as {name}, not as {wanted.__name__}"
            ) from error
        self.error = error
        return True


def _short(value: object) -> str:
    try:
        text = repr(value)
    except RecursionError:
        text = f"a {type(value).__name__} that nests too deep to be shown"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
