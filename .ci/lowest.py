"""Install packages in the lowest versions that pyproject.toml allows those who use the package.

The arguments are a file for the constraints, and those of `pip install`. `tox run -e lowest` calls this.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

constraints, *arguments = sys.argv[1:]
project = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
for_users = project[project.index("\ndependencies = [") : project.index("# To develop this project.")]
lowest = re.findall(r'"([\w-]+)(?:\[\w+\])?>=([\d.]+)"', for_users)
Path(constraints).write_text("".join(f"{name}=={version}\n" for name, version in lowest), encoding="utf-8")
command = [sys.executable, "-m", "pip", "install", "--constraint", constraints, *arguments]
sys.exit(subprocess.run(command, check=False).returncode)  # noqa: S603
