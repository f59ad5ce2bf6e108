"""Sections that skip many items: their pages are as full as others, and a second export writes nothing."""

from __future__ import annotations

import pytest
from django.db.models import F
from django.utils.translation import get_language

from django_sitemaps09.export import export
from tests.models import Article
from tests.support.databases import ALIASES, parameter
from tests.support.published import pages, urls
from tests.support.sections import declare

LIMIT = 12
CODES = ["en", "de", "pt-br"]
#: Which of 400 items have a URL.
LISTED = {
    "one of ten": lambda number: number % 10 == 3, "one of a hundred": lambda number: number % 100 == 42,
    "none in the middle": lambda number: not 50 <= number < 350,
    "few at the beginning": lambda number: number >= 200 or number % 40 == 0,
    "few at the end": lambda number: number < 205 or number % 40 == 0,
    "only the last": lambda number: number == 399,
    "ever fewer": lambda number: number % (number // 25 + 1) == 0,
    "at random": lambda number: number * 7_919 % 101 < 30, "all but a few": lambda number: number % 50 != 7,
}  # fmt: skip


def has_url(item):
    return item.slug.startswith("/")


def method(self, item):
    if not has_url(item):
        raise ValueError("no URL")
    return item.slug


COLUMNS = {"location": F("slug"), "lastmod": F("updated")}
#: Items without a URL in most languages have one entry, and the others three.
LANGUAGES = {
    "i18n": True,
    "languages": CODES,
    "get_languages_for_item": lambda self, item: CODES if has_url(item) else ["en"],
    "location": lambda self, item: f"/{get_language()}/{item.pk}/",
}
#: Hooks, and whether they are exported with `--changed-only`. What a method skips does not depend on the
#: database, and a full export reads what the other one does.
KINDS = {
    "columns, changed only": (COLUMNS, True), "columns": (COLUMNS, False),
    "methods": ({"location": method}, False), "languages": (LANGUAGES, True),
}  # fmt: skip
PARAMETERS = [
    pytest.param(alias, kind, marks=parameter(alias).marks, id=f"{parameter(alias).id}-{kind}")
    for alias in ALIASES
    for kind in (KINDS if alias == "default" else ["columns, changed only"])
]


@pytest.mark.slow
@pytest.mark.usefixtures("cached_site")
@pytest.mark.sitemaps09(ENGINE="serial", GZIP=False)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("using", "kind"), PARAMETERS, indirect=["using"])
@pytest.mark.parametrize("name", LISTED)
def test_a_second_export_of_a_section_that_skips_many_items_writes_nothing(name, kind, using, folder):
    is_listed, (hooks, changed_only) = LISTED[name], KINDS[kind]
    rows = Article.objects.using(using)
    rows.bulk_create(
        Article(pk=number + 1, slug=f"/{number}/" if is_listed(number) else f"no#{number}")
        for number in range(400)
    )
    section = declare(queryset=rows.all(), limit=LIMIT, **hooks)

    def run():
        return export(sitemaps={"s": section}, output=folder, changed_only=changed_only)

    [first] = run().sections
    # Items without most languages are listed. Others are counted once, however often a page is rendered.
    most, least = (3, 1) if hooks is LANGUAGES else (1, 0)
    counts = [most if is_listed(number) else least for number in range(400)]
    assert (first.failure, first.skipped_items) == (None, counts.count(0))
    assert run().written == ()
    found = [url for page in pages(folder) for url in urls(folder, page)]
    assert len(found) == len({*found}) == sum(counts)
    assert len(pages(folder)) <= 2 * -(-sum(counts) // LIMIT) + 2
    # Items that get their URL now, and items that lose it, are listed and removed by one run.
    rows.filter(pk__in=range(100, 140)).update(slug="no#")
    for number in range(300, 320):
        rows.filter(pk=number).update(slug=f"/new-{number}/")
    assert not run().failures
    assert run().written == ()
    assert all(0 < len(urls(folder, page)) <= LIMIT for page in pages(folder))
