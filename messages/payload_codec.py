"""The data of every interpreted type of event, to and from JSON.

Decoders take data that `shape` has checked; encoders leave out what is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import payload as p
from .chunk_codec import (
    Json,
    decode_chunk,
    decode_failure,
    decode_usage,
    encode_chunk,
    encode_failure,
    encode_usage,
    present,
)
from .errors import ConfigurationError
from .lossless import freeze
from .passage import (
    decode_assistant_message,
    decode_tool_message,
    decode_user_message,
    encode_message,
)


def _decode_turn_end(data: Json) -> p.TurnEnd:
    reason = data["reason"]
    error = decode_failure(reason["error"]) if "error" in reason else None
    cause = reason.get("reason")
    aborted = None if cause is None else p.AbortCause(cause["kind"], cause.get("reason"))
    return p.TurnEnd(data["turn"], p.TurnEndReason(reason["kind"], error, aborted))


def _encode_turn_end(data: p.TurnEnd) -> Json:
    error, cause = data.reason.error, data.reason.reason
    reason = present(
        kind=data.reason.kind,
        error=None if error is None else encode_failure(error),
        reason=None if cause is None else present(kind=cause.kind, reason=cause.reason),
    )
    return {"turn": data.turn, "reason": reason}


def _decode_reply(data: Json) -> p.AssistantReplied:
    usage = decode_usage(data["usage"]) if "usage" in data else None
    message = decode_assistant_message(data["message"])
    return p.AssistantReplied(data["turn"], data["step"], message, usage, data.get("interrupted"))


def _encode_reply(data: p.AssistantReplied) -> Json:
    return present(
        turn=data.turn,
        step=data.step,
        message=encode_message(data.message),
        usage=None if data.usage is None else encode_usage(data.usage),
        interrupted=data.interrupted,
    )


def _decode_call(data: Json) -> p.ToolCalled:
    return p.ToolCalled(data["turn"], data["step"], data["callId"], data["name"], data["arguments"])


def _encode_call(data: p.ToolCalled) -> Json:
    return {
        "turn": data.turn,
        "step": data.step,
        "callId": data.call_id,
        "name": data.name,
        "arguments": data.arguments,
    }


def _decode_result(data: Json) -> p.ToolAnswered:
    error = data.get("error")
    return p.ToolAnswered(
        data["turn"],
        data["step"],
        decode_tool_message(data["message"]),
        None if error is None else p.ErrorInfo(error["name"], error["code"]),
        freeze(data.get("meta"), "meta"),
    )


def _encode_result(data: p.ToolAnswered) -> Json:
    error = data.error
    return present(
        turn=data.turn,
        step=data.step,
        message=encode_message(data.message),
        error=None if error is None else {"name": error.name, "code": error.code},
        meta=data.meta,
    )


def decode_config(data: Json) -> p.CallConfig:
    """Read which model is asked, and how."""
    stop = data.get("stop")
    return p.CallConfig(
        data["provider"],
        data["model"],
        data.get("reasoningEffort"),
        freeze(data.get("temperature"), "temperature"),
        data.get("maxTokens"),
        None if stop is None else tuple(stop),
    )


def encode_config(config: p.CallConfig) -> Json:
    """Write which model is asked, and how."""
    return present(
        provider=config.provider,
        model=config.model,
        reasoningEffort=config.reasoning_effort,
        temperature=config.temperature,
        maxTokens=config.max_tokens,
        stop=None if config.stop is None else list(config.stop),
    )


def _decode_header(data: Json) -> p.HeaderLogged:
    header = data["header"]
    defaults = header.get("adapterDefaults")
    for key in defaults or ():
        if key not in header["config"]:
            raise ConfigurationError(f"adapterDefaults marks {key}, which the config does not have")
    tools = header.get("tools")
    envelope = p.RequestHeader(
        decode_config(header["config"]),
        header.get("system"),
        None if tools is None else tuple([_decode_tool(tool) for tool in tools]),
        None if defaults is None else freeze(defaults, "adapterDefaults"),
    )
    return p.HeaderLogged(envelope, data["reason"])


def _decode_tool(data: Json) -> p.ToolSchema:
    return p.ToolSchema(data["name"], data["description"], freeze(data["parameters"], "parameters"))


def _encode_tool(tool: p.ToolSchema) -> Json:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _encode_header(data: p.HeaderLogged) -> Json:
    header = data.header
    tools: Any = None
    if isinstance(header.tools, p.UnrecordedTools):
        tools = header.tools.PLACEHOLDER
    elif header.tools is not None:
        tools = [_encode_tool(tool) for tool in header.tools]
    envelope = present(
        config=encode_config(header.config),
        adapterDefaults=header.adapter_defaults,
        system=header.system,
        tools=tools,
    )
    return {"header": envelope, "reason": data.reason}


def _decode_splice(data: Json) -> p.InboxSpliced:
    return p.InboxSpliced(
        data["target"],
        data["start"],
        data.get("removedCount", 0),
        tuple([decode_user_message(message) for message in data["inserted"]]),
        data.get("outcome"),
    )


def _encode_splice(data: p.InboxSpliced) -> Json:
    return present(
        target=data.target,
        start=data.start,
        removedCount=data.removed_count or None,
        inserted=[encode_message(message) for message in data.inserted],
        outcome=data.outcome,
    )


def _decode_retry(data: Json) -> p.RetryPlanned:
    return p.RetryPlanned(
        data["retryId"],
        data["turn"],
        data["step"],
        data["provider"],
        data["mode"],
        data["policyKey"],
        data["retry"],
        data["delayMs"],
        decode_failure(data["failure"]),
        data.get("maxRetries"),
    )


def _encode_retry(data: p.RetryPlanned) -> Json:
    return present(
        retryId=data.retry_id,
        turn=data.turn,
        step=data.step,
        provider=data.provider,
        mode=data.mode,
        policyKey=data.policy_key,
        retry=data.retry,
        maxRetries=data.max_retries,
        delayMs=data.delay_ms,
        failure=encode_failure(data.failure),
    )


def _encode_retry_start(data: p.RetryStarted) -> Json:
    return {
        "retryId": data.retry_id,
        "turn": data.turn,
        "step": data.step,
        "retry": data.retry,
    }


_CONTINUABLE_ONLY = ("agentProvider", "agentModel", "agentReasoningEffort", "persona", "toolFilter")


def _decode_descriptor(data: Json) -> p.Descriptor:
    if data["mode"] == "continuable":
        if "label" not in data:
            raise ConfigurationError("a continuable child needs a label")
    elif any(key in data for key in _CONTINUABLE_ONLY):
        raise ConfigurationError(f"a one-shot child has none of {', '.join(_CONTINUABLE_ONLY)}")
    return p.Descriptor(
        data["mode"],
        data["provider"],
        data.get("label"),
        data.get("agentProvider"),
        data.get("agentModel"),
        data.get("agentReasoningEffort"),
        data.get("persona"),
        _decode_filter(data.get("toolFilter")),
    )


def _decode_filter(data: Json | None) -> p.ToolFilter | None:
    if data is None:
        return None
    allow, deny = data.get("allow"), data.get("deny")
    if allow is None and deny is None:
        raise ConfigurationError("toolFilter needs allow or deny")
    return p.ToolFilter(
        None if allow is None else tuple(allow), None if deny is None else tuple(deny)
    )


def _encode_descriptor(data: p.Descriptor) -> Json:
    chosen = data.tool_filter
    return present(
        version=data.version,
        mode=data.mode,
        provider=data.provider,
        label=data.label,
        agentProvider=data.agent_provider,
        agentModel=data.agent_model,
        agentReasoningEffort=data.agent_reasoning_effort,
        persona=data.persona,
        toolFilter=None if chosen is None else _encode_filter(chosen),
    )


def _encode_filter(chosen: p.ToolFilter) -> Json:
    return present(
        allow=None if chosen.allow is None else list(chosen.allow),
        deny=None if chosen.deny is None else list(chosen.deny),
    )


def _decode_catalog(data: Json) -> p.CatalogChanged:
    return p.CatalogChanged(
        data["change"], data["id"], data["mode"], data["provider"], data.get("label")
    )


def _encode_catalog(data: p.CatalogChanged) -> Json:
    return present(
        change=data.change, id=data.id, mode=data.mode, provider=data.provider, label=data.label
    )


def _decode_options(data: Json) -> p.OptionsChosen:
    return p.OptionsChosen(
        data.get("provider"),
        data.get("model"),
        data.get("maxTokens"),
        data.get("reasoningEffort"),
    )


def _encode_options(data: p.OptionsChosen) -> Json:
    return present(
        provider=data.provider,
        model=data.model,
        maxTokens=data.max_tokens,
        reasoningEffort=data.reasoning_effort,
    )


DECODERS: Mapping[str, Callable[[Json], p.Payload]] = {
    "turn/start": lambda d: p.TurnStart(d["turn"]),
    "turn/end": _decode_turn_end,
    "step/start": lambda d: p.StepStart(d["turn"], d["step"]),
    "step/end": lambda d: p.StepEnd(d["turn"], d["step"]),
    "user/message": lambda d: p.UserMessageLogged(decode_user_message(d)),
    "assistant/chunk": lambda d: p.ChunkReceived(d["turn"], d["step"], decode_chunk(d["chunk"])),
    "assistant/message": _decode_reply,
    "tool/call": _decode_call,
    "tool/result": _decode_result,
    "request/header": _decode_header,
    "session/end-seed": lambda _: p.EndSeed(),
    "agent/inbox/spliced": _decode_splice,
    "llm/retry": _decode_retry,
    "llm/retry-started": lambda d: p.RetryStarted(d["retryId"], d["turn"], d["step"], d["retry"]),
    "subagent/descriptor": _decode_descriptor,
    "subagent/catalog": _decode_catalog,
    "agent/inbox/refused": lambda d: p.DeliveryRefused(d["seq"], d["id"], d["code"]),
    "agent/options": _decode_options,
}

ENCODERS: Mapping[type, Callable[[Any], Json]] = {
    p.TurnStart: lambda d: {"turn": d.turn},
    p.TurnEnd: _encode_turn_end,
    p.StepStart: lambda d: {"turn": d.turn, "step": d.step},
    p.StepEnd: lambda d: {"turn": d.turn, "step": d.step},
    p.UserMessageLogged: lambda d: encode_message(d.message),
    p.ChunkReceived: lambda d: {
        "turn": d.turn,
        "step": d.step,
        "chunk": encode_chunk(d.chunk),
    },
    p.AssistantReplied: _encode_reply,
    p.ToolCalled: _encode_call,
    p.ToolAnswered: _encode_result,
    p.HeaderLogged: _encode_header,
    p.EndSeed: lambda _: {},
    p.InboxSpliced: _encode_splice,
    p.RetryPlanned: _encode_retry,
    p.RetryStarted: _encode_retry_start,
    p.Descriptor: _encode_descriptor,
    p.CatalogChanged: _encode_catalog,
    p.DeliveryRefused: lambda d: {"seq": d.seq, "id": d.id, "code": d.code},
    p.OptionsChosen: _encode_options,
}
