"""The pages of an export: their names, their bytes, their limits, and items that are skipped."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.utils import translation
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09 import Sitemap
from django_sitemaps09.export import engines, export
from django_sitemaps09.export.rendering.page import render_page
from tests.support.configuration import BASE
from tests.support.exports import (
    GZIP_HEADER,
    Bad,
    article_model,
    article_sitemap,
    content,
    locations,
    named,
    numbers,
    paths,
    plain,
    run_folders,
    touched,
    write_articles,
)
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09


def test_files_are_the_same_bytes_for_the_same_input_even_later(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More than a slice of rows.
    export(output=folder, sitemaps={"a": Numbers(4_321)})
    assert paths(folder) == numbers(4_321)
    assert (folder / "sitemap-a-1.xml.gz").read_bytes().startswith(GZIP_HEADER)
    later = time.time() + 100_000
    monkeypatch.setattr(time, "time", lambda: later)
    export(output=tmp_path / "other", sitemaps={"a": Numbers(4_321)})
    assert content(tmp_path / "other") == content(folder)


class TestTheLimits:
    @pytest.mark.parametrize("room", [0, 56, 57, 58, 400])
    def test_no_file_has_more_bytes_than_max_bytes_closing_tag_included(
        self, folder: Path, configure: Callable[..., None], room: int
    ) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)}, gzip=False)
        most = (folder / "sitemap-a-1.xml").stat().st_size + room
        entry = len(f"<url><loc>{BASE}/numbers/0/</loc></url>\n")
        assert entry == 57
        configure(MAX_BYTES=most)
        export(output=folder, sitemaps={"a": Numbers(10)}, gzip=False)
        sizes = [len(plain(folder, name)) for name in named(folder)]
        assert sorted(paths(folder)) == numbers(10)
        assert max(sizes) <= most
        entries = 1 + room // entry
        assert len(sizes) <= 2 * -(-10 // entries) + 2

    @pytest.mark.sitemaps09(MAX_URLS=10)
    @pytest.mark.django_db
    def test_a_closed_page_with_many_new_rows_is_divided_evenly(self, folder: Path) -> None:
        """Later parts used to be exactly full, so that each further row divided one of them again."""
        model = article_model()
        model.objects.bulk_create(model(pk=pk, slug=f"a{pk}") for pk in range(1_000, 21_000, 1_000))
        export(output=folder, sitemaps={"a": article_sitemap()})
        model.objects.bulk_create(model(pk=pk, slug=f"a{pk}") for pk in range(5_001, 5_032))
        (section,) = export(output=folder, sitemaps={"a": article_sitemap()}).sections
        names = [file.name for file in section.files]
        sizes = [len(locations(plain(folder, name))) for name in names]
        assert sorted(sizes[:-1]) == [8, 8, 8, 8, 9]
        assert (sizes[-1], section.split, len(section.files)) == (10, 1, 6)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(
        lengths=st.lists(st.integers(0, 200), min_size=1, max_size=40),
        urls=st.integers(1, 12),
        size=st.integers(400, 2_000),
    )
    @pytest.mark.django_db
    def test_hold_for_any_lengths_and_every_url_is_there_once(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        settings: Any,
        lengths: list[int],
        urls: int,
        size: int,
    ) -> None:
        model = article_model()
        model.objects.all().delete()
        slugs = [f"{number}-{'x' * length}"[:120] for number, length in enumerate(lengths)]
        model.objects.bulk_create(model(slug=slug) for slug in slugs)
        settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": urls, "MAX_BYTES": size}
        folder = tmp_path_factory.mktemp("limits")
        report = export(output=folder, sitemaps={"a": article_sitemap()})
        assert report.failures == []
        assert sorted(paths(folder)) == sorted(f"/articles/{slug}/" for slug in slugs)
        for name in named(folder):
            assert 1 <= len(locations(plain(folder, name))) <= urls
            assert len(plain(folder, name)) <= size

    @pytest.mark.sitemaps09(MAX_BYTES=400)
    @pytest.mark.parametrize("format_", ["xml", "text"])
    def test_a_url_that_fits_no_file_is_skipped_and_reported(self, folder: Path, format_: str) -> None:
        class Long(Numbers):
            format = format_

            def location(self, item: int) -> str:
                return f"/{'x' * 500}/" if item in (0, 4) else super().location(item)

        (section,) = export(output=folder, sitemaps={"a": Long(9)}).sections
        assert section.urls == 7
        if format_ == "xml":
            assert sorted(paths(folder)) == sorted(set(numbers(9)) - {"/numbers/0/", "/numbers/4/"})
        assert [(e.key, e.field, e.reason) for e in section.errors] == [
            ("1", "location", "its entries alone exceed the limits of a page"),
            ("5", "location", "its entries alone exceed the limits of a page"),
        ]

    @pytest.mark.parametrize("most", [2, 3, 5, 6])
    def test_the_languages_of_an_item_are_never_split(
        self, folder: Path, configure: Callable[..., None], most: int
    ) -> None:
        class Translated(Numbers):
            i18n = True

            def location(self, item: int) -> str:
                return f"/{translation.get_language()}/{item}/"

        configure(MAX_URLS=most)
        (section,) = export(output=folder, sitemaps={"a": Translated(5)}).sections
        if most < 3:
            # Entries in three languages do not fit on a page.
            assert (len(section.files), section.skipped_items) == (0, 5)
            return
        homes: dict[str, set[str]] = {}
        for name in named(folder):
            found = [loc.split("/")[-3:-1] for loc in locations(plain(folder, name))]
            assert len(found) <= most
            for language, item in found:
                homes.setdefault(item, set()).add(name)
                assert language in ("en", "de", "pt-br")
        assert {item: len(home) for item, home in homes.items()} == dict.fromkeys("01234", 1)
        assert len(paths(folder)) == 15


class TestBadItems:
    def test_are_skipped_and_reported_and_the_others_stay(
        self, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        report = export(output=folder, sitemaps={"a": Bad(6, [1])})
        (section,) = report.sections
        assert paths(folder) == [path for path in numbers(6) if path != "/numbers/1/"]
        priority, location = sorted(section.errors, key=lambda error: -int(error.key))
        assert (location.key, location.field) == ("2", "location")
        assert "is not on https://www.example.com" in location.reason
        assert (priority.key, priority.field) == ("4", "priority")
        assert "7.5 (float) is not a priority" in priority.reason
        assert (section.skipped_items, section.skipped_elements, section.failure) == (1, 1, None)
        assert (report.published, report.failures) == (True, [])
        assert plain(folder, "sitemap-a-1.xml.gz").count(b"<priority>0.5</priority>") == 4
        assert plain(folder, "sitemap-a-1.xml.gz").count(b"<priority>") == 4
        for error in section.errors:
            assert f"Section 'a': skipped {error}" in caplog.messages

    def test_are_all_counted_the_first_thousand_reported_and_three_are_warnings(
        self, folder: Path, configure: Callable[..., None], caplog: pytest.LogCaptureFixture
    ) -> None:
        for size in (100_000, 5_000):
            configure(MAX_BYTES=size)
            sitemaps = {"a": Bad(2_100, range(0, 2_100, 2))}
            caplog.clear()
            (section,) = export(output=folder, sitemaps=sitemaps).sections
            assert bool(section.split) == (size == 5_000)
            # Item 3 has an invalid priority.
            assert (section.skipped_items, section.skipped_elements) == (1_050, 1)
            assert len(section.errors) == 1_000
            warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
            assert warned[:3] == [f"Section 'a': skipped {error}" for error in section.errors[:3]]
            assert warned[3:] == ["Section 'a': skipped 1048 more"]

    def test_publish_nothing_under_strict(self, folder: Path, tmp_path: Path) -> None:
        robots = tmp_path / "robots.txt"
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        before = touched(folder)
        sitemaps = {"a": Bad(9, [1]), "b": Numbers(4)}
        report = export(output=folder, sitemaps=sitemaps, strict=True, robots=robots)
        assert touched(folder) == before
        assert not robots.exists()
        assert run_folders(folder) == []
        assert (report.published, len(report.failures)) == (False, 1)
        assert "strict" in report.failures[0]
        report = export(output=folder, sitemaps={"a": Numbers(9), "b": Numbers(4)}, strict=True)
        assert (report.published, report.failures) == (True, [])

    def test_that_are_all_fail_their_section_and_name_the_first(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(4), "b": Numbers(1)})
        before = touched(folder)
        report = export(output=folder, sitemaps={"a": Bad(4, range(4)), "b": Numbers(2)})
        assert touched(folder)["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]
        assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"]
        assert paths(folder) == [*numbers(4), *numbers(2)]
        (failure,) = report.failures
        assert "'a'" in failure
        assert "every item was skipped" in failure
        assert "item 1, location" in failure
        assert "elsewhere.example.net" in failure


class Pages(ContribSitemap):
    """A sitemap written for contrib, with small pages."""

    limit = 10

    def items(self) -> list[int]:
        return list(range(120))

    def location(self, item: int) -> str:
        return f"/pages/{item}/"


class Forging:
    """Engine that returns a different file or name than requested."""

    workers = 1
    answers: tuple[str, str] = ("", "")

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def __enter__(self) -> Forging:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, renderer: Any, task: Any) -> Callable[[], Any]:
        made = render_page(renderer, task)
        staged, name = self.answers
        file = replace(made.file, name=name or made.file.name)
        return lambda: made._replace(staged=staged or made.staged, file=file)


def test_pages_of_a_third_party_paginator_do_not_change_in_later_runs(folder: Path) -> None:
    export(output=folder, sitemaps={"pages": Pages})
    before = touched(folder)
    assert len(before) == 13
    for _ in range(3):
        assert export(output=folder, sitemaps={"pages": Pages}).written == ()
    assert touched(folder) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("staged", "name"), [("private.txt", ""), (".sitemaps09/lock", ""), ("", "index.html")]
)
def test_a_worker_does_not_choose_what_is_published_under_which_name(
    folder: Path, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, staged: str, name: str
) -> None:
    configure(MAX_URLS=2, SITEMAPS=f"{__name__}.FORGED")
    monkeypatch.setattr(engines, "_unseen_rows", lambda: None)
    monkeypatch.setitem(globals(), "FORGED", {"articles": article_sitemap()})
    monkeypatch.setattr(Forging, "answers", (staged, name))
    write_articles("a", "b", "c")
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    (folder / "private.txt").write_text("mine")
    report = export(output=folder, engine=f"{__name__}.Forging")
    assert "A worker returned" in report.failures[0]
    assert content(folder) == {"index.html": b"mine", "private.txt": b"mine"}


class Listed(Sitemap):
    """A section that is paginated by position."""

    limit = 10

    def items(self) -> list[int]:
        return list(range(25))

    def location(self, item: int) -> str:
        return f"/x{item}/"


class Made(Listed):
    """A section that is read through its own `get_urls()`."""

    def get_urls(self, *arguments: Any, **options: Any) -> Any:
        return super().get_urls(*arguments, **options)


@pytest.mark.usefixtures("cached_site")
@pytest.mark.parametrize("kinds", [(Listed, Made), (Made, Listed)], ids=["made", "listed"])
def test_a_section_without_a_key_that_is_read_in_another_way_is_divided_again_once(
    folder: Path, kinds: tuple[Any, Any]
) -> None:
    export(output=folder, sitemaps={"s": kinds[0]})
    report = export(output=folder, sitemaps={"s": kinds[1]})
    assert report.failures == []
    assert [file.urls for file in report.sections[0].files] == [10, 10, 5]
    assert export(output=folder, sitemaps={"s": kinds[1]}).written == ()
