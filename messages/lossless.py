"""Lossless JSON: what may enter a log, a header, a tool call or a result.

Source: spec core 1.3. One pass checks and copies; what comes out is frozen and
shared from then on, so nothing is ever copied or checked a second time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import copysign, isfinite
from typing import Any, NoReturn, TypeAlias

from .errors import ConfigurationError

SAFE_INTEGER = 2**53 - 1
"""Largest integer every JSON reader keeps exactly; the range is symmetric."""


def _refuse(*_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError("this value is part of a log and cannot be changed; copy it with thaw() first")


class FrozenDict(dict[str, Any]):
    """A dict that refuses every change after construction."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list that refuses every change after construction."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[type[FrozenList], tuple[list[Any]]]:
        return FrozenList, (list(self),)


_SET_KEY = dict[Any, Any].__setitem__
_SET_INDEX = list[Any].__setitem__


class _Lossy(Exception):
    """Private to this file: a scan met something that JSON would lose."""


Link: TypeAlias = "tuple[Link, str | int] | None"
"""Where a walk stands: the way up to its root. None is the root itself."""

_Children: TypeAlias = list[tuple[Any, Any]]
_PATH_PARTS = 64
_BARE_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


def type_name(value: object) -> str:
    """The name of a value's type, whatever its metaclass does."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name if name.isascii() else ascii(name)[1:-1]


def path_text(root: str, link: Link) -> str:
    """Write a place as ``root.key[0]["odd key"]``; very long ones lose their middle."""
    parts: list[str | int] = []
    while link is not None:
        link, part = link
        parts.append(part)
    parts.reverse()
    skipped = len(parts) - _PATH_PARTS
    if skipped > 0:
        half = _PATH_PARTS // 2
        shown = [_part_text(part) for part in parts[:half]]
        shown.append(f"...({skipped} levels)...")
        shown += [_part_text(part) for part in parts[-half:]]
    else:
        shown = [_part_text(part) for part in parts]
    return root + "".join(shown)


def _part_text(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _BARE_KEY.fullmatch(part) else f"[{part!a}]"


def _scalar_fault(value: object) -> str | None:
    """What is wrong with a value that is no container, or None."""
    if value is None or type(value) is bool:
        return None
    if type(value) is str:
        return None if is_text(value) else "is text with a lone surrogate"
    if type(value) is int:
        return None if -SAFE_INTEGER <= value <= SAFE_INTEGER else "is an integer beyond 2**53-1"
    if type(value) is float:
        if not isfinite(value):
            return "is not a finite number"
        return "is negative zero" if value == 0.0 and copysign(1.0, value) < 0 else None
    return f"is of type {type_name(value)}, which JSON does not have"


def is_text(value: str) -> bool:
    """Whether the text can be written as UTF-8."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _key_fault(key: object) -> str | None:
    if type(key) is not str:
        return f"has a key of type {type_name(key)}; JSON keys are strings"
    return None if is_text(key) else "has a key with a lone surrogate"


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
    part: object = value
    kind: object = type(part)
    if kind is FrozenDict or kind is FrozenList:
        return value
    try:
        if kind is dict or kind is list:
            out, children = _copy_level(value)
            if children:
                _freeze_below(value, out, children)
            return out
        if _scalar_fault(value) is None:
            return value
    except _Lossy:
        pass
    fault = next(violations(value), "value changed while it was read")
    raise ConfigurationError(f"{subject} is not lossless JSON: {fault}")


