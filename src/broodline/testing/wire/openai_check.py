"""Whether a request keeps the rules of OpenAI's Chat Completions.

Source: https://platform.openai.com/docs/api-reference/chat/create and the texts of
the server's own errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .form import Flaw, fault_of, listed, mapping, number_in, objects_in, sampling, stated

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_PARAMETERS = {
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
}


def openai_fault(body: dict[str, Any]) -> str | None:
    """What is wrong with a request's body, as the server would say it, or None."""
    return fault_of(_check, body)


def _check(body: dict[str, Any]) -> None:
    for name in body:
        stated(name in _PARAMETERS, f"Unrecognized request argument supplied: {name}")
    stated(_is_text(body.get("model")), "you must provide a model parameter")
    _check_settings(body)
    _check_tools(body)
    messages = listed(body.get("messages"), "messages")
    stated(messages, "[] is too short - 'messages'")
    _check_answers(list(_checked_messages(messages)))


def _check_settings(body: dict[str, Any]) -> None:
    stream = body.get("stream")
    stated(stream is None or isinstance(stream, bool), "'stream' must be a boolean")
    stated(
        body.get("stream_options") is None or stream is True,
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    )
    both = body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None
    stated(not both, "'max_tokens' and 'max_completion_tokens' cannot be set at the same time")
    for name in ("max_tokens", "max_completion_tokens"):
        number_in(body, name, 1)
    sampling(body, "temperature", 2)
    sampling(body, "top_p", 1)
    stop = body.get("stop")
    if stop is not None and not isinstance(stop, str):
        words = listed(stop, "stop")
        stated(1 <= len(words) <= 4, "'stop' takes 1 to 4 sequences")
        stated(all(_is_text(word) for word in words), "'stop' takes texts that are not empty")


def _check_tools(body: dict[str, Any]) -> None:
    tools = body.get("tools")
    if tools is None:
        for name in ("tool_choice", "parallel_tool_calls"):
            stated(body.get(name) is None, f"'{name}' is only allowed when 'tools' are specified")
        return
    stated(listed(tools, "tools"), "[] is too short - 'tools'")
    for at, tool in objects_in(tools, "tools"):
        where = f"tools[{at}]"
        stated(tool.get("type") == "function", f"{where}.type must be 'function'")
        function = mapping(tool.get("function"))
        if function is None:
            raise Flaw(f"Missing required parameter: '{where}.function'.")
        _check_name(function.get("name"), f"{where}.function.name")
        parameters = function.get("parameters", {"type": "object"})
        stated(
            (mapping(parameters) or {}).get("type") == "object",
            f"Invalid schema for function '{function['name']}': it must be of type 'object'.",
        )


def _check_name(name: Any, where: str) -> None:
    sound = isinstance(name, str) and _NAME.fullmatch(name)
    stated(sound, f"Invalid '{where}': {name!r} does not match '^[a-zA-Z0-9_-]{{1,64}}$'.")


def _checked_messages(messages: list[Any]) -> Iterator[dict[str, Any]]:
    for at, message in objects_in(messages, "messages"):
        where = f"messages[{at}]"
        role = message.get("role")
        stated(role in _ROLES, f"Invalid value for '{where}.role': {role!r}; use one of {_ROLES}.")
        if role == "assistant":
            _check_assistant(message, where)
        else:
            _check_content(message.get("content"), where)
        if role == "tool":
            id = message.get("tool_call_id")
            stated(_is_text(id), f"Missing required parameter: '{where}.tool_call_id'.")
        yield message


def _check_assistant(message: dict[str, Any], where: str) -> None:
    wanted = message.get("tool_calls")
    content = message.get("content")
    if content is not None:
        _check_content(content, where)
    says = content is not None or message.get("refusal") is not None
    stated(
        says or wanted is not None,
        f"Invalid value for '{where}.content': expected a string, got null.",
    )
    if wanted is None:
        return
    stated(listed(wanted, f"{where}.tool_calls"), f"[] is too short - '{where}.tool_calls'")
    for at, one in objects_in(wanted, f"{where}.tool_calls"):
        place = f"{where}.tool_calls[{at}]"
        stated(_is_text(one.get("id")), f"Missing required parameter: '{place}.id'.")
        stated(one.get("type") == "function", f"'{place}.type' must be 'function'.")
        function = mapping(one.get("function"))
        if function is None:
            raise Flaw(f"Missing required parameter: '{place}.function'.")
        _check_name(function.get("name"), f"{place}.function.name")
        arguments = function.get("arguments")
        stated(isinstance(arguments, str), f"'{place}.function.arguments' must be a string.")


def _check_content(content: Any, where: str) -> None:
    if isinstance(content, str):
        return
    parts = listed(content, f"{where}.content")
    stated(parts, f"[] is too short - '{where}.content'")
    for at, part in objects_in(parts, f"{where}.content"):
        kind = part.get("type")
        place = f"{where}.content[{at}]"
        stated(_is_text(kind), f"Missing required parameter: '{place}.type'.")
        sound = kind != "text" or isinstance(part.get("text"), str)
        stated(sound, f"Missing required parameter: '{place}.text'.")


def _check_answers(messages: list[dict[str, Any]]) -> None:
    """Every call is answered, once, directly behind its message; nothing else is."""
    waiting: list[Any] = []
    answered: set[Any] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            id = message["tool_call_id"]
            stated(id not in answered, f"messages[{at}]: tool_call_id {id!r} was answered before.")
            stated(
                id in waiting,
                f"Invalid parameter: messages[{at}] with role 'tool' must be a response to a "
                f"preceding message with 'tool_calls'; no such call is {id!r}.",
            )
            waiting.remove(id)
            answered.add(id)
            continue
        _check_waiting(waiting)
        answered = set()
        wanted = message.get("tool_calls") if message["role"] == "assistant" else None
        waiting = [one["id"] for one in wanted or ()]
        stated(len(set(waiting)) == len(waiting), f"messages[{at}]: two tool_calls with one id.")
    _check_waiting(waiting)


def _check_waiting(waiting: list[Any]) -> None:
    stated(
        not waiting,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        + ", ".join(str(id) for id in waiting),
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
