"""What `check_log` finds: every rule that a log can break, one by one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.recording import RecordedLog
from broodline.actors.recording_check import check_log, first_fault, log_faults
from broodline.messages.chunk import (
    BlockStart,
    Finish,
    ModelFailure,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from broodline.messages.content import Text, ToolCall
from broodline.messages.errors import ConfigurationError
from broodline.messages.event import Replace
from broodline.messages.header import SessionHeader
from broodline.messages.message import UserMessage
from broodline.messages.payload import (
    CallConfig,
    ChunkReceived,
    EndSeed,
    ErrorInfo,
    HeaderLogged,
    InboxSpliced,
    OpaquePayload,
    RequestHeader,
    StepEnd,
    StepStart,
    ToolCalled,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessageLogged,
)

A, B = ToolCall("a", "probe", "{}"), ToolCall("b", "probe", "{}")
NOT_STARTED = ErrorInfo("ToolNotStartedError", "TOOL_NOT_STARTED")
UNKNOWN = ErrorInfo("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN")


def user(id: str = "u", text: str = "hello") -> UserMessageLogged:
    return UserMessageLogged(UserMessage(id, (Text(text),)))


def ended(turn: int = 1, kind: Any = "completed") -> TurnEnd:
    return TurnEnd(turn, TurnEndReason(kind))


def fault(log: RecordedLog) -> str:
    """The one thing that is wrong with a log."""
    (only,) = check_log(log)
    return only


def test_a_sound_log(kit: SimpleNamespace) -> None:
    """core 3, 15.6: a log with text, tools and two turns is sound, and so is each prefix of it."""
    build = kit.build().start().ask(A, B)
    first, second = build.call("a"), build.call("b")
    build.result("a", (first,))
    build.result("b", (second,))
    build.end_step().next_step(2).say("done").end()
    log = build.start(2).say("more").end().log()
    for length in range(len(log.events) + 1):
        assert check_log(replace(log, events=log.events[:length])) == ()


def test_a_log_without_events_is_sound(kit: SimpleNamespace) -> None:
    """core 15.3: a header alone breaks no rule."""
    assert check_log(kit.build().log()) == ()


def test_numbers_count_from_zero(kit: SimpleNamespace) -> None:
    """core I1: a number that is not its position is told alone: what cites it means nothing."""
    log = kit.build().start().say("x").end().log()
    assert fault(replace(log, events=log.events[1:])) == "event 1 stands at position 0 (I1)"
    doubled = (*log.events[:3], *log.events[2:])
    assert fault(replace(log, events=doubled)) == "event 2 stands at position 3 (I1)"


CASES: dict[str, tuple[str, list[Any]]] = {
    "turn in a turn": ("(I2)", [TurnStart(1), TurnStart(2), ended(2)]),
    "turn 2 first": ("(I2)", [TurnStart(2), ended(2)]),
    "turn 3 after 1": ("(I2)", [TurnStart(1), ended(), TurnStart(3), ended(3)]),
    "end of another turn": ("(I3)", [TurnStart(1), ended(2)]),
    "end without a turn": ("(I3)", [ended()]),
    "end with a step open": ("(I3)", [TurnStart(1), StepStart(1, 1), ended()]),
    "step without a turn": ("(I4)", [StepStart(1, 1), StepEnd(1, 1)]),
    "step of another turn": ("(I4)", [TurnStart(1), StepStart(2, 1), ended()]),
    "step 2 first": ("(I4)", [TurnStart(1), StepStart(1, 2), StepEnd(1, 2), ended()]),
    "end of another step": ("(I5)", [TurnStart(1), StepStart(1, 1), StepEnd(1, 2), ended()]),
    "chunk without a step": (
        "(I5)", [TurnStart(1), ChunkReceived(1, 1, TextDelta(0, "x")), ended()]
    ),
    "call without a step": ("(I5)", [TurnStart(1), ToolCalled(1, 1, "c", "n", "{}"), ended()]),
    "header without a turn": (
        "(I8)", [HeaderLogged(RequestHeader(CallConfig("p", "m")), "initial")]
    ),
    "context without a turn": ("(I8)", [OpaquePayload("request/context", {})]),
    "todo without a turn": ("(I8)", [OpaquePayload("todo/write", {"todos": []})]),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "payloads"), CASES.values(), ids=CASES.keys())
def test_balance(rule: str, payloads: list[Any], kit: SimpleNamespace) -> None:
    """core 3: what breaks I2 to I5 or I8 is told, and does not make all that follows a fault."""
    build = kit.build()
    for payload in payloads:
        build.add(payload)
    faults = check_log(build.log())
    assert rule in faults[0]
    assert len(faults) <= 2


def test_the_whole_log_is_looked_at(kit: SimpleNamespace) -> None:
    """core 15.6: faults of all kinds are told at once, in the order of the log."""
    build = kit.build()
    build.add(ended())
    build.start().say("x").end()
    build.add(user())
    build.add(TurnStart(5))
    build.add(ended(5))
    build.add(InboxSpliced("next-turn", 0, 1, ()))
    faults = check_log(build.log())
    assert [text.split(":")[0] for text in faults[:3]] == ["event 0", "event 12", "event 13"]
    assert "splices next-turn" in faults[3]
    assert len(faults) == 4


def test_a_result_without_its_call(kit: SimpleNamespace) -> None:
    """core I6: a result needs its tool/call in the same step; a repair's not-started one does not.

    The call of an earlier step does not count.
    """
    build = kit.build().start().ask(A)
    build.result("a", None)
    faults = check_log(build.end().log())
    assert len(faults) == 2
    assert "(I6)" in faults[0]
    assert "does not cite" in faults[1]
    build = kit.build().start().ask(A)
    build.result("a", None, NOT_STARTED)
    assert check_log(build.end().log()) == ()
    build = kit.build().start().ask(A)
    call = build.call("a")
    build.end_step().next_step(2)
    build.result("a", (call,))
    assert any("(I6)" in text for text in check_log(build.end().log()))


def test_a_repaired_call_cites_it(kit: SimpleNamespace) -> None:
    """core 4: the result of a call with an unknown outcome cites the call, or is a fault."""
    for sources in (True, False):
        build = kit.build().start().ask(A)
        call = build.call("a")
        build.result("a", (call,) if sources else None, UNKNOWN)
        assert bool(check_log(build.end("interrupted").log())) is not sources


def test_a_replaced_result_needs_a_turn(kit: SimpleNamespace) -> None:
    """core I7, 1.8: a result may be rewritten inside a turn, and only its inner content."""
    for inside, code in ((True, ""), (False, "(I7)")):
        build = kit.build().start().ask(A)
        seq = build.result("a", (build.call("a"),))
        build.end()
        if inside:
            build.add(TurnStart(2))
        event = build.events[seq]
        build.add(event.data, Replace(seq, seq), (seq,))
        if inside:
            build.add(ended(2))
        faults = check_log(build.log())
        assert len(faults) == (0 if inside else 1)
        assert all(code in text for text in faults)


SURFACE: dict[str, tuple[str, list[tuple[Any, Any, Any]]]] = {
    "no operation": ("needs a surface operation", [(user(), None, None)]),
    "operation on a log-only event": ("log-only", [(EndSeed(), "append", None)]),
    "sources on a log-only event": (
        "log-only", [(user(), "append", None), (EndSeed(), None, (0,))]
    ),
    "sources empty": ("cites nothing", [(user(), "append", ())]),
    "source ahead": ("not before it", [(user(), "append", (0,))]),
    "source twice": ("twice", [(user(), "append", None), (user("v"), "append", (0, 0))]),
    "replaces nothing": ("not on the surface", [(user(), Replace(0, 0), None)]),
    "replaces backwards": (
        "start after the end",
        [(user(), "append", None), (user("v"), "append", None), (user("w"), Replace(1, 0), (0, 1))],
    ),
    "replaces uncited": (
        "without citing",
        [(user(), "append", None), (user("v"), "append", None), (user("w"), Replace(0, 1), (0,))],
    ),
    "replaces what is gone": (
        "not on the surface",
        [
            (user(), "append", None),
            (user("v"), Replace(0, 0), (0,)),
            (user("w"), Replace(0, 0), (0,)),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "parts"), SURFACE.values(), ids=SURFACE.keys())
def test_surface(text: str, parts: list[tuple[Any, Any, Any]], kit: SimpleNamespace) -> None:
    """core 1.8: what may not join the surface is told by its number."""
    build = kit.build()
    for payload, operation, sources in parts:
        build.add(payload, operation, sources)
    only = fault(build.log())
    assert text in only
    assert only.startswith(f"event {len(parts) - 1}: (")


def test_a_replaced_surface_is_sound(kit: SimpleNamespace) -> None:
    """core 1.8: a whole turn may be replaced by a summary; the history then shows that."""
    build = kit.build().start().say("long").end()
    shown = [event.seq for event in build.events if event.surface_op]
    build.add(user("s", "short"), Replace(shown[0], shown[-1]), tuple(shown))
    assert check_log(build.start(2).say("on").end().log()) == ()


def test_a_replace_that_tears_a_call_from_its_result(kit: SimpleNamespace) -> None:
    """core 13, 15.6: a cut between a call and its result leaves a history nobody takes."""
    build = kit.build().start().ask(A)
    build.result("a", (build.call("a"),))
    message = next(e.seq for e in build.events if e.type == "assistant/message")
    build.end_step()
    build.add(user("s", "short"), Replace(message, message), (message,))
    text = fault(build.next_step(2).say("on").end().log())
    assert "a result for 'a' that is not behind its call" in text


def test_a_history_that_was_torn_for_a_while(kit: SimpleNamespace) -> None:
    """core 13, 15.6: a torn history is told where it was torn, also when a later cut mends it.

    While calls are still open a replacement elsewhere tears nothing.
    """
    build = kit.build().start().ask(A)
    prompt, message = (event.seq for event in build.events if event.surface_op)
    build.add(user("p", "short"), Replace(prompt, prompt), (prompt,))
    result = build.result("a", (build.call("a"),))
    build.end_step()
    assert check_log(build.log()) == ()
    first = build.add(user("s", "short"), Replace(message, message), (message,))
    build.add(user("t", "shorter"), Replace(first, result), (first, result))
    text = fault(build.next_step(2).say("on").end().log())
    assert text.startswith(f"event {first}: the history shows a result for 'a'")


def test_a_cut_far_from_a_torn_place(kit: SimpleNamespace) -> None:
    """core 13, 15.6: a history is looked at where a replacement cut it and where it grew, once."""
    build = kit.build().start().ask(A, B)
    build.result("a", (build.call("a"),))
    build.end()
    for turn in (2, 3, 4):
        build.start(turn).say("on").end()
    spoken = [e.seq for e in build.events if e.type == "assistant/message"]
    for message in spoken[1:]:
        build.add(user("s", "short"), Replace(message, message), (message,))
    text = "the history shows the call 'b' without a result behind it"
    assert check_log(build.log()) == (f"event {spoken[-1] + 3}: {text}",)


def test_a_replaced_message_cites_messages(kit: SimpleNamespace) -> None:
    """core 1.8: a message that rewrites another cites that one, and is made of no chunks."""
    build = kit.build().start().say("long")
    old = build.events[-1]
    content = (kit.Text("short"),)
    data = replace(old.data, message=replace(old.data.message, id="again", content=content))
    build.add(data, Replace(old.seq, old.seq), (old.seq,))
    assert check_log(build.end().log()) == ()


@pytest.mark.parametrize(
    "splices",
    [
        [InboxSpliced("next-turn", 0, 1, ())],
        [InboxSpliced("next-turn", 1, 0, (user().message,))],
        [
            InboxSpliced("next-turn", 0, 0, (user().message,)),
            InboxSpliced("next-step", 0, 1, ()),
        ],
        [
            InboxSpliced("next-turn", 0, 0, (user().message,)),
            InboxSpliced("next-turn", 0, 2, ()),
        ],
    ],
)
def test_inbox(splices: list[InboxSpliced], kit: SimpleNamespace) -> None:
    """core 7: a splice that takes or skips what is not pending is told by its number."""
    build = kit.build()
    for splice in splices:
        build.add(splice)
    assert f"event {len(splices) - 1}" in fault(build.log())


def test_inherited_splices_do_not_count(kit: SimpleNamespace) -> None:
    """core #290, 1.6: a fork's inbox is its own: what the parent had pending is not in it."""
    build = kit.build()
    build.add(InboxSpliced("next-turn", 0, 0, (user().message,)))
    length = len(build.start().say("x").end().events)
    build.add(EndSeed())
    build.add(InboxSpliced("next-turn", 0, 1, ()))
    header = SessionHeader("s", 0, seed_length=length)
    assert "splices next-turn" in fault(build.log(header))
    assert check_log(build.log()) == ()


