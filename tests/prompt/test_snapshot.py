"""Runtime contexts, and the message that tells the model of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from broodline.actors.assembly import PromptContext
from broodline.actors.hooks import Hooks
from broodline.actors.prompt import PromptRegistry
from broodline.actors.scope import Scope
from broodline.actors.snapshot import (
    CLEARED,
    SnapshotTrack,
    is_snapshot,
    snapshot_message,
    snapshot_source,
)
from broodline.messages.content import Text
from broodline.messages.errors import ConfigurationError, PromptError
from broodline.messages.lossless import FrozenDict
from broodline.messages.message import AssistantMessage, Message, UserMessage

Contexts = Sequence[tuple[str, str]]
RULES = (("rules", "Stay in scope."),)
OTHER = (("rules", "Stay in scope."), ("goal", "Find it."))


@pytest.fixture
def prompt() -> PromptRegistry:
    return PromptRegistry(Hooks())


def contexts(prompt: PromptRegistry, scope: Scope | None = None) -> Contexts:
    assembly = prompt.assemble_now(PromptContext("agent", scope=scope))
    assert assembly is not None
    return assembly.contexts


def said(text: str) -> UserMessage:
    return UserMessage("m", (Text(text),))


def sent(text: str, told: Contexts) -> UserMessage:
    return UserMessage("s", (Text(text),), snapshot_source(told))


def step(history: list[Message], track: SnapshotTrack, told: Contexts) -> str | None:
    """One step of a driver: asks, and admits what is due."""
    text = track.due(told, lambda: history)
    if text is not None:
        history.append(sent(text, told))
    return text


def test_contexts_ordered(prompt: PromptRegistry) -> None:
    """core 11.1: contexts are ordered like sections; empty ones are left out."""
    prompt.context("late", "L", order=120)
    prompt.context("early", lambda _context: "E", order=-1)
    prompt.context("none", lambda _context: None)
    prompt.context("blank", " ")
    prompt.context("also late", "A", order=120)
    assert contexts(prompt) == (("early", "E"), ("late", "L"), ("also late", "A"))


def test_contexts_apart_from_system(prompt: PromptRegistry) -> None:
    """core 11.1, providers 5 (2): a context is never part of the system text."""
    prompt.section("a", "A")
    prompt.context("c", "C")
    assembly = prompt.assemble_now(PromptContext("agent"))
    assert assembly is not None
    assert assembly.system == "A"


def test_context_is_no_template(prompt: PromptRegistry) -> None:
    """core 11.1: a context's text is data and taken as it is."""
    prompt.context("c", "see {{ x }} and {{model}}")
    assert contexts(prompt) == (("c", "see {{ x }} and {{model}}"),)


def test_context_shadowed(prompt: PromptRegistry) -> None:
    """core #243: a nearer context shadows; the shadowed function is not called."""
    child = Scope("child")

    def never(_context: PromptContext) -> str:
        raise AssertionError

    prompt.context("c", never)
    prompt.context("c", "near", scope=child)
    assert contexts(prompt, child) == (("c", "near"),)


def test_context_of_child_only(prompt: PromptRegistry) -> None:
    """providers 5 (2): a context in the child's scope is absent from the parent, gone with it."""
    child = Scope("child")
    prompt.context("subagent:delegation", "You are delegated.", order=120, scope=child)
    assert contexts(prompt, child)
    assert not contexts(prompt, Scope("parent"))
    child.dispose_now()
    assert not contexts(prompt, child)


def test_context_refused(prompt: PromptRegistry) -> None:
    """core 11.1: a context's name is unique in its layer, its order finite."""
    prompt.context("c", "x")
    with pytest.raises(ConfigurationError, match="runtime context 'c' is registered already"):
        prompt.context("c", "y")
    with pytest.raises(ConfigurationError, match="runtime context 'd': order"):
        prompt.context("d", "y", order=float("nan"))


def test_context_fails(prompt: PromptRegistry) -> None:
    """core #250: a context function that raises is named; its error is the cause."""
    error = OSError("gone")

    def broken(_context: PromptContext) -> str:
        raise error

    prompt.context("goal", broken)
    with pytest.raises(PromptError, match="runtime context 'goal' failed: OSError") as caught:
        contexts(prompt)
    assert caught.value.__cause__ is error


