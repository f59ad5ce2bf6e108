"""Keys that are NULL, repeat, or are sorted otherwise than compared: `check --database`."""

from __future__ import annotations

import re

import pytest
from django.db import connections, models
from django.test.utils import CaptureQueriesContext, isolate_apps

from tests.models import Coupon, Word
from tests.support.commands import said
from tests.support.databases import MYSQLS, parameter
from tests.support.internals import checks
from tests.support.tables import drop_view, make_coupons, section, view

pytestmark = pytest.mark.sitemaps09(SITEMAPS=f"{__name__}.DECLARED")
DECLARED = {}


def found(rows, key="pk"):
    DECLARED["s"] = section(rows, key)
    return [(message.id[-4:], message.msg) for message in checks.check_keys(databases=[rows.db])]


def table(using, name, *statements, **key):
    with isolate_apps("tests"):
        meta = type("Meta", (), {"app_label": "tests", "managed": False, "db_table": name})
        model = type("Unmanaged", (models.Model,), {"__module__": __name__, "Meta": meta, **key})
    with connections[using].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    return model._default_manager.using(using).all()


def test_null_keys_are_named_by_a_check_of_databases(using):
    [(name, message)] = found(make_coupons(using), "serial")
    assert (name, "4 rows" in message) == ("W029", True)
    assert checks.check_keys(databases=None) == checks.check_keys(databases=["other"]) == []
    with CaptureQueriesContext(connections[using]) as captured:
        checks.check_sections(databases=[using])
    assert not captured.captured_queries
    for options, is_named in (({"databases": [using]}, True), ({}, False)):
        # Without the checks of models, which query some servers.
        assert ("sitemaps09.W029" in "".join(said("check", "django_sitemaps09", **options))) is is_named


def test_a_key_of_another_type_than_its_column_is_named_by_a_check(using):
    Coupon.objects.using(using).bulk_create(Coupon(number=number) for number in range(12))
    assert found(Coupon.objects.using(using).all()) == []
    # A number in the model, and text in its table.
    insert = "INSERT INTO tests_word (word) VALUES ('9'), ('10'), ('100')"
    rows = table(using, "tests_word", insert, word=models.IntegerField(primary_key=True))
    [(name, message)] = found(rows)
    assert (name, "changes when pk converts it to text" in message) == ("W069", True)


@pytest.mark.django_db
@pytest.mark.parametrize(("field", "column", "value"), [
    (models.UUIDField(primary_key=True), "char(32)", ""),
    (models.DateTimeField(primary_key=True), "datetime", "2020-13-45 00:00:00"),
    (models.DecimalField(max_digits=5, decimal_places=2, primary_key=True), "decimal", "abc"),
    (models.IntegerField(primary_key=True), "varchar(9)", "abc"),
], ids=["UUID", "time", "decimal", "integer"])  # fmt: skip
def test_a_key_that_cannot_be_converted_is_named_by_a_check(field, column, value):
    create = f"CREATE TABLE sitemaps09_damaged (id {column} PRIMARY KEY)"
    insert = f"INSERT INTO sitemaps09_damaged VALUES ('{value}')"  # noqa: S608
    [(name, message)] = found(table("default", "sitemaps09_damaged", create, insert, id=field.clone()))
    assert name == "W069"
    assert re.search("of tests.Unmanaged cannot be converted|changes when pk converts it", message)


def test_a_key_that_repeats_is_named_by_a_check(snapshot_using):
    select = "SELECT CAST(1 AS char(1)) AS id UNION ALL SELECT '1'"
    try:
        model = view(snapshot_using, select, id=models.CharField(max_length=9, primary_key=True))
        [(name, message)] = found(model._default_manager.using(snapshot_using).all())
    finally:
        drop_view(snapshot_using)
    assert (name, "or a value repeats" in message) == ("W069", True)


@pytest.mark.parametrize("snapshot_using", [parameter(a, transaction=True) for a in MYSQLS], indirect=True)
def test_a_key_that_is_sorted_by_another_order_is_named_by_a_check(snapshot_using):
    create = "CREATE TABLE sitemaps09_level (level ENUM('low', 'high') NOT NULL PRIMARY KEY)"
    insert = "INSERT INTO sitemaps09_level VALUES ('low'), ('high')"
    level = models.CharField(max_length=9, primary_key=True)
    try:
        [(name, message)] = found(table(snapshot_using, "sitemaps09_level", create, insert, level=level))
    finally:
        table(snapshot_using, "sitemaps09_level", "DROP TABLE sitemaps09_level", level=level.clone())
    assert (name, "sorts its type ENUM otherwise than it compares" in message) == ("W069", True)


@pytest.mark.parametrize(
    ("length", "count", "is_long"), [(32, 100, False), (35, 99, False), (35, 120, True)]
)
def test_keys_that_are_too_long_for_addresses_are_named(using, length, count, is_long):
    words = Word.objects.using(using)
    words.bulk_create(Word(word=f"{n:03}{'ä' * length}") for n in range(count))
    assert [name for name, _ in found(words.all())] == ["W077"] * is_long