def reply_log(kit: SimpleNamespace, change: Any, **reply: Any) -> RecordedLog:
    """One turn whose message cites chunks that `change` has had in hand."""
    build = kit.build().start()
    seqs = build.stream(*change(kit.said("hello")))
    build.reply(*reply.pop("content", (Text("hello"),)), **{"sources": seqs, **reply})
    log: RecordedLog = build.end().log()
    return log


def test_content_is_what_the_chunks_make(kit: SimpleNamespace) -> None:
    """core #284: a message with another content or usage than its chunks make is told."""
    assert check_log(reply_log(kit, lambda chunks: chunks)) == ()
    other = reply_log(kit, lambda chunks: chunks, content=(Text("other"),))
    assert "make another content" in fault(other)
    assert "make another usage" in fault(reply_log(kit, lambda chunks: chunks, usage=Usage(9, 9)))
    assert "make another usage" in fault(reply_log(kit, lambda chunks: chunks, usage=None))
    assert "make another content" in fault(reply_log(kit, lambda chunks: chunks, content=()))


def test_chunks_obey_the_grammar(kit: SimpleNamespace) -> None:
    """core #284, 12.3: chunks that break the grammar of a stream make no message."""
    twice = reply_log(kit, lambda chunks: [chunks[0], *chunks])
    assert "second start" in fault(twice)
    after = reply_log(kit, lambda chunks: [*chunks, TextDelta(0, "x")])
    assert "after the finish" in fault(after)
    opened = reply_log(kit, lambda chunks: [*chunks[:2], *chunks[3:]])
    assert "is open" in fault(opened)
    unknown = reply_log(kit, lambda chunks: [BlockStart(1, "image"), *chunks[:3]], usage=None)  # type: ignore[arg-type]  # as a foreign log may say
    assert "unknown type" in fault(unknown)


