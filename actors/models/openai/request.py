"""From a request of ours to the body of a chat completion.

Pure. Source: https://platform.openai.com/docs/api-reference/chat/create; what
compatible servers want besides is said at its place.
"""

from __future__ import annotations

from typing import Any

from ....messages.content import (
    WIRE_KEYS,
    Block,
    OpaqueBlock,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    text_of,
)
from ....messages.errors import ModelError
from ....messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from ....messages.passage import decode_block, encode_block
from ....messages.payload import ToolSchema
from ....messages.request import ModelRequest
from .name import sent_id, sent_name
from .pairing import paired
from .value import as_object, is_object, json_text

REASONING_FIELD = "reasoningField"
"""Key in a message's replay state: under which name the server streamed its reasoning."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""The names that servers give to it; OpenAI itself streams none."""

_USER_PARTS = frozenset({"image_url", "input_audio", "file"})
"""Types of the format's own parts: such a block goes out as it is."""


def request_body(
    request: ModelRequest, *, official: bool, max_tokens: int | None
) -> dict[str, Any]:
    """The JSON of a streamed chat completion.

    Args:
        request: What is asked.
        official: Whether the server is OpenAI's own (or Azure's): it takes
            ``max_completion_tokens``, never wants reasoning back, and takes arguments
            that are not JSON. Other servers know the older ``max_tokens``.
        max_tokens: Ceiling where the request sets none.

    Raises:
        ModelError: ``UNSUPPORTED_CONTENT`` for a block that the format cannot carry
            and that must not be left out.
    """
    config = request.config
    body: dict[str, Any] = {
        "model": config.model,
        "messages": _messages(request, official),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    ceiling = config.max_tokens if config.max_tokens is not None else max_tokens
    settings = {
        "max_completion_tokens" if official else "max_tokens": ceiling,
        "temperature": config.temperature,
        "stop": list(config.stop) if config.stop else None,
        "reasoning_effort": config.reasoning_effort,
    }
    body.update((name, value) for name, value in settings.items() if value is not None)
    return body


def _messages(request: ModelRequest, official: bool) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    if request.system:
        sent.append({"role": "system", "content": request.system})
    for message in request.messages:
        sent.extend(_message(message, request.config.provider, official))
    return paired(sent)


def _message(message: Message, provider: str, official: bool) -> list[dict[str, Any]]:
    blocks = tuple(_known(block) for block in message.content)
    if isinstance(message, UserMessage):
        return _user(blocks)
    if isinstance(message, ToolMessage):
        return [_result(block) for block in blocks]
    field = None if official else _reasoning_field(message, provider)
    return _assistant(blocks, field, official)


def _tool(tool: ToolSchema) -> dict[str, Any]:
    schema = tool.parameters
    if schema.get("type") == "object" and "properties" not in schema:
        # OpenAI refuses the schema of an object without them.
        schema = dict[str, Any](schema, properties={})
    function: dict[str, Any] = {"name": sent_name(tool.name), "parameters": schema}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _known(block: Block) -> Block:
    """A block of a known type with more keys than it has here, as what it is."""
    if type(block) is not OpaqueBlock:
        return block
    keys = WIRE_KEYS.get(block.data["type"])
    if keys is None:
        return block
    return decode_block({key: value for key, value in block.data.items() if key in keys})


def _user(blocks: tuple[Block, ...]) -> list[dict[str, Any]]:
    # A model's thoughts in a relayed message are not part of what it says.
    told = [block for block in blocks if type(block) is not Reasoning]
    if all(type(block) is Text for block in told):
        return [{"role": "user", "content": text_of(told)}]
    return [{"role": "user", "content": [_part(block) for block in told]}]


def _part(block: Block) -> dict[str, Any]:
    if type(block) is Text:
        return {"type": "text", "text": block.text}
    if type(block) is OpaqueBlock and block.data["type"] in _USER_PARTS:
        return block.data
    raise _unsupported("a user message", block)


def _result(block: Block) -> dict[str, Any]:
    if type(block) is not ToolResult:
        raise _unsupported("a tool message", block)
    return {"role": "tool", "tool_call_id": sent_id(block.tool_call_id), "content": _told(block)}


def _told(result: ToolResult) -> str:
    """The format has text only, and no mark for a failure: the text must say it."""
    if all(type(block) is Text for block in result.content):
        text = text_of(result.content)
    else:
        text = "\n".join(_as_text(block) for block in result.content)
    if result.is_error and not text.lower().startswith("error"):
        return f"Error: {text}"
    return text


def _as_text(block: Block) -> str:
    return block.text if type(block) is Text else json_text(encode_block(block))


def _assistant(
    blocks: tuple[Block, ...], field: str | None, official: bool
) -> list[dict[str, Any]]:
    """One message, or none where nothing of it can be sent.

    Blocks of other formats are left out: they are a model's own, and what it said
    and called is complete without them.
    """
    for block in blocks:
        if type(block) is ToolResult:
            raise _unsupported("an assistant message", block)
    text = text_of(blocks)
    calls = [_call(block, official) for block in blocks if type(block) is ToolCall]
    if not calls:
        return [{"role": "assistant", "content": text}] if text else []
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "tool_calls": calls}
    thoughts = "".join(block.text for block in blocks if type(block) is Reasoning)
    if field is not None and thoughts:
        message[field] = thoughts
    return [message]


def _reasoning_field(message: AssistantMessage, provider: str) -> str | None:
    """Where this server wants its own reasoning back, or None.

    Servers of thinking models that call tools refuse a history of calls without the
    thoughts before them (DeepSeek, Moonshot); none needs those of plain answers.
    """
    state = as_object(message.source.get("replayState"))
    if message.source.get("provider") != provider or state is None:
        return None
    name: object = state.get(REASONING_FIELD)
    return name if isinstance(name, str) and name in REASONING_FIELDS else None


def _call(call: ToolCall, official: bool) -> dict[str, Any]:
    arguments = call.arguments if call.arguments.strip() else "{}"
    if not official and not is_object(arguments):
        # Servers that put the history into a template read the arguments, and would refuse
        # this and every later request for one slip of the model.
        arguments = json_text({"raw_arguments": arguments})
    function = {"name": sent_name(call.name), "arguments": arguments}
    return {"id": sent_id(call.id), "type": "function", "function": function}


def _unsupported(where: str, block: Block) -> ModelError:
    kind: str = encode_block(block)["type"]
    return ModelError(
        f"{where} holds a block of type {kind!r}, which a chat completion cannot carry; "
        f"say it as text, or in a user message as a part of type {', '.join(sorted(_USER_PARTS))}",
        "UNSUPPORTED_CONTENT",
    )
