"""Use these to read a source as an export does, but without files, and for rows with each kind of key.

`compiled(section)` is a source, `rendered(source)` its pages; the fixture `kind` has each kind of key.
`tests.support.tables` has rows with joins, without keys, and those that vanish meanwhile.
"""

from __future__ import annotations

import html
import random
import re
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.db.models import Value
from django.urls import path, reverse
from django.utils.translation import get_language

from tests.models import Article, Category, Child, Document, Event, Name, Reading, Seat, Ticket, Word
from tests.support.internals import Base, Key, Limits, Page, compile_source, members, pages, slices, sources
from tests.support.sections import declare as declaration, listing
from tests.support.writing import write

UTC = timezone.utc
BASE = Base("https", "www.example.com")
LIMITS = Limits(50_000, 10_485_760)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
#: The only page of a section that is not divided.
ALL = Page(1, None, None)


class RenderedPage(NamedTuple):
    page: Page
    text: str
    written: Any
    cut: Key | None
    is_empty = False

    @property
    def locations(self):
        return [html.unescape(text) for text in re.findall("<loc>(.*?)</loc>", self.text)]


def compiled(section, limits=LIMITS, base=BASE):
    return compile_source("things", section, base, limits)


def page_map(source, limits=LIMITS):
    return cut(source, sources.rows_on_page(source, limits))


def cut(source, rows):
    return tuple(pages.each_page(source, rows))


def rendered(source, limits=LIMITS, found=None):
    """Return all given pages, or those of a new division, and split pages that do not fit."""

    def render(page):
        most, declared = sources.page_limits(source, limits), source.declared
        options = {"base": str(declared.base), "namespaces": declared.namespaces}
        document, written = write(source.batches(page), most, **options)
        cut = None if written.cut is None else source.key_text(written.cut)
        return RenderedPage(page, document.decode(), written, cut)

    found = page_map(source, limits) if found is None else found
    return [
        done._replace(page=page)
        for page, done in pages.render_all(found, lambda page: partial(render, page))
    ]


def page_of(section, limits=LIMITS):
    (done,) = rendered(compiled(section, limits))
    return done


def locations(done):
    return [url for page in done for url in page.locations]


def errors(done):
    return [tuple(error) for page in done for error in page.written.errors]


def keys_of(source, page):
    return [key for batch in source.batches(page) for key in batch.keys]


def set_slices(monkeypatch, rows):
    """Read this many rows in each slice, for all purposes."""
    for name in ("SLICE", "COLUMNS_SLICE", "COSTLY_SLICE", "INSTANCES"):
        monkeypatch.setattr(slices, name, rows)
    monkeypatch.setattr(members, "FEWEST", rows)


@pytest.fixture
def small_slices(monkeypatch):
    """Read pages of a few rows in several slices."""
    set_slices(monkeypatch, 3)


@dataclass(frozen=True)
class Kind:
    """A key, the columns of a row for each number, and a function that creates related rows."""

    model: Any
    key: str
    columns: Any
    prepare: Any = lambda using, numbers: None

    def make(self, using, numbers):
        numbers = [*numbers]
        self.prepare(using, numbers)
        rows = [self.model(**self.columns(number)) for number in numbers]
        if not self.model._meta.parents:
            self.rows(using).bulk_create(rows)
            return
        # Rows of two tables cannot be created in bulk.
        for row in rows:
            row.save(using=using)

    def rows(self, using):
        return self.model._default_manager.using(using)

    def of(self, row):
        return getattr(row, "pk" if self.key == "pk" else self.model._meta.get_field(self.key).attname)


TEXTS = ("a", "B", "é", "Z", "ä", "%", "\\", "'", '"', "x y", "ß", "\N{GRINNING FACE}", "&", ",")
LETTERS = ("a", "B", "A", "b", "Ä", "é")


def article_of(number):
    return {"pk": 3 * number + 1, "slug": f"s{number}", "updated": NOON + timedelta(hours=number)}


