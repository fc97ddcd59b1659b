"""The recorded sessions of the reference: all are read, and all keep the rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from broodline.actors.fold import consumed_work, replay_inbox, select_output
from broodline.actors.models.recorded_script import entries_of
from broodline.actors.recording import RecordedLog, read_log, read_recording
from broodline.actors.recording_check import check_log
from broodline.actors.recording_message import assembled
from broodline.actors.recording_writer import log_rows, write_log
from broodline.actors.session import Session
from broodline.messages.content import Text, ToolCall, text_of
from broodline.messages.errors import SessionCorruptError
from broodline.messages.event import Event, Replace
from broodline.messages.header import is_own_seq
from broodline.messages.message import AssistantMessage, ToolMessage
from broodline.messages.packed import PACKED_TYPES, expand_rows, pack_rows
from broodline.messages.payload import (
    AssistantReplied,
    ChunkReceived,
    EndSeed,
    InboxSpliced,
    OpaquePayload,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    UserMessageLogged,
)
from broodline.messages.vocabulary import TYPED

FORK = "acp-agent/subagent-fork-in-process"


class StoppedClock:
    def time_ms(self) -> int:
        return 0


def of_type(log: RecordedLog, kind: type) -> list[Event]:
    return [event for event in log.events if type(event.data) is kind]


def test_every_file_is_read(recorded_file: Path) -> None:
    """core #282: a recorded file is read in projected mode, and found to be projected."""
    log = read_log(recorded_file, form="projected")
    assert log == read_log(recorded_file)
    assert log.projected
    assert [event.seq for event in log.events] == list(range(len(log.events)))
    assert {event.time for event in log.events} <= {0}
    for event in log.events:
        foreign = event.type not in TYPED or event.type == "subagent/descriptor"
        assert (type(event.data) is OpaquePayload) is foreign


def test_every_row_comes_back(recorded_file: Path) -> None:
    """core 15.6: header and events of a recorded file encode to the very JSON that was read."""
    lines = recorded_file.read_text(encoding="utf-8").rstrip("\n").split("\n")
    rows = list(expand_rows(json.loads(line) for line in lines))
    assert list(log_rows(read_log(recorded_file))) == rows


def test_every_file_is_refused_as_strict(recorded_file: Path) -> None:
    """core #282: in strict mode a recorded file is refused, one without events too."""
    with pytest.raises(SessionCorruptError, match='form="projected"') as caught:
        read_log(recorded_file, form="strict")
    assert caught.value.message.startswith(f"{recorded_file}:")


def test_every_file_is_sound(scenario: Path) -> None:
    """core #282 to #285, 15.6: no recorded log breaks a rule; a fork's seed is its parent's."""
    recording = read_recording(scenario)
    for log in recording.logs:
        parent = recording.root if log.header.seed_length else None
        assert check_log(log, parent=parent) == ()


def test_every_prefix_is_sound(recorded_file: Path) -> None:
    """core 15.6: a log that was cut off anywhere is sound as far as it goes."""
    log = read_log(recorded_file)
    for length in range(log.header.seed_length or 0, len(log.events)):
        assert check_log(replace(log, events=log.events[:length])) == ()


def test_every_log_is_a_session(recorded_file: Path) -> None:
    """core 15.6: a session can be resumed from a recorded log, and shows what the log shows."""
    log = read_log(recorded_file)
    if log.is_script:
        return
    session = Session(log.header, seed=log.events, clock=StoppedClock(), resumed=True)
    assert session.events[: len(log.events)] == log.events
    replaced = any(type(event.surface_op) is Replace for event in log.events)
    shown = [event for event in log.events if event.surface_op == "append"]
    if not replaced:
        assert session.surface == tuple(event.seq for event in shown)


def test_the_recorded_fork(folder: Callable[[str], Path]) -> None:
    """core #283: the fork's one own end-seed stands at seedLength, 42, behind its parent's 42."""
    recording = read_recording(folder(FORK))
    (child,) = recording.children
    length = child.header.seed_length
    assert length == 42
    assert [e.seq for e in of_type(child, EndSeed) if is_own_seq(child.header, e.seq)] == [42]
    assert child.events[:42] == recording.root.events[:42]
    assert child.events[42] != recording.root.events[42]
    assert child.header.parent_session == recording.root.header.id
    assert type(child.events[41].data) is TurnEnd


def test_a_fork_with_another_parent(folder: Callable[[str], Path]) -> None:
    """core #283: a seed that is not the parent's is told, with the first event that differs."""
    recording = read_recording(folder(FORK))
    (child,) = recording.children
    events = list(child.events)
    events[7], events[8] = replace(events[8], seq=7), replace(events[7], seq=8)
    faults = check_log(replace(child, events=tuple(events)), parent=recording.root)
    assert any(fault.startswith("event 7: the seed differs") for fault in faults)


def test_messages_are_their_chunks(recorded_file: Path) -> None:
    """core #284: the chunks that a completed message cites make its content and its usage."""
    log = read_log(recorded_file)
    for event in of_type(log, AssistantReplied):
        data = event.data
        assert isinstance(data, AssistantReplied)
        if event.source_event_seqs is None:
            continue
        cited = [log.events[seq].data for seq in event.source_event_seqs]
        made = assembled(chunk.chunk for chunk in cited if isinstance(chunk, ChunkReceived))
        assert len(cited) == len(event.source_event_seqs)
        if data.interrupted:
            assert made.interrupted_content() == data.message.content
        else:
            assert (made.message_content(), made.usage) == (data.message.content, data.usage)


