"""Fenced blocks of the documentation that no test of this folder takes with `pages.take()`."""

from __future__ import annotations

#: The pages whose blocks of Python are run in environments of their own: see `howtos` in tox.ini.
_NAMES = ("django-cms", "flatpages", "oscar", "translated-models", "wagtail")
NEIGHBOURS = {f"docs/howto/{page}.md" for page in _NAMES}
_IN_A_CLONE = "`.ci/run` runs this line in a new clone"
_MINUTES = "it takes minutes, installs packages or needs servers"
#: Page, heading and language of the blocks that no test runs, with their number and the reason.
NOT_RUN = {
    ("README.md", "See it run", "sh"): (1, _IN_A_CLONE),
    ("README.md", "Develop", "sh"): (1, _IN_A_CLONE),
    ("README.md", "Quick start", "sh"): (1, "it installs; `.ci/packaging.py` installs the wheel"),
    ("docs/howto/audit.md", "Validate a sitemap", "sh"): (1, "it installs the package"),
    ("docs/howto/schedule.md", "From a systemd timer", "ini"): (2, "a container has no systemd"),
    ("docs/explanation/requests.md", "Log lines", "text"): (1, "`tests/views` compares their form"),
    ("docs/benchmarks.md", "Exports and pages", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Querysets", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Exporting again", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Audits", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Live requests", "sh"): (1, _MINUTES),
    ("docs/contributing.md", "Contributing", "sh"): (1, "`.ci/run` runs the same line"),
    ("docs/contributing.md", "Tests", "sh"): (1, "a test does not run the tests"),
    ("docs/contributing.md", "Documentation", "sh"): (2, "`.ci/run` builds the documentation"),
}
