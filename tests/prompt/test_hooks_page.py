"""docs/hooks.md: its program runs, and every event it names goes out with its payload."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import broodline
from broodline import Runtime, SubagentRequest, tool
from broodline.actors.models import ScriptedModel, call, fail, text
from broodline.actors.tools import Execution, ToolContext
from broodline.providers.spawn import SpawnProvider

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text()
TOLD_PAGE, ASKED_PAGE = PAGE.split("## Events that are told", maxsplit=1)[1].split("\n## ")[:2]
ROW = re.compile(r"^\| `([a-z/-]+)`[^|]*\| ([^|]*) \|", re.M)
TOLD: dict[str, str] = dict(ROW.findall(TOLD_PAGE))
ASKED: dict[str, str] = dict(ROW.findall(ASKED_PAGE))


def test_the_sample_prints_what_stands_below_it(tmp_path: Path) -> None:
    """DESIGN section 9: the program of the page runs and prints what the page says."""
    found = re.search(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.M | re.S)
    assert found is not None
    script = tmp_path / "sample.py"
    script.write_text(found[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(broodline.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", found[2])


@tool
async def probe(context: ToolContext, n: int) -> int:
    """Say how far it is."""
    context.progress(n)
    return n


class Ear:
    """Which events went out, each with the class of its payload."""

    def __init__(self, runtime: Runtime) -> None:
        self.heard: dict[str, str] = {}
        for event in TOLD:
            runtime.hooks.observe(event, partial(self.hear, event))
        for event in ASKED:
            runtime.hooks.intercept(event, partial(self.hear, event))

    def hear(self, event: str, payload: Any) -> Any:
        self.heard[event] = type(payload).__name__
        return payload.proceed() if isinstance(payload, Execution) else None


async def test_every_event_of_the_page_goes_out() -> None:
    """core 6.2, 11.2: whatever the tables of the page name is told or asked, as they say."""
    model = ScriptedModel(
        shared=[call("probe", n=1), text("done"), fail("AUTH"), text("child"), text("noted")]
    )
    async with Runtime(model=model, tools=[probe]) as runtime:
        ear = Ear(runtime)
        parent = await runtime.agents.create()
        for prompt in ("work", "fail"):
            await parent.followup(prompt)
            await parent.when_idle()
        await parent.inject("never claimed")
        await parent.cancel()
        run = await runtime.subagents.start("spawn", SubagentRequest(prompt="p", parent=parent))
        await run.result
        await run.dispose()
        runtime.subagents.register(SpawnProvider(name="another")).dispose()
        await parent.dispose()
    assert ear.heard.keys() == TOLD.keys() | ASKED.keys()
    for event, payload in (TOLD | ASKED).items():
        named = re.search(r"`([A-Z]\w+)", payload)
        if named is not None:
            assert ear.heard[event] == named[1]


@pytest.mark.parametrize("table", [TOLD, ASKED])
def test_the_tables_are_read(table: dict[str, str]) -> None:
    """DESIGN section 9: both tables of the page are found, and none is empty."""
    assert len(table) >= 7
