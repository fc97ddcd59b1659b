"""The door: what `import broodline` promises."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import broodline

ROOT = Path(__file__).parents[1]

PROMISED = [
    "ActorDeadError",
    "Agent",
    "AgentHandle",
    "AgentOptions",
    "AnthropicModel",
    "AssistantMessage",
    "BroodlineError",
    "CancellationToken",
    "ConfigurationError",
    "Conversation",
    "DeadlockError",
    "DeliveryError",
    "Enter",
    "EventLoopActor",
    "InProcessSpec",
    "JsonlStore",
    "MailboxFullError",
    "MemoryStore",
    "ModelError",
    "OpenAIModel",
    "OperationCancelledError",
    "PromptError",
    "ProviderCapabilities",
    "Reasoning",
    "RecordedLog",
    "RecordedModel",
    "Recording",
    "Registration",
    "Reject",
    "Reply",
    "ReplyTimeoutError",
    "Retry",
    "RetryPolicy",
    "RuleModel",
    "Runtime",
    "ScriptedModel",
    "SessionCorruptError",
    "SessionError",
    "SessionFormatUnsupportedError",
    "SessionLeasedError",
    "SqliteStore",
    "Store",
    "SubagentDepthError",
    "SubagentError",
    "SubagentErrorCode",
    "SubagentProvider",
    "SubagentRequest",
    "SubagentResult",
    "SubagentRun",
    "SubagentTool",
    "Text",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolFilter",
    "ToolMessage",
    "Tree",
    "TurnEndReason",
    "UnsupportedSchemaError",
    "Usage",
    "UserMessage",
    "check_log",
    "model_named",
    "read_log",
    "read_recording",
    "tool",
    "write_log",
    "write_recording",
]
"""Every public name. One that goes away or changes its meaning is a break for users."""


def test_the_public_names_are_the_promised_ones() -> None:
    """No public name comes or goes unnoticed."""
    assert sorted(broodline.__all__) == sorted([*PROMISED, "__version__"])


@pytest.mark.parametrize("name", PROMISED)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    """Each promised name can be imported and has a docstring of its own."""
    assert getattr(broodline, name).__doc__


def test_importing_starts_nothing_and_stays_light() -> None:
    """Importing leaves one thread, opens no loop, and loads neither the command nor its needs."""
    program = """
import sys, threading, broodline
assert threading.active_count() == 1, threading.enumerate()
heavy = {"rich", "typer", "pytest", "sqlite3", "broodline.cli", "broodline.testing"}
print(*sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_the_rules_of_the_house_know_no_global_state() -> None:
    """DESIGN section 2: no module of the four folders rebinds a global."""
    for layer in ("messages", "actors", "providers", "supervision"):
        for path in (ROOT / layer).rglob("*.py"):
            globals_of = [
                n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Global)
            ]
            assert not globals_of, path
