"""Configuration of Sphinx: `tox -e docs`."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from typing import Any

import django
from django.conf import settings
from sphinx.application import Sphinx
from sphinx.util.inspect import stringify_signature

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
# A long signature has a line for each argument, and defaults as they are written.
python_maximum_signature_line_length = 88
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "imported-members": True, "member-order": "bysource"}
nitpicky = True
# No inventory of Python's or Django's documentation: a build needs no network.
nitpick_ignore_regex = [("py:.*", r".*")]

html_theme = "furo"
html_title = "django-sitemaps09"


def fields_of_dataclasses(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Show the fields of a dataclass, not the arguments of a `__new__` that checks them."""
    if what != "class" or not is_dataclass(obj):
        return None
    own = inspect.signature(obj.__init__)  # type: ignore[misc]
    arguments = list(own.parameters.values())[1:]
    bare = own.replace(parameters=arguments, return_annotation=inspect.Signature.empty)
    return stringify_signature(bare, unqualified_typehints=True), None


#: Install lines name a checkout until the package can be installed by its name.
CHECKOUT = " @ file:///path/to/django-sitemaps09"
IS_ON_AN_INDEX = False


def name_what_to_install(app: Sphinx, name: str, source: list[str]) -> None:
    if IS_ON_AN_INDEX:
        source[0] = source[0].replace(CHECKOUT, "")


def skip_fields_of_tuples(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Skip the fields of named tuples, which the signature shows."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app: Sphinx) -> None:
    app.connect("source-read", name_what_to_install)
    app.connect("autodoc-process-signature", fields_of_dataclasses)
    app.connect("autodoc-skip-member", skip_fields_of_tuples)
