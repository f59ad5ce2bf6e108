"""Use `said` or `failed` to run a management command, and `environment` for commands in other processes.

The setting `SITEMAPS` names sections of this module, such as `tests.support.commands.FINE`.
"""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.support import processes
from tests.support.processes import until
from tests.support.sections import Numbers

#: The path of the gate for a process that waits in the middle of an export.
GATE = "SITEMAPS09_TESTS_GATE"


def said(command, *arguments, **options):
    """Return standard output and standard error of a command that succeeds."""
    out, err = StringIO(), StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def failed(command, *arguments, **options):
    """Return standard output and standard error of a command that fails, and its error."""
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError) as raised:
        call_command(command, *map(str, arguments), stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue(), raised.value


class Bad(Numbers):
    def location(self, item):
        return "https://elsewhere.example.net/" if item == 1 else super().location(item)


class Broken(Numbers):
    def items(self):
        raise OSError("the disk with the numbers is gone")


class Waiting(Numbers):
    """Section that waits in the middle of an export until the gate opens."""

    def items(self):
        gate = Path(os.environ[GATE])
        (gate / "inside").touch()
        until((gate / "open").exists, "nobody opened the gate")
        return super().items()


# The sections that the setting SITEMAPS names in the processes.
FINE = {"a": Numbers(3), "products": Numbers(1_234)}
LAME = {"a": Numbers(3), "bad": Bad(4)}
HALF = {"a": Numbers(3), "broken": Broken(1)}
PART = {"products": Numbers(1_234)}
SLOW = {"products": Numbers(1_234), "a": Waiting(3)}
NONE = {}


def environment(folder, sections, **keys):
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
    variables = {"SITEMAPS09_TESTS_SECTIONS": sections, GATE: folder}
    return processes.environment(folder, "command_settings", **variables)
