"""The small steps of which the checks of both formats consist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeGuard, cast


class Flaw(Exception):
    """A rule that a request breaks; never leaves `fault_of`."""


def fault_of(check: Callable[[dict[str, Any]], None], body: dict[str, Any]) -> str | None:
    """The text of the first rule that is broken, or None."""
    try:
        check(body)
    except Flaw as flaw:
        return str(flaw)
    return None


def stated(true: object, otherwise: str) -> None:
    """Go on only if it is true.

    Raises:
        Flaw: If it is not.
    """
    if not true:
        raise Flaw(otherwise)


def listed(value: Any, where: str) -> list[Any]:
    """The value if it is a list.

    Raises:
        Flaw: If it is none.
    """
    if not is_list(value):
        raise Flaw(f"{where}: Input should be a valid list")
    return value


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether the value is a JSON list."""
    return isinstance(value, list)


def mapping(value: Any) -> dict[str, Any] | None:
    """The value if it is a JSON object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def objects_in(value: Any, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Place and value of each object of a list.

    Raises:
        Flaw: If it is no list, or one of its items no object.
    """
    for at, item in enumerate(listed(value, where)):
        found = mapping(item)
        if found is None:
            raise Flaw(f"{where}[{at}]: Input should be an object")
        yield at, found


def number_in(body: dict[str, Any], name: str, least: int) -> None:
    """A whole number that may be left out.

    Raises:
        Flaw: If it is of another type or below `least`.
    """
    value = body.get(name)
    stated(
        value is None or (type(value) is int and value >= least),
        f"{name}: Input should be an integer greater than or equal to {least}, not {value!r}",
    )


def sampling(body: dict[str, Any], name: str, most: float) -> None:
    """A number from 0 that may be left out.

    Raises:
        Flaw: If it is of another type or outside.
    """
    value = body.get(name)
    sound = value is None or (type(value) in (int, float) and 0 <= value <= most)
    stated(sound, f"{name}: Input should be a number from 0 to {most}, not {value!r}")
