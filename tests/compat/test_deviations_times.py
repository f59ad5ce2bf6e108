"""Deviations of the compatibility views in times, and in the argument `sitemaps`.

The other deviations are in `test_deviations.py`. Everything else is as with contrib: see
`test_answers.py` and `test_declarations.py`.

Deviations
==========

1. A `lastmod` with a time keeps its time, in whole seconds, and carries a zone:
   `2026-01-01T10:30:00Z`. Contrib writes the date only into a sitemap, in the active zone, and in
   an index a time with microseconds. This is what our stock templates write; a template of the
   project, and the context, get what they get from contrib.
2. Times do not depend on the request: aware ones are written in UTC, whatever time zone is active,
   and naive ones are taken in `TIME_ZONE`, in the body and in `Last-Modified`. Contrib
   writes a naive one as it is, and takes it for UTC in the header. A plain date stays a date, and
   counts as midnight UTC in the header, as with contrib.
3. The argument `sitemaps` of the views is optional. Its default is what the setting `SITEMAPS`
   names, or else the registered sections. An empty mapping is a mapping.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.sitemaps import views as contrib_views
from django.test import RequestFactory
from django.utils import timezone as zones

from django_sitemaps09 import Sitemap, views
from tests.compat import projects
from tests.compat.cases.parts import COMPAT_BASES, LEAVES, NEW_YORK, UTC, Leaf, constant, timed

pytestmark = pytest.mark.django_db

HALF_PAST_TEN = datetime(2026, 1, 1, 10, 30, tzinfo=UTC)


class Configured(Sitemap[Leaf]):
    """The section that the setting names."""

    def items(self) -> list[Leaf]:
        return LEAVES


CONFIGURED = {"configured": Configured}


@pytest.fixture(autouse=True)
def _routes(settings: Any) -> None:
    settings.ROOT_URLCONF = projects.COMPAT.urlconf


@pytest.fixture(params=[timed, constant], ids=["method", "attribute"])
def section(request: pytest.FixtureRequest) -> Any:
    """Makes a section whose `lastmod` is a method or an attribute."""
    return lambda value: request.param(COMPAT_BASES, value)


def answered(view: Any, *declared: Any) -> Any:
    mapping = {f"s{number}": one for number, one in enumerate(declared)}
    return view(RequestFactory().get("/"), mapping).render()


def written(view: Any, *declared: Any) -> set[str]:
    return set(projects.texts(answered(view, *declared).content, "lastmod"))


both_views = pytest.mark.parametrize("view", [views.index, views.sitemap], ids=["index", "sitemap"])


@both_views
class TestDeviation1:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (HALF_PAST_TEN, "2026-01-01T10:30:00Z"),
            (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00Z"),
            (datetime(2026, 1, 1, 23, 59, 59, 999_999, tzinfo=UTC), "2026-01-01T23:59:59Z"),
            (datetime(987, 1, 1, 0, 0, 1, tzinfo=UTC), "0987-01-01T00:00:01Z"),
        ],
        ids=str,
    )
    def test_a_time_is_written_with_its_seconds_and_zone(
        self, view: Any, section: Any, value: datetime, text: str
    ) -> None:
        """Deviation 1: contrib writes the date only, and fractions of seconds into an index."""
        assert written(view, section(value)) == {text}

    def test_a_template_of_the_project_gets_the_value_itself(
        self, view: Any, section: Any, settings: Any
    ) -> None:
        """Deviation 1: what a template makes of a time stays the template's."""
        settings.TEMPLATES = projects.templates(projects.PROJECT_TEMPLATES)
        text = "2026-01-01T11:30:00+01:00" if view is views.index else "2026-01-01"
        assert written(view, section(HALF_PAST_TEN)) == {text}


