"""The tools of a surveying agent: list, count, find and read, on one ground only."""

from __future__ import annotations

from typing import Any

from ..actors.tools.decorator import tool
from ..actors.tools.tool import Tool, ToolContext
from .ground import Ground


def survey_tools(ground: Ground) -> list[Tool]:
    """Make the four tools. They only read, so calls of one message may overlap."""

    @tool(name="list", concurrency_safe=True)
    def list_page(
        context: ToolContext, folder: str, deep: bool = False, after: str = ""
    ) -> dict[str, Any]:
        """List the files and folders in a folder, a page at a time.

        Args:
            folder: Path below the survey's top; empty for the top itself.
            deep: Also list everything below.
            after: The "after" of the page before; empty for the first page.
        """
        return ground.list_page(folder, deep, after, context.signal.raise_if_cancelled)

    @tool(concurrency_safe=True)
    def count(context: ToolContext, folder: str, files: list[str]) -> dict[str, Any]:
        """Count bytes and lines of text files and name the largest.

        Args:
            folder: The folder that was listed.
            files: Names as the list tool gave them.
        """
        return ground.count(folder, files, context.signal.raise_if_cancelled)

    @tool(concurrency_safe=True)
    def find(context: ToolContext, folder: str, files: list[str]) -> dict[str, Any]:
        """Find the lines with a to-do mark in text files.

        Args:
            folder: The folder that was listed.
            files: Names as the list tool gave them.
        """
        return ground.find(folder, files, context.signal.raise_if_cancelled)

    @tool(concurrency_safe=True)
    def read(context: ToolContext, folder: str, files: list[str]) -> dict[str, Any]:
        """Read Python files: their functions, and those without a docstring.

        Args:
            folder: The folder that was listed.
            files: Names as the list tool gave them.
        """
        return ground.read(folder, files, context.signal.raise_if_cancelled)

    return [list_page, count, find, read]
