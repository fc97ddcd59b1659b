"""The names of the door, where they come from. `broodline/__init__.py` loads this when asked."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version

from .actors.actor import EventLoopActor
from .actors.agent import Agent
from .actors.cancellation import CancellationToken
from .actors.handle import AgentHandle
from .actors.models.anthropic.model import AnthropicModel
from .actors.models.conversation import Conversation
from .actors.models.naming import model_named
from .actors.models.openai.model import OpenAIModel
from .actors.models.recorded import RecordedModel
from .actors.models.retry import RetryPolicy
from .actors.models.rule import RuleModel
from .actors.models.scripted import ScriptedModel
from .actors.notice import Enter, Reject, Retry
from .actors.recording import RecordedLog, Recording, read_log, read_recording
from .actors.recording_check import check_log
from .actors.recording_writer import write_log, write_recording
from .actors.registration import Registration
from .actors.reply import Reply
from .actors.store import Store
from .actors.stores.jsonl import JsonlStore
from .actors.stores.memory import MemoryStore
from .actors.stores.sqlite import SqliteStore
from .actors.tools.decorator import tool
from .actors.tools.tool import Tool, ToolContext
from .messages.chunk import Usage
from .messages.content import Reasoning, Text, ToolCall
from .messages.errors import (
    ActorDeadError,
    BroodlineError,
    ConfigurationError,
    DeadlockError,
    DeliveryError,
    MailboxFullError,
    ModelError,
    OperationCancelledError,
    PromptError,
    ReplyTimeoutError,
    SessionCorruptError,
    SessionError,
    SessionFormatUnsupportedError,
    SessionLeasedError,
    SubagentDepthError,
    SubagentError,
    SubagentErrorCode,
    ToolError,
    UnsupportedSchemaError,
)
from .messages.message import AssistantMessage, ToolMessage, UserMessage
from .messages.options import AgentOptions
from .messages.payload import ToolFilter, TurnEndReason
from .messages.result import SubagentResult
from .providers.contract import (
    InProcessSpec,
    ProviderCapabilities,
    SubagentProvider,
    SubagentRequest,
)
from .supervision.run import SubagentRun
from .supervision.runtime import Runtime
from .supervision.tool import SubagentTool
from .supervision.tree import Tree

try:
    __version__ = _version("broodline")
except PackageNotFoundError:  # run from a checkout that is not installed
    __version__ = "0.0.0"

__all__ = [
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
    "__version__",
    "check_log",
    "model_named",
    "read_log",
    "read_recording",
    "tool",
    "write_log",
    "write_recording",
]
