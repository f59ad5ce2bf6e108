"""Collect these tests only in a run for one of the packages, which other environments lack."""

from __future__ import annotations

import os

# In such a run, a missing package is an error.
NAME = os.environ.get("SITEMAPS09_NEIGHBOUR")
if NAME is None:
    collect_ignore_glob = ["*"]
else:
    collect_ignore = ["test_howtos.py" if NAME == "wagtail" else "test_wagtail.py"]
