"""The benchmark's own virtual environment, and how a process is started in it."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from benchmarks import subjects

EXAMPLE = Path(__file__).resolve().parent.parent
CHECKOUT = EXAMPLE.parent
#: What there may be no version of for this Python or this machine; then its subjects are left out.
OPTIONAL = ("psycopg[binary]", "mysqlclient", "isal", "django-static-sitemaps", "django-icv-sitemaps")


@dataclass(frozen=True, slots=True)
class Environment:
    """The folder in which everything lies that the benchmark makes."""

    work: Path

    @property
    def python(self) -> Path:
        """The interpreter of the virtual environment."""
        folder = self.work / "venv"
        return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    @property
    def _begun(self) -> Path:
        """Stands where the folder is ours, whatever became of what was to be made in it."""
        return self.work / ".sitemaps09-benchmark"

    @property
    def ours(self) -> bool:
        """Whether a benchmark has made anything here."""
        return self._begun.exists()

    def forget(self) -> None:
        """The folder is nobody's again."""
        self._begun.unlink()

    def make(self) -> None:
        """What is not there yet. The newest Django, and the checkout as it is, without a copy."""
        done = self.work / "venv" / "benchmark-is-installed"
        if done.exists():
            return
        if (self.work / "venv").exists() and not self.ours:
            raise FileExistsError(
                f"{self.work / 'venv'} is not this benchmark's: give --work another folder"
            )
        self.work.mkdir(parents=True, exist_ok=True)
        self._begun.touch()
        sys.stderr.write(f"Making a virtual environment in {self.work / 'venv'}\n")
        venv.create(self.work / "venv", with_pip=True, clear=True)
        self._install("--editable", str(CHECKOUT), "django", check=True)
        for name in OPTIONAL:
            if self._install(name, check=False):
                sys.stderr.write(f"{name} cannot be installed here; what needs it is left out\n")
        done.touch()

    def _install(self, *what: str, check: bool) -> int:
        command = [str(self.python), "-m", "pip", "install", "--quiet", "--upgrade", *what]
        return subprocess.run(command, check=check, stdout=sys.stderr).returncode  # noqa: S603

    def run(
        self,
        module: str,
        *arguments: str,
        database: str,
        output: str = "",
        subject: str = "",
        checkout: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """A module of the benchmark in a process of its own; what it prints is kept.

        `output` is the folder that a subject exports to; `checkout` has the package if not this one has.
        """
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(path) for path in (EXAMPLE, checkout) if path),
            "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
            subjects.SUBJECT: subject,
            subjects.DATABASE: database,
            subjects.OUTPUT: output,
        }
        command = [str(self.python), "-m", f"benchmarks.{module}", *arguments]
        return subprocess.run(  # noqa: S603
            command, env=environ, cwd=self.work, text=True, capture_output=True, check=False
        )
