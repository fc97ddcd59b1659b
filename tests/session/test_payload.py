"""What may be appended at all, whoever builds it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.stores.memory import MemoryStore
from broodline.messages.errors import ConfigurationError, SessionLeasedError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import OpaquePayload, StepStart


def test_opaque_data_is_the_logs_own(kit: SimpleNamespace) -> None:
    """core #3: a dict that became the data of an event can be changed without effect."""
    session = kit.session()
    data: dict[str, Any] = {"todos": [1]}
    event = session.append(OpaquePayload("session/title", data))
    data["todos"].append(2)
    assert event.data.data == {"todos": [1]}
    with pytest.raises(TypeError):
        event.data.data["todos"].append(3)


@pytest.mark.parametrize("data", [float("nan"), {1: 2}, {"a": {1}}, -0.0, "\ud800", 2**53])
def test_opaque_data_is_lossless(data: Any) -> None:
    """core #5, #10, 1.3: data that JSON would lose makes no event."""
    with pytest.raises(ConfigurationError, match="not lossless"):
        OpaquePayload("session/title", data)
    with pytest.raises(ConfigurationError):
        OpaquePayload("", {})


@pytest.mark.parametrize("payload", ["turn/start", None, {"turn": 1}, 7, StepStart, Event])
def test_only_payloads_are_appended(kit: SimpleNamespace, payload: Any) -> None:
    """core 1.2: what is no payload is refused and leaves the log as it was."""
    session = kit.session()
    with pytest.raises(ConfigurationError, match="payload"):
        session.append(payload)
    assert session.seq == 0
    with pytest.raises(ConfigurationError, match="payload"):
        kit.session(seed=[Event(0, 1, payload)])


@pytest.mark.parametrize("name", ["turn/start", "user/message", "tool/result", "session/end-seed"])
def test_no_payload_stands_in_for_another(kit: SimpleNamespace, name: str) -> None:
    """core 3, 1.8: an event with rules cannot be appended past them as uninterpreted data."""
    with pytest.raises(ConfigurationError, match="class of their own"):
        kit.session().append(OpaquePayload(name, {}))


def test_what_was_read_uninterpreted_stays(kit: SimpleNamespace) -> None:
    """DESIGN section 5: a descriptor of another version is kept as it is, also in a seed."""
    old = OpaquePayload("subagent/descriptor", {"version": 2})
    assert kit.session(seed=[Event(0, 1, old)]).events[0].data == old


async def test_one_lease_keeps_one_log() -> None:
    """DESIGN section 3: a lease that a live session writes with cannot be given to another."""
    store = MemoryStore()
    header = SessionHeader("s", 1)
    lease = await store.create(header)
    store.attach(header, [], lease)
    with pytest.raises(SessionLeasedError):
        store.attach(header, [], lease)
