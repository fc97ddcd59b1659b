"""`StoreConformance`: the contract of a store as tests that a class inherits."""

from __future__ import annotations

from .batch import BatchCases
from .closure import ClosureCases
from .creation import CreationCases
from .fidelity import FidelityCases
from .life import LifeCases
from .mending import MendingCases
from .naming import NamingCases
from .reading import ReadingCases
from .recorded import RecordedCases
from .takeover import TakeoverCases
from .tenure import TenureCases


class StoreConformance(
    CreationCases,
    BatchCases,
    ReadingCases,
    LifeCases,
    TenureCases,
    MendingCases,
    NamingCases,
    FidelityCases,
    RecordedCases,
    ClosureCases,
    TakeoverCases,
):
    """Checks a store of your own against the contract in ``broodline.actors.store``.

    ::

        from broodline.testing.stores import StoreConformance

        class TestMyStore(StoreConformance):
            durable = True

            def make(self, folder):
                return MyStore(folder / "sessions")

    pytest collects that as it is; for unittest inherit ``unittest.TestCase`` too. Every
    case runs on a loop of its own, in an empty folder of its own.

    Attributes:
        durable: What is stored outlives its store object, and other store objects, of this
            process or another, may open the same place. Without, the cases that need that
            are left out, and reopening opens the same object again.
        lease_timeout: Seconds after which a holder that gives no sign of life is dead.
        window: Seconds after which what nobody flushes is stored.
        patience: Seconds after which a case has failed.
    """
