"""Build in a folder that is new every time; everything else is in pyproject.toml.

Setuptools would build in `build/` beside the sources and take what an earlier build left
there into the wheel: a module that was renamed since would be installed under both names.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile

from setuptools import setup
from setuptools.command.build import build


class FreshBuild(build):
    """`build` in a temporary folder, gone when the process ends."""

    def initialize_options(self) -> None:
        """Set the folder; ``--build-base`` still overrides it."""
        super().initialize_options()
        self.build_base = tempfile.mkdtemp(prefix="broodline-build-")
        atexit.register(shutil.rmtree, self.build_base, ignore_errors=True)


setup(cmdclass={"build": FreshBuild})
