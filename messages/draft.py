"""Frozen objects that a log has by the thousand, made without the price of being frozen.

A frozen dataclass sets its fields one by one through ``object.__setattr__``, which costs
three times as much as plain assignments. So the fields are filled in while the object is
one of a twin class with the same slots; then it becomes what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def twin(frozen: type[Any]) -> type[Any]:
    """The twin of a frozen, slotted dataclass: takes all its fields, checks nothing.

    Assign the frozen class to ``__class__`` of what it makes.
    """
    names = [field.name for field in fields(frozen)]
    return make_dataclass(frozen.__name__, names, slots=True, eq=False, repr=False)


def maker(frozen: type[T]) -> Callable[..., T]:
    """What makes instances of a frozen, slotted dataclass out of the values of all its fields.

    Nothing is checked and no ``__post_init__`` runs.
    """
    draft_of = twin(frozen)

    def make(*values: Any) -> T:
        draft = draft_of(*values)
        draft.__class__ = frozen
        made: T = draft
        return made

    return make
