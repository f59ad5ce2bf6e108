"""A hook is declared, with the same bytes for every row, or refused with its line.

The corpus has the ways to write a method. Here are those that depend on classes, state and side effects.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Count, F, Max
from django.db.models.functions import Coalesce

from django_sitemaps09 import Route
from tests.suggestions.blog import models as blog
from tests.suggestions.blog.models import Entry, Label
from tests.suggestions.blog.rows import KNOWS_CLASSES, NOON, entries, sitemap, suggestion
from tests.support.sources import compiled, rendered

__all__ = ["entries"]

pytestmark = [pytest.mark.urls("tests.suggestions.blog.urls"), pytest.mark.sitemaps09()]

NAMES = {"Coalesce": Coalesce, "F": F, "Route": Route}


def declared_line(section: Any, hook: str) -> str:
    """Return the expression that is suggested for a hook."""
    found = suggestion(section)
    assert found.code is not None, found.notes
    [line] = [line for line in found.code.splitlines() if line.strip().startswith(f"{hook} = ")]
    return str(line.partition(" = ")[2])


def is_equal(section: Any, hook: str, code: str) -> bool:
    """Return whether the declaration and the method have the same bytes, and columns are read."""
    other = type("Declared", (section,), {hook: eval(code, NAMES)})  # noqa: S307 our own code
    pages = [[page.text for page in rendered(compiled(declared))] for declared in (section, other)]
    assert pages[0][0].count("<url>") >= 16
    return pages[0] == pages[1]


SLUG = 'Route("entry", slug=F("slug"))'
LOCATIONS = {
    Entry: SLUG,
    blog.Args: 'Route("entry", F("slug"))',
    blog.OtherModel: 'Route("author-entry", F("author__name"), F("pk"))',
    blog.OfCachedProperty: SLUG,
    blog.OfSuper: 'Route("entry", F("slug"))',
    blog.Inherited: 'Route("entry", F("slug"))',
    blog.OfFunction: SLUG,
    blog.OfGetattr: 'Route("entry", F("slug"))',
    blog.ConstantArgument: 'Route("kind-entry", kind="blog", slug=F("slug"))',
    blog.Kept: SLUG,
    blog.MaybeSection: 'Route("section-entry", section=F("section__slug"), slug=F("slug"))',
    blog.SectionKey: 'Route("section-entry", section=F("section__slug"), slug=F("slug"))',
    blog.OfClass: SLUG,
}

REFUSED = {
    blog.Branch: "depends on the value of `self.kind`",
    blog.Match: "depends on the value of `self.kind`",
    blog.Number: "uses `self.number` as a number",
    blog.Queries: "queries the database",
    blog.Saves: "uses `self.save`",
    blog.SavesBySuper: "passes `self` to Django",
    blog.Changes: "changes `self.number`",
    blog.ChangesClass: "changes `self.__class__`",
    blog.Creates: "saves or deletes Label objects",
    blog.Language: "depends on the active language",
    blog.Handled: "uses a part of `self.slug`",
    blog.Loop: "follows more than 8 relations",
    blog.Cached: "compares `self`",
    blog.Type: "depends on the type of `self.slug`",
    blog.Fails: "NoReverseMatch: there is no page",
}


def marked_line(code: Any) -> int:
    """Return the number of the line that is marked as refused."""
    lines, start = inspect.getsourcelines(code)
    [number] = [start + offset for offset, line in enumerate(lines) if line.rstrip().endswith("# here")]
    return number


@pytest.mark.parametrize("model", LOCATIONS, ids=lambda model: model.__name__)
def test_a_location_that_is_declared_has_the_same_bytes_on_every_row(model: type[Entry]) -> None:
    section = sitemap(model)
    code = declared_line(section, "location")
    assert code == LOCATIONS[model]
    assert is_equal(section, "location", code)
    declared = type("Declared", (section,), {"location": eval(code, NAMES)})  # noqa: S307 our own code
    assert not compiled(declared).declaration.needs_items


@pytest.mark.parametrize("model", REFUSED, ids=lambda model: model.__name__)
def test_a_location_that_is_not_declared_is_refused_with_its_line(model: type[Entry]) -> None:
    labels = Label.objects.count()
    found = suggestion(sitemap(model))
    assert found.code is None
    [note] = found.notes
    assert note.startswith("location stays a method: ")
    assert note.endswith(f", line {marked_line(model)}: {REFUSED[model]}.")
    assert (f": {model.__name__}." in note) == KNOWS_CLASSES
    assert Label.objects.count() == labels


# Other hooks, as methods of the sitemap.


def updated_unless_none(self: Any, item: Any) -> Any:
    if item.updated is not None:
        return item.updated
    return item.author.changed or item.created


def changed_of_section_or_author(self: Any, item: Any) -> Any:
    if item.section:
        return item.section.changed
    return item.author.changed


LASTMODS: dict[Callable[..., Any], str] = {
    updated_unless_none: 'Coalesce(F("updated"), F("author__changed"), F("created"))',
    changed_of_section_or_author: 'Coalesce(F("section__changed"), F("author__changed"))',
}


def next_week(self: Any, item: Any) -> Any:
    return item.created.date() + timedelta(days=7)  # here


def refreshed(self: Any, item: Any) -> Any:
    item.refresh_from_db()  # here
    return item.updated


def now(self: Any, item: Any) -> Any:  # here
    return NOON


def unknown(self: Any, item: Any) -> Any:
    return item.modified  # here


REFUSED_LASTMODS: dict[Callable[..., Any], str] = {
    next_week: "computes with `item.created.date`",
    refreshed: "uses `item.refresh_from_db`",
    now: "returns an object of type datetime, not a field or a URL",
    unknown: "AttributeError: 'Entry' object has no attribute 'modified'",
}


@pytest.mark.parametrize("method", LASTMODS, ids=lambda method: method.__name__)
def test_a_lastmod_that_is_declared_has_the_same_bytes_on_every_row(method: Callable[..., Any]) -> None:
    section = sitemap(Entry, location=Route("entry", slug=F("slug")), lastmod=method)
    code = declared_line(section, "lastmod")
    assert code == LASTMODS[method]
    assert is_equal(section, "lastmod", code)


@pytest.mark.parametrize("method", REFUSED_LASTMODS, ids=lambda method: method.__name__)
def test_a_lastmod_that_is_not_declared_is_refused_with_its_line(method: Callable[..., Any]) -> None:
    found = suggestion(sitemap(Entry, location=Route("entry", slug=F("slug")), lastmod=method))
    assert found.code is None
    place = f"{method.__name__}, line {marked_line(method)}"
    assert found.notes == (f"lastmod stays a method: {place}: {REFUSED_LASTMODS[method]}.",)


def test_a_number_that_is_invalid_for_a_hook_is_not_declared() -> None:
    location = Route("entry", slug=F("slug"))
    found = suggestion(sitemap(Entry, location=location, priority=lambda self, item: math.inf))
    assert found.code is None
    assert "inf is not a priority" in found.notes[0]


def test_an_annotation_of_the_queryset_is_a_field() -> None:
    section = sitemap(
        Entry,
        queryset=Entry.objects.annotate(newest=Max("author__changed"), count=Count("labels")),
        lastmod=lambda self, item: item.newest,
    )
    assert declared_line(section, "lastmod") == 'F("newest")'
    assert is_equal(section, "lastmod", 'F("newest")')


def test_a_hook_of_each_language_is_declared_once() -> None:
    section = sitemap(Entry, i18n=True, alternates=True, lastmod=lambda self, item: item.updated)
    assert declared_line(section, "location") == SLUG
    assert declared_line(section, "lastmod") == 'F("updated")'
    assert is_equal(section, "location", SLUG)


def test_every_call_of_reverse_is_answered_again_after_a_suggestion() -> None:
    suggestion(sitemap(Entry))
    assert Entry(slug="a").get_absolute_url() == "/entries/a/"


def test_saving_is_possible_again_after_a_suggestion() -> None:
    suggestion(sitemap(blog.Saves))
    Entry.objects.first().save()
    Label.objects.create(name="second").delete()
