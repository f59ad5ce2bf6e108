"""Rows whose key is NULL, infinite or not unique: skipped by number, or refused with advice that helps."""

from __future__ import annotations

import pytest
from django.db import connections, models
from django.test.utils import CaptureQueriesContext

from django_sitemaps09.export import export
from tests.models import Coupon, Redemption
from tests.support.databases import parameter
from tests.support.published import indexed
from tests.support.tables import drop_view, make_coupons, section, view
from tests.support.ways import native, native_pages

pytestmark = [pytest.mark.usefixtures("cached_site"), pytest.mark.sitemaps09(ENGINE="serial")]
coupons = pytest.fixture(lambda using: make_coupons(using))


@pytest.fixture
def model_of_view(snapshot_using):
    def create(query):
        make_coupons(snapshot_using)
        fields = {"id": models.IntegerField(primary_key=True), "number": models.IntegerField()}
        return view(snapshot_using, query, **fields)._default_manager.using(snapshot_using).all()

    yield create
    drop_view(snapshot_using)


def found_in(folder, rows, key="serial"):
    [found] = export(sitemaps={"s": section(rows, key)}, output=folder).sections
    return found.urls, found.skipped_items, found.failure


def test_a_generated_key_that_is_null_is_skipped_and_counted(using, coupons, folder):
    declared = {"s": section(coupons, "serial")}
    [found] = export(sitemaps=declared, output=folder).sections
    assert (found.urls, found.skipped_items, found.failure) == (16, 4, None)
    [error] = map(str, found.errors)
    assert error == "item NULL, row: 4 rows have no place on any page, because the key 'serial' is NULL"
    paths = sorted(f"/{number}/" for number in range(20) if number % 5)
    assert indexed(folder) == {f"https://www.example.com{path}" for path in paths}
    assert not export(sitemaps=declared, output=folder).written
    assert sorted(path for path, _ in native(declared["s"])) == paths


def test_a_row_that_a_join_repeats_is_counted_once(using, coupons, folder):
    repeated = [coupon for coupon in coupons for _ in range(coupon.number % 4)]
    Redemption.objects.using(using).bulk_create(Redemption(coupon=coupon) for coupon in repeated)
    rows = coupons.filter(redemptions__pk__gt=0)
    assert found_in(folder, rows) == found_in(folder, rows.distinct()) == (12, 3, None)


def test_only_exports_ask_for_null_keys(using, coupons, folder):
    def asked(work):
        with CaptureQueriesContext(connections[using]) as captured:
            work()
        return sum("IS NULL" in query["sql"] for query in captured)

    assert asked(lambda: native_pages(section(coupons, "serial"))) == 0
    Coupon.objects.using(using).filter(code=None).delete()
    # One query finds none. Only if it finds one, they are counted.
    assert asked(lambda: found_in(folder, coupons)) == 1


def test_a_section_whose_keys_are_all_null_fails(using, folder):
    Coupon.objects.using(using).bulk_create(Coupon(number=number, code=None) for number in range(3))
    failure = found_in(folder, Coupon.objects.using(using))[2]
    assert ("every item was skipped" in failure, "3 rows" in failure) == (True, True)


def test_null_in_a_view_is_skipped_and_counted(model_of_view, folder):
    rows = model_of_view(
        "SELECT c.number AS number, o.code AS id FROM tests_coupon c "
        "LEFT JOIN tests_coupon o ON o.id = c.id AND o.number < 7"
    )
    # 0 and 5 have no code, and 7 to 19 no other row.
    assert found_in(folder, rows, "pk") == (5, 15, None)


def test_a_view_whose_key_repeats_fails_with_advice_for_views(model_of_view, folder):
    rows = model_of_view("SELECT number, number / number AS id FROM tests_coupon WHERE number > 0")
    failure = found_in(folder, rows, "pk")[2]
    assert "the key 'pk' of tests.Joined is not unique in sitemaps09_view" in failure
    assert ("primary_key=True" in failure, "distinct()" in failure) == (True, False)


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
@pytest.mark.parametrize(("kind", "field", "values"), [
    ("date", models.DateField, ["infinity", "-infinity", "2020-01-01", "0044-03-15 BC", "10000-01-01"]),
    ("timestamptz", models.DateTimeField, ["infinity", "-infinity", "2020-01-01", "10000-01-01"]),
    ("time", models.TimeField, ["24:00", "23:59"]),
    # Django's own field may have fewer digits than the column, as in a view.
    ("numeric", models.DecimalField, ["NaN", "123456.5"]),
])  # fmt: skip
def test_keys_that_python_cannot_represent_are_skipped_and_counted(kind, field, values, using, folder):
    arguments = {"max_digits": 5, "decimal_places": 2} if kind == "numeric" else {}
    fields = {"at": field(primary_key=True, **arguments), "number": models.IntegerField()}
    selects = (f"SELECT '{value}'::{kind} AS at, {n} AS number" for n, value in enumerate(values))
    declared = section(view(using, " UNION ".join(selects), **fields)._default_manager.using(using), "pk")
    [found] = export(sitemaps={"s": declared}, output=folder).sections
    assert (found.failure, found.urls, found.skipped_items) == (None, 1, len(values) - 1)
    assert ("is out of range" in str(found.errors[0]), len(native(declared))) == (True, 1)
