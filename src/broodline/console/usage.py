"""Wrong usage that the parser of the command line finds, told in one plain line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from ..survey.errand import USAGE, tell
from .neutral import one_line

_WRONG: type[Exception] = typer.BadParameter.__mro__[1]
"""All errors of the parser; where their class lives depends on the version of typer."""


class PlainCommand(TyperCommand):
    """A command whose wrong usage is one line that says where to read on."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options.

        Raises:
            typer.Exit: With 2, once a line on stderr has said what is wrong.
        """
        with _plainly(ctx):
            return super().parse_args(ctx, args)


class PlainGroup(TyperGroup):
    """The same for the command that has sub-commands; alone it still shows its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options in front of the sub-command.

        Raises:
            typer.Exit: With 2, once a line on stderr has said what is wrong.
        """
        if not args:
            return super().parse_args(ctx, args)
        with _plainly(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the sub-command.

        Raises:
            typer.Exit: With 2, once a line on stderr has said that there is none.
        """
        with _plainly(ctx):
            return super().resolve_command(ctx, args)


@contextmanager
def _plainly(context: Any) -> Generator[None]:
    try:
        yield
    except _WRONG as error:
        said = " ".join(cast("typer.BadParameter", error).format_message().split()).rstrip(".")
        problem = one_line(f"{said[:1].lower()}{said[1:]}")
        tell(f"{context.info_name}: {problem}; try {context.command_path} --help")
        raise typer.Exit(USAGE) from None
