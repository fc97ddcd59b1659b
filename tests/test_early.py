"""The plugin that shows a failing test at once."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pathlib, pytest

@pytest.fixture
def broken():
    yield
    raise RuntimeError("not put away")

def test_fine(): pass
def test_wrong(): assert 1 == 2, "as seen at once"
def test_left(broken): pass
def test_later(): pathlib.Path("later").touch()
"""


def test_a_failure_stands_in_front_of_what_comes_after_it(pytester: pytest.Pytester) -> None:
    """A failure and an error are written where the dots are, and in the report as ever."""
    pytester.makepyfile(TESTS)
    plugins = ("-p", "broodline.testing.early", "-p", "no:randomly")
    done = pytester.runpytest_subprocess("-q", "--tb=short", *plugins)
    done.assert_outcomes(passed=3, failed=1, errors=1)
    before = done.stdout.str().partition("[100%]")[0]
    assert "::test_wrong failed in its call:" in before
    assert "as seen at once" in before
    assert "::test_left failed in its teardown:" in before
    assert "not put away" in before


HANGING = """
import asyncio

async def test_for_ever():
    await asyncio.get_running_loop().create_future()
"""


def test_a_test_that_hangs_is_named(pytester: pytest.Pytester) -> None:
    """The time limit ends pytest, as nothing else would, and tells which test it was."""
    pytester.makepyfile(HANGING)
    limits = ("-o", "asyncio_mode=auto", "--timeout=0.5", "--timeout-method=thread")
    done = pytester.runpytest_subprocess("-q", "-p", "broodline.testing.early", *limits)
    assert done.ret != 0
    assert "::test_for_ever" in done.stdout.str() + done.stderr.str()


def test_where_nothing_fails_nothing_is_said(pytester: pytest.Pytester) -> None:
    """With the plugin a run of good tests looks as it does without."""
    pytester.makepyfile("def test_fine(): pass")
    done = pytester.runpytest_subprocess("-q", "-p", "broodline.testing.early")
    assert done.outlines[0].startswith(".")
