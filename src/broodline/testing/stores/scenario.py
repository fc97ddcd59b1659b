"""How a case of the suite is run: on a loop of its own, in a folder of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, TypeAlias, TypeVar

from ...actors.store import Store
from .lab import Lab


class StoreCase:
    """What every group of cases builds on; see `StoreConformance`."""

    durable: ClassVar[bool] = False
    lasting: ClassVar[bool] = False
    lease_timeout: ClassVar[float] = 30.0
    window: ClassVar[float] = 0.2
    patience: ClassVar[float] = 60.0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in dir(cls):
            case = _durable_case(cls, name)
            if case is not None and name not in cls.__dict__:
                # Neither pytest nor unittest sees a case in None.
                setattr(cls, name, case if cls.durable else None)

    def make(self, folder: Path) -> Store:
        """Make a store object, not open yet, that keeps its sessions below `folder`.

        Called several times for one folder, also while another object has it open.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method make(folder) -> Store")


def _durable_case(cls: type, name: str) -> object:
    """The case of that name, if it is one for durable stores that nobody has replaced."""
    for owner in cls.__mro__:
        case: object = owner.__dict__.get(name)
        if case is not None:
            return case if getattr(case, "for_durable", False) else None
    return None


Suite = TypeVar("Suite", bound=StoreCase)
Case: TypeAlias = Callable[[Suite, Lab], Awaitable[None]]


def scenario(case: Case[Suite]) -> Callable[[Suite], None]:
    """Make a plain test method of a coroutine function that works in a `Lab`."""

    def test(self: Suite) -> None:
        with tempfile.TemporaryDirectory() as outer:
            folder = Path(outer, "place")
            folder.mkdir()
            asyncio.run(_run(self, case, folder))
            strangers = sorted(path.name for path in Path(outer).iterdir() if path != folder)
            if strangers:
                raise AssertionError(f"the store left things outside its folder: {strangers}")

    # No `functools.wraps`: through `__wrapped__` pytest would take `lab` for a fixture.
    test.__name__ = case.__name__
    test.__qualname__ = case.__qualname__
    test.__module__ = case.__module__
    test.__doc__ = case.__doc__
    return test


def durable_scenario(case: Case[Suite]) -> Callable[[Suite], None]:
    """`scenario` for what only a durable store can do; other suites do not have it."""
    test = scenario(case)
    test.for_durable = True  # type: ignore[attr-defined]  # a function takes any attribute
    return test


async def _run(suite: Suite, case: Case[Suite], folder: Path) -> None:
    lab = Lab(suite.make, suite.durable or suite.lasting, folder)
    limit = asyncio.timeout(suite.patience)
    try:
        async with limit:
            await case(suite, lab)
    except TimeoutError:
        if not limit.expired():
            raise
        raise AssertionError(f"the case was not done after {suite.patience} seconds") from None
    finally:
        await lab.finish()