def reading_of(number):
    return {
        "ratio": number,
        "blob": bytes([number]),
        "amount": Decimal(f"123456789012{number}.00001"),
        "serial": f"{TEXTS[number % len(TEXTS)]}-{number}",
    }


def event_of(number):
    return {
        "at": NOON + timedelta(microseconds=number * 7),
        "price": Decimal(number % 7 * 1_000_000_000) + Decimal(number) / 10_000,
        "article_id": article_of(number)["pk"],
    }


ARTICLES = Kind(Article, "pk", article_of)
KINDS = {
    "integer": ARTICLES,
    "integer by its name": Kind(Article, "id", article_of),
    "uuid": Kind(Document, "pk", lambda n: {"id": uuid.uuid5(uuid.NAMESPACE_URL, str(n)), "number": n}),
    "text": Kind(Word, "pk", lambda n: {"word": f"{TEXTS[n % len(TEXTS)]}{n}"}),
    "text without case": Kind(Name, "pk", lambda n: {"name": f"{LETTERS[n % 6]}{n}"}),
    "composite": Kind(Seat, "pk", lambda n: {"row": ("a", "B", "c d")[n % 3], "number": n}),
    "composite with a relation": Kind(
        Ticket,
        "pk",
        lambda n: {"category_id": n % 3 + 1, "number": n},
        lambda using, numbers: Category.objects.using(using).bulk_create(
            [Category(pk=n, slug=str(n)) for n in (1, 2, 3)], ignore_conflicts=True
        ),
    ),
    "parent link": Kind(Child, "pk", lambda n: {"pk": n + 1, "name": str(n)}),
    "unique text": Kind(Reading, "serial", reading_of),
    "unique relation": Kind(Event, "article", event_of, ARTICLES.make),
    "decimal": Kind(Event, "price", event_of, ARTICLES.make),
    "moment": Kind(Event, "at", event_of, ARTICLES.make),
}

FIRST = 25


@pytest.fixture(params=KINDS)
def kind(request, using):
    """A key whose table contains its first rows."""
    found, numbers = KINDS[request.param], list(range(FIRST))
    random.Random(1).shuffle(numbers)  # noqa: S311
    found.make(using, numbers)
    return found


def source_of(kind, using, limit=50_000, **attributes):
    declared = {"queryset": kind.rows(using), "key": kind.key, "limit": limit, "location": Value("/x/")}
    return compiled(declaration(**declared | attributes))


TEN = ["en", "de", "fr", "it", "es", "pt-br", "zh-hans", "zh-hant", "ja", "es-419"]
SEVERAL = [["en", "de"], ["de"], [], ["fr", "en"], ["es-419", "zh-hans", "de"], ["pt-br"], ["zz", "en"]]


def urlconf(*, prefixed):
    def nothing(request, slug):
        """View of all locations."""

    made = ModuleType("urls of languages")
    made.urlpatterns = i18n_patterns(
        path("articles/<slug:slug>/", nothing, name="article"),
        path("<path:slug>", nothing, name="page"),
        prefix_default_language=prefixed,
    )
    return made


PREFIXED = urlconf(prefixed=True)


def by_route(self, item):
    return reverse("article", kwargs={"slug": item.slug})


def in_language(self, item):
    return f"/{get_language()}/{item}/"


def spoken(items, **attributes):
    """A sitemap of items whose URLs begin with their language."""
    return listing(items, i18n=True, location=in_language, **attributes)


def alternates(text):
    """Return language and URL of each link of each entry."""
    entries = re.findall("<url>(.*?)</url>", text)
    return [re.findall('hreflang="(.*?)" href="(.*?)"', entry) for entry in entries]


def through_get_urls(declared):
    """Return the same declaration as an opaque sitemap."""

    def get_urls(self, *args, **kwargs):
        return super(declared, self).get_urls(*args, **kwargs)

    return type("Overriding", (declared,), {"get_urls": get_urls})
