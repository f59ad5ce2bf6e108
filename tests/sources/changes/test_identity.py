"""Identities and orders of keys: bounds are in the order in which the database reads rows."""

from __future__ import annotations

from typing import Any

from django.db import connections
from django.db.models import Value
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Sitemap
from tests.models import Article, Document, Event, Name, Seat, Ticket, Word
from tests.support.fingerprints import compiled, declaration, listing, queries

# Identities, and the order of bounds.


def keyed(using: str, model: Any, key: str = "pk") -> Any:
    rows = model._default_manager.using(using)
    return compiled(declaration(queryset=rows, key=key, location=Value("/x/")))


def test_an_identity_names_vendor_table_column_type_and_collation(using: str) -> None:
    vendor = connections[using].vendor
    collations = {"sqlite": "NOCASE", "postgresql": "public.case_blind", "mysql": "utf8mb4_general_ci"}
    for model, key, columns in (
        (Article, "pk", [("tests_article", "id")]),
        (Name, "pk", [("tests_name", "name")]),
        (Ticket, "pk", [("tests_ticket", "category_id"), ("tests_ticket", "number")]),
        (Event, "article", [("tests_event", "article_id")]),
        (Document, "pk", [("tests_document", "id")]),
    ):
        found = keyed(using, model, key).key_identity
        assert found[0] == vendor
        assert all(isinstance(part, str) for part in found)
        assert list(zip(found[1::4], found[2::4], strict=True)) == columns
    assert keyed(using, Name).key_identity[-1] == collations[vendor]
    assert keyed(using, Article).key_identity[-1] == ""
    if using == "mariadb":
        assert keyed(using, Word).key_identity[-1] == "utf8mb4_unicode_ci"
    if using == "postgresql":
        assert keyed(using, Word).key_identity[-1].startswith("default ")


def test_another_key_has_another_identity_and_a_position_has_none(using: str) -> None:
    models = [
        (Article, "pk"),
        (Document, "pk"),
        (Event, "pk"),
        (Event, "at"),
        (Event, "price"),
        (Word, "pk"),
    ]
    assert len({keyed(using, model, key).key_identity for model, key in models}) == len(models)
    assert compiled(listing(["a"])).key_identity is None
    assert compiled(type("Own", (Sitemap,), {"get_urls": lambda self, **kwargs: []})).key_identity is None


def test_some_hundred_bounds_are_compared_in_one_query_and_numbers_in_none(using: str) -> None:
    source = keyed(using, Word)
    texts = [(f"{number:05}",) for number in range(901)]
    with CaptureQueriesContext(connections[using]) as captured:
        assert source.in_order(texts)
    assert sum("SELECT CASE WHEN (" in query["sql"] for query in captured) == 3
    # One more query reads the type and the collation.
    assert sum("SAVEPOINT" not in query["sql"] for query in captured) == 4
    with queries(using, 0):
        assert keyed(using, Article).in_order([(str(number),) for number in range(901)])


def test_numbers_are_not_ordered_as_their_texts(using: str) -> None:
    for model, key in ((Article, "pk"), (Event, "article")):
        assert keyed(using, model, key).in_order([("9",), ("10",)])
        assert not keyed(using, model, key).in_order([("10",), ("9",)])
    assert keyed(using, Event, "price").in_order([("-1.5",), ("9.0001",), ("10",)])
    assert keyed(using, Seat).in_order([("a", "9"), ("a", "10"), ("b", "1")])
    assert keyed(using, Ticket).in_order([("9", "9"), ("9", "10"), ("10", "1")])
    assert not keyed(using, Seat).in_order([("a", "9"), ("a", "9")])


def test_a_bound_that_cannot_be_read_is_in_no_order(using: str) -> None:
    for model, key, bad in (
        (Article, "pk", [("1",), ("x",)]),
        (Article, "pk", [("1",), ("2", "3")]),
        (Seat, "pk", [("a", "1"), ("b",)]),
        (Document, "pk", [("no uuid",)]),
        (Event, "at", [("yesterday",)]),
        (Event, "price", [("NaN",), ("1",)]),
    ):
        assert keyed(using, model, key).in_order(bad) is False


def test_a_bound_that_says_the_same_to_its_collation_is_not_greater(using: str) -> None:
    assert not keyed(using, Name).in_order([("a",), ("A",)])
    assert keyed(using, Word).in_order([("B",), ("a",)]) is (using != "mariadb")


def test_positions_are_always_in_order() -> None:
    assert compiled(listing(["a"])).in_order([("2",), ("1",)])
