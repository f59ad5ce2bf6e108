"""Keys that are NULL, repeat, or are sorted otherwise than compared: `check --database`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections, models
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext, isolate_apps

from django_sitemaps09 import ModelSitemap, Route, checks
from tests.models import Coupon, Word
from tests.support.checking import ids_of
from tests.support.databases import parameter
from tests.support.unusual_keys import drop_view, make_coupons, section, view

#: What the setting `SITEMAPS` names.
DECLARED: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.DECLARED", "BASE_URL": "https://www.example.com"}


def table(name: str, **key: Any) -> Any:
    """Return the rows of a model of this table, which Django did not make."""
    with isolate_apps("tests"):
        meta = type("Meta", (), {"app_label": "tests", "managed": False, "db_table": name})
        model = type("Unmanaged", (models.Model,), {"__module__": __name__, "Meta": meta, **key})
    return model._default_manager


@pytest.fixture
def _no_view(snapshot_using: str) -> Iterator[None]:
    yield
    drop_view(snapshot_using)


def test_null_keys_are_named_by_a_check_of_databases(using: str) -> None:
    DECLARED["s"] = section(make_coupons(using), "serial")
    [message] = checks.check_keys(databases=[using])
    assert ids_of([message]) == ["W029"]
    assert "4 rows" in message.msg
    assert checks.check_keys(databases=None) == checks.check_keys(databases=["other"]) == []
    with CaptureQueriesContext(connections[using]) as captured:
        checks.check_sections(databases=[using])
    assert not captured.captured_queries


def test_a_key_of_another_type_than_its_column_is_named_by_a_check(using: str) -> None:
    Coupon.objects.using(using).bulk_create(Coupon(number=number) for number in range(12))
    DECLARED["s"] = section(Coupon.objects.using(using).all(), "pk")
    assert checks.check_keys(databases=[using]) == []
    # A number in the model, and text in its table.
    rows = table("tests_word", word=models.IntegerField(primary_key=True))
    with connections[using].cursor() as cursor:
        cursor.executemany("INSERT INTO tests_word (word) VALUES (%s)", [("9",), ("10",), ("100",)])
    DECLARED["s"] = section(rows.using(using), "pk")
    [message] = checks.check_keys(databases=[using])
    assert ids_of([message]) == ["W069"]
    assert "changes when pk converts it to text" in message.msg


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "column", "value"),
    [
        (models.UUIDField(), "char(32)", ""),
        (models.DateTimeField(), "datetime", "2020-13-45 00:00:00"),
        (models.DecimalField(max_digits=5, decimal_places=2), "decimal", "abc"),
        (models.IntegerField(), "varchar(9)", "abc"),
    ],
    ids=["UUID", "time", "decimal", "integer"],
)
def test_a_key_that_cannot_be_converted_is_named_by_a_check(field: Any, column: str, value: str) -> None:
    key = field.clone()
    key.primary_key = True
    rows = table("sitemaps09_damaged", id=key)
    with connections["default"].cursor() as cursor:
        cursor.execute(f"CREATE TABLE sitemaps09_damaged (id {column} PRIMARY KEY)")
        cursor.execute("INSERT INTO sitemaps09_damaged VALUES (%s)", [value])
    DECLARED["s"] = section(rows.all(), "pk")
    [message] = checks.check_keys(databases=["default"])
    assert ids_of([message]) == ["W069"]
    assert re.search("of tests.Unmanaged cannot be converted|changes when pk converts it", message.msg)


@pytest.mark.usefixtures("_no_view")
def test_a_key_that_repeats_is_named_by_a_check(snapshot_using: str) -> None:
    model = view(
        snapshot_using,
        "SELECT CAST(1 AS char(1)) AS id UNION ALL SELECT '1'",
        id=models.CharField(max_length=9, primary_key=True),
    )
    DECLARED["s"] = section(model._default_manager.using(snapshot_using), "pk")
    [message] = checks.check_keys(databases=[snapshot_using])
    assert ids_of([message]) == ["W069"]
    assert "or a value repeats" in message.msg


@pytest.mark.parametrize("snapshot_using", [parameter("mariadb", transaction=True)], indirect=True)
def test_a_key_that_is_sorted_by_another_order_is_named_by_a_check(snapshot_using: str) -> None:
    rows = table("sitemaps09_level", level=models.CharField(max_length=9, primary_key=True))
    with connections[snapshot_using].cursor() as cursor:
        cursor.execute("CREATE TABLE sitemaps09_level (level ENUM('low', 'high') NOT NULL PRIMARY KEY)")
        try:
            cursor.execute("INSERT INTO sitemaps09_level VALUES ('low'), ('high')")
            DECLARED["s"] = section(rows.using(snapshot_using), "pk")
            [message] = checks.check_keys(databases=[snapshot_using])
        finally:
            cursor.execute("DROP TABLE sitemaps09_level")
    assert ids_of([message]) == ["W069"]
    assert "sorts its type ENUM otherwise than it compares" in message.msg


def test_the_command_check_names_null_keys_only_for_its_databases(using: str) -> None:
    DECLARED["s"] = section(make_coupons(using), "serial")
    printed = StringIO()
    call_command("check", databases=[using], stderr=printed, stdout=printed)
    assert "sitemaps09.W029" in printed.getvalue()
    printed = StringIO()
    call_command("check", stderr=printed, stdout=printed)
    assert "sitemaps09.W029" not in printed.getvalue()


@pytest.mark.parametrize(
    ("length", "count", "is_long"), [(32, 100, False), (35, 99, False), (35, 120, True)]
)
def test_keys_that_are_too_long_for_addresses_are_named(
    using: str, length: int, count: int, is_long: bool
) -> None:
    words = Word.objects.using(using)
    words.bulk_create(Word(word=f"{n:03}{'ä' * length}") for n in range(count))
    DECLARED["s"] = section(words.all(), "pk")
    assert ids_of(checks.check_keys(databases=[using])) == ["W077"] * is_long


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("location", "ids"),
    [
        (Route("word", word=F("word")), []),
        (Concat(Value("/"), F("word")), []),
        (Route("word", word=Value("x")), ["W078"]),
        (lambda self, item: "/", []),
        ("/constant/", []),
    ],
)
def test_texts_of_a_key_that_no_location_shows_are_named(location: Any, ids: list[str]) -> None:
    """One of them is in the address of each live page."""
    DECLARED["s"] = type("Words", (ModelSitemap,), {"model": Word, "location": location})
    found = [each for each in checks.check_sections() if each.id == "sitemaps09.W078"]
    assert ids_of(found) == ids