def test_a_stream_without_a_finish(kit: SimpleNamespace) -> None:
    """core #267: chunks without a finish make a message like any other."""
    assert check_log(reply_log(kit, lambda chunks: chunks[:-1])) == ()


def test_a_failed_response_makes_no_message(kit: SimpleNamespace) -> None:
    """core 12.6: a message that cites the chunks of a failed attempt is told."""
    failed = Finish("error", ModelFailure("no", "SERVER"))
    assert "failed" in fault(reply_log(kit, lambda chunks: [*chunks[:-1], failed]))


def test_no_sources_and_an_empty_stream(kit: SimpleNamespace) -> None:
    """core 1.8: absent sources are not recorded, empty ones are a stream that said nothing."""
    assert check_log(reply_log(kit, lambda chunks: chunks, sources=None)) == ()
    silent = reply_log(kit, lambda _: [], sources=(), content=(), usage=None)
    assert check_log(silent) == ()
    assert "another content" in fault(reply_log(kit, lambda _: [], sources=(), usage=None))


def test_an_interrupted_message(kit: SimpleNamespace) -> None:
    """core 8, 12.4: an interrupted message is what a person could read of its chunks."""
    cut = reply_log(kit, lambda c: c[:2], interrupted=True, usage=None)
    assert check_log(cut) == ()
    other = reply_log(kit, lambda c: c[:1], interrupted=True, usage=None)
    assert "another content" in fault(other)
    half = ToolCallDelta(1, "a", '{"p', "probe")
    dropped = reply_log(kit, lambda c: [*c[:2], half], interrupted=True, usage=None)
    assert check_log(dropped) == ()
    whole = reply_log(kit, lambda c: [*c[:2], half], usage=None)
    assert "another content" in fault(whole)