@both_views
class TestDeviation2:
    @pytest.mark.parametrize("active", ["America/New_York", "Asia/Tokyo", None])
    def test_an_aware_time_is_written_in_utc_whatever_is_active(
        self, view: Any, section: Any, active: str | None
    ) -> None:
        """Deviation 2: contrib writes it in the active zone, on the day that it is there."""
        with zones.override(ZoneInfo(active) if active else None):
            found = answered(view, section(datetime(2025, 12, 31, 20, 0, tzinfo=NEW_YORK)))
        assert set(projects.texts(found.content, "lastmod")) == {"2026-01-01T01:00:00Z"}
        assert found.headers["Last-Modified"] == "Thu, 01 Jan 2026 01:00:00 GMT"

    @pytest.mark.parametrize("active", ["America/New_York", None])
    @pytest.mark.parametrize("use_tz", [True, False])
    @pytest.mark.parametrize(
        ("value", "text", "header"),
        [
            # Summer, the hour that there is twice, and the one that there is not.
            ("2026-07-01T00:30", "2026-06-30T22:30:00Z", "Tue, 30 Jun 2026 22:30:00 GMT"),
            ("2025-10-26T02:30", "2025-10-26T00:30:00Z", "Sun, 26 Oct 2025 00:30:00 GMT"),
            ("2026-03-29T02:30", "2026-03-29T01:30:00Z", "Sun, 29 Mar 2026 01:30:00 GMT"),
        ],
    )
    def test_a_naive_time_is_taken_in_the_time_zone_of_the_settings(
        self,
        view: Any,
        section: Any,
        value: str,
        text: str,
        header: str,
        use_tz: bool,
        active: str | None,
        settings: Any,
    ) -> None:
        """Deviation 2: contrib writes it as it is, and takes it for UTC in `Last-Modified`."""
        settings.USE_TZ = use_tz
        with zones.override(ZoneInfo(active) if active else None):
            found = answered(view, section(datetime.fromisoformat(value)))
        assert set(projects.texts(found.content, "lastmod")) == {text}
        assert found.headers["Last-Modified"] == header

    def test_a_time_is_written_the_same_by_all_renderers(
        self, view: Any, section: Any, settings: Any
    ) -> None:
        """Deviation 2: also where contrib's own stock template is found first."""
        naive = section(datetime(2026, 1, 1, 10, 30))
        before = written(view, naive)
        settings.INSTALLED_APPS = ["django.contrib.sitemaps", *settings.INSTALLED_APPS]
        assert written(view, naive) == before == {"2026-01-01T09:30:00Z"}

    @pytest.mark.parametrize("value", [datetime.min, datetime.max.replace(tzinfo=NEW_YORK)])
    def test_a_time_that_is_out_of_range_in_utc_is_skipped(
        self, view: Any, section: Any, value: datetime
    ) -> None:
        """Deviation 2: contrib takes `datetime.min` for UTC, where it is in range."""
        found = answered(view, section(value))
        assert projects.texts(found.content, "lastmod") == []
        assert "Last-Modified" not in found.headers

    @pytest.mark.parametrize("active", ["America/New_York", "Asia/Tokyo"])
    def test_a_date_stays_a_date_and_counts_as_midnight_in_utc(
        self, view: Any, section: Any, active: str | None
    ) -> None:
        """Deviation 2: dates are as with contrib."""
        theirs = contrib_views.index if view is views.index else contrib_views.sitemap
        with zones.override(ZoneInfo(active) if active else None):
            declared = section(date(2026, 1, 1))
            found, contribs = answered(view, declared), answered(theirs, declared)
        assert found.context_data == contribs.context_data
        assert set(projects.texts(found.content, "lastmod")) == {"2026-01-01"}
        assert found.headers["Last-Modified"] == "Thu, 01 Jan 2026 00:00:00 GMT"

    def test_naive_times_aware_times_and_dates_are_compared_by_this_rule(self, view: Any) -> None:
        """Deviation 2: to contrib the naive one would be an hour later, and the newest."""
        declared = [
            timed(COMPAT_BASES, datetime(2026, 1, 1, 1, 30)),
            timed(COMPAT_BASES, datetime(2026, 1, 1, 0, 45, tzinfo=UTC)),
            timed(COMPAT_BASES, date(2026, 1, 1)),
        ]
        for order in (declared, declared[::-1]):
            found = answered(view, *order).headers["Last-Modified"]
            assert found == "Thu, 01 Jan 2026 00:45:00 GMT"


class TestDeviation3:
    def test_the_views_take_the_sections_of_the_setting(self, settings: Any) -> None:
        """Deviation 3: contrib's views need `sitemaps`."""
        settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.CONFIGURED"}
        request = RequestFactory().get("/")
        assert views.index(request).context_data == views.index(request, CONFIGURED).context_data
        found = views.sitemap(request, section="configured").render()
        assert len(projects.texts(found.content, "loc")) == len(LEAVES)
        with pytest.raises(Exception, match="No sitemap available for section: 'other'"):
            views.sitemap(request, section="other")

    def test_the_views_take_the_registered_sections(self, register: Callable[..., None]) -> None:
        """Deviation 3: where no setting says otherwise."""
        register(registered=Configured)
        request = RequestFactory().get("/")
        index = views.index(request).context_data["sitemaps"]
        assert [entry.location for entry in index] == ["http://example.com/sitemap-registered.xml"]
        assert len(views.sitemap(request).context_data["urlset"]) == len(LEAVES)

    def test_a_mapping_that_is_passed_is_used_even_if_it_is_empty(self, settings: Any) -> None:
        """Deviation 3: the setting is for views that are given none."""
        settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.CONFIGURED"}
        request = RequestFactory().get("/")
        assert views.index(request, {}).context_data == {"sitemaps": []}
        assert views.sitemap(request, sitemaps={}).context_data == {"urlset": []}
