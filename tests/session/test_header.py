"""The session header: what it may say, and how it is written."""

from __future__ import annotations

from typing import Any

import pytest

from broodline.messages.errors import ConfigurationError, SessionFormatUnsupportedError
from broodline.messages.header import SessionHeader, is_own_seq
from broodline.messages.header_codec import check_header, decode_header, encode_header

PLAIN = {"version": 0, "id": "s", "createdAt": 5}
FULL = {
    **PLAIN,
    "cwd": "/srv",
    "parentSession": "p",
    "seedLength": 3,
    "origin": "subagent",
    "delegationDepth": 2,
    "agentPreset": "coder",
}


def test_id_must_be_the_sessions(tmp_path: Any) -> None:
    """core #15: a header of another id is refused."""
    with pytest.raises(ConfigurationError, match="'other'"):
        decode_header(PLAIN, session_id="other")
    assert decode_header(PLAIN, session_id="s").id == "s"


@pytest.mark.parametrize("value", [-1, 1.5, "1", True, -0.0, 2**53, None])
def test_created_at_is_a_natural_number(value: Any) -> None:
    """core #16: a creation time that is no safe integer from 0 on is refused."""
    with pytest.raises(ConfigurationError, match="createdAt"):
        decode_header({**PLAIN, "createdAt": value})


def test_created_at_defaults_to_now() -> None:
    """core #16: a header without a creation time gets the time that was handed in."""
    assert decode_header({"id": "s"}, now=77) == SessionHeader("s", 77)
    with pytest.raises(ConfigurationError, match="createdAt"):
        decode_header({"id": "s"})


@pytest.mark.parametrize("cwd", ["work", "./x", "", 5])
def test_cwd_is_absolute(cwd: Any) -> None:
    """core #17: a relative working directory is refused."""
    with pytest.raises(ConfigurationError, match="cwd"):
        decode_header({**PLAIN, "cwd": cwd})
    assert decode_header({**PLAIN, "cwd": "C:\\work"}).cwd == "C:\\work"


@pytest.mark.parametrize(("version", "age"), [(1, "newer"), (-1, "older")])
def test_foreign_version_is_a_refusal(version: int, age: str) -> None:
    """core #18: another version is unsupported, not corrupt, and the text says newer or older."""
    with pytest.raises(SessionFormatUnsupportedError, match=age) as caught:
        decode_header({"version": version, "who": "knows"})
    assert caught.value.details["version"] == version


@pytest.mark.parametrize("version", [True, "0", 0.0])
def test_version_is_an_integer(version: Any) -> None:
    """core #18: what is no integer is no version at all."""
    with pytest.raises(ConfigurationError, match="version"):
        decode_header({**PLAIN, "version": version})


@pytest.mark.parametrize("origin", ["parent", "", 1])
def test_origin_is_subagent(origin: Any) -> None:
    """core #19: `subagent` is the only legal origin."""
    with pytest.raises(ConfigurationError, match="origin"):
        decode_header({**PLAIN, "origin": origin})


def test_header_is_detached() -> None:
    """core #20: what a caller does to its dict afterwards changes no header."""
    data = dict(FULL)
    header = decode_header(data)
    data["id"] = "changed"
    data["cwd"] = "/elsewhere"
    assert encode_header(header) == FULL


@pytest.mark.parametrize(
    "wrong",
    [
        {"seedLength": -1},
        {"seedLength": True},
        {"delegationDepth": 1.0},
        {"parentSession": ""},
        {"parentSession": 5},
        {"agentPreset": ""},
        {"id": ""},
        {"id": 5},
        {"cwd": None},
        {"colour": "red"},
    ],
)
def test_wrong_fields_are_refused(wrong: dict[str, Any]) -> None:
    """core 1.1: every field has its rule, and there are no others."""
    with pytest.raises(ConfigurationError):
        decode_header({**PLAIN, **wrong})


@pytest.mark.parametrize("data", [None, [], "header", SessionHeader("s", 1)])
def test_header_is_an_object(data: Any) -> None:
    """core 1.1: what is no JSON object is no header."""
    with pytest.raises(ConfigurationError):
        decode_header(data)


def test_header_round_trips() -> None:
    """core 1.1: what is absent stays absent, the preset of another product is kept."""
    assert encode_header(decode_header(FULL)) == FULL
    assert encode_header(decode_header(PLAIN)) == PLAIN


def test_typed_header_can_be_checked() -> None:
    """core #17: a header built from a caller's own values is checked on request."""
    check_header(SessionHeader("s", 1, cwd="/x"))
    with pytest.raises(ConfigurationError, match="cwd"):
        check_header(SessionHeader("s", 1, cwd="x"))


def test_own_seq() -> None:
    """core 1.6: an event is a session's own from its seed length on."""
    assert [is_own_seq(SessionHeader("s", 1, seed_length=2), seq) for seq in (1, 2)] == [
        False,
        True,
    ]
    assert is_own_seq(SessionHeader("s", 1), 0)
