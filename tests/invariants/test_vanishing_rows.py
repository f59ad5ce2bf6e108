"""Rows that vanish between two queries, and come back, never leave an incomplete page as a complete one."""

from __future__ import annotations

import gzip

import pytest
from django.test import Client

from django_sitemaps09.export import export
from tests.support.published import quick_folder
from tests.support.sources import small_slices
from tests.support.vanishing import KEYS, table

__all__ = ["small_slices", "table"]

pytestmark = [pytest.mark.usefixtures("small_slices"), pytest.mark.sitemaps09]
PAGE = "/sitemap-articles-1.xml"


def test_a_live_page_with_missing_rows_never_has_the_etag_of_the_complete_page(table, register, configure):
    configure(LIVE_SECONDS=0)
    register(articles=table.section())
    complete = Client().get(PAGE)
    with table.vanishing(None):
        assert Client().get(PAGE).headers["ETag"] == complete.headers["ETag"]
    count, sizes = table.statements, set()
    for first in range(1, count + 1):
        for last in (None, first + 1, first + 2):
            with table.vanishing(first, last):
                response = Client().get(PAGE)
            sizes.add(response.content.count(b"<loc>"))
            later = Client().get(PAGE, headers={"if-none-match": response.headers["ETag"]})
            if response.content != complete.content:
                assert response.headers["ETag"] != complete.headers["ETag"], (first, last)
                assert (later.status_code, later.content) == (200, complete.content)
    assert len(KEYS) in sizes
    assert len(sizes) > 1


def pages(folder):
    return {path.name: gzip.decompress(path.read_bytes()) for path in folder.glob("*.gz")}


@pytest.mark.slow
def test_a_file_with_missing_rows_is_rendered_again_with_changed_only(table, configure):
    configure(MAX_URLS=6, ENGINE="serial")
    sitemaps = {"articles": table.section()}
    with quick_folder() as folder:

        def run():
            report = export(output=folder, sitemaps=sitemaps, changed_only=True, force=["articles"])
            assert report.failures == []
            return report.sections[0]

        run()
        assert run().skipped == len(pages(folder))
        count, incomplete, number = 1, 0, 0
        while number < count:
            number += 1
            # A change on each page, so that this run renders them.
            for pk in (1, 7, 12):
                table.articles.filter(pk=pk).update(slug=f"s{pk}-{number}")
            with table.vanishing(number):
                run()
                count = table.statements
            incomplete += sum(map(locations, pages(folder).values())) < len(KEYS)
            run()
            written = b"".join(pages(folder).values())
            assert [f"/s{pk}".encode() in written for pk in KEYS] == [True] * len(KEYS), number
        assert incomplete > 3


def locations(page):
    return page.count(b"<loc>")
