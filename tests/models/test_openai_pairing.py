"""Calls and results in a history that goes to a server of OpenAI's format."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.models.openai.pairing import paired


def asked(*ids: str) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {}} for one in ids]
    return {"role": "assistant", "content": None} | ({"tool_calls": calls} if calls else {})


def told(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": f"result of {call_id}"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


SYSTEM = {"role": "system", "content": "be kind"}


def test_a_sound_history_stays_as_it_is() -> None:
    """core 12.2: where every call is answered behind it nothing changes, not even the objects."""
    history = [SYSTEM, user("a"), asked("1", "2"), told("2"), told("1"), asked(), user("b")]
    sent = paired(history)
    assert sent == history
    assert all(one is other for one, other in zip(sent, history, strict=True))


def test_a_call_without_a_result_gets_one() -> None:
    """core 12.2: a call that nobody answered is answered with an error, in its place."""
    sent = paired([asked("1", "2"), told("1"), user("next"), asked("3")])
    assert [message.get("tool_call_id") for message in sent] == [None, "1", "2", None, None, "3"]
    assert sent[2]["content"].startswith("Error: ")
    assert sent[3] == user("next")


def test_a_result_without_its_call_is_text() -> None:
    """core 12.2: the words of a result whose call is gone are kept as the user's."""
    sent = paired([told("0"), user("a"), asked("1"), told("1"), told("9")])
    assert [message["role"] for message in sent] == ["user", "user", "assistant", "tool", "user"]
    assert "result of 0" in sent[0]["content"]
    assert "result of 9" in sent[4]["content"]


def test_what_comes_between_moves_behind_the_results() -> None:
    """core 12.2: a prompt between a call and its result is sent after the result."""
    sent = paired([asked("1", "2"), user("between"), told("2"), told("1")])
    assert [message["role"] for message in sent] == ["assistant", "tool", "tool", "user"]


def test_a_second_result_of_one_call_is_text() -> None:
    """core 12.2: only the first result of a call is its result."""
    sent = paired([asked("1"), told("1"), told("1")])
    assert [message["role"] for message in sent] == ["assistant", "tool", "user"]


IDS = st.sampled_from("123")
MESSAGES = st.one_of(
    st.lists(IDS, max_size=3, unique=True).map(lambda ids: asked(*ids)),
    IDS.map(told),
    st.just(user("x")),
)


@given(st.lists(MESSAGES, max_size=12))
def test_any_history_comes_out_sound(history: list[dict[str, Any]]) -> None:
    """core 12.2: behind each answer stand the results of its calls, one each, and only there."""
    sent = paired(history)
    owed: list[str] = []
    for message in sent:
        if message["role"] == "tool":
            owed.remove(message["tool_call_id"])
            continue
        assert owed == []
        owed = [call["id"] for call in message.get("tool_calls", ())]
    assert owed == []
    kept = [message for message in sent if message["role"] == "assistant"]
    assert kept == [message for message in history if message["role"] == "assistant"]
    words = " ".join(str(message["content"]) for message in sent)
    assert all(str(message["content"]) in words for message in history)
