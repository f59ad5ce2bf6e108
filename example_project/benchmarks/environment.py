"""The virtual environment of the benchmark, and processes in it."""

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
#: Packages that may not support this Python or this machine; their subjects are then skipped.
OPTIONAL = ("psycopg[binary]", "mysqlclient", "isal", "django-static-sitemaps", "django-icv-sitemaps")


@dataclass(frozen=True, slots=True)
class Environment:
    """The folder of all files that the benchmark creates."""

    work: Path

    @property
    def python(self) -> Path:
        folder = self.work / "venv"
        return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    @property
    def _marker(self) -> Path:
        """File that marks the folder as the benchmark's, even if the installation failed."""
        return self.work / ".sitemaps09-benchmark"

    @property
    def is_ours(self) -> bool:
        """Whether a benchmark has created this folder."""
        return self._marker.exists()

    def unmark(self) -> None:
        self._marker.unlink()

    def create(self) -> None:
        """Create the virtual environment with the newest Django and an editable checkout."""
        done = self.work / "venv" / "benchmark-is-installed"
        if done.exists():
            return
        if (self.work / "venv").exists() and not self.is_ours:
            raise FileExistsError(
                f"{self.work / 'venv'} was not created by this benchmark. Set another --work folder."
            )
        self.work.mkdir(parents=True, exist_ok=True)
        self._marker.touch()
        sys.stderr.write(f"Creating a virtual environment in {self.work / 'venv'}\n")
        venv.create(self.work / "venv", with_pip=True, clear=True)
        self._install("--editable", str(CHECKOUT), "django", check=True)
        for name in OPTIONAL:
            if self._install(name, check=False):
                sys.stderr.write(f"{name} cannot be installed here; its subjects are skipped\n")
        done.touch()

    def _install(self, *arguments: str, check: bool) -> int:
        command = [str(self.python), "-m", "pip", "install", "--quiet", "--upgrade", *arguments]
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
        """Run a module of the benchmark in a new process, and capture its output.

        `output` is the folder that a subject exports to. `checkout` contains the package, instead of this
        checkout.
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
