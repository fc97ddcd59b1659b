"""Cancellation tokens and registrations."""

from __future__ import annotations

import threading

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.registration import Registration
from broodline.messages.errors import OperationCancelledError


def test_the_first_cancellation_wins() -> None:
    """DESIGN 2: the first cause stays; later calls say they changed nothing."""
    token = CancellationToken()
    assert (token.cancelled, token.cause) == (False, None)
    assert token.cancel("first") is True
    assert token.cancel("second") is False
    assert (token.cancelled, token.cause) == (True, "first")


def test_of_many_threads_one_cancels() -> None:
    """DESIGN 2: threads that cancel at once agree on one cause; callbacks run once."""
    for _ in range(200):
        token = CancellationToken()
        heard: list[object] = []
        token.on_cancel(heard.append)
        start = threading.Barrier(4)
        winners: list[int] = []

        def cancel(
            number: int,
            token: CancellationToken = token,
            start: threading.Barrier = start,
            winners: list[int] = winners,
        ) -> None:
            start.wait()
            if token.cancel(number):
                winners.append(number)

        threads = [threading.Thread(target=cancel, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert winners == heard == [token.cause]


def test_callbacks_hear_the_cause_in_order(caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 2: callbacks run in order in the firing thread; one that fails is logged."""
    token = CancellationToken()
    heard: list[object] = []

    def fail(_cause: object) -> None:
        raise ValueError("in callback")

    token.on_cancel(lambda cause: heard.append(("first", cause)))
    token.on_cancel(fail)
    token.on_cancel(lambda cause: heard.append(("last", threading.get_ident())))
    token.cancel("why")
    assert heard == [("first", "why"), ("last", threading.get_ident())]
    assert "in callback" in caplog.text


def test_a_late_callback_runs_at_once() -> None:
    """DESIGN 2: on_cancel on a fired token calls at once; its registration does no harm."""
    token = CancellationToken()
    token.cancel("why")
    heard: list[object] = []
    registration = token.on_cancel(heard.append)
    assert heard == ["why"]
    registration.dispose()


def test_a_disposed_callback_is_not_called() -> None:
    """DESIGN 2: taking a callback back before the token fires silences it, and only it."""
    token = CancellationToken()
    heard: list[str] = []
    registration = token.on_cancel(lambda _: heard.append("silenced"))
    token.on_cancel(lambda _: heard.append("kept"))
    registration.dispose()
    token.cancel()
    assert heard == ["kept"]


def test_raise_if_cancelled_raises_the_cause() -> None:
    """DESIGN 2: an exception as cause is raised itself, anything else is wrapped."""
    open_token, failed, plain = (CancellationToken() for _ in range(3))
    open_token.raise_if_cancelled()
    error = KeyError("cause")
    failed.cancel(error)
    with pytest.raises(KeyError) as caught:
        failed.raise_if_cancelled()
    assert caught.value is error
    plain.cancel({"kind": "parent"})
    with pytest.raises(OperationCancelledError) as wrapped:
        plain.raise_if_cancelled()
    assert wrapped.value.reason == {"kind": "parent"}
    assert "open" in repr(open_token)
    assert "parent" in repr(plain)


def test_a_registration_is_taken_back_once() -> None:
    """DESIGN 2: dispose() runs its undo once, also as a context manager."""
    undone: list[int] = []
    registration = Registration(lambda: undone.append(1))
    assert registration.active
    assert "active" in repr(registration)
    with registration as same:
        assert same is registration
    assert undone == [1]
    assert not registration.active
    registration.dispose()
    assert undone == [1]
    assert "disposed" in repr(registration)


def test_a_failing_undo_counts_as_disposed() -> None:
    """DESIGN 2: an undo that raises is not tried again."""

    def fail() -> None:
        raise ValueError("undo")

    registration = Registration(fail)
    with pytest.raises(ValueError, match="undo"):
        registration.dispose()
    assert not registration.active
    registration.dispose()


def test_of_many_threads_one_disposes() -> None:
    """DESIGN 2: threads that dispose at once run the undo once."""
    for _ in range(200):
        undone: list[int] = []
        registration = Registration(lambda undone=undone: undone.append(1))  # type: ignore[misc]
        start = threading.Barrier(3)

        def dispose(
            registration: Registration = registration, start: threading.Barrier = start
        ) -> None:
            start.wait()
            registration.dispose()

        threads = [threading.Thread(target=dispose) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert undone == [1]
