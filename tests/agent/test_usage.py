"""What an agent's requests have used."""

from __future__ import annotations

from typing import Any

import pytest

from broodline import Runtime, Usage
from broodline.actors.models import RetryPolicy, ScriptedModel, text
from broodline.actors.models import chunks as streamed
from broodline.messages.chunk import Finish, ModelFailure, TextDelta, UsageChunk

AT_ONCE = RetryPolicy(base=1e-6, cap=1e-6)
BROKEN = Finish("error", ModelFailure("gone", "SERVER"))


async def test_usage_adds_up_over_requests(open_host: Any) -> None:
    """core 12.3: the reports of all requests are added, of failed ones too; first there is none."""
    paid = streamed([TextDelta(0, "a"), UsageChunk(Usage(5, 1, reasoning_tokens=2)), BROKEN])
    script = [
        text("a", usage=Usage(10, 3, cache_read_tokens=4)),
        paid,
        text("b", usage=Usage(1, 1)),
    ]
    host = await open_host(ScriptedModel(each=script), retry=AT_ONCE)
    handle = await host.agents.create()
    assert handle.usage is None
    for expected in (Usage(10, 3, 4), Usage(16, 5, 4, None, 2)):
        await handle.followup("go")
        await handle.when_idle()
        assert handle.usage == handle.agent.usage == expected
    assert handle.usage is not None
    assert handle.usage.total == 27


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Usage(), Usage(), Usage()),
        (Usage(1, 2), Usage(3, 4), Usage(4, 6)),
        (Usage(1, 2, 3, None, 0), Usage(1, 2, None, 4, 5), Usage(2, 4, 3, 4, 5)),
    ],
)
def test_counts_add_up_field_by_field(one: Usage, other: Usage, both: Usage) -> None:
    """core 12.3: disjoint counts are added each by itself; one that nobody told stays unknown."""
    assert one + other == other + one == both
    assert one.total + other.total == both.total


def test_usage_from_any_thread() -> None:
    """DESIGN 2: pictures of the moment return their value at once, from any thread."""
    with Runtime(model=ScriptedModel(each=[text("a", usage=Usage(1, 1))])) as runtime:
        root = runtime.agents.create().result()
        root.followup("go").result()
        root.when_idle().result()
        assert root.usage == Usage(1, 1)
