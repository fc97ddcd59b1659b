"""The store that docs/stores.md shows as an example of one's own keeps the contract."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "stores.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
(PROGRAM,) = [program for program in PROGRAMS if "StoreConformance" in program]

example: dict[str, Any] = {"__name__": "example"}
exec(compile(PROGRAM, str(PAGE), "exec"), example)
TestKeptStore: Any = example["TestKeptStore"]
