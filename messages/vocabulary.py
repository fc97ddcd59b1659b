"""The names of the events that may stand in a log.

Source: spec core 2. Everything in `KNOWN_TYPES` is read without refusal; what is
not in `TYPED` is kept as it is and not interpreted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from .payload import TypedPayload

TYPED: Mapping[str, type[TypedPayload]] = {kind.TYPE: kind for kind in get_args(TypedPayload)}
"""The class of every type of event that this build interprets."""

OWN_TYPES: frozenset[str] = frozenset({"subagent/catalog", "agent/inbox/refused", "agent/options"})
"""Our own types, which other readers of these logs do not know: written ``ignorable``."""

LENIENT_TYPES: frozenset[str] = OWN_TYPES | {"subagent/descriptor"}
"""Types that are kept uninterpreted where their data has another shape than ours."""

SURFACE_NAMES: frozenset[str] = frozenset({"user/message", "assistant/message", "tool/result"})
"""The types that a model sees."""

CORE_TYPES: frozenset[str] = frozenset(
    {
        "turn/start",
        "turn/end",
        "step/start",
        "step/end",
        "user/message",
        "assistant/chunk",
        "assistant/message",
        "tool/call",
        "tool/result",
        "request/header",
        "request/context",
        "session/end-seed",
        "todo/write",
        "agent/inbox/spliced",
    }
)

PLUGIN_TYPES: frozenset[str] = frozenset(
    {
        "subagent/descriptor",
        "llm/retry",
        "llm/retry-started",
        "compaction/start",
        "compaction/summary",
        "compaction/end",
        "compaction/prune",
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "sandbox/mode",
        "permission/preset",
        "plan/mode",
        "agent-preset/selected",
        "command/run",
        "command/done",
        "hook/invoked",
        "hook/result",
        "goal/change",
        "schedule/change",
        "feedback/record",
        "session/title",
        "session/title-llm-request",
        "web/deepseek-search-llm-request",
        "team/member",
        "team/message/queued",
        "team/message/delivered",
        "team/task",
        "tool-workflow/run-start",
        "tool-workflow/run-end",
        "tool-workflow/agent-start",
        "tool-workflow/agent-end",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
    }
)

KNOWN_TYPES: frozenset[str] = CORE_TYPES | PLUGIN_TYPES | OWN_TYPES
"""What a reader accepts without ``ignorable``."""
