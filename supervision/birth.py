"""A start in progress: from the last check to publication."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from ..actors.stray import is_stray
from ..messages.payload import CatalogChanged

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from ..actors.cancellation import CancellationToken
    from ..actors.operation import Operation
    from ..messages.payload import Descriptor
    from ..providers.contract import ResolvedRequest

_logger = logging.getLogger(__name__)


class Birth:
    """One start, as its driver sees it. Loop only.

    Attributes:
        id: The id of the child to be.
        request: The checked request.
        parent: The exact live parent.
        descriptor: What is recorded in the child's log.
        depth: The child's place in the tree.
        signal: Fires when the start is no longer wanted: by its caller, or by the end of
            its parent. Once the child is published it is `Child.cancel` that tells.
        operation: What the caller waits for; None once the child is published, because
            its value holds this object.
    """

    __slots__ = (
        "_announced",
        "depth",
        "descriptor",
        "id",
        "operation",
        "parent",
        "request",
        "signal",
    )

    def __init__(self, child_id: str, request: ResolvedRequest, operation: Operation[Any]) -> None:
        self.id = child_id
        self.request = request
        # Of its own: what the service relies on does not hang on what a provider was handed.
        self.parent: Agent = request.parent
        self.descriptor: Descriptor = request.descriptor
        self.depth = request.depth
        self.signal: CancellationToken = request.signal
        self.operation: Operation[Any] | None = operation
        self._announced = False

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.descriptor.provider

    @property
    def label(self) -> str | None:
        """As in the request."""
        return self.descriptor.label

    @property
    def settled(self) -> bool:
        """A child that is not handed over yet has no result."""
        return False

    def announce(self) -> None:
        """Enter the child in its parent's catalogue; a driver publishes it right after this.

        Raises:
            BaseException: The signal's cause, if the start is no longer wanted.
        """
        self.signal.raise_if_cancelled()
        self.enter()

    def enter(self) -> None:
        """Enter the child in its parent's catalogue, if it is not in it already."""
        if not self._announced:
            self._log("added")
            self._announced = True

    def withdraw(self) -> None:
        """Take the child out of the catalogue, if it is in it; a failure is logged only."""
        if not self._announced:
            return
        self._announced = False
        try:
            self._log("removed")
        except BaseException as error:
            if not is_stray(error, None):
                raise
            _logger.exception(
                "the catalogue of %r goes on naming %r, which has ended", self.parent.id, self.id
            )

    def _log(self, change: Literal["added", "removed"]) -> None:
        described = self.descriptor
        self.parent.session.append(
            CatalogChanged(change, self.id, described.mode, described.provider, described.label),
            ignorable=True,
        )
