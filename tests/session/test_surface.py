"""The surface and the history that is derived from it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.session import Session
from broodline.messages.chunk import Usage
from broodline.messages.errors import ConfigurationError
from broodline.messages.event import Replace
from broodline.messages.payload import AssistantReplied, OpaquePayload

MESSAGE: dict[str, Any] = {"id": "m", "role": "user", "content": [], "source": {"kind": "user"}}


def conversation(kit: SimpleNamespace) -> Session:
    """An open step; surface nodes 2, 3, 4, 5 are user messages."""
    session: Session = kit.session()
    session.append(kit.turn_start(1))
    session.append(kit.step_start(1, 1))
    for number in range(4):
        session.append(kit.user_logged(f"u{number}", f"text {number}"), surface="append")
    return session


def shown(session: Session) -> list[str]:
    return [message.id for message in session.messages()]


def refused(kit: SimpleNamespace, session: Session, payload: Any, **options: Any) -> None:
    before = kit.snapshot(session)
    with pytest.raises(ConfigurationError):
        session.append(payload, **options)
    assert kit.snapshot(session) == before


def test_message_needs_an_operation(kit: SimpleNamespace) -> None:
    """core #47: a message without a surface operation is refused."""
    session = kit.session()
    refused(kit, session, kit.user_logged())
    with pytest.raises(ConfigurationError):
        session.append_json("user/message", MESSAGE)


def test_log_only_takes_no_operation(kit: SimpleNamespace) -> None:
    """core #48: an event that no model sees carries neither operation nor sources."""
    session = conversation(kit)
    title = OpaquePayload("session/title", {})
    refused(kit, session, title, surface="append")
    refused(kit, session, title, sources=(0,))
    refused(kit, session, kit.step_end(1, 1), surface=Replace(2, 2))


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "start": 2, "end": 3, "more": 1},
        {"op": "replace", "start": 2.0, "end": 3},
        {"op": "replace", "start": 2, "end": True},
        {"op": "replace", "start": 2},
        {"op": "append", "start": 2, "end": 3},
        {"op": "replace", "start": -1, "end": 3},
        "prepend",
        "",
        5,
        True,
    ],
)
def test_operation_is_exact(kit: SimpleNamespace, operation: Any) -> None:
    """core #49: an operation with another key or a value that is no safe integer is refused."""
    session = conversation(kit)
    with pytest.raises(ConfigurationError):
        session.append_json("user/message", MESSAGE, surface_op=operation, source_event_seqs=[2, 3])
    assert session.seq == 6


@pytest.mark.parametrize("sources", [(0, 0), (6,), (7,), (-1,), (True,), (1.0,), ("1",)])
def test_sources_are_earlier_and_unique(kit: SimpleNamespace, sources: Any) -> None:
    """core #50: a citation that is doubled, not earlier or no number is refused."""
    session = conversation(kit)
    refused(kit, session, kit.replied(1, 1, "a"), surface="append", sources=sources)


def test_empty_sources(kit: SimpleNamespace) -> None:
    """core #51: an empty citation list is for an answer to an empty stream only."""
    session = conversation(kit)
    session.append(kit.called(1, 1, "c"))
    refused(kit, session, kit.user_logged(), surface="append", sources=())
    refused(kit, session, kit.answered(1, 1, "c"), surface="append", sources=())
    event = session.append(kit.replied(1, 1, "a"), surface="append", sources=())
    assert event.source_event_seqs == ()


def test_replace_cites_what_it_hides(kit: SimpleNamespace) -> None:
    """core #52: a replace that does not cite one of the hidden nodes is refused."""
    session = conversation(kit)
    new = kit.user_logged("sum", "summary")
    refused(kit, session, new, surface=Replace(2, 4), sources=(2, 4))
    refused(kit, session, new, surface=Replace(2, 4))


def test_replace_names_surface_positions(kit: SimpleNamespace) -> None:
    """core #53: a replace from behind its end, or of what is not shown, is refused."""
    session = conversation(kit)
    new = kit.user_logged("sum", "summary")
    refused(kit, session, new, surface=Replace(4, 2), sources=(2, 3, 4))
    refused(kit, session, new, surface=Replace(1, 2), sources=(1, 2))
    session.append(new, surface=Replace(2, 3), sources=(2, 3))
    refused(kit, session, new, surface=Replace(3, 4), sources=(3, 4))


