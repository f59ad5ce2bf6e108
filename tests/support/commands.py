"""Sections that the command exports, in this process and in others."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT
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


def environment(folder: Path, sections: str, **keys: object) -> dict[str, str]:
    """Write settings for commands in other processes, and return the environment of these processes.

    `sections` is the name of a mapping in this module. The database has no tables.
    """
    (folder / "command_settings.py").write_text(
        "import os\n"
        "from tests.settings import *\n"
        f"DATABASES = {{'default': {{**DATABASES['default'], 'NAME': {str(folder / 'empty.db')!r}}}}}\n"
        "sections = os.environ['SITEMAPS09_TESTS_SECTIONS']\n"
        f"SITEMAPS09 = {{'SITEMAPS': f'tests.support.commands.{{sections}}', **{keys!r}}}\n"
    )
    paths = [str(folder), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "command_settings",
        "PYTHONPATH": os.pathsep.join(paths),
        "SITEMAPS09_TESTS_SECTIONS": sections,
        GATE: str(folder),
    }
