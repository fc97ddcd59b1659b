"""Models: the protocol, what a stream means, what a failure is, and who answers.

Here are the seam, the registry, the assembler and grammar of a stream, the retry
policy, the two adapters to providers (`OpenAIModel`, `AnthropicModel`: their SDKs are
loaded when one is made), and the models that answer without a provider:
`ScriptedModel`, `RuleModel` and `RecordedModel`.
"""

from .anthropic.model import AnthropicModel
from .assembler import Assembler
from .conversation import CallResult, Conversation
from .entry import Entry, blocks, call, calls, chunks, fail, hang, max_tokens, text
from .failure import error_of, failure_of, finish_of
from .grammar import StreamGrammar
from .local import LocalModel
from .naming import model_named
from .openai.model import OpenAIModel
from .protocol import ClosableModel, Model
from .recorded import RecordedModel
from .registry import ModelRegistry
from .response import EntryLike
from .retry import RetryPolicy
from .rule import Rule, RuleModel
from .scripted import ScriptedModel

__all__ = [
    "AnthropicModel",
    "Assembler",
    "CallResult",
    "ClosableModel",
    "Conversation",
    "Entry",
    "EntryLike",
    "LocalModel",
    "Model",
    "ModelRegistry",
    "OpenAIModel",
    "RecordedModel",
    "RetryPolicy",
    "Rule",
    "RuleModel",
    "ScriptedModel",
    "StreamGrammar",
    "blocks",
    "call",
    "calls",
    "chunks",
    "error_of",
    "fail",
    "failure_of",
    "finish_of",
    "hang",
    "max_tokens",
    "model_named",
    "text",
]
