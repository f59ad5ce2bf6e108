"""The pages of an export: their names, their bytes, their limits, and items that are skipped."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.urls import get_script_prefix, get_urlconf
from hypothesis import HealthCheck, example, given, settings, strategies as st

from django_sitemaps09.exceptions import UnknownSectionError
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.exports import (
    GZIP_HEADER,
    Bad,
    article_sitemap,
    content,
    locations,
    named,
    numbers,
    paths,
    plain,
)
from tests.support.factories import write_articles
from tests.support.internals import Base, Page, Renderer, Task, engines, render_page
from tests.support.sections import Numbers, declare, listing

pytestmark = pytest.mark.sitemaps09


def test_files_are_the_same_bytes_for_the_same_input_even_later(folder, tmp_path, monkeypatch):
    # More than a slice of rows.
    export(output=folder, sitemaps={"a": Numbers(4_321)})
    assert paths(folder) == numbers(4_321)
    assert (folder / "sitemap-a-1.xml.gz").read_bytes().startswith(GZIP_HEADER)
    later = time.time() + 100_000
    monkeypatch.setattr(time, "time", lambda: later)
    export(output=tmp_path / "other", sitemaps={"a": Numbers(4_321)})
    assert content(tmp_path / "other") == content(folder)


class TestTheLimits:
    @pytest.mark.sitemaps09(MAX_URLS=10)
    @pytest.mark.django_db
    def test_a_closed_page_with_many_new_rows_is_divided_evenly(self, folder):
        """Later parts used to be exactly full, so that each further row divided one of them again."""
        Article.objects.bulk_create(Article(pk=pk, slug=f"a{pk}") for pk in range(1_000, 21_000, 1_000))
        export(output=folder, sitemaps={"a": article_sitemap()})
        Article.objects.bulk_create(Article(pk=pk, slug=f"a{pk}") for pk in range(5_001, 5_032))
        [section] = export(output=folder, sitemaps={"a": article_sitemap()}).sections
        *parts, last = [len(locations(plain(folder, file.name))) for file in section.files]
        assert (sorted(parts), last, section.split) == ([8, 8, 8, 8, 9], 10, 1)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(
        lengths=st.lists(st.integers(0, 200), min_size=1, max_size=40), urls=st.integers(1, 12),
        size=st.integers(400, 2_000), text=st.booleans(),
    )  # fmt: skip
    # The first entries determine how many fit, and others are longer.
    @example(lengths=[0] * 12 + [40] * 18, urls=4, size=2_000, text=True)
    @example(lengths=[0] * 12 + [40] * 18, urls=12, size=400, text=True)
    @pytest.mark.django_db
    def test_hold_for_any_lengths_and_lose_no_url(
        self, tmp_path_factory, configure, lengths, urls, size, text
    ):
        Article.objects.all().delete()
        slugs = [f"{number}-{'x' * length}"[:120] for number, length in enumerate(lengths)]
        rows = [Article(pk=key, slug=slug) for key, slug in enumerate(slugs)]
        configure(MAX_URLS=urls, MAX_BYTES=size)
        folder = tmp_path_factory.mktemp("limits")
        sitemaps = {"a": article_sitemap(format="text" if text else "xml")}
        for some in (rows[::2], rows[1::2]):
            Article.objects.bulk_create(some)
            assert export(output=folder, sitemaps=sitemaps).failures == []
            pages = [plain(folder, name) for name in named(folder)]
            found = [page.decode().split() if text else locations(page) for page in pages]
            expected = Article.objects.values_list("slug", flat=True)
            listed = [url for page in found for url in page]
            assert sorted(listed) == sorted(f"{BASE}/articles/{slug}/" for slug in expected)
            assert max(map(len, pages)) <= size
            assert all(1 <= len(page) <= urls for page in found)

    @pytest.mark.sitemaps09(MAX_BYTES=400)
    @pytest.mark.parametrize("format_", ["xml", "text"])
    def test_a_url_that_fits_no_file_is_skipped_and_reported(self, folder, format_):
        def location(self, item):
            return f"/{'x' * 500}/" if item in (0, 4) else f"/numbers/{item}/"

        long = listing(range(9), location=location, format=format_)
        [section] = export(output=folder, sitemaps={"a": long}).sections
        assert section.urls == 7
        assert format_ == "text" or {*numbers(9)} - {*paths(folder)} == {"/numbers/0/", "/numbers/4/"}
        reason = "its entries alone exceed the limits of a page"
        errors = [(error.key, error.field, error.reason) for error in section.errors]
        assert errors == [("1", "location", reason), ("5", "location", reason)]


class TestBadItems:
    def test_are_all_counted_a_thousand_reported_and_three_are_warnings(self, folder, configure, caplog):
        for size in (100_000, 5_000):
            configure(MAX_BYTES=size)
            caplog.clear()
            [section] = export(output=folder, sitemaps={"a": Bad(2_100, range(0, 2_100, 2))}).sections
            assert bool(section.split) == (size == 5_000)
            # Item 3 has an invalid priority.
            counts = section.skipped_items, section.skipped_elements, len(section.errors)
            assert counts == (1_050, 1, 1_000)
            warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
            expected = [f"Section 'a': skipped {error}" for error in section.errors[:3]]
            assert warned == [*expected, "Section 'a': skipped 1048 more"]

    def test_that_are_all_fail_their_section_and_name_the_first(self, folder):
        export(output=folder, sitemaps={"a": Numbers(4), "b": Numbers(1)})
        [failure] = export(output=folder, sitemaps={"a": Bad(4, range(4)), "b": Numbers(2)}).failures
        assert paths(folder) == [*numbers(4), *numbers(2)]
        for words in ("'a'", "every item was skipped", "item 1, location", "elsewhere.example.net"):
            assert words in failure


class Forging(ExitStack):
    staged = name = ""

    def __init__(self, workers):
        super().__init__()
        self.workers = workers

    def submit(self, renderer, task):
        made = render_page(renderer, task)
        file = replace(made.file, name=self.name or made.file.name)
        return lambda: made._replace(staged=self.staged or made.staged, file=file)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("staged", "name"), [("a.txt", ""), (".sitemaps09/lock", ""), ("", "index.html")])
def test_a_worker_does_not_choose_what_is_published_or_where(folder, register, monkeypatch, staged, name):
    register(articles=article_sitemap(limit=2))
    monkeypatch.setattr(engines, "_unseen_rows", lambda: None)
    monkeypatch.setattr(Forging, "staged", staged)
    monkeypatch.setattr(Forging, "name", name)
    write_articles("a", "b", "c")
    folder.mkdir()
    for mine in ("index.html", "a.txt"):
        (folder / mine).write_text("mine")
    assert "A worker returned" in export(output=folder, engine=f"{__name__}.Forging").failures[0]
    assert content(folder) == {"index.html": b"mine", "a.txt": b"mine"}


#: A sitemap written for contrib; one that is paginated by position; and one that is read through its own
#: `get_urls()`.
THEIRS = listing([*range(25)], ContribSitemap, limit=10)
LISTED = listing([*range(25)], limit=10)
MADE = declare(LISTED, get_urls=lambda self, *args, **options: super(MADE, self).get_urls(*args, **options))


@pytest.mark.usefixtures("cached_site")
@pytest.mark.parametrize("kinds", [(LISTED, MADE), (MADE, LISTED), (LISTED, THEIRS)], ids=range(3))
def test_a_section_without_a_key_that_is_read_in_another_way_is_divided_again_once(folder, kinds):
    export(output=folder, sitemaps={"s": kinds[0]})
    report = export(output=folder, sitemaps={"s": kinds[1]})
    assert (report.failures, [file.urls for file in report.sections[0].files]) == ([], [10, 10, 5])
    assert export(output=folder, sitemaps={"s": kinds[1]}).written == ()


def test_a_process_has_its_own_prefix_and_urlconf_again_after_a_page():
    base = Base("https", "www.example.com")
    renderer = Renderer(base, None, "", None, True, "/shop/", "tests.support.engine_project")
    with pytest.raises(UnknownSectionError):
        render_page(renderer, Task("nobody-knows", Page(1, None, None)))
    assert (get_script_prefix(), get_urlconf()) == ("/", None)
