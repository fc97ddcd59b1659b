"""Lossless JSON: what may enter a log, a header, a tool call or a result.

Source: spec core 1.3. One pass checks and copies; what comes out is frozen and
shared from then on, so nothing is ever copied or checked a second time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from .errors import ConfigurationError

SAFE_INTEGER = 2**53 - 1
"""Largest integer every JSON reader keeps exactly; the range is symmetric."""


def _refuse(*_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError("this value is part of a log and cannot be changed; copy it with thaw() first")


class FrozenDict(dict[str, Any]):
    """A dict that refuses every change after construction."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list that refuses every change after construction."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # type: ignore[assignment]
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[FrozenList], tuple[list[Any]]]:
        return FrozenList, (list(self),)


def freeze(value: Any, subject: str = "value") -> Any:
    """Check that `value` is lossless JSON and return a frozen copy.

    Parts that are frozen already are shared, not copied. The walk uses no call
    stack, so depth is no limit.

    Args:
        value: None, bool, int within ±(2**53-1), finite float other than -0.0,
            str, and exact lists and dicts of them.
        subject: What to call the value in an error, such as ``"tool arguments"``.

    Raises:
        ConfigurationError: With the path of the first part that JSON would lose.
    """
    raise NotImplementedError


def thaw(value: Any) -> Any:
    """A plain, changeable copy of a frozen value: dicts and lists all the way down."""
    raise NotImplementedError


def violations(value: Any) -> Iterator[str]:
    """Yield a text with a path for each place where `value` is not lossless JSON."""
    raise NotImplementedError
