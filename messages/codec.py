"""Events and headers to and from JSON.

Reading is strict and happens once: what a decoder returns is deeply frozen and
never checked again. Writing shares frozen parts, so what an encoder returns is
for reading only. Source: spec core 1.1, 1.2, 1.4, 2.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from .errors import ConfigurationError, SessionCorruptError, SessionFormatUnsupportedError
from .event import Event, Replace, SurfaceOp
from .lossless import SAFE_INTEGER
from .lossless import type_name as kind_name
from .payload import HeaderLogged, OpaquePayload, Payload, UnrecordedTools
from .payload_codec import DECODERS, ENCODERS
from .plain import quoted
from .shape import SHAPES
from .vocabulary import KNOWN_TYPES, LENIENT_TYPES

_ENVELOPE = frozenset({"type", "seq", "time", "data", "ignorable", "surfaceOp", "sourceEventSeqs"})
_REQUIRED = frozenset({"type", "seq", "time", "data"})


@cache
def _validator(name: str) -> Any:
    """The compiled shape of a type; compiling takes a millisecond, so it is done on demand."""
    adapter: TypeAdapter[Any] = TypeAdapter(SHAPES[name])
    return adapter.validator.validate_python


def decode_payload(name: str, data: Any) -> Payload:
    """Read the data of an event.

    Args:
        name: Wire name.
        data: Lossless JSON.

    Returns:
        The payload of a known type, else an `OpaquePayload` with frozen data.

    Raises:
        ConfigurationError: Naming the place that is not of its shape.
    """
    if type(name) is not str:
        raise ConfigurationError(f"type of an event must be a name, not {quoted(name)}")
    decode = DECODERS.get(name)
    if decode is None:
        return OpaquePayload(name, data)
    try:
        return decode(_validator(name)(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(["data", *(str(part) for part in first["loc"])])
        raise ConfigurationError(f"{name}: {place}: {first['msg']}") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error.message}") from None
    except RecursionError:
        raise ConfigurationError(f"{name}: tool results nest too deep to be read") from None


def decode_event(data: Any) -> Event:
    """Read one stored event.

    A descriptor or a catalogue entry of another shape is kept uninterpreted: it
    is a fact that the log holds one.

    Args:
        data: The whole envelope.

    Raises:
        SessionFormatUnsupportedError: If its type is unknown and not ignorable.
        SessionCorruptError: If the envelope or the data is malformed.
    """
    try:
        return _event(data)
    except ConfigurationError as error:
        seq = object_of(data).get("seq") if isinstance(data, dict) else None
        raise SessionCorruptError(
            f"event {quoted(seq)} is malformed: {error.message}", details={"seq": quoted(seq)}
        ) from None


def decode_projected(row: Any, seq: int) -> Event:
    """Read one event of a recording in the projected form, which has no number and no time.

    Args:
        row: The envelope without ``seq`` and ``time``. Where ``{{tools}}`` stands in a
            request header, nobody recorded the tools.
        seq: Its place in the log.

    Raises:
        SessionFormatUnsupportedError, SessionCorruptError: As `decode_event`.
    """
    if not isinstance(row, dict):
        return decode_event(row)
    fields = {**cast("dict[str, Any]", row), "seq": seq, "time": 0}
    header = _envelope_of(fields)
    if header is None or header.get("tools") != UnrecordedTools.PLACEHOLDER:
        return decode_event(fields)
    kept = {key: value for key, value in header.items() if key != "tools"}
    data = {**cast("dict[str, Any]", fields["data"]), "header": kept}
    event = decode_event({**fields, "data": data})
    logged = event.data
    if isinstance(logged, HeaderLogged):
        envelope = replace(logged.header, tools=UnrecordedTools())
        return replace(event, data=replace(logged, header=envelope))
    return event


def _envelope_of(fields: dict[str, Any]) -> dict[str, Any] | None:
    data: object = fields.get("data")
    if fields.get("type") != "request/header" or not isinstance(data, dict):
        return None
    header: object = cast("dict[str, Any]", data).get("header")
    return cast("dict[str, Any]", header) if isinstance(header, dict) else None


def _event(value: Any) -> Event:
    data = object_of(value)
    try:
        name, seq, time, content = data["type"], data["seq"], data["time"], data["data"]
    except KeyError as missing:
        raise ConfigurationError(f"top-level key {missing} is missing") from None
    if type(name) is not str:
        raise ConfigurationError(f"type of an event must be a name, not {quoted(name)}")
    operation, sources, ignorable = None, None, False
    if len(data) > len(_REQUIRED):
        operation, sources, ignorable = _options(data)
    if name not in KNOWN_TYPES and not ignorable:
        raise SessionFormatUnsupportedError(
            f"event {quoted(seq)} is of the type {quoted(name)}, which this build does not know; "
            "read the log with a newer one",
            details={"type": name},
        )
    return Event(
        natural(seq, "seq"),
        natural(time, "time"),
        _stored_payload(name, content),
        operation,
        sources,
        ignorable,
    )


def _options(data: dict[str, Any]) -> tuple[SurfaceOp | None, tuple[int, ...] | None, bool]:
    """What stands in an envelope beside the four keys that are always there."""
    unknown = sorted(quoted(key) for key in data if key not in _ENVELOPE)
    if unknown:
        raise ConfigurationError(f"top-level keys {', '.join(unknown)} are unknown")
    ignorable = data.get("ignorable", False)
    if ignorable is not True and "ignorable" in data:
        raise ConfigurationError(f"ignorable may only be true, not {quoted(ignorable)}")
    for key in ("surfaceOp", "sourceEventSeqs"):
        if key in data and data[key] is None:
            raise ConfigurationError(f"{key} may be left out, but not be null")
    operation = surface_op_of(data.get("surfaceOp"))
    return operation, sources_of(data.get("sourceEventSeqs")), ignorable


def _stored_payload(name: str, data: Any) -> Payload:
    try:
        return decode_payload(name, data)
    except ConfigurationError:
        if name not in LENIENT_TYPES:
            raise
        return OpaquePayload(name, data)


def encode_event(event: Event) -> dict[str, Any]:
    """Write an event: the whole envelope, in the order that readers expect."""
    data = event.data
    encoded: dict[str, Any] = {
        "type": event.type,
        "seq": event.seq,
        "time": event.time,
        "data": encode_payload(data),
    }
    if event.ignorable:
        encoded["ignorable"] = True
    if event.source_event_seqs is not None:
        encoded["sourceEventSeqs"] = list(event.source_event_seqs)
    operation = event.surface_op
    if operation is not None:
        encoded["surfaceOp"] = (
            {"op": "replace", "start": operation.start, "end": operation.end}
            if isinstance(operation, Replace)
            else operation
        )
    return encoded


def encode_payload(payload: Payload) -> Any:
    """Write the data of an event."""
    if isinstance(payload, OpaquePayload):
        return payload.data
    return ENCODERS[type(payload)](payload)


def surface_op_of(value: Any) -> SurfaceOp | None:
    """Read a surface operation: ``"append"``, a replace of exactly three keys, or None.

    Raises:
        ConfigurationError: If it is anything else.
    """
    given: object = value
    if value is None:
        return None
    if isinstance(value, str) and value == "append":
        return "append"
    if isinstance(value, dict):
        data = object_of(value)
        if data.keys() == {"op", "start", "end"} and data["op"] == "replace":
            return Replace(natural(data["start"], "start"), natural(data["end"], "end"))
    raise ConfigurationError(
        f'surfaceOp must be "append" or {{op: "replace", start, end}}, not {quoted(given)}'
    )


def sources_of(value: object) -> tuple[int, ...] | None:
    """Read citations: a list of sequence numbers, or None.

    Raises:
        ConfigurationError: If it is anything else.
    """
    if value is None:
        return None
    if not isinstance(value, list):
        raise ConfigurationError(f"sourceEventSeqs must be a list, not {kind_name(value)}")
    return tuple([natural(seq, "sourceEventSeqs") for seq in cast("list[object]", value)])


def object_of(value: Any, subject: str = "event") -> dict[str, Any]:
    """The value itself, once it is sure to be an object.

    Raises:
        ConfigurationError: If it is not.
    """
    if not isinstance(value, dict):
        raise ConfigurationError(f"{subject} must be an object, not {kind_name(value)}")
    return cast(dict[str, Any], value)


def natural(value: object, subject: str) -> int:
    """The value itself, once it is sure to be a safe integer from 0 on.

    Raises:
        ConfigurationError: If it is not; a bool is no integer.
    """
    if type(value) is not int or not 0 <= value <= SAFE_INTEGER:
        raise ConfigurationError(
            f"{subject} must be an integer from 0 to 2**53-1, not {quoted(value)}"
        )
    return value
