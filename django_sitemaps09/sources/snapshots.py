"""Read a page and the fingerprint of its rows from one snapshot of the database.

Otherwise, rows that vanish between the two reads, and come back later, leave an incomplete page with the
fingerprint of the complete one. A second fingerprint after the rows would not show this.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, NamedTuple

from django.db import DatabaseError, Error, connections

from django_sitemaps09.entries import Batch, reason_of
from django_sitemaps09.orm.traits import UNREADABLE
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.sources.compile import Source, has_key_ranges
from django_sitemaps09.sources.queryset import QuerySource

logger = logging.getLogger(__name__)


class PageRows(NamedTuple):
    """Batches of a page, and the fingerprint of all its rows; `None` if the fingerprint is unknown."""

    fingerprint: Fingerprint | None
    batches: Generator[Batch]


@contextmanager
def read_page(source: Source, page: Page, *, needs_fingerprint: bool = True) -> Iterator[PageRows]:
    """Read a page inside the block. With `needs_fingerprint`, its queries read one snapshot.

    The fingerprint is unknown if the source cannot fingerprint rows, if the database does not compute it,
    or if it `cannot_snapshot()`. Raise `OperationalError` or `InterfaceError` if the connection is lost.
    """
    with ExitStack() as stack:
        fingerprint = None
        if needs_fingerprint and has_key_ranges(source) and source.can_fingerprint:
            fingerprint = _fingerprint(source, page, stack)
        batches = stack.enter_context(closing(source.batches(page)))
        yield PageRows(fingerprint, batches)


def cannot_snapshot(using: str) -> bool:
    """Return whether the current transaction of a caller sees what others commit between two queries.

    This is so on PostgreSQL, MariaDB and MySQL, with the isolation level that Django sets by default. On
    SQLite, each transaction is a snapshot.
    """
    connection: Any = connections[using]
    if connection.vendor == "sqlite":
        return is_in_transaction(connection) and not connection.connection.in_transaction
    return is_in_transaction(connection) or not connection.features.supports_transactions


def is_in_transaction(connection: Any) -> bool:
    """Return whether a caller has opened a transaction, or turned autocommit off."""
    # get_autocommit() would open a connection.
    return connection.in_atomic_block or bool(connection.connection and not connection.get_autocommit())


def _fingerprint(source: QuerySource, page: Page, stack: ExitStack) -> Fingerprint | None:
    """Return the fingerprint of a page, and let the stack end the snapshot that it was read from."""
    using = source.bare_rows.db
    # Autocommit can be off by default, which an open connection shows.
    connections[using].ensure_connection()
    if cannot_snapshot(using):
        return None
    if not is_in_transaction(connections[using]):
        stack.enter_context(_snapshot(using))
    try:
        return source.fingerprint(page.after, page.until)
    except (DatabaseError, *UNREADABLE) as error:
        # PostgreSQL runs no more queries in this transaction. To end it fails if the connection is lost.
        stack.close()
        where = f"Section {source.section!r}, page {page.number}"
        logger.info("%s: the fingerprint cannot be read: %s", where, reason_of(error))
        return None


@contextmanager
def _snapshot(using: str) -> Iterator[None]:
    """Open a transaction whose queries read one snapshot, taken by the first of them.

    This is not `atomic()`, which would replace a lost connection, so that `retry()` could not notice that.
    """
    connection = connections[using]
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    try:
        if connection.vendor != "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield
        connection.commit()
        connection.set_autocommit(True)
    except BaseException:
        try:
            connection.rollback()
            connection.set_autocommit(True)
        except Error:
            connection.close()
        raise
