"""Collect these tests only with the settings of their own site."""

from __future__ import annotations

import os

# Other runs lack the packages. With the settings of a site, a missing package is an error.
if os.environ.get("DJANGO_SETTINGS_MODULE") != "mysite.settings":
    collect_ignore_glob = ["*"]
