"""Configuration of Sphinx: `tox -e docs`."""

from __future__ import annotations

import django
from django.conf import settings

import django_sitemaps09

# Autodoc imports the public modules, which import parts of Django that need settings.
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.sites", "django_sitemaps09"]
)
django.setup()

project = "django-sitemaps09"
author = copyright = "the django-sitemaps09 contributors"
release = version = django_sitemaps09.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
# Links to headings are checked, too.
myst_heading_anchors = 4
# Docstrings mark code by single backquotes.
default_role = "code"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
nitpicky = True
# No inventory of Python's or Django's documentation: a build needs no network.
nitpick_ignore_regex = [("py:.*", r".*")]

html_theme = "furo"
html_title = "django-sitemaps09"
