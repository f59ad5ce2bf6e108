"""What an earlier release has published is continued by this one.

`exports/` has an archive for each release whose manifest has another format than that of the one before. It
is the folder after `after_two_runs()`, with two URLs on a page.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from django_sitemaps09.export import export
from tests.models import Article
from tests.support.manifests import THERE, articles, entries, numbers_of, paths, write_articles
from tests.support.sections import Numbers

EXPORTS = sorted((Path(__file__).parent / "exports").glob("*.tar.gz"))


@pytest.mark.parametrize("archive", EXPORTS, ids=lambda path: path.name.removesuffix(".tar.gz"))
@pytest.mark.sitemaps09(MAX_URLS=2)
@pytest.mark.django_db
def test_an_export_of_an_earlier_release_is_continued(archive, folder):
    with tarfile.open(archive) as stored:
        stored.extractall(folder, filter="data")
    write_articles(1, 2, 5, 6, 7)
    Article.objects.filter(pk=7).update(slug="changed")
    listed, lastmods = numbers_of(folder, "articles"), entries(folder)
    sitemaps = {"articles": articles(), "numbers": Numbers(3)}
    report = export(output=folder, sitemaps=sitemaps)
    assert (report.published, report.failures, report.warnings) == (True, [], [])
    assert [*report.written] == []
    assert numbers_of(folder, "articles") == listed == [1, 3, 4]
    assert entries(folder) == lastmods
    assert paths(folder) == THERE
    write_articles(8)
    report = export(output=folder, sitemaps=sitemaps, changed_only=True)
    assert [*report.written] == ["sitemap-articles-4.xml.gz", "sitemap.xml"]