def test_what_a_message_cites(kit: SimpleNamespace) -> None:
    """core 15.6: a message cites chunks of its own step, in their order, and nothing else."""
    assert "no chunk" in fault(reply_log(kit, lambda chunks: chunks, sources=(0,)))
    assert "behind event" in fault(reply_log(kit, lambda chunks: chunks, sources=(4, 3, 5, 6, 7)))
    build = kit.build().start()
    seqs = build.stream(*kit.said("hello"))
    build.end_step().next_step(2)
    build.reply(Text("hello"), sources=seqs)
    assert "a chunk of step 1.1" in fault(build.end().log())


def test_a_source_that_is_nowhere(kit: SimpleNamespace) -> None:
    """core 1.8: a source behind the end of the log is told, and breaks nothing."""
    faults = check_log(reply_log(kit, lambda chunks: chunks, sources=(99,)))
    assert any("not before it" in text for text in faults)
    assert any("no chunk before it" in text for text in faults)


def test_the_order_of_results(kit: SimpleNamespace) -> None:
    """core #285: results in another order than their calls are told, also with one left out."""
    for order, sound in (("ab", True), ("ba", False), ("aab", False)):
        build = kit.build().start().ask(A, B)
        calls = {call: build.call(call) for call in "ab"}
        for call in order:
            build.result(call, (calls[call],))
        faults = check_log(build.end().log())
        assert (faults == ()) is sound
        assert all("order of the calls" in text for text in faults)


