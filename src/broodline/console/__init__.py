"""The ``run`` command: a task in the hands of a real model, and how it is followed.

`errand` goes from the command line to an exit code, `mission` runs the agents, `watch`
keeps the `board` and tells a `voice` what happens. What the demo has already (the tools,
the tree, the signals) comes from ``survey``. The runtime imports nothing from here.
"""
