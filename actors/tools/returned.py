"""What a function returned, as JSON.

Models, dataclasses and enum members become JSON wherever they stand. Tuples,
dates, paths and their like do only where the return annotation names them:
without it nobody could tell an intention from an oversight.

Source: spec core 10.2, 1.3.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from inspect import isclass
from pathlib import PurePath
from typing import Any, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_jsonable_python

from ...messages.errors import ConfigurationError
from ...messages.lossless import freeze

_WRITTEN = (tuple, date, time, timedelta, Decimal, PurePath, UUID)


def writer_of(annotation: Any) -> TypeAdapter[Any] | None:
    """What writes the values of a return annotation that names a type JSON does not have."""
    if not _named(annotation):
        return None
    try:
        return TypeAdapter(annotation)
    except Exception:  # then the pipeline says what is wrong with a value
        return None


def jsonable(value: Any, writer: TypeAdapter[Any] | None = None) -> Any:
    """A returned value as JSON, as far as it can be; the pipeline refuses the rest.

    Args:
        value: Anything.
        writer: Of the return annotation, from `writer_of`.
    """
    try:
        return freeze(value)
    except ConfigurationError:
        pass
    try:
        if writer is not None:
            return writer.dump_python(value, mode="json", warnings="error")
        return _dumped(value)
    except Exception:  # a cycle, or a part that nothing can write
        return value


def _named(annotation: Any) -> bool:
    base = get_origin(annotation) or annotation
    if isclass(base) and issubclass(base, _WRITTEN):
        return True
    return any(_named(one) for one in get_args(annotation))


def _dumped(value: Any) -> Any:
    part: object = value
    if type(part) is list:
        return [_dumped(item) for item in value]
    if type(part) is dict:
        return {key: _dumped(item) for key, item in value.items()}
    if isinstance(part, Enum):
        return _dumped(part.value)
    if isinstance(part, BaseModel) or is_dataclass(type(part)):
        return to_jsonable_python(value)
    return value
