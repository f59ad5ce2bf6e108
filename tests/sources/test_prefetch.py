"""Prefetched slices: the rows are the same in any thread."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from itertools import count
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Case, CharField, F, Func, QuerySet, Value, When
from django.db.models.functions import Cast, Concat, ExtractHour
from django.utils import timezone as zones

from django_sitemaps09 import ModelSitemap, Route, sources
from django_sitemaps09.pages import Page
from tests.models import Article
from tests.support.batches import locations as paths
from tests.support.sources import BASE, LIMITS, set_slices

ROWS, SLICE = 50, 10
#: Timeout in seconds, so that a failing test does not hang.
DEADLINE = 30
ALL = Page(1, None, None)
HOUR = Cast(ExtractHour("updated"), CharField())


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    set_slices(monkeypatch, SLICE)


@pytest.fixture
def source(using: str) -> Any:
    moment = datetime(2026, 1, 1, 22, 30, tzinfo=timezone.utc)
    Article.objects.using(using).bulk_create(Article(slug=f"a{n:02}", updated=moment) for n in range(ROWS))
    return declared(using)


def declared(using: str, **attributes: Any) -> Any:
    rows = {"queryset": Article.objects.using(using), "location": Route("article", slug=F("slug"))}
    return sources.source("s", type("Declared", (ModelSitemap,), rows | attributes), BASE, LIMITS)


def readers() -> list[str]:
    """Return the current threads that read rows."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("sitemap-rows")]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the thread of each query."""
    names: list[str] = []
    execute = CursorWrapper.execute

    def note(self: Any, *arguments: Any) -> Any:
        names.append(threading.current_thread().name)
        return execute(self, *arguments)

    monkeypatch.setattr(CursorWrapper, "execute", note)
    return names


@contextmanager
def failing(at: int) -> Iterator[None]:
    """Make the query with this number, counted from 1, fail as if the server were gone."""
    execute, calls = CursorWrapper.execute, count(1)

    def broken(self: Any, *arguments: Any) -> Any:
        if next(calls) == at:
            raise OperationalError("the server is gone")
        return execute(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CursorWrapper, "execute", broken)
        yield


class TestSlices:
    def test_are_all_there_once_and_in_order(self, source: Any) -> None:
        assert paths(source.batches(ALL)) == [f"/articles/a{n:02}/" for n in range(ROWS)]
        assert readers() == []

    def test_are_read_in_another_thread_only_if_a_server_works(
        self, source: Any, using: str, asked: list[str]
    ) -> None:
        paths(source.batches(ALL))
        # The last slice is empty.
        assert len(asked) == ROWS // SLICE + 1
        here = threading.current_thread().name
        elsewhere = [name for name in asked if name != here]
        assert asked[0] == here
        assert len(elsewhere) == (len(asked) - 1 if using == "postgresql" else 0)

    def test_need_no_thread_if_there_is_only_one(self, source: Any, asked: list[str]) -> None:
        pk = Article.objects.using(source.members.rows.db).order_by("pk")[SLICE - 2].pk
        asked.clear()
        assert len(paths(source.batches(Page(1, None, (str(pk),))))) == SLICE - 1
        assert asked == [threading.current_thread().name]

    def test_are_fetched_before_they_are_requested(self, source: Any, using: str, asked: list[str]) -> None:
        batches = source.batches(ALL)
        next(batches)
        batches.close()
        assert len(asked) == (2 if using == "postgresql" else 1)

    def test_leave_no_thread_when_reading_stops(self, source: Any, using: str) -> None:
        batches = source.batches(ALL)
        next(batches)
        next(batches)
        batches.close()
        assert readers() == []
        # The connection belongs only to this thread again, and works.
        assert not connections[using].allow_thread_sharing
        assert Article.objects.using(using).count() == ROWS

    def test_raise_what_the_database_raises(self, source: Any, using: str) -> None:
        with failing(3), pytest.raises(OperationalError, match="is gone"):
            paths(source.batches(ALL))
        assert readers() == []
        assert not connections[using].allow_thread_sharing

    def test_are_read_in_this_thread_if_the_project_customizes_queries(
        self, source: Any, using: str, asked: list[str]
    ) -> None:
        """The project's code can depend on the thread, for example with a schema for each tenant."""
        with connections[using].execute_wrapper(lambda execute, *arguments: execute(*arguments)):
            assert len(paths(source.batches(ALL))) == ROWS
        assert {*asked} == {threading.current_thread().name}

    def test_survive_queries_of_the_main_thread(self, source: Any, using: str) -> None:
        found = []
        for batch in source.batches(ALL):
            assert Article.objects.using(using).count() == ROWS
            found += paths(iter([batch]))
        assert found == [f"/articles/a{n:02}/" for n in range(ROWS)]

    def test_leave_the_connection_to_its_thread_though_the_reader_itself_lets_go(
        self, source: Any, using: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The garbage collector can run in any thread, which cannot wait for itself."""
        kept: list[Any] = [source.batches(ALL)]
        execute = CursorWrapper.execute
        next(kept[0])

        def let_go(self: Any, *arguments: Any) -> Any:
            if threading.current_thread().name.startswith("sitemap-rows"):
                kept.clear()
            return execute(self, *arguments)

        monkeypatch.setattr(CursorWrapper, "execute", let_go)
        next(kept[0], None)
        kept.clear()
        assert not connections[using].allow_thread_sharing

    def test_do_not_hold_up_an_interrupt(self, using: str) -> None:
        if using != "postgresql":
            pytest.skip("queries run in this thread there, and their driver sees to it")
        Article.objects.using(using).bulk_create(Article(slug=f"a{n:02}") for n in range(2 * SLICE))
        slow = Func(Value(DEADLINE), function="pg_sleep", output_field=CharField())
        later = Article.objects.using(using).order_by("pk")[SLICE].pk
        location = Case(When(pk__gte=later, then=Cast(slow, CharField())), default=Value("/x/"))
        batches = declared(using, location=location).batches(ALL)
        timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
        # Processes that a shell starts in the background ignore interrupts.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        began = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            paths(batches)
        timer.join()
        signal.signal(signal.SIGINT, before)
        assert time.monotonic() - began < DEADLINE / 2
        assert readers() == []

    def test_of_a_queryset_that_leaves_rows_out_are_without_them(self, source: Any, using: str) -> None:
        class Hiding(QuerySet[Article]):
            def _fetch_all(self) -> None:
                super()._fetch_all()  # type: ignore[misc]
                self._result_cache = [row for row in self._result_cache if self.shown(row)]  # type: ignore[attr-defined, has-type]

            def shown(self, row: Any) -> bool:
                slug = row.slug if isinstance(row, Article) else row[1]
                return not str(slug).endswith("3")

        rows = Hiding(Article, using=using)
        expected = [f"/articles/a{n:02}/" for n in range(ROWS) if n % 10 != 3]
        assert paths(declared(using, queryset=rows).batches(ALL)) == expected
        by_method = {"location": lambda self, item: f"/articles/{item.slug}/"}
        assert paths(declared(using, queryset=rows, **by_method).batches(ALL)) == expected

    def test_see_the_time_zone_that_is_active(self, source: Any, using: str) -> None:
        """The value of an expression can depend on the time zone in any slice."""
        if using == "mariadb":
            pytest.skip("MariaDB knows zones only where their tables are loaded")
        found = declared(using, location=Concat(Value("/"), HOUR, Value("/"), output_field=CharField()))
        with zones.override("Asia/Tokyo"):
            assert {*paths(found.batches(ALL))} == {"/7/"}
        with zones.override("UTC"):
            assert {*paths(found.batches(ALL))} == {"/22/"}
