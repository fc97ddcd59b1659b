"""When a failed request is made again: spec core 12.6."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.models import RetryPolicy
from broodline.messages.chunk import ModelFailure
from broodline.messages.errors import ConfigurationError

NORMAL = RetryPolicy()
ALWAYS = RetryPolicy(mode="always")
RETRIED = ["EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"]
TERMINAL = [
    "AUTH",
    "STREAM_CLOSED",
    "CONTEXT_WINDOW_EXCEEDED",
    "QUOTA",
    "INVALID_REQUEST",
    "MISSING_CREDENTIAL",
    "INVALID_CREDENTIAL",
    "MALFORMED_RESPONSE",
    "UNSUPPORTED_CONTENT",
    "NO_ADAPTER",
    "UNKNOWN",
]


class Chance(Random):
    """Always draws the same number, and counts."""

    def __init__(self, value: float) -> None:
        super().__init__(0)
        self.value = value
        self.drawn = 0

    def random(self) -> float:
        self.drawn += 1
        return self.value


def failure(code: str = "SERVER", retry_after_ms: int | None = None) -> ModelFailure:
    return ModelFailure("it broke", code, provider_retry_after_ms=retry_after_ms)


@pytest.mark.parametrize("code", RETRIED)
def test_normal_retries_five_codes(code: str) -> None:
    """core 12.6: the normal policy retries these five codes."""
    assert NORMAL.decide(failure(code), 1, Chance(0.5)) == 0.5


@pytest.mark.parametrize("code", TERMINAL)
def test_normal_gives_up_on_any_other_code(code: str) -> None:
    """core 18.12 #272: AUTH and every other code are not retried, retry-after or not."""
    assert NORMAL.decide(failure(code), 1, Chance(0.5)) is None
    assert NORMAL.decide(failure(code, 10), 1, Chance(0.5)) is None


def test_normal_gives_up_after_five_retries() -> None:
    """core 18.12 #270: the normal policy retries five times and not a sixth."""
    waits = [NORMAL.decide(failure(), number, Chance(0.5)) for number in range(1, 7)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, None]


def test_the_back_off_doubles_up_to_the_cap() -> None:
    """core 12.6: 500 ms, doubled each time, never beyond 10 s."""
    waits = [ALWAYS.decide(failure(), number, Chance(0.5)) for number in range(1, 9)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]


def test_jitter_takes_or_adds_a_tenth() -> None:
    """core 12.6: the jitter is at most a tenth either way."""
    assert NORMAL.decide(failure(), 1, Chance(0.0)) == pytest.approx(0.45)
    assert NORMAL.decide(failure(), 1, Chance(1.0)) == pytest.approx(0.55)


def test_without_jitter_nothing_is_left_to_chance() -> None:
    """core 12.6: a policy without jitter draws no number."""
    chance = Chance(0.9)
    assert RetryPolicy(jitter=0).decide(failure(), 2, chance) == 1.0
    assert chance.drawn == 0


def test_the_cap_comes_after_the_jitter() -> None:
    """core 12.6: a jittered wait is cut at the cap, and one below it is not pulled to it."""
    policy = RetryPolicy(mode="always", base=9.5)
    assert policy.decide(failure(), 1, Chance(1.0)) == 10.0
    assert policy.decide(failure(), 2, Chance(0.0)) == 10.0
    tight = RetryPolicy(mode="always", base=10.5)
    assert tight.decide(failure(), 1, Chance(0.0)) == pytest.approx(9.45)


def test_always_retries_every_failure_without_a_bound() -> None:
    """core 12.6: mode always retries any code, however often, without overflowing."""
    for code in RETRIED + TERMINAL:
        assert ALWAYS.decide(failure(code), 1, Chance(0.5)) == 0.5
    assert ALWAYS.decide(failure("AUTH"), 1_000_000, Chance(0.5)) == 10.0


def test_a_cancelled_request_is_never_retried() -> None:
    """core 12.6: cancellation beats everything: ABORTED is retried in neither mode."""
    assert ALWAYS.decide(failure("ABORTED"), 1, Chance(0.5)) is None
    assert RetryPolicy(codes=("ABORTED",)).decide(failure("ABORTED", 5), 1, Chance(0.5)) is None


