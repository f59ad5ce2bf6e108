"""Prefetched slices: the rows are the same in any thread."""

from __future__ import annotations

import os
import signal
import threading
import time
from datetime import datetime, timezone
from itertools import count

import pytest
from django.db import OperationalError, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Case, CharField, F, Func, QuerySet, Value, When
from django.db.models.functions import Cast, Concat, ExtractHour
from django.utils import timezone as zones

from django_sitemaps09 import Route
from tests.models import Article
from tests.support.databases import ON_POSTGRESQL, parameter
from tests.support.internals import Page
from tests.support.sections import declare
from tests.support.sources import ALL, compiled, set_slices

ROWS, SLICE = 50, 10
#: Timeout in seconds, so that a failing test does not hang.
DEADLINE = 30
PATHS = [f"/articles/a{n:02}/" for n in range(ROWS)]
HERE = threading.current_thread().name
execute = CursorWrapper.execute
small_slices = pytest.fixture(lambda monkeypatch: set_slices(monkeypatch, SLICE), autouse=True)


@pytest.fixture
def source(using):
    moment = datetime(2026, 1, 1, 22, 30, tzinfo=timezone.utc)
    Article.objects.using(using).bulk_create(Article(slug=f"a{n:02}", updated=moment) for n in range(ROWS))
    return declared(using)


def declared(using, **attributes):
    rows = {"queryset": Article.objects.using(using), "location": Route("article", slug=F("slug"))}
    return compiled(declare(**rows | attributes))


def paths(batches):
    return [path for batch in batches for version in batch.listed_localizations for path in version.texts()]


def is_reading(name=None):
    names = [thread.name for thread in threading.enumerate()] if name is None else [name]
    return any(name.startswith("sitemap-rows") for name in names)


@pytest.fixture
def asked(monkeypatch):
    names = []

    def note(self, *arguments):
        names.append(threading.current_thread().name)
        return execute(self, *arguments)

    monkeypatch.setattr(CursorWrapper, "execute", note)
    return names


def assert_alone(using):
    """Check that the connection belongs only to this thread, and works."""
    assert not is_reading()
    assert not connections[using].allow_thread_sharing
    assert Article.objects.using(using).count() == ROWS


def test_slices_are_read_once_in_order_and_in_another_thread_only_if_a_server_works(source, using, asked):
    assert paths(source.batches(ALL)) == PATHS
    # The last slice is empty.
    assert (len(asked), asked[0]) == (ROWS // SLICE + 1, HERE)
    assert len([name for name in asked if name != HERE]) == (ROWS // SLICE if using == "postgresql" else 0)
    assert_alone(using)
    # A page of one slice needs no thread.
    pk = Article.objects.using(using).order_by("pk")[SLICE - 2].pk
    asked.clear()
    assert (paths(source.batches(Page(1, None, (str(pk),)))), asked) == (PATHS[: SLICE - 1], [HERE])


def test_slices_are_fetched_before_they_are_requested_and_leave_no_thread_behind(source, using, asked):
    batches = source.batches(ALL)
    next(batches)
    batches.close()
    assert len(asked) == (2 if using == "postgresql" else 1)
    batches = source.batches(ALL)
    assert [len(next(batches).keys) for _ in range(2)] == [SLICE, SLICE]
    batches.close()
    assert_alone(using)


def test_slices_raise_what_the_database_raises(source, using, monkeypatch):
    calls = count(1)

    def broken(self, *arguments):
        if next(calls) == 3:
            raise OperationalError("the server is gone")
        return execute(self, *arguments)

    monkeypatch.setattr(CursorWrapper, "execute", broken)
    with pytest.raises(OperationalError, match="is gone"):
        paths(source.batches(ALL))
    assert_alone(using)


def test_slices_are_read_in_this_thread_if_the_project_customizes_queries(source, using, asked):
    """The project's code can depend on the thread, for example with a schema for each tenant."""
    with connections[using].execute_wrapper(lambda execute, *arguments: execute(*arguments)):
        assert len(paths(source.batches(ALL))) == ROWS
    assert {*asked} == {HERE}


def test_slices_survive_queries_of_the_main_thread_and_lack_what_a_queryset_leaves_out(source, using):
    found = []
    for batch in source.batches(ALL):
        assert Article.objects.using(using).count() == ROWS
        found += paths([batch])
    assert found == PATHS
    for location in ({}, {"location": lambda self, item: f"/articles/{item.slug}/"}):
        found = declared(using, queryset=Hiding(Article, using=using), **location)
        assert paths(found.batches(ALL)) == [path for path in PATHS if not path.endswith("3/")]


def test_a_reader_that_lets_go_leaves_the_connection_to_its_thread(source, using, monkeypatch):
    """The garbage collector can run in any thread, which cannot wait for itself."""
    kept = [source.batches(ALL)]
    next(kept[0])

    def let_go(self, *arguments):
        if is_reading(threading.current_thread().name):
            kept.clear()
        return execute(self, *arguments)

    monkeypatch.setattr(CursorWrapper, "execute", let_go)
    next(kept[0], None)
    kept.clear()
    assert not connections[using].allow_thread_sharing


@ON_POSTGRESQL
def test_slices_do_not_hold_up_an_interrupt(using):
    """On other databases, queries run in this thread, and their driver is interrupted."""
    Article.objects.using(using).bulk_create(Article(slug=f"a{n:02}") for n in range(2 * SLICE))
    slow = Func(Value(DEADLINE), function="pg_sleep", output_field=CharField())
    later = Article.objects.using(using).order_by("pk")[SLICE].pk
    location = Case(When(pk__gte=later, then=Cast(slow, CharField())), default=Value("/x/"))
    batches = declared(using, location=location).batches(ALL)
    timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
    # Processes that a shell starts in the background ignore interrupts.
    before, began = signal.signal(signal.SIGINT, signal.default_int_handler), time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        paths(batches)
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < DEADLINE / 2
    assert not is_reading()


class Hiding(QuerySet):
    """A queryset that leaves rows out of what it has fetched."""

    def _fetch_all(self):
        super()._fetch_all()
        slugs = [row.slug if isinstance(row, Article) else row[1] for row in self._result_cache]
        rows = zip(slugs, self._result_cache, strict=True)
        self._result_cache = [row for slug, row in rows if str(slug)[-1:] != "3"]


@pytest.mark.parametrize("using", [parameter("default"), parameter("postgresql")], indirect=True)
def test_slices_see_the_time_zone_that_is_active(source, using):
    """The value of an expression can depend on it in any slice. MariaDB needs a table of zones."""
    hour = Cast(ExtractHour("updated"), CharField())
    found = declared(using, location=Concat(Value("/"), hour, Value("/"), output_field=CharField()))
    for zone, path in (("Asia/Tokyo", "/7/"), ("UTC", "/22/")):
        with zones.override(zone):
            assert {*paths(found.batches(ALL))} == {path}
