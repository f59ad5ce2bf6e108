"""A request that loses its connection reads once more, on a new connection."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connections, transaction

from django_sitemaps09.orm.retry import retry_once
from django_sitemaps09.pages import Page
from django_sitemaps09.sources import read_page
from tests.models import Article
from tests.support.databases import parameter, require
from tests.support.sources import COLUMNS, KINDS, compiled, declaration, small_slices

__all__ = ["small_slices"]

pytestmark = pytest.mark.services
KILLS = {
    "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%s, 5000)"),
    "mysql": ("SELECT CONNECTION_ID()", "KILL %s"),
}


class Server:
    """A connection of a test, and an administrator's connection that ends its session."""

    def __init__(self, alias):
        self.connection = connections[alias]
        self.admin = self.connection.copy()
        self.find, self.end = KILLS[self.connection.vendor]
        self.attempts = 0

    def session(self):
        with self.connection.cursor() as cursor:
            cursor.execute(self.find)
            return int(cursor.fetchone()[0])

    def kill(self, session):
        with self.admin.cursor() as cursor:
            cursor.execute(self.end, [session])

    def read(self, deaths):
        """Return a function that loses the connection at the first `deaths` calls."""

        def read():
            self.attempts += 1
            if self.attempts <= deaths:
                self.kill(self.session())
            return self.session()

        return read


@pytest.fixture(params=[parameter(alias, transaction=True) for alias in ("postgresql", "mariadb")])
def server(request):
    require(request.param)
    made = Server(request.param)
    yield made
    made.admin.close()
    made.connection.close()


class TestALostConnection:
    def test_is_replaced_once(self, server):
        session = server.session()
        assert retry_once(server.read(1), "Section 'a'") not in (session, None)
        assert server.attempts == 2

    def test_is_not_replaced_twice(self, server):
        with pytest.raises(OperationalError):
            retry_once(server.read(2), "Section 'a'")
        assert server.attempts == 2

    def test_in_a_transaction_of_the_caller_is_its_error(self, server):
        using = server.connection.alias
        with (
            pytest.raises(OperationalError, match="in a transaction of its caller"),
            transaction.atomic(using=using),
        ):
            retry_once(server.read(1), "Section 'a'")
        assert server.attempts == 1

    @pytest.mark.usefixtures("small_slices")
    def test_before_any_statement_of_a_page_changes_neither_rows_nor_fingerprint(self, server):
        using = server.connection.alias
        KINDS["integer"].make(using, range(10))
        source = compiled(declaration(queryset=Article.objects.using(using), **COLUMNS))
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
        assert expected[0] is not None
        count = state["statements"]
        assert count >= 3
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
    assert len(attempts) == 1