@pytest.mark.parametrize("policy", [NORMAL, ALWAYS])
def test_a_retry_after_within_the_cap_is_taken_as_it_is(policy: RetryPolicy) -> None:
    """core 12.6: a provider's retry-after up to the cap is used verbatim, without jitter."""
    chance = Chance(1.0)
    assert policy.decide(failure("RATE_LIMIT", 1234), 3, chance) == 1.234
    assert policy.decide(failure("RATE_LIMIT", 10_000), 1, chance) == 10.0
    assert policy.decide(failure("RATE_LIMIT", 0), 1, chance) == 0.0
    assert chance.drawn == 0


def test_normal_gives_up_on_a_retry_after_beyond_the_cap() -> None:
    """core 12.6: above the cap the normal policy gives up."""
    assert NORMAL.decide(failure("RATE_LIMIT", 10_001), 1, Chance(0.5)) is None


def test_always_goes_by_its_own_back_off_beyond_the_cap() -> None:
    """core 12.6: above the cap mode always uses the local back-off."""
    assert ALWAYS.decide(failure("RATE_LIMIT", 10_001), 2, Chance(0.5)) == 1.0


def test_a_retry_after_does_not_lift_the_limit() -> None:
    """core 12.6: five retries are the limit also when the provider names a wait."""
    assert NORMAL.decide(failure("RATE_LIMIT", 10), 6, Chance(0.5)) is None


def test_a_nonsense_retry_after_is_passed_over() -> None:
    """core 12.6: a negative retry-after, streamed by a model as a fact, is no wait."""
    assert NORMAL.decide(failure("RATE_LIMIT", -5), 1, Chance(0.5)) == 0.5


def test_no_retries_can_be_asked_for() -> None:
    """core 12.6: a policy with no retries gives up at once."""
    assert RetryPolicy(retries=0).decide(failure(), 1, Chance(0.5)) is None


def test_codes_are_the_providers_own() -> None:
    """core 12.6: the policy belongs to the registration: its codes are its own."""
    policy = RetryPolicy(codes=("STREAM_CLOSED",))
    assert policy.decide(failure("STREAM_CLOSED"), 1, Chance(0.5)) == 0.5
    assert policy.decide(failure("SERVER"), 1, Chance(0.5)) is None


@given(
    number=st.integers(1, 10_000),
    seed=st.integers(),
    code=st.sampled_from(RETRIED + TERMINAL + ["ABORTED"]),
    asked=st.none() | st.integers(-10, 100_000),
    mode=st.sampled_from(["normal", "always"]),
)
def test_a_wait_is_within_its_bounds(
    number: int, seed: int, code: str, asked: int | None, mode: Any
) -> None:
    """core 12.6: whatever fails, a wait is None or between 0 and the cap, and the same again."""
    policy = RetryPolicy(mode=mode)
    wait = policy.decide(failure(code, asked), number, Random(seed))
    assert wait is None or 0 <= wait <= policy.cap
    assert wait == policy.decide(failure(code, asked), number, Random(seed))


def test_the_key_tells_policies_apart() -> None:
    """core 12.6: retries are counted under a key that equal policies share and others do not."""
    assert RetryPolicy().key == NORMAL.key
    keys = {NORMAL.key, ALWAYS.key, RetryPolicy(retries=4).key, RetryPolicy(cap=5).key}
    keys |= {RetryPolicy(codes=("AUTH",)).key, RetryPolicy(jitter=0.0).key}
    assert len(keys) == 6
    assert RetryPolicy(key="mine").key == "mine"


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "sometimes"},
        {"retries": -1},
        {"retries": 2.5},
        {"retries": True},
        {"codes": "SERVER"},
        {"codes": ("SERVER", "")},
        {"base": 0},
        {"base": float("nan")},
        {"cap": float("inf")},
        {"cap": -1},
        {"cap": True},
        {"jitter": 1.5},
        {"jitter": -0.1},
    ],
)
def test_a_wrong_setting_is_named(wrong: dict[str, Any]) -> None:
    """DESIGN section 8: a wrong setting raises ConfigurationError with its name and value."""
    with pytest.raises(ConfigurationError, match=rf"RetryPolicy\({next(iter(wrong))}="):
        RetryPolicy(**wrong)
