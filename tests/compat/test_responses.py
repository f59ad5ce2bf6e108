"""The compatibility views as functions: their arguments, their results, and caching."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest
from django.contrib.sitemaps import views as contrib_views
from django.core.cache import cache
from django.core.paginator import Paginator
from django.http import Http404
from django.template.response import ContentNotRenderedError, TemplateResponse
from django.test import RequestFactory, override_settings
from django.urls import resolve

from django_sitemaps09 import Sitemap, views
from tests.compat import projects
from tests.compat.cases.parts import LEAVES, Leaf
from tests.compat.projects import COMPAT, answer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rows")]


class Section(Sitemap[Leaf]):
    made: int = 0

    def __init__(self) -> None:
        type(self).made += 1

    def items(self) -> list[Leaf]:
        return LEAVES

    def lastmod(self, item: Leaf) -> Any:
        return item.updated


@pytest.fixture(params=["index", "sitemap"])
def response(request: pytest.FixtureRequest, settings: Any) -> Any:
    """Return the response of a view before it is rendered."""
    settings.ROOT_URLCONF = COMPAT.urlconf
    return getattr(views, request.param)(RequestFactory().get("/"), {"one": Section})


class TestResponse:
    """The `TemplateResponse` that the views return."""

    def test_is_a_template_response_that_is_not_rendered(self, response: Any) -> None:
        assert isinstance(response, TemplateResponse)
        assert not response.is_rendered
        with pytest.raises(ContentNotRenderedError):
            _ = response.content
        with pytest.raises(ContentNotRenderedError):
            list(response)

    def test_renders_itself_once_and_returns_itself(self, response: Any) -> None:
        assert response.render() is response
        content = response.content
        response.context_data.clear()
        assert response.render().content == content

    def test_gives_its_content_without_being_rendered(self, response: Any) -> None:
        content = response.rendered_content
        assert not response.is_rendered
        as_bytes = content if isinstance(content, bytes) else content.encode()
        assert response.render().content == as_bytes

    def test_calls_callbacks_when_it_is_rendered(self, response: Any) -> None:
        rendered: list[Any] = []
        response.add_post_render_callback(rendered.append)
        assert rendered == []
        response.render()
        assert rendered == [response]

    def test_is_pickled_once_rendered_and_not_before(self, response: Any) -> None:
        with pytest.raises(ContentNotRenderedError):
            pickle.dumps(response)
        response.render()
        copied = pickle.loads(pickle.dumps(response))  # noqa: S301 - our own bytes
        assert copied.content == response.content
        assert copied.headers == response.headers


class TestViews:
    @pytest.mark.parametrize("name", ["index", "sitemap"])
    def test_take_contribs_arguments_and_need_no_sections(self, name: str) -> None:
        theirs = inspect.signature(getattr(contrib_views, name)).parameters
        ours = inspect.signature(getattr(views, name)).parameters
        assert list(ours) == list(theirs)
        assert all(ours[key].kind is theirs[key].kind for key in theirs)
        assert {key: ours[key].default for key in ours} == {
            **{key: theirs[key].default for key in theirs},
            "sitemaps": None,
        }

    def test_take_their_arguments_by_position(self) -> None:
        request = RequestFactory().get("/")
        with override_settings(ROOT_URLCONF=COMPAT.urlconf):
            index = views.index(request, {"one": Section}, "i.xml", "text/xml", "cached")
            assert index.context_data["sitemaps"][0].location.endswith("/cached/sitemap-one.xml")
        sitemap = views.sitemap(request, {"one": Section}, "one", "s.xml", "text/plain")
        assert (index.template_name, index["Content-Type"]) == ("i.xml", "text/xml")
        assert (sitemap.template_name, sitemap["Content-Type"]) == ("s.xml", "text/plain")

    @pytest.mark.parametrize("view", ["index", "sitemap"])
    def test_create_a_class_once_for_each_request(self, view: str) -> None:
        with override_settings(ROOT_URLCONF=COMPAT.urlconf):
            for _ in range(3):
                before = Section.made
                getattr(views, view)(RequestFactory().get("/"), {"one": Section}).render()
                assert Section.made == before + 1

    def test_instantiate_only_the_requested_section(self) -> None:
        def never() -> Any:
            raise AssertionError

        sections = {"never": never, "one": Section}
        assert views.sitemap(RequestFactory().get("/"), sections, section="one").render()

    def test_read_a_mapping_at_each_request(self) -> None:
        sections: dict[str, Any] = {}
        first = views.sitemap(RequestFactory().get("/"), sections).render().content
        sections["one"] = Section
        second = views.sitemap(RequestFactory().get("/"), sections).render().content
        assert projects.texts(first, "loc") == []
        assert len(projects.texts(second, "loc")) == 3

    def test_refuse_a_section_before_reading_any(self) -> None:
        def never() -> Any:
            raise AssertionError

        with pytest.raises(Http404, match="No sitemap available for section: 'none'"):
            views.sitemap(RequestFactory().get("/"), {"never": never}, section="none")

    def test_pass_the_page_unchanged_from_the_request(self) -> None:
        """As with contrib, an overridden `get_urls()` or paginator gets the string."""
        calls: list[Any] = []

        class Telling(Section):
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                calls.append((page, site.domain, protocol))
                return []

        views.sitemap(RequestFactory().get("/?p=x"), {"one": Telling}).render()
        views.sitemap(RequestFactory().get("/", secure=True), {"one": Telling}).render()
        assert calls == [("x", "example.com", "http"), (1, "example.com", "https")]

    def test_read_the_pages_of_the_paginator_that_a_class_has(self) -> None:
        class Named(Paginator):
            def validate_number(self, number: Any) -> int:
                return {"first": 1, "second": 2}.get(str(number)) or super().validate_number(number)

        class Lettered(Section):
            @property
            def paginator(self) -> Paginator:
                return Named(LEAVES, 2)

        made = views.sitemap(RequestFactory().get("/?p=second"), {"one": Lettered}).render()
        assert projects.texts(made.content, "loc") == ["http://example.com/leaf/ash/"]


class TestCaching:
    @pytest.mark.parametrize("path", ["index.xml", "sitemap-counted.xml"])
    def test_with_cache_page_calls_the_section_once(self, path: str) -> None:
        url = f"/cached/{path}"
        made = resolve(url, urlconf=COMPAT.urlconf).kwargs["sitemaps"]["counted"].made
        made.clear()
        first, second = answer(COMPAT, url), answer(COMPAT, url)
        assert len(made) == 1
        assert second.body == first.body
        counted = answer(COMPAT, f"/counted/{path}").body
        assert first.body == counted.replace(b"/counted/", b"/cached/")
        assert {**second.headers, "Age": "0"} == {**first.headers, "Age": "0"}
        cache.clear()
        assert set(first.headers) == set(answer(projects.CONTRIB, url).headers)
        assert first.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"

    def test_of_the_whole_site_calls_the_section_once(self, settings: Any) -> None:
        settings.MIDDLEWARE = [
            "django.middleware.cache.UpdateCacheMiddleware",
            "django.middleware.gzip.GZipMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.cache.FetchFromCacheMiddleware",
        ]
        url = "/counted/sitemap-counted.xml"
        made = resolve(url, urlconf=COMPAT.urlconf).kwargs["sitemaps"]["counted"].made
        made.clear()
        first, second = answer(COMPAT, url), answer(COMPAT, url)
        assert len(made) == 1
        assert first.body == second.body
