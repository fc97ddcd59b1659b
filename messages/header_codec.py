"""The session header to and from JSON, and the check of one that a caller wrote.

Source: spec core 1.1, 5.7.
"""

from __future__ import annotations

import ntpath
import posixpath
from typing import Any

from .codec import natural, object_of
from .errors import ConfigurationError, SessionFormatUnsupportedError
from .header import FORMAT_VERSION, SessionHeader
from .plain import name_text, plain_text, quoted

_FIELDS = {
    "version": "version",
    "id": "id",
    "createdAt": "created_at",
    "cwd": "cwd",
    "parentSession": "parent_session",
    "seedLength": "seed_length",
    "origin": "origin",
    "delegationDepth": "delegation_depth",
    "agentPreset": "agent_preset",
}


def encode_header(header: SessionHeader) -> dict[str, Any]:
    """Write a header; what is None is left out."""
    values = {wire: getattr(header, name) for wire, name in _FIELDS.items()}
    return {wire: value for wire, value in values.items() if value is not None}


def decode_header(
    data: Any, *, session_id: str | None = None, now: int | None = None
) -> SessionHeader:
    """Read a header.

    The version is looked at before anything else, so that a header of another
    version is never called damaged.

    Args:
        data: A JSON object.
        session_id: The id it must have; None takes any.
        now: The creation time of a header without one, in epoch milliseconds.

    Raises:
        SessionFormatUnsupportedError: If it is of another version, saying whether
            it is newer or older.
        ConfigurationError: Naming the field that is wrong.
    """
    fields = object_of(data, "a session header")
    _check_version(fields.get("version", FORMAT_VERSION))
    unknown = sorted(quoted(key) for key in fields if key not in _FIELDS)
    if unknown:
        raise ConfigurationError(f"a session header has no field {', '.join(unknown)}")
    values = {_FIELDS[key]: value for key, value in fields.items()}
    missing = [key for key, value in fields.items() if value is None]
    if missing:
        raise ConfigurationError(f"session header: {missing[0]} may be left out, but not be null")
    if now is not None:
        values.setdefault("created_at", now)
    if "id" not in values or "created_at" not in values:
        raise ConfigurationError("a session header needs an id and a createdAt")
    header = SessionHeader(**values)
    check_header(header, session_id=session_id)
    return header


def check_header(header: SessionHeader, *, session_id: str | None = None) -> None:
    """Refuse a header whose fields were filled from outside and do not fit.

    Args:
        header: Built by typed code from values that nobody checked.
        session_id: The id it must have; None takes any.

    Raises:
        SessionFormatUnsupportedError: If it is of another version.
        ConfigurationError: Naming the field that is wrong.
    """
    _check_version(header.version)
    _check_text(header.id, "id")
    if session_id is not None and header.id != session_id:
        raise ConfigurationError(f"session {session_id!r} got the header of {header.id!r}")
    natural(header.created_at, "createdAt")
    for value, subject in (
        (header.seed_length, "seedLength"),
        (header.delegation_depth, "delegationDepth"),
    ):
        if value is not None:
            natural(value, subject)
    if header.cwd is not None:
        check_cwd(header.cwd)
    if header.parent_session is not None:
        _check_text(header.parent_session, "parentSession")
    if header.agent_preset is not None:
        _check_text(header.agent_preset, "agentPreset")
    origin: object = header.origin
    if origin is not None and (type(origin) is not str or origin != "subagent"):
        raise ConfigurationError(f'origin may only be "subagent", not {quoted(origin)}')


def check_cwd(cwd: object) -> None:
    """Refuse a working directory that is not absolute.

    Raises:
        ConfigurationError: If it is no text, or a relative path.
    """
    if type(cwd) is not str or not (posixpath.isabs(cwd) or ntpath.isabs(cwd)):
        raise ConfigurationError(f"cwd must be an absolute path, not {quoted(cwd)}")
    plain_text(cwd, "cwd")


def _check_version(version: object) -> None:
    if type(version) is not int:
        raise ConfigurationError(
            f"version of a session header must be an integer, not {quoted(version)}"
        )
    if version != FORMAT_VERSION:
        age = "newer" if version > FORMAT_VERSION else "older"
        raise SessionFormatUnsupportedError(
            f"the session's format version {quoted(version)} is {age} than {FORMAT_VERSION}, "
            "the one this build reads; read it with the version that wrote it",
            details={"version": version, "supported": FORMAT_VERSION},
        )


def _check_text(value: object, subject: str) -> None:
    if type(value) is not str or not value:
        raise ConfigurationError(f"{subject} must be a text that is not empty, not {quoted(value)}")
    name_text(value, subject)
