"""Sections that skip many items: their pages are as full as others, and a second export writes nothing."""

from __future__ import annotations

import pytest
from django.db.models import F
from django.utils.translation import get_language

from django_sitemaps09 import ModelSitemap
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.databases import ALIASES, parameter
from tests.support.published import pages, urls

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("cached_site"),
    pytest.mark.sitemaps09(ENGINE="serial", GZIP=False),
    pytest.mark.filterwarnings("ignore"),
]
#: Which of 400 items have a URL.
LISTED = {
    "one of ten": lambda number: number % 10 == 3,
    "one of a hundred": lambda number: number % 100 == 42,
    "none in the middle": lambda number: not 50 <= number < 350,
    "few at the beginning": lambda number: number >= 200 or number % 40 == 0,
    "few at the end": lambda number: number < 205 or number % 40 == 0,
    "only the last": lambda number: number == 399,
    "ever fewer": lambda number: number % (number // 25 + 1) == 0,
    "at random": lambda number: number * 7_919 % 101 < 30,
    "all but a few": lambda number: number % 50 != 7,
}
LIMIT = 12


class Columns(ModelSitemap[Article]):
    limit = LIMIT
    location = F("slug")
    lastmod = F("updated")


class Methods(ModelSitemap[Article]):
    limit = LIMIT

    def location(self, item):
        if not item.slug.startswith("/"):
            raise ValueError("no URL")
        return item.slug


class Languages(Methods):
    """Items without a URL in most languages have one entry, and the others three."""

    i18n = True
    languages = ("en", "de", "pt-br")

    def get_languages_for_item(self, item):
        return ["en", "de", "pt-br"] if item.slug.startswith("/") else ["en"]

    def location(self, item):
        return f"/{get_language()}/{item.pk}/"


#: Sections, and whether they are exported with `--changed-only`.
WAYS = [(Columns, True), (Columns, False), (Methods, False), (Languages, True)]


@pytest.mark.parametrize(
    ("using", "declared", "changed_only"),
    # What a method skips does not depend on the database, and a full export reads what the other one does.
    [
        pytest.param(
            *(alias, declared, changed_only),
            marks=found.marks,
            id=f"{found.id}-{declared.__name__}-{'changed-only' if changed_only else 'full'}",
        )
        for alias, found in ((alias, parameter(alias)) for alias in ALIASES)
        for declared, changed_only in (WAYS if alias == "default" else WAYS[:1])
    ],
    indirect=["using"],
)
@pytest.mark.parametrize("name", LISTED)
def test_a_second_export_writes_nothing(name, declared, changed_only, using, folder):
    is_listed = LISTED[name]
    rows = Article.objects.using(using)
    rows.bulk_create(
        Article(pk=number + 1, slug=f"/{number}/" if is_listed(number) else f"no#{number}")
        for number in range(400)
    )
    section = type("Section", (declared,), {"queryset": rows.all()})

    def run():
        return export(sitemaps={"s": section}, output=folder, changed_only=changed_only)

    [first] = run().sections
    has_languages = declared is Languages
    # Items without most languages are listed. Others are counted once, however often a page is rendered.
    assert (first.failure, first.skipped_items) == (
        None,
        0 if has_languages else sum(not is_listed(number) for number in range(400)),
    )
    assert run().written == ()
    found = [url for page in pages(folder) for url in urls(folder, page)]
    counts = [(3 if has_languages else 1) if is_listed(number) else has_languages for number in range(400)]
    expected = sum(counts)
    assert len(found) == len({*found}) == expected
    assert len(pages(folder)) <= 2 * -(-expected // LIMIT) + 2
    # Items that get their URL now, and items that lose it, are listed and removed by one run.
    rows.filter(pk__in=range(100, 140)).update(slug="no#")
    for number in range(300, 320):
        rows.filter(pk=number).update(slug=f"/new-{number}/")
    assert not run().failures
    assert run().written == ()
    assert all(0 < len(urls(folder, page)) <= LIMIT for page in pages(folder))
