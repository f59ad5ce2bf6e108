"""Compare two declarations of a section on its rows, a few thousand at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.hosts import export_base
from django_sitemaps09.declare.sitemap_attributes import is_compiled
from django_sitemaps09.protocol import MAX_MESSAGE, Base, excerpt
from django_sitemaps09.protocol.pages import Page
from django_sitemaps09.rows import Source, compile_source

_ROWS = 2_000
# Number of differences that are shown.
_SHOWN = 3
# Rows that are written between the two queries make a difference only once.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two declarations.

    `rows` is the number of rows that were compared, and that are in the sitemap. `is_complete` is false if
    there are more rows. `differences` has a line for each of the first rows that differ.
    """

    rows: int = 0
    is_complete: bool = True
    differences: tuple[str, ...] = ()


def compare(old: Any, new: Any, *, rows: int | None = None, base_url: str | None = None) -> Comparison:
    """Compare what two sitemaps write for each row, or for the first `rows` rows.

    Raise `ImproperlyConfigured` if they do not list rows by the same key.
    """
    base = export_base(base_url)
    with site_locale():
        sitemaps = [sections.bind(section, base.domain) for section in (old, new)]
        first, second = (type(sitemap).__qualname__ for sitemap in sitemaps)
        for name, sitemap in zip((first, second), sitemaps, strict=True):
            if not is_compiled(sitemap):
                raise ImproperlyConfigured(
                    f"{name} is read through get_urls(), so its rows are not known. Inherit from the "
                    "Sitemap of django_sitemaps09, and override only its hooks."
                )
        if len({_source(sitemap, base).key_identity for sitemap in sitemaps}) > 1:
            raise ImproperlyConfigured(
                f"{first} and {second} list rows by different keys, so they cannot be compared row by row. "
                "Give both the same model and `key`."
            )
        return compare_rows(sitemaps[0], sitemaps[1], base, rows)


def compare_rows(old: Any, new: Any, base: Base, rows: int | None = None) -> Comparison:
    """Compare the entries of two sitemaps for each row. Both list rows by the same key."""
    left, right = _source(old, base), _source(new, base)
    count = 0
    differences: list[str] = []
    page = Page(1, None, None)
    for page in _bounds(left, rows):
        for _ in range(_ATTEMPTS):
            texts, others = (_texts(source, page, base) for source in (left, right))
            if texts == others:
                break
        count += len(texts)
        differences += [
            f"row {key!r} is {_shown(texts, key)}, but would be {_shown(others, key)}"
            for key in dict.fromkeys([*texts, *others])
            if texts.get(key) != others.get(key)
        ]
        if len(differences) >= _SHOWN:
            break
    return Comparison(count, page.until is None, tuple(differences[:_SHOWN]))


def _source(sitemap: Any, base: Base) -> Source:
    # The name of a section is only in messages.
    return compile_source("comparison", sitemap, base, conf.limits)


def _bounds(source: Any, rows: int | None) -> Iterator[Page]:
    """Yield the ranges of the first `rows` rows, or of all rows."""
    after, remaining = None, _ROWS if rows is None else rows
    while remaining > 0:
        size = min(remaining, _ROWS)
        until = source.key_after(after, size)
        yield Page(1, after, until)
        if until is None:
            return
        after, remaining = until, remaining - (0 if rows is None else size)


def _texts(source: Any, page: Page, base: Base) -> dict[Hashable, list[str]]:
    """Return the texts of the rows by key, as in an export. A queryset can list a row several times."""
    texts: dict[Hashable, list[str]] = {}
    with closing(source.batches(page)) as batches:
        for batch in batches:
            elements = protocol.elements(protocol.FORMATS[source.declared.format], batch, str(base))
            for key, text in zip(batch.keys, elements, strict=True):
                texts.setdefault(key, []).append(text.strip())
    return texts


def _shown(texts: dict[Hashable, list[str]], key: Hashable) -> str:
    return excerpt(" and ".join(texts[key]), MAX_MESSAGE) if key in texts else "skipped"