def test_positions_not_numbers(kit: SimpleNamespace) -> None:
    """core #53: behind a replace the order on the surface counts, not the numbers."""
    session = conversation(kit)
    session.append(kit.user_logged("sum"), surface=Replace(2, 3), sources=(2, 3))
    assert list(session.surface) == [6, 4, 5]
    new = kit.user_logged("all")
    refused(kit, session, new, surface=Replace(4, 6), sources=(4, 6))
    session.append(new, surface=Replace(6, 4), sources=(6, 4))
    assert list(session.surface) == [7, 5]
    assert shown(session) == ["all", "u3"]


def test_valid_replace(kit: SimpleNamespace) -> None:
    """core #54: hidden messages vanish, the new one is in their place, the log keeps all."""
    session = conversation(kit)
    assert shown(session) == ["u0", "u1", "u2", "u3"]
    session.append(kit.user_logged("sum"), surface=Replace(3, 4), sources=(3, 4))
    assert shown(session) == ["u0", "sum", "u3"]
    session.append(kit.user_logged("u4"), surface="append")
    assert shown(session) == ["u0", "sum", "u3", "u4"]
    assert session.seq == 8


def test_replace_survives_a_seed(kit: SimpleNamespace) -> None:
    """core 1.8: a log with a replace means the same when it is read back."""
    session = conversation(kit)
    session.append(kit.user_logged("sum"), surface=Replace(3, 4), sources=(3, 4))
    session.append(kit.step_end(1, 1))
    session.append(kit.ended(1))
    child = kit.session(session.events, seed_length=session.seq)
    assert child.messages() == session.messages()


def test_empty_answer_is_not_shown(kit: SimpleNamespace) -> None:
    """core #56: an answer without content derives nothing, and its usage stays in the log."""
    session = conversation(kit)
    usage = Usage(3, 4)
    reply = AssistantReplied(1, 1, kit.assistant("a"), usage)
    event = session.append(reply, surface="append", sources=())
    assert shown(session) == ["u0", "u1", "u2", "u3"]
    assert event.data.usage is usage  # type: ignore[union-attr]
    session.append(kit.user_logged("sum"), surface=Replace(2, 2), sources=(2,))
    assert shown(session) == ["sum", "u1", "u2", "u3"]


def test_derivations_share_messages(kit: SimpleNamespace) -> None:
    """core #57: two derivations are two lists of the same message objects."""
    session = conversation(kit)
    one, two = session.messages(), session.messages()
    assert one is not two
    assert all(left is right for left, right in zip(one, two, strict=True))
    one.clear()
    assert len(session.messages()) == 4
    assert session.messages()[0] is session.events[2].data.message  # type: ignore[union-attr]


def test_result_replace_changes_the_inside_only(kit: SimpleNamespace) -> None:
    """core 1.8: a tool result may rewrite one tool result, and only its inner content."""
    session = conversation(kit)
    session.append(kit.called(1, 1, "c"))
    old = kit.answered(1, 1, "c", "long")
    seq = session.append(old, surface="append", sources=(6,)).seq
    new = kit.answered(1, 1, "c", "short")
    refused(kit, session, new, surface=Replace(5, 5), sources=(5,))
    refused(kit, session, new, surface=Replace(5, seq), sources=(5, seq))
    block = replace(new.message.content[0], is_error=True)
    for changed in (
        replace(new, meta={"x": 1}),
        replace(new, message=replace(new.message, id="other")),
        replace(new, message=replace(new.message, content=(block,))),
    ):
        refused(kit, session, changed, surface=Replace(seq, seq), sources=(seq,))
    session.append(new, surface=Replace(seq, seq), sources=(seq,))
    assert session.messages()[-1] is new.message


def test_opaque_operation_is_refused(kit: SimpleNamespace) -> None:
    """core 1.8: `append` and a replace are the only operations."""
    refused(kit, conversation(kit), kit.user_logged(), surface="prepend")
