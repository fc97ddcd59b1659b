"""When a failed request is made again.

The decision is pure; waiting and logging belong to the turn. Source: spec core 12.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, cast

from ...messages.chunk import ModelFailure
from ...messages.errors import ConfigurationError
from ...messages.plain import is_finite, quoted

RETRYABLE_CODES = ("EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT")
"""What the normal policy tries again."""

_DOUBLINGS = 64  # more would pass the range of a float long after passing any cap


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How the failures of one provider are met; belongs to its registration.

    Attributes:
        mode: ``normal`` retries `codes`, at most `retries` times. ``always`` retries
            every failure without a bound, once every interceptor of
            ``agent/request-error`` has declined. Neither retries a cancelled request.
        retries: Most retries of one step, in mode ``normal``; 0 for none.
        codes: Failure codes that mode ``normal`` retries.
        base: Seconds before the first retry, before jitter; doubles with each.
        cap: Longest wait in seconds, applied after the jitter.
        jitter: Part of the wait that chance adds or takes, 0 to 1.
        key: Names the policy in the log; retries are counted under it.
    """

    mode: Literal["normal", "always"] = "normal"
    retries: int = 5
    codes: tuple[str, ...] = RETRYABLE_CODES
    base: float = 0.5
    cap: float = 10.0
    jitter: float = 0.1
    key: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.mode not in ("normal", "always"):
            raise _wrong("mode", self.mode, "'normal' or 'always'")
        if type(self.retries) is not int or self.retries < 0:
            raise _wrong("retries", self.retries, "a whole number from 0")
        if not _are_codes(self.codes):
            raise _wrong("codes", self.codes, "a tuple of failure codes")
        for name in ("base", "cap"):
            if not (is_finite(getattr(self, name)) and getattr(self, name) > 0):
                raise _wrong(name, getattr(self, name), "finite seconds above 0")
        if not is_finite(self.jitter) or not 0 <= self.jitter <= 1:
            raise _wrong("jitter", self.jitter, "a number from 0 to 1")
        object.__setattr__(self, "codes", tuple(self.codes))
        object.__setattr__(self, "key", self.key or self._describe())

    def decide(self, failure: ModelFailure, retry_number: int, random: Random) -> float | None:
        """Seconds to wait before retry `retry_number`, or None to give up.

        What a provider asks for is waited to the millisecond while it is within
        `cap`. Beyond it mode ``normal`` gives up and mode ``always`` goes by its own
        back-off.

        Args:
            failure: Why the last request failed.
            retry_number: From 1 in each step.
            random: The runtime's source of chance; drawn from only when the wait is
                not the provider's.
        """
        if failure.code == "ABORTED":
            return None
        normal = self.mode == "normal"
        if normal and (failure.code not in self.codes or retry_number > self.retries):
            return None
        asked = failure.provider_retry_after_ms
        if asked is not None and asked >= 0:
            if asked <= self.cap * 1000:
                return asked / 1000
            if normal:
                return None
        return self._back_off(retry_number, random)

    def _back_off(self, retry_number: int, random: Random) -> float:
        wait = self.base * 2.0 ** min(retry_number - 1, _DOUBLINGS)
        if self.jitter:
            wait *= 1 + self.jitter * (2 * random.random() - 1)
        return min(wait, self.cap)

    def _describe(self) -> str:
        limit = f"{self.retries}:{','.join(self.codes)}" if self.mode == "normal" else "all"
        return f"{self.mode}:{limit}:{self.base:g}-{self.cap:g}s:{self.jitter:g}"


def _are_codes(value: object) -> bool:
    if not isinstance(value, tuple | list):
        return False
    items = cast("Sequence[object]", value)
    return all(isinstance(item, str) and item for item in items)


def _wrong(name: str, value: object, wanted: str) -> ConfigurationError:
    return ConfigurationError(f"RetryPolicy({name}={quoted(value)}) must be {wanted}")