def test_results_are_in_the_order_of_the_calls(recorded_file: Path) -> None:
    """core #285: results stand in the order of the call blocks and cite the call of their id."""
    log = read_log(recorded_file)
    asked: list[str] = []
    for event in log.events:
        data = event.data
        if isinstance(data, AssistantReplied):
            asked = [block.id for block in data.message.content if isinstance(block, ToolCall)]
        elif isinstance(data, ToolAnswered):
            assert data.message.source["callId"] == asked.pop(0)
            assert event.source_event_seqs is not None
            assert len(event.source_event_seqs) == 1
            called = log.events[event.source_event_seqs[0]].data
            assert isinstance(called, ToolCalled)
            assert called.call_id == data.message.source["callId"]
        elif isinstance(data, StepEnd):
            assert not asked


def test_packed_again_nothing_changes(recorded_file: Path, tmp_path: Path) -> None:
    """core #286: packed by our writer and expanded, in rows or in a file, the log is the same."""
    log = read_log(recorded_file)
    rows = list(log_rows(log))
    packed = list(pack_rows(rows))
    assert list(expand_rows(packed)) == rows
    write_log(log, tmp_path / "session.jsonl")
    again = read_log(tmp_path / "session.jsonl")
    assert (again.header, again.events, again.projected) == (log.header, log.events, True)


def test_runs_are_packed_as_the_reference_packs_them(recorded_file: Path, tmp_path: Path) -> None:
    """core 15.2, #286: our writer makes a packed row where the recorded file has one."""
    write_log(recorded_file, tmp_path / "session.jsonl")
    ours, theirs = (
        [any(f'"type":"{kind}"' in line for kind in PACKED_TYPES) for line in text.split("\n")]
        for text in (
            (tmp_path / "session.jsonl").read_text(encoding="utf-8"),
            recorded_file.read_text(encoding="utf-8"),
        )
    )
    assert ours == theirs


def test_a_history_that_a_provider_takes(recorded_file: Path) -> None:
    """core 15.6 (derive history): each call of the history has its result directly behind it."""
    log = read_log(recorded_file)
    if log.is_script:
        return
    session = Session(log.header, seed=log.events, clock=StoppedClock(), resumed=True)
    waiting: list[str] = []
    for message in session.messages():
        if isinstance(message, ToolMessage):
            assert message.source["callId"] == waiting.pop(0)
            continue
        assert not waiting
        if isinstance(message, AssistantMessage):
            waiting = [block.id for block in message.content if isinstance(block, ToolCall)]
    assert not waiting


def test_own_events_of_the_fork(folder: Callable[[str], Path]) -> None:
    """core #290: inbox, answer and consumed work of a fork are folded from its own events."""
    (child,) = read_recording(folder(FORK)).children
    assert sum(type(event.data) is InboxSpliced for event in child.events) == 4
    assert replay_inbox(child.header, child.events) == ([], [])
    # The parent's prompt, read as the child's, would be pending before its own.
    cut = child.events[:45]
    assert type(cut[-1].data) is InboxSpliced
    (pending,), _ = replay_inbox(child.header, cut)
    assert text_of(pending.content).startswith("What is the project codeword")
    end = consumed_work(child.own_events).end
    assert end is not None
    assert end.turn == 2
    assert consumed_work(child.events[:42]).end != end
    assert Text("MARMALADE") in select_output(child.events, child.header.seed_length or 0)
    assert select_output(child.events[:43], 42) == ()
    (entry,) = entries_of(event.data for event in child.own_events)
    assert len(entries_of(event.data for event in child.events)) == 2
    assert Text("MARMALADE") in assembled(entry.verbatim or ()).message_content()


def test_the_replaced_surface(folder: Callable[[str], Path]) -> None:
    """core 1.8, 13: where compaction replaced a prompt, the history shows the summary instead."""
    log = read_log(folder("headless-agent/compaction-recovery") / "session.jsonl")
    session = Session(log.header, seed=log.events, clock=StoppedClock(), resumed=True)
    (place,) = [event for event in log.events if type(event.surface_op) is Replace]
    assert isinstance(place.surface_op, Replace)
    hidden = place.surface_op.start
    assert hidden not in session.surface
    assert session.surface[0] == place.seq
    assert type(log.events[hidden].data) is UserMessageLogged
    assert check_log(log) == ()


def test_a_replaced_surface_without_its_source(folder: Callable[[str], Path]) -> None:
    """core 1.8: a replace that does not cite what it hides is a fault of the recorded log."""
    log = read_log(folder("headless-agent/compaction-recovery") / "session.jsonl")
    events = [
        replace(event, source_event_seqs=None) if type(event.surface_op) is Replace else event
        for event in log.events
    ]
    (fault,) = check_log(replace(log, events=tuple(events)))
    assert "without citing them" in fault


def test_the_script_without_turns(folder: Callable[[str], Path]) -> None:
    """core 15.6: a file of chunks alone is a script, sound when each response is a stream."""
    recording = read_recording(folder("headless-agent/ralph-loop"))
    assert [log.is_script for log in recording.logs] == [False, True, True]
    first = recording.children[0]
    assert len(entries_of(event.data for event in first.events)) == 1
    doubled = [replace(event, seq=place) for place, event in enumerate((*first.events[:1],) * 2)]
    (fault,) = check_log(replace(first, events=tuple(doubled)))
    assert "a second start of block 0" in fault


def test_steps_are_numbered_through_a_retry(folder: Callable[[str], Path]) -> None:
    """core 12.6: the recorded retry stands in one step, its message cites the second attempt."""
    log = read_log(folder("acp-agent/empty-response-retry") / "session.jsonl")
    assert len(of_type(log, StepStart)) == 1
    failed, answered = entries_of(event.data for event in log.events)
    (message,) = of_type(log, AssistantReplied)
    assert len(message.source_event_seqs or ()) == len(answered.verbatim or ())
    assert assembled(failed.verbatim or ()).finish != assembled(answered.verbatim or ()).finish