def test_two_calls_of_one_id(kit: SimpleNamespace) -> None:
    """core #285: a model that gives two calls one id gets two results, each citing its call."""
    build = kit.build().start().ask(A, A)
    calls = [build.call("a"), build.call("a")]
    for call in calls:
        build.result("a", (call,))
    assert check_log(build.end().log()) == ()


def test_results_of_one_call(kit: SimpleNamespace) -> None:
    """core #285: of two calls with one id each result cites its own."""
    build = kit.build().start().ask(A, A)
    first, _ = build.call("a"), build.call("a")
    build.result("a", (first,))
    build.result("a", (first,))
    assert "does not cite the tool/call" in fault(build.end().log())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (("c", "probe", "{}"), "is none that the message of its step asks for"),
        (("b", "other", "{}"), "is not as the message of its step asks for it"),
        (("b", "probe", "[]"), "is not as the message of its step asks for it"),
        (("a", "probe", "{}"), "begins twice"),
    ],
)
def test_a_call_is_as_it_was_asked_for(
    call: tuple[str, str, str], text: str, kit: SimpleNamespace
) -> None:
    """core 2, 10.3: a tool/call starts one call of the message: its id, name and raw arguments."""
    build = kit.build().start().ask(A, B)
    build.call("a")
    build.add(ToolCalled(1, 1, *call))
    assert text in fault(build.log())


def test_a_step_is_one_response(kit: SimpleNamespace) -> None:
    """core 0, 2: a step has one message, and nothing of a response behind it."""
    build = kit.build().start().say("once")
    sound = build.log()
    last = build.events[-1]
    build.add(last.data, "append", last.source_event_seqs)
    assert check_log(build.end().log()) == (f"event {last.seq + 1}: a second message in its step",)
    build.events = list(sound.events)
    (late,) = build.stream(kit.said("x")[0])
    assert check_log(build.end().log()) == (
        f"event {late}: a chunk behind the message of its step",
    )


def test_a_result_of_another_message(kit: SimpleNamespace) -> None:
    """core #285: a result for a call that the step's message does not ask for is told."""
    build = kit.build().start().ask(A)
    build.result("a", (build.call("a"),))
    build.result("b", (build.call("b"),))
    faults = check_log(build.end().log())
    assert any("answers no call of the message" in text for text in faults)
    assert any("not behind its call" in text for text in faults)


def test_a_result_of_another_step(kit: SimpleNamespace) -> None:
    """core #285: a call of an earlier step is no call of this step's message, nor its tool/call."""
    build = kit.build().start().ask(A)
    call = build.call("a")
    build.result("a", (call,))
    build.end_step().next_step(2)
    again = build.call("a")
    build.result("a", (again,))
    faults = check_log(build.log())
    assert faults == (
        f"event {again + 1}: the result for 'a' answers no call of the message of its step",
    )
    build = kit.build().start().ask(A)
    first = build.call("a")
    build.result("a", (first,))
    build.end_step().next_step(2).ask(A)
    build.call("a")
    build.result("a", (first,))
    assert "does not cite the tool/call of its step" in fault(build.log())


@pytest.mark.parametrize("sources", [None, (0,), "both", "other"])
def test_what_a_result_cites(sources: Any, kit: SimpleNamespace) -> None:
    """core #285: a result cites exactly the tool/call of its id."""
    build = kit.build().start().ask(A, B)
    first, second = build.call("a"), build.call("b")
    given = {"both": (first, second), "other": (second,)}.get(sources, sources)
    build.result("a", given)
    build.result("b", (second,))
    assert "does not cite the tool/call" in fault(build.end().log())


