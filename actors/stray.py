"""Errors that are no `Exception`, raised by code that was only asked for something.

A hook, a model or a clean-up may let the cancellation of something else escape,
or call ``sys.exit()``. Such an error is its own: it fails what was asked for and
nothing else. What was sent to the running task itself has to go on its way.

Source: DESIGN section 2 (no BaseException ends more than its own actor).
"""

from __future__ import annotations

import asyncio


def is_stray(error: BaseException, task: asyncio.Task[object] | None) -> bool:
    """Whether `error`, raised by what `task` called or awaited, was not sent to `task`.

    Args:
        error: Anything that was caught.
        task: Whose code caught it; None for a plain call, which nothing is sent to
            but an interrupt from the keyboard: that goes on to whoever called.
    """
    if task is None:
        return not isinstance(error, KeyboardInterrupt)
    if isinstance(error, asyncio.CancelledError):
        return not task.cancelling()
    if isinstance(error, GeneratorExit):
        # A coroutine that is closed gets this outside of any step of its task.
        return running_task() is task
    return True


def as_exception(error: BaseException) -> Exception:
    """`error` itself, or an exception that stands for one that is none."""
    if isinstance(error, Exception):
        return error
    stray = RuntimeError(f"{type(error).__name__} escaped from code that was only asked")
    stray.__cause__ = error
    return stray


def running_task() -> asyncio.Task[object] | None:
    """The task that runs now, or None; also where no loop runs."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
