"""The inspector of a site with 300 sections: few queries, and what needs attention first."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_sitemaps09.export import export
from django_sitemaps09.inspector.lookup import look_up
from django_sitemaps09.inspector.rows import KeyQueries
from django_sitemaps09.protocol import parse_base
from tests.models import Article, Reading, Tag
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.factories import ArticleFactory
from tests.support.inspector import export_full_sections, superuser

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]


def asked(path):
    """Return an answer, and the number of queries for it."""
    with CaptureQueriesContext(connection) as queries:
        answer = look_up(path, parse_base(BASE))
    return answer, len(queries)


def test_a_url_needs_few_queries_in_300_sections(folder, configure, register):
    """A filter over a multi-valued relation is read through the keys of its rows."""
    configure(ROOT=folder)
    parts = {}
    for number in range(300):
        tag = Tag.objects.create(name=f"t{number}")
        article = ArticleFactory(pk=number + 1, slug=f"s{number}", tags=[tag])
        filters = {"tags": tag} if number % 2 else {"pk": article.pk}
        rows = Article.objects.filter(published=True, **filters)
        parts[f"part-{number}"] = type("Part", (Articles,), {"queryset": rows})
    register(**parts)
    export()
    answer, queries = asked("/articles/none/")
    assert queries <= 10
    # All files are small.
    assert answer.heading == "Not in the sitemap"
    assert answer.reasons[1] == "It is not in the 300 exported files that were searched."
    names = "'part-0', 'part-1', 'part-2', 'part-3', 'part-4' and 295 more"
    assert answer.reasons[0] == f"Sections {names}: no row has the values of this URL."
    for number in (0, 1, 298, 299):
        answer, queries = asked(f"/articles/s{number}/")
        assert (answer.verdict, answer.section, queries <= 50) == ("listed", f"part-{number}", True)
    Article.objects.filter(pk__in=[299, 300]).update(published=False)
    for number in (298, 299):
        answer, queries = asked(f"/articles/s{number}/")
        assert (answer.verdict, answer.section, queries <= 50) == ("leaving", f"part-{number}", True)


def test_a_section_that_fails_does_not_hide_the_others(folder, configure, register):
    configure(ROOT=folder)
    for number in range(60):
        ArticleFactory(pk=number + 1, slug=f"s{number}")
    parts = {
        f"part-{number}": type("Part", (Articles,), {"queryset": Article.objects.filter(pk=number + 1)})
        for number in range(60)
    }
    register(**parts)
    export()
    for number, rows in ((3, Article.objects.extra(where=["x = 1"])), (4, Article.objects.using("x"))):
        parts[f"part-{number}"] = type("Broken", (Articles,), {"queryset": rows})
    register(**parts)
    answer, queries = asked("/articles/s7/")
    assert (answer.verdict, answer.section, queries <= 50) == ("listed", "part-7", True)
    failed = [note.partition(":")[0] for note in answer.notes]
    assert failed == [f"Section 'part-{number}' cannot be read" for number in (4, 3)]


def test_queries_differ_by_values_that_their_repr_does_not_show():
    for number in range(3):
        Reading.objects.create(ratio=number, blob=b"%d" % number, amount=number, serial=str(number))
    queries = KeyQueries()
    found = [queries.rows(Reading.objects.filter(blob=b"%d" % number))[0].ratio for number in range(3)]
    assert found == [0, 1, 2]


def test_the_overview_folds_sections_without_problems_and_filters(folder, configure, register, admin_site):
    configure(ROOT=folder)
    parts = export_full_sections(30, register)
    client = superuser()
    content = client.get("/admin/sitemaps/").content.decode()
    assert content.index("Last audit</h2>") < content.index("Sections</h2>")
    # Pages are filled on purpose: only one over its limit has a red bar.
    assert content.count(' high="99"') == 0
    for number in range(3, 10):
        del parts[f"part-{number}"]
    parts["part-2"].limit = 18
    register(**parts)
    content = client.get("/admin/sitemaps/").content.decode()
    names = ", ".join(f"&#x27;part-{number}&#x27;" for number in range(3, 8))
    assert f"Sections {names} and 2 more: not declared any more" in content
    assert content.count(' high="99"') == 1
    shown, _, folded = content.partition("<summary>Show 22 more</summary>")
    assert 'id="sitemaps09-section-part-2"' in shown
    assert 'id="sitemaps09-section-part-3"' in shown
    assert 'id="sitemaps09-section-part-1"' not in shown
    assert 'id="sitemaps09-section-part-1"' in folded
    content = client.get("/admin/sitemaps/?section=PART-1").content.decode()
    assert "11 of 30 sections" in content
    assert "Show 22 more" not in content
    hostile = client.get("/admin/sitemaps/", {"section": '"><script>'}).content.decode()
    assert 'value="&quot;&gt;&lt;script&gt;"' in hostile
    assert "0 of 30 sections" in hostile
    assert "unknown" in content