def test_a_call_that_nobody_answers(kit: SimpleNamespace) -> None:
    """core 15.6, D3: a call left without a result makes every later request invalid: told once."""
    build = kit.build().start().ask(A, B)
    build.result("a", (build.call("a"),))
    text = fault(build.end().log())
    assert text == "the history shows the call 'b' without a result behind it"
    assert fault(build.start(2).say("x").end().log()) == text


def test_a_call_that_is_still_open(kit: SimpleNamespace) -> None:
    """core 15.6: while its step is open a call may still be answered."""
    build = kit.build().start().ask(A, B)
    build.call("a")
    assert check_log(build.log()) == ()
    build.end_step()
    assert len(check_log(build.log())) == 2


def test_seeds(kit: SimpleNamespace) -> None:
    """core #283, 1.4: a seed ends at a turn's end, in the log, marked by an end-seed."""
    build = kit.build().start().say("x").end()
    length = len(build.events)
    build.add(EndSeed())
    log = build.start(2).say("y").end().log()

    def forked(seed_length: int, source: RecordedLog = log) -> RecordedLog:
        return replace(source, header=SessionHeader("s", 0, seed_length=seed_length))

    assert check_log(forked(length)) == ()
    assert check_log(forked(length + 1)) == ()  # a seed that had its mark already
    assert check_log(forked(0)) == ()
    assert "seedLength 99, but the log has" in fault(forked(99))
    assert any("inside a turn" in text for text in check_log(forked(4)))
    unmarked = kit.build().start().say("x").end().start(2).say("y").end().log()
    assert "no session/end-seed" in fault(forked(length, unmarked))
    assert check_log(forked(length, replace(log, events=log.events[:length]))) == ()
    other = OpaquePayload("session/title", {})
    for behind, cut in (([EndSeed(), other, other], 2), ([other, other, EndSeed()], 1)):
        misplaced = kit.build().start().say("x").end()
        for payload in behind:
            misplaced.add(payload)
        assert "no session/end-seed" in fault(forked(length + cut, misplaced.log()))


def test_a_parent(kit: SimpleNamespace) -> None:
    """core #283: a fork's first events are its parent's, whatever the times of the two forms."""
    build = kit.build().start().say("x").end()
    parent = build.log()
    length = len(build.events)
    build.add(EndSeed())
    header = SessionHeader("s", 0, seed_length=length)
    child = build.start(2).say("y").end().log(header)
    timeless = tuple(replace(event, time=0) for event in parent.events)
    assert check_log(child, parent=parent) == ()
    assert check_log(child, parent=replace(parent, events=timeless)) == ()
    longer = kit.build().start().say("x").end().start(2).say("z").end().log()
    assert check_log(child, parent=longer) == ()
    (text,) = check_log(child, parent=replace(parent, events=parent.events[:5]))
    assert "only 5" in text
    other = kit.build().start().say("z").end().log()
    (text,) = check_log(child, parent=other)
    assert text.startswith("event 4: the seed differs here")


def test_a_script_is_checked_for_its_streams(kit: SimpleNamespace) -> None:
    """core 15.6: chunks without turns break no balance; each response must be a stream."""
    build = kit.build()
    build.turn = build.step = 1
    build.stream(*kit.said("one"), *kit.said("two"))
    assert build.log().is_script
    assert check_log(build.log()) == ()
    build.stream(*kit.said("three")[:2], *kit.said("four"))
    assert fault(build.log()).startswith("response 2: ")


@pytest.mark.parametrize("wrong", [None, "session.jsonl", [], 5])
def test_what_is_no_log_is_refused(wrong: Any) -> None:
    """DESIGN 8: check_log takes what read_log gave, and says so of anything else."""
    with pytest.raises(ConfigurationError, match="read_log"):
        check_log(wrong)


def test_a_fault_has_its_event_and_rule_apart(kit: SimpleNamespace) -> None:
    """core 3: a fault says the number of its event and the rule; the first shows earliest."""
    build = kit.build().start().ask(A, B)
    asking = build.events[-1].seq
    build.result("a", (build.call("a"),))
    build.end()
    build.add(StepEnd(1, 1))
    faults = log_faults(build.log())
    assert [(each.seq, each.rule) for each in faults] == [
        (build.events[-1].seq, "I5"),
        (asking, "history"),
    ]
    assert first_fault(faults) == faults[1]
    assert first_fault(()) is None
    assert check_log(build.log()) == tuple(each.text for each in faults)
