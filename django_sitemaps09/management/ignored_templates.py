"""Detect a project's sitemap templates, since exports ignore them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from django.contrib import sitemaps as contrib
from django.template import Context, TemplateSyntaxError
from django.template.backends.django import Template
from django.template.loader_tags import ExtendsNode
from django.template.response import SimpleTemplateResponse

import django_sitemaps09
from django_sitemaps09 import sections
from django_sitemaps09.checks import urlconf

# The default templates of the views of `django.contrib.sitemaps` and of the compatibility views.
_DEFAULTS = ("sitemap.xml", "sitemap_index.xml")
_STOCK = tuple(Path(str(package.__file__)).parent for package in (contrib, django_sitemaps09))
_STOCK_FILES = [folder / "templates" / name for folder in _STOCK for name in _DEFAULTS]


def ignored_templates() -> list[str]:
    """Return a warning if the views use templates other than the stock templates."""
    templates = urlconf.templates()
    names = [template.name for template in templates if _is_exported(template.sitemaps)]
    # Without templates, no URL leads to these views. The URLs may be gone, or a view of another package may
    # call them.
    files = dict.fromkeys(file for name in (names if templates else _DEFAULTS) if (file := _own_file(name)))
    if not files:
        return []
    return [
        f"Exports and native views do not use these templates: {', '.join(files)}. If they add elements to "
        "entries, use hooks instead, such as images() or extensions."
    ]


def _is_exported(sitemaps: Any) -> bool:
    """Return whether an export includes any of the `sitemaps` of a view."""
    site_sections = sections.mapping()
    if sitemaps is None or sitemaps is site_sections:
        return True
    try:
        return any(site_sections.get(name) is section for name, section in sitemaps.items())
    except Exception:  # noqa: BLE001 a project's mapping can raise anything
        return False


def _own_file(name: Any) -> str | None:
    """Return the file of a template, or `None` for a stock template or a missing template."""
    try:
        template: Any = SimpleTemplateResponse(name).resolve_template(name)
        if isinstance(template, Template):
            template = _resolve_extends(template.template)
            # Apart from whitespace.
            text = "".join(template.source.split())
            if any(text == "".join(file.read_text().split()) for file in _STOCK_FILES):
                return None
        file = str(template.origin.name)
    except Exception:  # noqa: BLE001 an export needs no template and no template engine
        return None
    return None if any(Path(file).is_relative_to(folder) for folder in _STOCK) else file


def _resolve_extends(template: Any) -> Any:
    """Return the base template of templates that only extend another template and define no blocks."""
    context = Context()
    with context.bind_template(template), suppress(TemplateSyntaxError):
        while isinstance(node := next(iter(template.nodelist), None), ExtendsNode) and not node.blocks:
            template = node.get_parent(context)
    return template