def test_suppressed_in_scope(prompt: PromptRegistry) -> None:
    """core 11.1: a scope can be spared all contexts, for a time; others keep them."""
    scope, other = Scope("quiet"), Scope("other")
    prompt.context("a", "A")
    prompt.context("own", "O", scope=scope)
    quiet = prompt.suppress_contexts(scope)
    assert contexts(prompt, scope) == ()
    assert contexts(prompt, Scope("below", scope)) == ()
    assert contexts(prompt, other) == (("a", "A"),)
    quiet.dispose()
    assert contexts(prompt, scope) == (("a", "A"), ("own", "O"))


def test_suppressed_by_name(prompt: PromptRegistry) -> None:
    """core 11.1: suppressing by name hides these only, unknown names nothing; several add up."""
    scope = Scope("quiet")
    for name in ("a", "b", "c"):
        prompt.context(name, name.upper())
    prompt.suppress_contexts(scope, names=["a", "unknown"])
    prompt.suppress_contexts(scope, names=["b"])
    assert contexts(prompt, scope) == (("c", "C"),)


def test_suppressed_function_not_asked(prompt: PromptRegistry) -> None:
    """core #243: a suppressed context's function is not called."""

    def never(_context: PromptContext) -> str:
        raise AssertionError

    scope = Scope("quiet")
    prompt.context("a", never)
    prompt.suppress_contexts(scope)
    assert contexts(prompt, scope) == ()


def test_nearer_context_after_suppression(prompt: PromptRegistry) -> None:
    """core 11.2: a suppression hides what comes from its layer outward, not what is nearer."""
    outer = Scope("outer")
    inner = Scope("inner", outer)
    prompt.context("a", "A")
    prompt.suppress_contexts(outer)
    prompt.context("b", "B", scope=inner)
    assert contexts(prompt, inner) == (("b", "B"),)


def test_first_snapshot() -> None:
    """core #253: the first contexts are sent, all texts in order under a heading of ours."""
    text = snapshot_message(None, OTHER)
    assert text is not None
    heading, *parts = text.split("\n\n")
    assert "takes the place of any" in heading
    assert parts == ["Stay in scope.", "Find it."]


def test_unchanged_not_sent() -> None:
    """core #253: an unchanged snapshot is not sent again."""
    text = snapshot_message(None, RULES)
    assert text is not None
    assert snapshot_message(text, RULES) is None


def test_changed_sent() -> None:
    """core #253: a changed one is sent."""
    text = snapshot_message(None, RULES)
    assert snapshot_message(text, OTHER) not in (None, text)


def test_cleared_once() -> None:
    """core #253: when all contexts are gone one cleared note is sent, then nothing."""
    text = snapshot_message(None, RULES)
    assert snapshot_message(text, ()) == CLEARED
    assert snapshot_message(CLEARED, ()) is None
    assert snapshot_message(None, ()) is None


def test_sent_again_after_cleared() -> None:
    """core #253: contexts that come back after a cleared note are sent anew."""
    assert snapshot_message(CLEARED, RULES) == snapshot_message(None, RULES)


def test_source_shape() -> None:
    """core 2.1: the source names the plugin, the form and each section with its text."""
    assert snapshot_source(OTHER) == {
        "kind": "plugin",
        "plugin": "system-prompt",
        "form": "snapshot",
        "sections": [
            {"name": "rules", "text": "Stay in scope."},
            {"name": "goal", "text": "Find it."},
        ],
    }
    with pytest.raises(TypeError):
        snapshot_source(RULES)["form"] = "other"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"kind": "plugin", "plugin": "system-prompt", "form": "snapshot", "sections": []}, True),
        ({"kind": "plugin", "plugin": "@deepseek-ai/dsh-system-prompt", "form": "snapshot"}, True),
        ({"kind": "plugin", "plugin": "another", "form": "snapshot"}, False),
        ({"kind": "plugin", "plugin": "system-prompt", "form": "note"}, False),
        ({"kind": "user", "plugin": "system-prompt", "form": "snapshot"}, False),
        ({"kind": "user"}, False),
    ],
)
def test_recognised(source: dict[str, Any], expected: bool) -> None:
    """core 11.1: a snapshot is known by its source, also in recorded logs."""
    assert is_snapshot(UserMessage("m", (Text("x"),), FrozenDict(source))) is expected


