"""Broodline: an actor runtime for delegation between agents.

::

    async with Runtime(model=model, tools=[word_count]) as runtime:
        root = await runtime.agents.create(persona="You coordinate research.")
        run = await runtime.subagents.start("spawn", SubagentRequest(prompt="Survey.", parent=root))
        print((await run.result).text)
        await run.dispose()

Everything a program needs is here; models and stores of one's own are written
against ``broodline.actors.models`` and ``broodline.actors.store``.
"""

from __future__ import annotations

TYPE_CHECKING = False  # for type checkers; `typing` itself would take its time
if TYPE_CHECKING:
    from .names import *  # noqa: F403
    from .names import __all__ as __all__
else:

    def __getattr__(name: str) -> object:
        """Load all names when the first is asked for (PEP 562).

        Importing the package alone is quick, so that the command can meet an early Ctrl-C.
        """
        from .names import __dict__ as names

        globals().update({each: names[each] for each in ("__all__", *names["__all__"])})
        if name in globals():
            return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
