"""The raw argument text of a call, read once. Source: spec core 8."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ...messages.errors import ConfigurationError
from ...messages.lossless import FrozenDict, freeze

_EMPTY = FrozenDict()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def read_arguments(text: str) -> tuple[Any, str | None]:
    """Read a call's arguments.

    Args:
        text: JSON; empty is ``{}``.

    Returns:
        The frozen value and None, or the text itself and what is wrong with it.
    """
    if not text:
        return _EMPTY, None
    try:
        return freeze(_DECODER.decode(text), "arguments"), None
    except ConfigurationError as error:
        return text, error.message
    except RecursionError:
        return text, "arguments are nested too deep to be read"
    except ValueError as error:
        return text, f"arguments are not valid JSON: {error}"
