"""Sections that the command exports, in this process and in others."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.sections import Numbers

#: The path of the gate for a process that waits in the middle of an export.
GATE = "SITEMAPS09_TESTS_GATE"


class Bad(Numbers):
    """Section whose item number 1 raises."""

    def location(self, item: int) -> str:
        return "https://elsewhere.example.net/" if item == 1 else super().location(item)


class Broken(Numbers):
    """Section that fails."""

    def items(self) -> Sequence[int]:
        raise OSError("the disk with the numbers is gone")


class Waiting(Numbers):
    """Section that waits in the middle of an export until the gate opens."""

    def items(self) -> Sequence[int]:
        gate = Path(os.environ[GATE])
        (gate / "inside").touch()
        for _ in range(3_000):
            if (gate / "open").exists():
                return super().items()
            time.sleep(0.01)
        raise TimeoutError(gate)


# The sections that the setting SITEMAPS names in the processes.
FINE = {"a": Numbers(3), "products": Numbers(1_234)}
LAME = {"a": Numbers(3), "bad": Bad(4)}
HALF = {"a": Numbers(3), "broken": Broken(1)}
PART = {"products": Numbers(1_234)}
SLOW = {"products": Numbers(1_234), "a": Waiting(3)}
NONE: dict[str, Any] = {}
