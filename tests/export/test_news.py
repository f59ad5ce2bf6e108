"""News files are updated in place, and their number does not grow after a crash."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db.models import F
from django.test import Client
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09 import ModelSitemap, Route
from django_sitemaps09.export import Report, export
from django_sitemaps09.pages import fill
from django_sitemaps09.protocol import MAX_NEWS
from django_sitemaps09.state.journal import JOURNAL
from django_sitemaps09.stores import STATE
from tests.models import Article, Word
from tests.support import published as looked_at
from tests.support.configuration import BASE
from tests.support.factories import WordFactory
from tests.support.killing import dies_at
from tests.support.news import (
    DAY,
    HOUR,
    NOW,
    SECOND,
    TWO_DAYS,
    Clock,
    Fresh,
    exported,
    first,
    live,
    names,
    slugs,
    write,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.sitemaps09(ENGINE="serial")]


class Small(Fresh):
    limit = 10


class Words(ModelSitemap[Word]):
    """A section of key ranges."""

    model = Word
    location = Route("word", word=F("word"))
    limit = 10


def files(folder: Path, section: str = "news") -> list[str]:
    """Return the existing pages of a section, whether an index lists them or not."""
    return sorted(path.name for path in folder.glob(f"sitemap-{section}-*"))


def expected(now: datetime) -> list[str]:
    """Return the recent articles, newest first, as computed in Python."""
    rows = [row for row in Article.objects.all() if row.updated and now - TWO_DAYS <= row.updated <= now]
    rows.sort(key=lambda row: (row.updated, row.pk), reverse=True)
    return [row.slug for row in rows]


class TestFilesOfNews:
    def run(self, folder: Path, sitemap: Any = Fresh, **options: Any) -> Report:
        return export(output=folder, sitemaps={"news": sitemap, "words": Words}, **options)

    @pytest.fixture(autouse=True)
    def _words(self) -> None:
        """Add a section, so that the index is never empty."""
        Word.objects.bulk_create(Word(word=f"w{number:02}") for number in range(25))

    @pytest.mark.parametrize("options", [{}, {"changed_only": True}, {"rebalance": True}, {"strict": True}])
    def test_are_as_many_as_are_needed_and_never_more(
        self, stopped_clock: Clock, folder: Path, options: dict[str, bool]
    ) -> None:
        words: dict[str, Any] = {}
        for amount in (0, 1_000, 2_100, 300, 0, 5):
            stopped_clock.time += 3 * DAY
            write(amount, stopped_clock.time, SECOND)
            report = self.run(folder, **options)
            assert report.failures == []
            assert names(folder) == first(ceil(amount / MAX_NEWS))
            assert set(files(folder)) <= set(first(3))
            found = [slug for name in names(folder) for slug in slugs(exported(folder, name))]
            assert found == expected(stopped_clock.time)
            assert [live(Fresh, page) for page in range(1, len(names(folder)) + 1)] == [
                exported(folder, name) for name in names(folder)
            ]
            beside = {name: state for name, state in looked_at.states(folder).items() if "-words-" in name}
            if words and "rebalance" not in options:
                assert beside == words
            words = beside

    @pytest.mark.parametrize("keep", [0, 24 * 3600])
    def test_that_are_no_longer_needed_are_removed_and_can_return(
        self, stopped_clock: Clock, folder: Path, configure: Callable[..., None], keep: int
    ) -> None:
        """A file that is needed again is not deleted, regardless of which run comes first."""
        configure(KEEP_REMOVED=keep)

        def pages(amount: int, later: timedelta) -> list[str]:
            stopped_clock.time += later
            Article.objects.all().delete()
            write(amount, stopped_clock.time)
            before, listed = files(folder), names(folder)
            report = self.run(folder, Small)
            assert report.failures == []
            assert names(folder) == first(ceil(amount / fill(10)))
            # Each is named as removed once, by the run that does not list it any more.
            assert report.sections[0].removed == len({*listed} - {*names(folder)})
            assert {*report.deleted} == {*before} - {*files(folder)}
            return files(folder)

        assert pages(27, HOUR) == first(3)
        # The file is no longer listed, but still exists for crawlers that have the previous index.
        assert pages(5, HOUR) == first(3)
        # The file would be deleted in this run if it were not needed again.
        assert pages(27, 25 * HOUR) == first(3)
        assert pages(27, 25 * HOUR) == first(3)
        assert pages(27, 25 * HOUR) == first(3)
        assert pages(5, HOUR) == first(3)
        assert pages(15, HOUR) == (first(2) if keep == 0 else first(3))
        assert pages(5, 23 * HOUR) == first(2)
        assert pages(5, 25 * HOUR) == first(1)
        assert pages(15, 25 * HOUR) == first(2)

    def test_shrink_as_they_like_and_other_sections_do_not(
        self, stopped_clock: Clock, folder: Path
    ) -> None:
        write(900, NOW)
        many = [f"x{number:03}" for number in range(300)]
        for word in many:
            WordFactory(word=word)
        self.run(folder)
        stopped_clock.time += 3 * DAY
        write(100, stopped_clock.time)
        Word.objects.filter(word__in=many).delete()
        before = {name: state for name, state in looked_at.states(folder).items() if "-words-" in name}
        report = self.run(folder)
        assert [section.failure is None for section in report.sections] == [True, False]
        assert "shrink from 325 to 25" in str(report.sections[1].failure)
        assert len(looked_at.urls(folder, first(1)[0])) == 100
        after = {name: state for name, state in looked_at.states(folder).items() if "-words-" in name}
        assert after == before

    def test_are_not_written_again_if_nothing_changed(self, stopped_clock: Clock, folder: Path) -> None:
        write(27, NOW)
        self.run(folder, Small)
        before = looked_at.states(folder, hidden=True)
        stopped_clock.time += HOUR
        report = self.run(folder, Small)
        assert report.written == ()
        assert looked_at.states(folder, hidden=True) == before

    def test_stay_if_every_article_fails(self, stopped_clock: Clock, folder: Path) -> None:
        write(5, NOW)
        self.run(folder)
        before = looked_at.states(folder)
        failing = type("Failing", (Fresh,), {"location": lambda self, item: "https://other.example/"})
        report = self.run(folder, failing)
        assert "every item was skipped" in str(report.sections[0].failure)
        assert looked_at.states(folder) == before

    @settings(
        max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    @given(
        steps=st.lists(
            st.tuples(
                st.integers(0, 40),
                st.sampled_from([HOUR, 23 * HOUR, 25 * HOUR, TWO_DAYS, 3 * DAY]),
                st.sampled_from(["", "changed_only", "rebalance", "strict", "changes"]),
                st.booleans(),
            ),
            min_size=2,
            max_size=8,
        ),
        keep=st.sampled_from([0, 3_600, 24 * 3_600]),
    )
    def test_have_the_lowest_numbers_whatever_comes_and_goes(
        self,
        stopped_clock: Clock,
        configure: Callable[..., None],
        register: Callable[..., None],
        steps: Sequence[tuple[int, timedelta, str, bool]],
        keep: int,
    ) -> None:
        Article.objects.all().delete()
        stopped_clock.time = NOW
        register(news=Small, words=Words)
        with looked_at.quick_folder() as folder:
            configure(KEEP_REMOVED=keep, ROOT=folder)
            most = 0
            named_since: dict[str, datetime] = {}
            for amount, later, option, compressed in steps:
                stopped_clock.time += later
                write(amount, stopped_clock.time, timedelta(minutes=90))
                configure(GZIP=compressed)
                report = export(**({option: True} if option else {}))
                assert report.failures == []
                recent = expected(stopped_clock.time)
                pages = ceil(len(recent) / fill(10))
                most = max(most, pages)
                suffix = "xml.gz" if compressed else "xml"
                wanted = [f"sitemap-news-{number}.{suffix}" for number in range(1, pages + 1)]
                assert names(folder) == wanted
                assert [s for name in wanted for s in slugs(exported(folder, name))] == recent
                assert all(int(name.split("-")[2].split(".")[0]) <= most for name in files(folder))
                for number, name in enumerate(wanted, 1):
                    cache.clear()
                    response: Any = Client().get(f"/{name}")
                    content = response.content
                    assert (gzip.decompress(content) if compressed else content) == exported(folder, name)
                    assert number <= pages
                # Files that a recent index listed still exist.
                for name, since in named_since.items():
                    if (stopped_clock.time - since).total_seconds() < keep:
                        assert name in files(folder)
                named_since |= dict.fromkeys(wanted, stopped_clock.time)

    def test_show_the_current_rows_live_even_if_an_export_is_older(
        self,
        stopped_clock: Clock,
        folder: Path,
        configure: Callable[..., None],
        register: Callable[..., None],
    ) -> None:
        register(news=Small, words=Words)
        configure(ROOT=folder)
        write(27, NOW)
        export()
        stopped_clock.time += 3 * DAY
        write(12, stopped_clock.time)
        client = Client()
        found = [client.get(f"/{name}") for name in first(3)]
        assert [response.status_code for response in found] == [200, 200, 404]
        index: Any = client.get("/sitemap.xml")
        assert [name for name in slugs(index.content) if "-news-" in name] == first(2)
        live_pages = [gzip.decompress(response.content) for response in found[:2]]
        export()
        assert live_pages == [exported(folder, name) for name in first(2)]

    def test_that_were_added_and_removed_are_reported(self, stopped_clock: Clock, folder: Path) -> None:
        """An article that only moves to another page has not changed."""
        write(15, NOW - HOUR, HOUR)
        report = self.run(folder, Small, changes=True)
        assert report.changes == {"added": 40, "removed": 0, "changed": 0}
        before = expected(stopped_clock.time)
        stopped_clock.time += 36 * HOUR
        write(3, stopped_clock.time)
        after = expected(stopped_clock.time)
        report = self.run(folder, Small, changes=True)
        gone = len({*before} - {*after})
        assert gone > 0
        assert report.changes == {"added": 3, "removed": gone, "changed": 0}

    def test_shrink_as_they_like_by_a_paginator_of_their_own_too(
        self, stopped_clock: Clock, folder: Path
    ) -> None:
        class Own(Small):
            def get_urls(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
                return super().get_urls(*args, **kwargs)

        for amount in (200, 15, 27):
            stopped_clock.time += 3 * DAY
            write(amount, stopped_clock.time)
            assert self.run(folder, Own).failures == []
            assert names(folder) == first(ceil(amount / 10))

    @pytest.mark.parametrize("reason", ["bytes", "languages"])
    def test_have_the_lowest_numbers_if_a_page_is_split(
        self, stopped_clock: Clock, folder: Path, configure: Callable[..., None], reason: str
    ) -> None:
        """A page is cut for all languages, and for the length of the first entries."""
        if reason == "bytes":
            configure(MAX_BYTES=3_000)

        class Split(Small):
            i18n = reason == "languages"
            languages = ["en"]

            def title(self, item: Article) -> str:
                return "long" * 80 if reason == "bytes" and item.slug.startswith("old") else "short"

            def get_languages_for_item(self, item: Article) -> list[str]:
                return ["en", "de"] if int(item.slug.strip("nold")) % 2 else ["en"]

        write(15, NOW)
        Article.objects.bulk_create(
            Article(slug=f"old{number}", updated=NOW - HOUR) for number in range(15)
        )
        for _ in range(3):
            report = self.run(folder, Split)
            assert report.failures == []
            assert report.sections[0].split
            assert len({url for name in names(folder) for url in looked_at.urls(folder, name)}) == 30
            stopped_clock.time += HOUR
        # The rest of a page has the number behind all others.
        assert sorted(names(folder)) == files(folder) == first(len(names(folder)))

    def test_replace_no_foreign_file(self, stopped_clock: Clock, folder: Path) -> None:
        folder.mkdir()
        (folder / first(2)[1]).write_bytes(b"of somebody")
        write(15, NOW)
        self.run(folder, Small)
        assert (folder / first(2)[1]).read_bytes() == b"of somebody"

    def test_have_the_lowest_numbers_if_the_manifest_was_lost(
        self, stopped_clock: Clock, folder: Path
    ) -> None:
        write(27, NOW)
        self.run(folder, Small)
        for lost in (folder / STATE).iterdir():
            if lost.is_file():
                lost.unlink()
        stopped_clock.time += 3 * DAY
        write(15, stopped_clock.time)
        self.run(folder, Small)
        assert names(folder) == first(2)
        stopped_clock.time += 25 * HOUR
        self.run(folder, Small)
        assert files(folder) == first(2)

    def test_begin_at_one_if_the_section_had_ranges_of_a_key_before(
        self, stopped_clock: Clock, folder: Path
    ) -> None:
        write(40, NOW)
        ranged = type(
            "Ranged", (ModelSitemap,), {"model": Article, "location": Fresh.location, "limit": 10}
        )
        self.run(folder, ranged)
        Article.objects.filter(slug__in=expected(NOW)[5:10]).delete()
        self.run(folder, ranged, rebalance=True)
        assert names(folder)[0] != first(1)[0]
        self.run(folder, Small)
        assert names(folder) == first(4)
        self.run(folder, ranged)
        assert not set(names(folder)) & set(first(8))
        assert looked_at.indexed(folder) >= {f"{BASE}/articles/{slug}/" for slug in expected(NOW)}


class TestAnExportOfNewsThatIsKilled:
    def test_leaves_whole_files_and_the_next_one_repairs_it(
        self, stopped_clock: Clock, folder: Path
    ) -> None:
        above = folder
        Word.objects.bulk_create(Word(word=f"w{number:02}") for number in range(25))
        sitemaps = {"news": Small, "words": Words}
        for step in count(1):
            ended = []
            # Pages are removed and added. One page is removed when it is due for deletion, and then needed
            # again.
            for amounts in ((27, 5, 15), (5, 27, 15), (27, 5, 6, 25)):
                folder = above / f"{step}-{amounts[1]}-{amounts[-1]}"
                for place, amount in enumerate(amounts, 2):
                    Article.objects.all().delete()
                    stopped_clock.time += 25 * HOUR
                    write(amount, stopped_clock.time)
                    if place < len(amounts) or place > len(amounts):
                        assert export(output=folder, sitemaps=sitemaps).failures == []
                        continue
                    named = looked_at.named(folder)
                    work = partial(export, output=folder, sitemaps=sitemaps)
                    ended.append(not dies_at(step, work, "promote", "write", "delete"))
                    for name in named | looked_at.named(folder):
                        assert looked_at.urls(folder, name)
                wanted = first(ceil(amounts[-1] / fill(10)))
                assert names(folder) == wanted
                found = [slug for name in wanted for slug in slugs(exported(folder, name))]
                assert found == expected(stopped_clock.time)
                assert not (folder / STATE / JOURNAL).exists()
                stopped_clock.time += 25 * HOUR
                Article.objects.update(updated=stopped_clock.time)
                export(output=folder, sitemaps=sitemaps)
                assert files(folder) == names(folder) == wanted
            if all(ended):
                break
        assert step > 7
