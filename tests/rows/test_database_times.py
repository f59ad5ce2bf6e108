"""Times: columns and instances have the same values on each database, with each setting."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from django.db import connections, models
from django.db.models import Case, F, Max, OuterRef, Subquery, Value, When
from django.db.models.functions import Cast, Coalesce, Greatest, Least, Now, NullIf, TruncDate, TruncDay
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Route
from django_sitemaps09.rows.slices import text_converter
from tests.models import Article, Visit
from tests.support.databases import MYSQLS, ON_POSTGRESQL, execute, parameter
from tests.support.internals import w3c
from tests.support.sections import declare
from tests.support.sources import LIMITS, NOON, UTC, compiled, page_map

pytestmark = pytest.mark.usefixtures("small_slices")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
on_sqlite = pytest.mark.django_db(databases=["default"])


class Outcome(NamedTuple):
    lastmods: list
    errors: list
    failure: str | None = None


def source_of(rows, lastmod, slug="slug"):
    return compiled(declare(queryset=rows, location=Route("article", slug=F(slug)), lastmod=lastmod))


def by_columns(rows, lastmod, slug="slug"):
    source, lastmods, errors = source_of(rows, lastmod, slug), [], []
    try:
        for page in page_map(source, LIMITS):
            for batch in source.batches(page):
                assert not isinstance(batch.lastmods, str)
                lastmods += [None] * len(batch.keys) if batch.lastmods is None else batch.lastmods
                errors += batch.errors
    except Exception as error:  # noqa: BLE001 Django can raise anything for a value
        return Outcome([], [], type(error).__name__)
    return Outcome(lastmods, errors)


def by_instances(rows, expression, slug="slug"):
    return by_columns(rows.annotate(found=expression), lambda self, item: item.found, slug)


def same(rows, expression, slug="slug"):
    found = by_columns(rows, expression, slug)
    assert found == by_instances(rows, expression, slug)
    return found


def reads_text(rows, expression):
    return text_converter(source_of(rows, expression).annotated_rows) is not None


def casts(source, column="updated"):
    """Return for each query of a slice whether it reads a column as text from the database."""
    pages = page_map(source, LIMITS)
    with CaptureQueriesContext(connections[source.members.rows.db]) as captured:
        for page in pages:
            list(source.batches(page))
    quoted = rf"\(*[`\"]tests_article[`\"]\.[`\"]{column}[`\"]"
    cast = re.compile(rf"CAST\({quoted} AS (?:text|char)\)|{quoted}\)::text", re.IGNORECASE)
    return [cast.search(query["sql"]) is not None for query in captured.captured_queries]


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


MOMENTS = [
    utc(2026, 1, 31, 10, 30),
    utc(2024, 2, 29, 23, 59, 59, 999_999),
    None,
    utc(2026, 7, 1, 22, 15, 30, 1),
    utc(1999, 12, 31, 23, 30, 0, 500_000),
    # The hours around clock changes in Berlin. Naive hours can be missing or repeated.
    *(utc(2026, 3, 29, 1, 30), utc(2026, 3, 29, 2, 30), utc(2026, 10, 25, 0, 30), utc(2026, 10, 25, 2, 30)),
]
EXTREMES = [
    *(utc(1, 1, 1), utc(1, 1, 2, 3, 4, 5, 6), utc(999, 12, 31, 12), utc(1000, 2, 28)),
    utc(9999, 12, 31, 23, 59, 59, 999_999),
]


def write(using, moments=MOMENTS, *, naive=False):
    """Create an article with a visit for each time. The day is that of the time."""
    values = [moment and (moment.replace(tzinfo=None) if naive else moment) for moment in moments]
    Article.objects.using(using).bulk_create(
        Article(slug=f"a{i}", updated=value, day=value and value.date(), published=i % 2 == 0)
        for i, value in enumerate(values)
    )
    stored = Article.objects.using(using).order_by("pk")
    Visit.objects.using(using).bulk_create(
        Visit(article=article, at=value)
        for article, value in zip(stored, values, strict=True)
        for value in (value, value and value.replace(hour=0))
        if article.slug != "a4"
    )
    return stored


def set_raw(using, column, slug, value):
    execute(using, f"UPDATE tests_article SET {column} = %s WHERE slug = %s", [value, slug])  # noqa: S608


@pytest.fixture
def database_zone(using):
    """Set the `TIME_ZONE` of a database, as if it had been set from the start."""

    def change(zone):
        before, connection.settings_dict["TIME_ZONE"] = connection.settings_dict["TIME_ZONE"], zone
        for name in ("timezone", "timezone_name"):
            vars(connection).pop(name, None)
        connection.ensure_timezone()
        return before

    connection = connections[using]
    before = change("UTC")
    yield change
    change(before)


class Shifted(models.DateTimeField):
    def from_db_value(self, value, expression, connection):
        return value and value + timedelta(hours=1)


class Converted(models.DateTimeField):
    """A field that does the same with converters, which Django also documents."""

    def get_db_converters(self, connection):
        later = lambda value, expression, connection: value and value + timedelta(days=365)  # noqa: E731
        return [*super().get_db_converters(connection), later]


def a_date(*parts):
    return Cast(Value(date(*parts)), models.DateField())


def latest_visit(using):
    found = Subquery(Visit.objects.filter(article=OuterRef("pk")).order_by("-at").values("at")[:1])
    found.query._db = using
    return found


#: One point in time, for each database.
MOMENT = Cast(Value(NOON), models.DateTimeField())
#: Expressions over an article whose column is read as text.
AS_TEXT = {
    "time": F("updated"), "date": F("day"), "Coalesce": Coalesce("updated", MOMENT),
    "Coalesce of dates": Coalesce("day", a_date(2020, 2, 29)), "Greatest": Greatest("updated", MOMENT),
    "Least": Least("updated", MOMENT), "NullIf": NullIf("updated", MOMENT),
    "Case": Case(When(published=True, then=F("updated")), output_field=models.DateTimeField()),
    "Cast to a date": Cast("updated", models.DateField()), "Max of visits": Max("visits__at"),
    "Cast to a time": Cast("day", models.DateTimeField()),
    "a sum": F("updated") + timedelta(days=1, microseconds=3),
    "Max of dates": Max(Cast("visits__at", models.DateField())), "Subquery": latest_visit, "Value": MOMENT,
    "Value of a date": a_date(999, 1, 1), "nothing": Value(None, output_field=models.DateTimeField()),
}  # fmt: skip
AS_VALUES = {
    "TruncDay": TruncDay("updated", tzinfo=UTC),
    "TruncDay of a zone": TruncDay("updated", tzinfo=KATHMANDU),
    "TruncDate": TruncDate("updated", tzinfo=UTC), "a field of the project's": Cast("updated", Shifted()),
    "a field with converters": Cast("updated", Converted()), "text": Cast("updated", models.TextField()),
    "no field": Coalesce("slug", "slug"),
}  # fmt: skip


class TestADeclaredTime:
    """On each database, a declared section has the same values as one with methods."""

    @pytest.mark.parametrize("name", [*AS_TEXT, *AS_VALUES])
    def test_is_what_python_makes_of_it_and_read_as_text_if_it_can_be(self, name, using):
        rows, expression = write(using), {**AS_TEXT, **AS_VALUES}[name]
        expression = expression(using) if callable(expression) else expression
        found = same(rows, expression)
        assert reads_text(rows, expression) is (name in AS_TEXT)
        skipped = [error for error in found.errors if error.field == "row"]
        assert len(found.lastmods) + len(skipped) == len(MOMENTS)
        # On MariaDB, Django's TruncDay mistakes a null for an unknown zone, and raises an error.
        if not (using in MYSQLS and name.startswith("TruncDay")):
            assert not skipped
            assert any(found.lastmods) is (name not in ("nothing", "text", "no field"))

    @pytest.mark.parametrize("column", ["updated", "day"])
    def test_is_exact_from_the_first_year_to_the_last(self, column, using):
        values = [moment if column == "updated" else moment.date() for moment in EXTREMES]
        found = same(write(using, [*EXTREMES, None]), F(column))
        assert found.lastmods == [*(w3c(value, UTC) for value in values), None]

    def test_of_a_relation_is_read_like_one_of_the_row(self, using):
        write(using)
        rows = Visit.objects.using(using)
        assert len({*same(rows, F("article__updated"), "article__slug").lastmods}) == len(MOMENTS) - 1
        assert same(rows, F("article__day"), "article__slug").lastmods[0] == "2026-01-31"

    def test_of_the_present_is_the_present(self, using):
        rows = write(using)
        before, found, after = (by(rows, Now()).lastmods for by in (by_instances, by_columns, by_instances))
        assert len(found) == len(MOMENTS)
        assert max(before) <= min(found) <= max(found) <= min(after)

    def test_of_a_value_needs_no_cast_but_on_mariadb_and_mysql(self, using):
        rows = write(using)
        # There, Django returns it as a string. The value that is read as text is the same time.
        read = by_columns if using in MYSQLS else same
        assert read(rows, Value(NOON)).lastmods == ["2026-01-01T12:00:00Z"] * len(MOMENTS)
        if using not in MYSQLS:
            elsewhere = Value(NOON.astimezone(KATHMANDU))
            assert same(rows, elsewhere).lastmods == ["2026-01-01T12:00:00Z"] * len(MOMENTS)
            assert same(rows, Value(NOON.date())).lastmods == ["2026-01-01"] * len(MOMENTS)

    @pytest.mark.parametrize("column", ["updated", "day"])
    def test_is_one_query_a_slice_each_of_which_casts_the_column(self, using, column):
        rows = write(using, MOMENTS[:8])
        assert casts(source_of(rows, F(column)), column) == [True] * 3
        # If instances are made, Python reads the column.
        assert casts(source_of(rows, lambda self, item: getattr(item, column)), column) == [False] * 3


ZONES = ["UTC", "Etc/UTC", "Europe/Berlin", "Asia/Kathmandu", "Europe/London", "Etc/GMT-5"]


class TestTheSettings:
    """Both ways agree, regardless of the settings for time zones."""

    @pytest.mark.parametrize("use_tz", [True, False], ids=["aware", "naive"])
    @pytest.mark.parametrize("zone", ZONES)
    def test_change_nothing_between_the_two_ways(self, using, use_tz, zone, settings):
        settings.USE_TZ, settings.TIME_ZONE = use_tz, zone
        rows = write(using, naive=not use_tz)
        for name in ("updated", "day"):
            assert len(same(rows, F(name)).lastmods) == len(MOMENTS)
        for expression in (Coalesce("updated", Max("visits__at")), Cast("day", models.DateTimeField())):
            assert same(rows, expression).failure is None
        assert reads_text(rows, F("updated")) is (use_tz or zone in ("UTC", "Etc/UTC"))
        assert reads_text(rows, F("day")) is True
        moment = datetime(2026, 1, 31, 10, 30, tzinfo=UTC if use_tz else ZoneInfo(zone))
        assert same(rows, F("updated")).lastmods[0] == w3c(moment, UTC)

    @on_sqlite
    @pytest.mark.parametrize("extreme", [EXTREMES[0], EXTREMES[-1]])
    @pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
    def test_leave_out_what_has_no_time_in_utc_in_either_way(self, extreme, zone, settings):
        settings.USE_TZ, settings.TIME_ZONE = False, zone
        assert same(write("default", [NOON, extreme], naive=True), F("updated")).lastmods[0] is not None

    @pytest.mark.parametrize("zone", ["UTC", *ZONES[2:], "Etc/GMT+5"])
    def test_of_a_database_may_name_a_zone(self, using, zone, database_zone):
        database_zone(zone)
        # In such a database, a repeated hour is ambiguous in both ways.
        rows = write(using, MOMENTS[:5])
        assert same(rows, F("updated")).lastmods == [each and w3c(each, UTC) for each in MOMENTS[:5]]
        assert same(rows, F("day")).lastmods[0] == "2026-01-31"
        assert same(rows, Cast("updated", models.DateField())).failure is None


TEN_THIRTY = "2026-01-31T10:30:00Z"
#: Texts in a column of SQLite, by what Django and w3c make of them.
FOREIGN = {
    TEN_THIRTY: [
        *("2026-01-31 10:30:00", "2026-01-31T10:30:00Z", "2026-01-31T10:30:00", "2026-01-31 10:30:00+00"),
        *("2026-01-31 10:30:00+00:00", "2026-01-31 10:30:00.1", "2026-01-31 10:30:00.123456789"),
        *("2026-01-31 10:30:00,5", "2026-01-31 10:30"),
    ],
    "2026-01-31T08:30:00Z": ["2026-01-31 10:30:00+02:00", "2026-01-31 10:30:00.123+02"],
    "2026-01-31T09:05:07Z": ["2026-1-31 9:05:07"],
    "ValueError": [
        *("2026-02-30 10:00:00", "2026-02-29 10:00:00", "2026-13-01 10:00:00", "2026-01-31 10:60:00"),
        "0000-01-01 00:00:00",
    ],
    # These depend on Python's version.
    ...: [
        *("2026-01-31 10:30:00 ", "2026-01-31", "2026-01-31 24:00:00", "20260131T103000", "garbage", ""),
        *("2026-01-31 10:30:00\n", "\u0662026-01-31 10:30:00"),
    ],
}
DAYS = ["2026-01-31", "2026-1-31", "20260131", "2026-01-31 10:30:00", "2026-02-30", "0000-01-01", "x", ""]


@on_sqlite
class TestWhatAnotherProgramHasWrittenIntoSQLite:
    @pytest.mark.parametrize(
        ("text", "wanted"), [(text, wanted) for wanted in FOREIGN for text in FOREIGN[wanted]], ids=repr
    )
    @pytest.mark.parametrize("slug", ["a0", "a5"], ids=["first slice", "second slice"])
    def test_as_a_time_is_read_as_python_reads_it(self, text, wanted, slug):
        rows = write("default")
        set_raw("default", "updated", slug, text)
        found = same(rows, F("updated"))
        if wanted == "ValueError":
            [error] = found.errors
            assert error.field == "row"
            assert error.reason.startswith("cannot be read: ValueError: ")
            assert len(found.lastmods) == len(MOMENTS) - 1
        elif wanted is not ...:
            assert found.lastmods[int(slug[1:])] == wanted

    @pytest.mark.parametrize("text", DAYS)
    def test_as_a_date_is_read_as_python_reads_it(self, text):
        rows = write("default")
        set_raw("default", "day", "a0", text)
        found = same(rows, F("day"))
        assert "2024-02-29" in found.lastmods
        assert len(found.lastmods) + len(found.errors) == len(MOMENTS)
        assert len(found.errors) == (text in ("2026-02-30", "0000-01-01"))

    @pytest.mark.parametrize("value", ["x'323032362d30312d33312031303a33303a3030'", "20260131", "2026.5"])
    def test_that_is_not_a_text_is_read_as_python_reads_it(self, value):
        rows = write("default")
        execute("default", f"UPDATE tests_article SET updated = {value} WHERE slug = 'a0'")  # noqa: S608
        same(rows, F("updated"))

    @pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
    def test_with_a_zone_keeps_it_if_settings_are_naive(self, zone, settings):
        settings.USE_TZ, settings.TIME_ZONE = False, zone
        rows = write("default", naive=True)
        set_raw("default", "updated", "a0", "2026-01-31 10:30:00+02:00")
        assert same(rows, F("updated")).lastmods[0] == "2026-01-31T08:30:00Z"

    @pytest.mark.parametrize(("odd", "cast"), [("a0", 1), ("a4", 2), ("a7", 3)])
    def test_is_one_more_query_for_its_slice_and_casts_nothing_from_there_on(self, odd, cast):
        rows = write("default", MOMENTS[:8])
        set_raw("default", "updated", odd, "2026-01-31T10:30:00+02:00")
        assert casts(source_of(rows, F("updated"))) == [True] * cast + [False] * (4 - cast)
        assert same(rows, F("updated")).lastmods[int(odd[1:])] == "2026-01-31T08:30:00Z"


@ON_POSTGRESQL
class TestPostgreSQL:
    def test_reads_a_column_without_a_zone_as_python_does(self, using):
        execute(using, "ALTER TABLE tests_article ALTER COLUMN updated TYPE timestamp")
        rows = write(using)
        set_raw(using, "updated", "a0", "2026-01-31 10:30:00")
        # Django returns a naive time, which is in TIME_ZONE.
        assert same(rows, F("updated")).lastmods[0] == "2026-01-31T09:30:00Z"

    @pytest.mark.parametrize(
        "option",
        [*("TIME ZONE 'Asia/Kathmandu'", "TIME ZONE 'Europe/London'", "TIME ZONE 'Etc/GMT+5'"),
         *("DateStyle TO 'ISO, DMY'", "DateStyle TO 'ISO, YMD'")],
    )  # fmt: skip
    def test_reads_the_same_whatever_the_options_of_the_session(self, using, option):
        rows = write(using)
        execute(using, f"SET {option}")
        found = same(rows, F("updated")).lastmods
        assert len(found) == len(MOMENTS)
        # Behind Django's back, another zone shifts times in both ways.
        assert found[0] == TEN_THIRTY or option.startswith("TIME ZONE")
        assert same(rows, F("day")).lastmods[0] == "2026-01-31"

    @pytest.mark.parametrize("style", ["German", "SQL, DMY", "SQL, MDY", "Postgres"])
    def test_reads_the_same_if_the_session_writes_days_differently(self, using, style):
        rows = write(using)
        execute(using, f"SET DateStyle TO '{style}'")
        # The driver understands only one style of times, and all but one style of dates.
        assert same(rows, F("updated")).failure == "NotImplementedError"
        assert by_columns(rows, F("day")) == by_instances(rows.only("slug", "day"), F("day"))


@pytest.mark.parametrize("using", [*map(parameter, MYSQLS)], indirect=True)
class TestMariaDBAndMySQL:
    @pytest.mark.parametrize("value", ["0000-00-00 00:00:00", "2026-00-00 00:00:00", "2026-02-00 00:00:00"])
    @pytest.mark.parametrize("column", ["updated", "day"])
    def test_reads_zero_dates_as_python_does(self, using, column, value):
        rows = write(using)
        execute(using, "SET @before = @@SESSION.sql_mode, SESSION sql_mode = ''")
        try:
            set_raw(using, column, "a4", value)
            stored = rows.annotate(text=Cast(column, models.TextField())).get(slug="a4").text
            assert stored.startswith(value[:10])
            found = same(rows, F(column))
        finally:
            execute(using, "SET SESSION sql_mode = @before")
        assert found.failure or not str(found.lastmods[4]).startswith("0000")
