"""Lines as this build writes them, read without a detour over JSON objects.

A log is read as a whole when an agent is resumed, and nearly all of its lines are of few
shapes with their keys in one order. Such a line is taken apart where it stands. Whatever is
out of the ordinary (other keys, another order, spaces, escapes where none are expected, large
numbers) is not understood here and left to the strict reader, so this one refuses nothing
and takes nothing that the strict one would not take, as the same event: every pattern
matches JSON of one fixed structure only.

Source: spec core 15.1; DESIGN 7.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from . import payload as p
from .chunk import BlockEnd, BlockStart, Chunk, Finish, ToolCallDelta, Usage, UsageChunk
from .edge import PROMPT_CLAIMED, step_end, step_start, turn_completed, turn_start
from .event import Event, SurfaceOp, new_event
from .line_part import NATURAL, ORDINAL, PLAIN, Parts, Unusual
from .swift import chunk_received, reasoning_delta, text_delta
from .vocabulary import KNOWN_TYPES, TYPED

_STAMP = f'"seq":({NATURAL}),"time":({NATURAL}),"data":'
_STEP = f'{{"turn":({ORDINAL}),"step":({ORDINAL}),'
_DELTA = re.compile(
    rf'\{{"type":"assistant/chunk",{_STAMP}'
    rf'(\{{"turn":{ORDINAL},"step":{ORDINAL},"chunk":\{{"type":"[a-z-]+-delta","index":{NATURAL},'
    rf'(?:"id":"{PLAIN}*",(?:"name":"{PLAIN}*",)?)?"[aA-zZ]+":)"'
)
