"""The compatibility views respond like those of `django.contrib.sitemaps`.

Most tests send the same request to both and compare the responses. If the responses differ by a deviation
in `test_deviations_times.py`, contrib's response is converted first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import RequestFactory, modify_settings, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from django_sitemaps09 import views
from tests.compat import projects
from tests.compat.cases.classes import Tree
from tests.compat.cases.parts import CASES, CONTRIB_BASES, LATE, UTC
from tests.compat.projects import COMPAT, PROJECT_TEMPLATES, answer, compat_answer, contrib_answer
from tests.support.site_factories import SiteFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rows")]


def urls_of(name: str) -> list[str]:
    """Return the URLs of a case: its index, all its sections together, and each section."""
    paths = ("index.xml", "sitemap.xml", *map("sitemap-{}.xml".format, CASES[name](CONTRIB_BASES)))
    return [f"/{name}/{quote(path)}" for path in paths]


#: Cases of each way to read a section: by rows, languages, `get_urls()`, other classes, or not at all.
WAYS = [
    *("hooks_as_methods", "generic", "generic_in_languages", "languages_with_a_default", "protocols"),
    *("tree_as_class_and_instance", "tree_built_on_the_base", "flatpages", "overridden_get_domain"),
    *("sections_of_both_bases", "failing_hook", "nothing_at_all", "limits"),
]


class TestEveryAnswer:
    @pytest.mark.parametrize("name", CASES)
    def test_equals_contribs(self, name: str) -> None:
        index, *pages = urls_of(name)
        for url in (index, *pages, *(f"{page}?p=2" for page in pages)):
            assert compat_answer(url) == contrib_answer(url), url

    @pytest.mark.parametrize("name", CASES)
    def test_equals_contribs_byte_for_byte_with_templates_of_the_project(self, name: str) -> None:
        for path in ("index.xml", "sitemap.xml", "sitemap.xml?p=2"):
            ours, theirs = (
                answer(project, f"/{name}/{path}", folders=[PROJECT_TEMPLATES])
                for project in (COMPAT, projects.CONTRIB)
            )
            assert ours == theirs, path

    @pytest.mark.parametrize("name", WAYS)
    def test_over_https_equals_contribs(self, name: str) -> None:
        for path in ("index.xml", "sitemap.xml"):
            url = f"/{name}/{path}"
            assert compat_answer(url, secure=True) == contrib_answer(url, secure=True)

    @pytest.mark.parametrize("name", [name for name in CASES if name.startswith("languages")])
    @pytest.mark.parametrize(
        "around",
        [
            translation.override("pt-br"),
            translation.override("fr"),
            override_settings(LANGUAGE_CODE="de", LANGUAGES=[("de", "German"), ("it", "Italian")]),
        ],
        ids=["pt-br", "fr", "settings"],
    )
    def test_in_other_languages_equals_contribs(self, name: str, around: Any) -> None:
        with around:
            for path in ("index.xml", "sitemap.xml"):
                assert compat_answer(f"/{name}/{path}") == contrib_answer(f"/{name}/{path}")

    @pytest.mark.parametrize("name", WAYS)
    @modify_settings(INSTALLED_APPS={"remove": ["django.contrib.sites", "django.contrib.flatpages"]})
    def test_without_the_sites_framework_equals_contribs(self, name: str) -> None:
        for path in ("index.xml", "sitemap.xml"):
            url = f"/{name}/{path}"
            ours = compat_answer(url, HTTP_HOST="shop.example.org:8000")
            assert ours == contrib_answer(url, HTTP_HOST="shop.example.org:8000")
            assert ours.status != 200 or b"//example.com/leaf" not in ours.body

    @pytest.mark.parametrize("path", ["index.xml", "sitemap.xml", "sitemap-two.xml"])
    def test_without_a_row_for_the_site_is_the_same_error_as_in_contrib(self, path: str) -> None:
        Site.objects.all().delete()
        ours = compat_answer(f"/limits/{path}")
        assert ours.refusal is not None
        assert ours == contrib_answer(f"/limits/{path}")

    @pytest.mark.parametrize("path", ["index.xml", "sitemap.xml"])
    def test_names_the_site_of_the_request_when_no_site_id_is_set(self, path: str, settings: Any) -> None:
        del settings.SITE_ID
        SiteFactory(domain="second.example.org")
        url, host = f"/hooks_as_methods/{path}", {"HTTP_HOST": "second.example.org"}
        assert compat_answer(url, **host) == contrib_answer(url, **host)
        assert b"//second.example.org/" in compat_answer(url, **host).body

    @pytest.mark.parametrize("path", ["index.xml", "sitemap.xml"])
    def test_names_the_domain_of_the_current_site_not_of_the_request(self, path: str) -> None:
        Site.objects.filter(pk=1).update(domain="shop.example.org:8443")
        url = f"/hooks_as_methods/{path}"
        assert compat_answer(url, HTTP_HOST="evil.example") == contrib_answer(url, HTTP_HOST="evil.example")
        assert b"//shop.example.org:8443/" in compat_answer(url, HTTP_HOST="evil.example").body

    @pytest.mark.parametrize("method", ["head", "post", "put", "delete", "options"])
    def test_to_any_method_equals_contribs(self, method: str) -> None:
        for path in ("index.xml", "sitemap.xml"):
            url = f"/limits/{path}"
            assert compat_answer(url, method=method) == contrib_answer(url, method=method)

    @pytest.mark.parametrize("name", ["items_as_a_queryset", "generic", "flatpages", "limits"])
    def test_runs_no_more_queries_than_contribs(self, name: str) -> None:
        for path in ("index.xml", "sitemap.xml"):
            asked = []
            for project in (COMPAT, projects.CONTRIB):
                with CaptureQueriesContext(connection) as queries:
                    # Not answer(), which reads the context.
                    assert projects.fetch(project, f"/{name}/{path}").status_code == 200
                asked.append(len(queries))
            assert asked[0] <= asked[1]

    @pytest.mark.parametrize(
        "url",
        [
            *("/sitemap.xml", "/sitemap-two.xml", "/sitemap-none.xml", "/whole/"),
            *("/fixed.xml", "/fixed.xml?p=4", "/fixed-unknown.xml", "/fixed-empty.xml"),
            *("/nested.xml", "/nested-well.xml", "/nested/sitemap-two.xml", "/nested/sitemap-a/b.xml"),
            *("/unnamed.xml", "/unnamed-empty.xml", "/templates/several.xml", "/templates/no.xml"),
            *("/templates/extending.xml", "/types/index.xml", "/types/sitemap.xml"),
        ],
    )
    def test_with_every_kind_of_url_pattern_equals_contribs(self, url: str) -> None:
        assert compat_answer(url) == contrib_answer(url)

    @pytest.mark.parametrize(
        "url",
        [
            *("/templates/index.xml", "/templates/sitemap.xml", "/templates/several-index.xml"),
            "/types/latin.xml",
        ],
    )
    def test_with_a_template_argument_equals_contribs_byte_for_byte(self, url: str) -> None:
        theirs = answer(projects.CONTRIB, url)
        assert theirs.status == 200
        assert answer(COMPAT, url) == theirs


class TestPage:
    """The parameter `p`."""

    @pytest.mark.parametrize(
        "value",
        [
            *("0", "-1", "1", "3", "4", "999", "abc", "", "1.0", "1.5", "last", "None", "1e1"),
            *("%201%20", "01", "%2B1", "1_0", "%D9%A2", "9" * 30, "9" * 5000, "%00", "'", "&p=3"),
            *("2&p=3", "3&p=abc", "1&q=2", "%3Cb%3E"),
        ],
    )
    @pytest.mark.parametrize("path", ["sitemap-one.xml", "sitemap.xml"])
    def test_means_what_it_means_to_contrib(self, path: str, value: str) -> None:
        url = f"/one_section_in_pages/{path}?p={value}"
        assert compat_answer(url) == contrib_answer(url)

    def test_is_not_read_by_the_index_as_in_contrib(self) -> None:
        assert compat_answer("/limits/index.xml?p=9") == contrib_answer("/limits/index.xml?p=9")

    def test_that_an_index_names_is_answered(self) -> None:
        found = projects.texts(answer(COMPAT, "/limits/index.xml").body, "loc")
        assert len(found) == 4 + 1 + 1
        for location in found:
            assert answer(COMPAT, location.removeprefix("http://example.com")).status == 200


class TestPriority:
    @pytest.mark.parametrize("language", ["fr", "de"])
    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("/hooks_as_attributes/sitemap.xml", {"0.5"}),
            ("/hooks_as_methods/sitemap.xml", {"0.3"}),
            # Deviation 9: contrib writes 0,5 in languages with a decimal comma.
            ("/tree_as_class_and_instance/sitemap-class.xml", {"0.5"}),
        ],
    )
    @override_settings(USE_THOUSAND_SEPARATOR=True)
    def test_is_never_localized(self, url: str, expected: set[str], language: str) -> None:
        with translation.override(language):
            assert set(projects.texts(answer(COMPAT, url).body, "priority")) == expected

    def test_changed_to_a_number_in_the_context_is_never_localized(
        self, editing: Callable[..., None]
    ) -> None:
        def change(response: Any) -> None:
            response.context_data["urlset"][0]["priority"] = 0.3

        editing(change)
        with translation.override("fr"):
            found = answer(COMPAT, "/hooks_missing/sitemap.xml").body
        assert projects.texts(found, "priority") == ["0.3"]


class TestThirdPartyObjects:
    @modify_settings(INSTALLED_APPS={"remove": ["django.contrib.sites"]})
    def test_have_an_error_message_that_names_what_they_need(self) -> None:
        with pytest.raises(ImproperlyConfigured, match=r"requires django\.contrib\.sites"):
            views.sitemap(RequestFactory().get("/"), {"flat": FlatPageSitemap}).render()

    def test_may_return_times_in_any_zone(self) -> None:
        class Zoned(Tree):
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                return [{"location": "https://x/", "lastmod": LATE.astimezone(UTC)}]

        made = views.sitemap(RequestFactory().get("/"), {"tree": Zoned}).render()
        assert projects.texts(made.content, "lastmod") == ["2026-01-02T02:15:59Z"]
