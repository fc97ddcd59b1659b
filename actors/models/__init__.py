"""Models: the protocol, what a stream means, what a failure is, and local stand-ins.

Adapters to providers live elsewhere; here are the seam, the registry, the
assembler and grammar of a stream, the retry policy, and the two models that
answer without a provider: `ScriptedModel` and `RuleModel`.
"""

from .assembler import Assembler
from .conversation import CallResult, Conversation
from .entry import Entry, blocks, call, calls, chunks, fail, hang, max_tokens, text
from .failure import error_of, failure_of, finish_of
from .grammar import StreamGrammar
from .local import LocalModel
from .protocol import Model
from .registry import ModelRegistry
from .response import EntryLike
from .retry import RetryPolicy
from .rule import Rule, RuleModel
from .scripted import ScriptedModel

__all__ = [
    "Assembler",
    "CallResult",
    "Conversation",
    "Entry",
    "EntryLike",
    "LocalModel",
    "Model",
    "ModelRegistry",
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
    "text",
]
