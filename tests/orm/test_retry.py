"""A request that loses its connection reads once more, on a new connection."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connections, transaction
from django.db.models import F

from django_sitemaps09 import Route
from django_sitemaps09.orm.reading import retry_once
from tests.models import Article
from tests.support.databases import SERVERS, parameter, require
from tests.support.internals import Page, read_page
from tests.support.sections import declare
from tests.support.sources import KINDS, compiled, set_slices

pytestmark = pytest.mark.services
KILLS = {
    "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%s, 5000)"),
    "mysql": ("SELECT CONNECTION_ID()", "KILL %s"),
}


class Server:
    """A connection of a test, and an administrator's connection that ends its session."""

    def __init__(self, alias):
        self.connection = connections[alias]
        self.admin, self.attempts = self.connection.copy(), 0
        self.find, self.end = KILLS[self.connection.vendor]

    def session(self):
        with self.connection.cursor() as cursor:
            cursor.execute(self.find)
            return int(cursor.fetchone()[0])

    def kill(self, session):
        with self.admin.cursor() as cursor:
            cursor.execute(self.end, [session])

    def attempt(self, deaths):
        """Read once more if the connection is lost. It is lost at the first `deaths` attempts."""
        self.attempts = 0

        def read():
            self.attempts += 1
            if self.attempts <= deaths:
                self.kill(self.session())
            return self.session()

        return retry_once(read, "Section 'a'")


@pytest.fixture(params=[parameter(alias, transaction=True) for alias in SERVERS])
def server(request):
    require(request.param)
    made = Server(request.param)
    yield made
    made.admin.close()
    made.connection.close()


def test_a_lost_connection_is_replaced_once_and_not_in_a_transaction_of_the_caller(server):
    session = server.session()
    assert server.attempt(1) not in (session, None)
    assert server.attempts == 2
    with pytest.raises(OperationalError):
        server.attempt(2)
    assert server.attempts == 2
    server.connection.close()
    own = pytest.raises(OperationalError, match="in a transaction of its caller")
    with own, transaction.atomic(using=server.connection.alias):
        server.attempt(1)
    assert server.attempts == 1


def test_a_connection_lost_before_any_statement_of_a_page_changes_no_row_and_no_fingerprint(
    server, monkeypatch
):
    set_slices(monkeypatch, 3)
    using = server.connection.alias
    KINDS["integer"].make(using, range(10))
    rows, location = Article.objects.using(using), Route("article", slug=F("slug"))
    source = compiled(declare(queryset=rows, location=location, lastmod=F("updated")))
    state = {"statements": 0, "fatal": 0}

    def execute(run, *arguments):
        state["statements"] += 1
        if state["statements"] == state["fatal"]:
            server.kill(session)
        return run(*arguments)

    def read():
        with read_page(source, Page(1, None, None)) as rows:
            keys = [key for batch in rows.batches for key in batch.keys]
        return rows.fingerprint, keys

    session = server.session()
    with server.connection.execute_wrapper(execute):
        expected = read()
    count = state["statements"]
    assert (expected[0] is not None, count >= 3) == (True, True)
    for fatal in range(1, count + 1):
        session = server.session()
        state |= {"statements": 0, "fatal": fatal}
        with server.connection.execute_wrapper(execute):
            assert retry_once(read, "Section 'a'") == expected, fatal
        assert state["statements"] > count
        assert server.connection.get_autocommit()


def test_other_failures_are_not_retried(server):
    attempts = []

    def read():
        attempts.append(1)
        raise OperationalError("canceling statement due to statement timeout")

    with pytest.raises(OperationalError, match="canceling"):
        retry_once(read, "Section 'a'")
    assert attempts == [1]