def _copy_level(source: Any) -> tuple[Any, _Children]:
    """Copy one container, check its scalars, name its unfrozen containers.

    Copies first and checks the copy, so that nobody can change a part between
    the check and the copy.
    """
    children: _Children = []
    kind: object
    item: object
    if _is_list(source):
        items = FrozenList(source)
        for index, item in enumerate(items):
            kind = type(item)
            if type(item) is str and item.isascii():
                continue
            if kind is dict or kind is list:
                children.append((index, item))
            elif kind is not FrozenDict and kind is not FrozenList and _scalar_fault(item):
                raise _Lossy
        return items, children
    try:
        frozen = FrozenDict(source)
    except Exception:  # a key with a hostile __eq__
        raise _Lossy from None
    for key, item in frozen.items():
        if _key_fault(key):
            raise _Lossy
        kind = type(item)
        if type(item) is str and item.isascii():
            continue
        if kind is dict or kind is list:
            children.append((key, item))
        elif kind is not FrozenDict and kind is not FrozenList and _scalar_fault(item):
            raise _Lossy
    return frozen, children


def _freeze_below(root: Any, root_copy: Any, children: _Children) -> None:
    """Freeze everything under a copied root, depth first.

    `done` maps a source's id to the source (kept alive, so that the id stays
    its own) and its copy, or to None while the source is still open: meeting
    such a one again is a cycle. A part that is met twice is copied once.
    """
    done: dict[int, tuple[Any, Any] | None] = {id(root): None}
    stack = [(root, root_copy, children)]
    while stack:
        source, copy, todo = stack[-1]
        if not todo:
            done[id(source)] = (source, copy)
            stack.pop()
            continue
        place, child = todo.pop()
        if id(child) in done:
            known = done[id(child)]
            if known is None:
                raise _Lossy
            frozen = known[1]
        else:
            frozen, below = _copy_level(child)
            done[id(child)] = None if below else (child, frozen)
            if below:
                stack.append((child, frozen, below))
        if type(copy) is FrozenDict:
            _SET_KEY(copy, place, frozen)
        else:
            _SET_INDEX(copy, place, frozen)


def thaw(value: Any) -> Any:
    """A plain, changeable copy of a frozen value: dicts and lists all the way down."""
    if not isinstance(value, dict | list):
        return value
    root = _plain_copy(value)
    todo = [root]
    while todo:
        copy = todo.pop()
        for place, item in _entries(copy):
            if isinstance(item, dict | list):
                copy[place] = child = _plain_copy(item)
                todo.append(child)
    return root


def _plain_copy(value: Any) -> Any:
    return dict(value) if _is_dict(value) else list(value)


def _is_list(value: object) -> bool:
    return type(value) is list


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _entries(container: Any) -> list[tuple[Any, Any]]:
    """Places and items of a dict or a list, as they are now."""
    items: Any = container.items() if _is_dict(container) else enumerate(container)
    return list(items)


def violations(value: Any, root: str = "value") -> Iterator[str]:
    """Yield a text with a path for each place where `value` is not lossless JSON.

    In the order of the value, depth first. A part that occurs at several places
    is reported at the first. Never raises, whatever the value is.

    Args:
        value: Anything.
        root: What the paths start with.
    """
    open_ids: set[int] = set()
    seen: dict[int, Any] = {}
    stack: list[tuple[object, Link, Iterator[tuple[Any, Any]]]] = []
    current: object = value
    link: Link = None
    while True:
        kind: object = type(current)
        if not (kind is dict or kind is list or kind is FrozenDict or kind is FrozenList):
            fault = _scalar_fault(current)
            if fault is not None:
                yield f"{path_text(root, link)} {fault}"
        elif id(current) in open_ids:
            yield f"{path_text(root, link)} contains itself"
        elif id(current) not in seen:
            seen[id(current)] = current
            open_ids.add(id(current))
            stack.append((current, link, iter(_entries(current))))
        while stack:
            parent, parent_link, rest = stack[-1]
            entry = next(rest, None)
            if entry is None:
                open_ids.discard(id(parent))
                stack.pop()
                continue
            place, current = entry
            fault = _key_fault(place) if isinstance(parent, dict) else None
            if fault is not None:
                yield f"{path_text(root, parent_link)} {fault}"
                place = "?"
            link = (parent_link, place)
            break
        else:
            return
