"""Tools: what a model may call, who may call it, and how a call runs.

A tool is data and a function; the registry says who sees it; the pipeline runs
one call, the scheduler the calls of one message. No tool of ours lives here.
The decorator is ``broodline.tool`` (`decorator.py`); here that name is a module.
"""

from __future__ import annotations

from .decision import (
    Accept,
    Allow,
    Ask,
    Block,
    Deny,
    Execution,
    PostExecute,
    ToolOutcome,
    ToolProgressed,
    ToolResulted,
)
from .pipeline import run_call
from .registry import ToolRegistry, ToolView
from .scheduler import SchedulerPort, run_calls
from .tool import Tool, ToolContext

__all__ = [
    "Accept",
    "Allow",
    "Ask",
    "Block",
    "Deny",
    "Execution",
    "PostExecute",
    "SchedulerPort",
    "Tool",
    "ToolContext",
    "ToolOutcome",
    "ToolProgressed",
    "ToolRegistry",
    "ToolResulted",
    "ToolView",
    "run_call",
    "run_calls",
]
