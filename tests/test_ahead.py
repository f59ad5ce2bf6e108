"""Laws of slices that are read while those before them are used: the same rows, whoever reads them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.db.models import CharField, F, Value
from django.db.models.functions import Cast, Concat, ExtractHour
from django.utils import timezone as zones

from django_sitemaps09 import ModelSitemap, Route, sources
from django_sitemaps09.entries import Composed
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import querysets
from django_sitemaps09.writer import Limits
from tests.models import Article

BASE = Base("https", "www.example.com")
LIMITS = Limits(50_000, 10_485_760)
ROWS, SLICE = 50, 10
ALL = Page(1, None, None)
HOUR = Cast(ExtractHour("updated"), CharField())


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(querysets, "SERVER_SLICE", SLICE)
    monkeypatch.setattr(querysets, "SLICE", SLICE)


@pytest.fixture
def source(using: str) -> Any:
    moment = datetime(2026, 1, 1, 22, 30, tzinfo=timezone.utc)
    Article.objects.using(using).bulk_create(Article(slug=f"a{n:02}", updated=moment) for n in range(ROWS))
    return declared(using)


def declared(using: str, **attributes: Any) -> Any:
    rows = {"queryset": Article.objects.using(using), "location": Route("article", slug=F("slug"))}
    return sources.source("s", type("Declared", (ModelSitemap,), rows | attributes), BASE, LIMITS)


def paths(batches: Iterator[Any]) -> list[str]:
    return [url.removeprefix(str(BASE)) for batch in batches for url in texts(batch.locations)]


def texts(locations: Any) -> Any:
    return locations.texts() if isinstance(locations, Composed) else locations


def readers() -> list[str]:
    """The threads that read rows now."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("sitemap-rows")]


@pytest.fixture
def asked(using: str) -> Iterator[list[str]]:
    """The thread of each query."""
    names: list[str] = []

    def note(execute: Callable[..., Any], *arguments: Any) -> Any:
        names.append(threading.current_thread().name)
        return execute(*arguments)

    with connections[using].execute_wrapper(note):
        yield names


class TestSlices:
    def test_are_all_there_once_and_in_order(self, source: Any) -> None:
        assert paths(source.batches(ALL)) == [f"/articles/a{n:02}/" for n in range(ROWS)]
        assert readers() == []

    def test_are_read_in_another_thread_only_where_a_server_works(
        self, source: Any, using: str, asked: list[str]
    ) -> None:
        paths(source.batches(ALL))
        # The last one is empty.
        assert len(asked) == ROWS // SLICE + 1
        here = threading.current_thread().name
        elsewhere = [name for name in asked if name != here]
        assert asked[0] == here
        assert len(elsewhere) == (len(asked) - 1 if using == "postgresql" else 0)

    def test_need_no_thread_where_there_is_but_one(self, source: Any, asked: list[str]) -> None:
        pk = Article.objects.using(source.bare.db).order_by("pk")[SLICE - 2].pk
        asked.clear()
        assert len(paths(source.batches(Page(1, None, (str(pk),))))) == SLICE - 1
        assert asked == [threading.current_thread().name]

    def test_are_on_their_way_before_they_are_asked_for(
        self, source: Any, using: str, asked: list[str]
    ) -> None:
        batches = source.batches(ALL)
        next(batches)
        batches.close()
        assert len(asked) == (2 if using == "postgresql" else 1)

    def test_leave_no_thread_where_nobody_wants_more(self, source: Any, using: str) -> None:
        batches = source.batches(ALL)
        next(batches)
        next(batches)
        batches.close()
        assert readers() == []
        # The connection is this thread's alone again, and works.
        assert not connections[using].allow_thread_sharing
        assert Article.objects.using(using).count() == ROWS

    def test_raise_what_the_database_raises(
        self, source: Any, using: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = 0

        def broken(execute: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 3:
                raise OperationalError("the server is gone")
            return execute(*arguments)

        with connections[using].execute_wrapper(broken), pytest.raises(OperationalError, match="is gone"):
            paths(source.batches(ALL))
        assert readers() == []
        assert not connections[using].allow_thread_sharing

    def test_see_the_time_zone_that_is_active(self, source: Any, using: str) -> None:
        """What an expression comes to can depend on it, in whatever slice."""
        if using == "mariadb":
            pytest.skip("MariaDB knows zones only where their tables are loaded")
        found = declared(using, location=Concat(Value("/"), HOUR, Value("/"), output_field=CharField()))
        with zones.override("Asia/Tokyo"):
            assert {*paths(found.batches(ALL))} == {"/7/"}
        with zones.override("UTC"):
            assert {*paths(found.batches(ALL))} == {"/22/"}