def test_assistant_is_no_snapshot() -> None:
    """core 11.1: only a user-role message is a snapshot."""
    assert not is_snapshot(AssistantMessage("m", (Text("x"),), snapshot_source(RULES)))


def test_last_retained() -> None:
    """core #253: the last snapshot on the surface counts."""
    history: list[Message] = [sent("one", RULES), said("x"), sent("two", OTHER), said("y")]
    track = SnapshotTrack()
    assert track.due(OTHER, lambda: history) == snapshot_message("two", OTHER)


def test_track_over_steps() -> None:
    """core #253: over the steps of an agent each change is sent once, and the end once."""
    history: list[Message] = []
    track = SnapshotTrack(fresh=True)
    outcomes: list[bool] = []
    for told in ((), RULES, RULES, OTHER, OTHER, RULES, (), (), RULES):
        outcomes.append(step(history, track, told) is not None)
        history.append(said("more"))
    assert outcomes == [False, True, False, True, False, True, True, False, True]


def test_track_refused_step() -> None:
    """core 8 step 8: a snapshot whose step was refused is due again."""
    track = SnapshotTrack(fresh=True)
    first = track.due(RULES, list)
    assert first is not None
    assert track.due(RULES, list) == first


def test_track_costs_nothing_without_contexts() -> None:
    """core #253: an agent that never had contexts never reads its history for them."""

    def unread() -> list[Message]:
        raise AssertionError

    track = SnapshotTrack(fresh=True)
    assert track.due((), unread) is None
    assert track.due((), unread) is None


def test_track_of_resumed_agent() -> None:
    """core #253: a resumed or forked agent looks once for a snapshot it may have inherited."""
    reads: list[int] = []

    def history() -> list[Message]:
        reads.append(1)
        return [said("x")]

    track = SnapshotTrack()
    assert track.due((), history) is None
    assert track.due((), history) is None
    assert reads == [1]
    inherited: list[Message] = [sent("old", RULES), said("x")]
    assert SnapshotTrack().due((), lambda: inherited) == CLEARED
    text = snapshot_message(None, RULES)
    assert text is not None
    assert SnapshotTrack().due(RULES, lambda: [sent(text, RULES), said("x")]) is None


def test_track_after_replacement() -> None:
    """core 1.8: a snapshot that a replacement took off the surface is sent again."""
    history: list[Message] = []
    track = SnapshotTrack(fresh=True)
    assert step(history, track, RULES) is not None
    history += [said("a"), said("b")]
    assert step(history, track, RULES) is None
    history[0:2] = [said("summary")]
    assert step(history, track, RULES) is not None
    assert step(history, track, RULES) is None


def test_track_same_length_replacement() -> None:
    """core 1.8: also when the surface is as long as before, or the contexts are gone."""
    history: list[Message] = []
    track = SnapshotTrack(fresh=True)
    step(history, track, RULES)
    history.append(said("a"))
    assert step(history, track, RULES) is None
    history[0] = said("summary")
    assert step(history, track, RULES) is not None
    history[-1] = said("summary")
    assert step(history, track, ()) is None


def test_track_of_another_history() -> None:
    """core 1.8: a surface of which nothing is as it was is read from the start."""
    track = SnapshotTrack()
    assert track.due(RULES, lambda: [said("a"), said("b")]) is not None
    text = snapshot_message(None, RULES)
    assert text is not None
    other: list[Message] = [sent(text, RULES), said("c"), said("d")]
    assert track.due(RULES, lambda: other) is None


def test_track_reads_new_messages_only() -> None:
    """DESIGN section 7: what was read is not read again; the cost does not grow with the log."""

    class Counting(list[Any]):
        reads = 0

        def __getitem__(self, index: Any) -> Any:
            self.reads += 1
            return super().__getitem__(index)

    history = Counting()
    track = SnapshotTrack(fresh=True)
    step(history, track, RULES)
    history += [said(str(number)) for number in range(1000)]
    step(history, track, RULES)
    history.reads = 0
    history.append(said("y"))
    step(history, track, RULES)
    assert history.reads < 8
