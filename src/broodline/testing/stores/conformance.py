"""`StoreConformance`: the contract of a store as tests that a class inherits."""

from __future__ import annotations

from .barrier import BarrierCases
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
    BarrierCases,
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
            lasting = True

            def make(self, folder):
                return MyStore(folder / "sessions")

    pytest collects that as it is; for unittest inherit ``unittest.TestCase`` too. Every
    case runs on a loop of its own, in an empty folder of its own.

    Attributes:
        lasting: What is stored outlives its store object, so that the next one finds it.
            Without, reopening opens the same object again.
        durable: More than that: several store objects, of one process or many, may have one
            place open, and leases keep them apart. Without, the cases about that are left
            out.
        lease_timeout: Seconds after which a holder that gives no sign of life is dead.
        window: Seconds after which what nobody flushes is stored.
        patience: Seconds after which a case has failed.
    """
