"""What every view promises: status, headers, validators, methods, compression, with any middleware."""

from __future__ import annotations

import asyncio
import gzip
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from urllib.parse import urljoin

import pytest
from asgiref.sync import async_to_sync
from django.core.cache import cache, caches
from django.http import HttpResponse
from django.test import AsyncClient, Client
from django.urls import include, path, re_path, reverse
from django.views.decorators.cache import cache_page

from django_sitemaps09 import views
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.configuration import BASE
from tests.support.factories import write_articles
from tests.support.internals import known_pages, live_pages, stylesheet
from tests.support.native_views import FORMS, PAGE, get, pages, queries
from tests.support.sections import Numbers, declare
from tests.support.stores import Overwriting, storage

KEY, OTHER = "0123456789abcdef0123456789abcdef", "the-key-of-the-shop"
CACHED = {"public": True, "max_age": 3600, "stale_while_revalidate": 86_400}
CACHE_CONTROL = "public, max-age=3600, stale-while-revalidate=86400"
ROBOTS = {"X-Robots-Tag": "noindex, noodp, noarchive"}
XML, GZIP, TEXT = "application/xml", "application/gzip", "text/plain; charset=utf-8"
#: The content type of each address. `RANGE` is a page by its keys.
RANGE = "range"
TYPES = {"/sitemap.xml": XML, PAGE: XML, RANGE: XML, "/sitemap-numbers-1.xml": XML, "/robots.txt": TEXT}
TYPES |= {f"{PAGE}.gz": GZIP, f"{RANGE}.gz": GZIP, FORMS[2]: TEXT, "/sitemap-text-1.txt": TEXT}
TYPES |= {"/sitemap.css": "text/css; charset=utf-8", f"/{KEY}.txt": TEXT}
#: These have no validator and no lifetime.
PLAIN = {"/robots.txt", f"/{KEY}.txt"}
FILES = {"/sitemap.xml", f"{PAGE}.gz", "/sitemap-text-1.txt"}
pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(INDEXNOW_KEY=KEY, CACHE_CONTROL=CACHED)]


@pytest.fixture(params=["live", "kept", "exported", "stored"])
def site(request, register, configure, folder, settings, monkeypatch):
    """All views, whose pages are rendered each time, kept in a cache, or files in a folder or storage."""
    settings.CACHES = {**settings.CACHES, "pages": {**settings.CACHES["default"], "LOCATION": "pages"}}
    caches["pages"].clear()
    write_keys(*range(1, 16))
    register(articles=Articles, numbers=Numbers(3), text=declare(Numbers, format="text")(3))
    keys = pages()[0]
    if request.param == "kept":
        configure(LIVE_CACHE="pages")
    elif request.param != "live":
        # The lock of a storage would need a service.
        lock = "django_sitemaps09.export.host_export.exclusive_lock"
        monkeypatch.setattr(lock, lambda store: nullcontext(lambda: None))
        if request.param == "stored":
            settings.STORAGES = {**settings.STORAGES, "sitemaps": storage(Overwriting)}
        configure(SERVE_EXPORTED=True, ROOT=folder if request.param == "exported" else None)
        export()
        # A live page would need at least one.
        assert queries(f"{PAGE}.gz") == 0
    kept = [url for url in TYPES if request.param == "kept" and url[-3:] in ("xml", "txt", RANGE[-3:])]
    return SimpleNamespace(
        # A file of a storage is not streamed.
        files=FILES if request.param == "exported" else (),
        kept={*kept} - {"/sitemap.xml", *PLAIN},
        urls={u: u.replace(RANGE, keys) for u in TYPES},
    )


def headers_of(site, name, size, *, is_packed=False):
    due = {"Content-Type": TYPES[name], **ROBOTS}
    due |= {} if name in PLAIN else {"Cache-Control": CACHE_CONTROL}
    due |= {"Content-Length": str(size)} if name in site.files else {}
    due |= {"Vary": "Accept-Encoding"} if name in site.kept else {}
    return due | ({"Content-Encoding": "gzip"} if is_packed and name in site.kept else {})


def without_etag(response):
    found = {**response.headers}
    etag = found.pop("ETag", None)
    return found, etag


def test_a_view_sends_exactly_the_headers_that_its_document_needs(site, recwarn):
    bodies = {}
    for name, url in site.urls.items():
        response = get(url)
        bodies[name] = response.body
        headers, etag = without_etag(response)
        assert (response.status_code, headers) == (200, headers_of(site, name, len(response.body))), name
        assert (etag is None) == (name in PLAIN)
        packed = get(url, Accept_Encoding="gzip")
        headers, packed_etag = without_etag(packed)
        assert (headers, packed_etag) == (headers_of(site, name, len(response.body), is_packed=True), etag)
        content = gzip.decompress(packed.body) if "Content-Encoding" in headers else packed.body
        assert content == response.body
        # Under ASGI, Django would warn of a streamed response.
        response_of_asgi = async_to_sync(AsyncClient().get)(url)
        assert (response_of_asgi.streaming, response_of_asgi.content) == (False, response.body)
        assert (response_of_asgi.status_code, response_of_asgi["Content-Type"]) == (200, TYPES[name])
        validator = {"If-None-Match": response_of_asgi.get("ETag", "")}
        again = async_to_sync(AsyncClient().get)(url, headers=validator)
        assert again.status_code == (200 if name in PLAIN else 304)
        head = get(url, "head")
        assert (head.status_code, head.body, *without_etag(head)) == (200, b"", *without_etag(response))
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            refused = Client().generic(method, url)
            assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")
            assert refused.headers["X-Robots-Tag"] == ROBOTS["X-Robots-Tag"]
    assert [str(warning.message) for warning in recwarn] == []
    assert gzip.decompress(bodies[f"{RANGE}.gz"]) == bodies[RANGE]
    assert gzip.decompress(bodies[f"{PAGE}.gz"]) == bodies[PAGE]
    assert bodies["/robots.txt"] == f"Sitemap: {BASE}/sitemap.xml\n".encode()
    assert (bodies["/sitemap.css"], bodies[f"/{KEY}.txt"]) == (stylesheet(), KEY.encode())


def test_a_validator_of_a_view_is_compared_as_http_says(site, configure):
    for name, url in site.urls.items():
        if name in PLAIN:
            continue
        etag = get(url)["ETag"]
        strong = etag.removeprefix("W/")
        assert etag.startswith('W/"')
        due = {"Cache-Control": CACHE_CONTROL, "ETag": etag, **ROBOTS}
        due |= {"Vary": "Accept-Encoding"} if name in site.kept else {}
        for method in ("get", "head"):
            for value in (etag, strong, f'"a", {etag}', f'W/"a",W/"b", {strong}', "*"):
                answer = get(f"{url}?a=1", method, If_None_Match=value, Accept_Encoding="gzip")
                assert (answer.status_code, answer.body, answer.headers) == (304, b"", due), (name, value)
            for value in ('"other"', strong.strip('"'), f'"{etag}"', ""):
                assert get(url, method, If_None_Match=value).status_code == 200
            assert get(url, method, If_Match='"other"').status_code == 412
    configure(CACHE_CONTROL={})
    assert [name for name, url in site.urls.items() if "Cache-Control" in get(url).headers] == []


@pytest.mark.parametrize("names", [
    *(["http.ConditionalGet"], ["gzip.GZip"], ["http.ConditionalGet", "gzip.GZip"], ["common.Common"]),
    ["cache.UpdateCache", "gzip.GZip", "cache.FetchFromCache"],
])  # fmt: skip
def test_middleware_changes_no_validator_and_packs_nothing_twice(site, settings, names):
    """`GZipMiddleware` would compress a gzip file again, and a reader would decompress it only once."""
    plain = {name: get(url).body for name, url in site.urls.items()}
    settings.MIDDLEWARE = [*(f"django.middleware.{name}Middleware" for name in names), *settings.MIDDLEWARE]
    is_packing = "gzip.GZip" in names
    for name, url in [*site.urls.items()] * 2:
        response = get(url, Accept_Encoding="gzip, br")
        is_packed = "Content-Encoding" in response.headers
        may_be = is_packing and (len(plain[name]) >= 200 or name in site.files) and TYPES[name] != GZIP
        assert is_packed == (may_be or name in site.kept), name
        assert (gzip.decompress(response.body) if is_packed else response.body) == plain[name]
        assert response.headers["Content-Type"] == TYPES[name]
        if name not in PLAIN and "cache.UpdateCache" not in names:
            etag = response.headers["ETag"]
            assert get(f"{url}?a=1", accept_encoding="gzip", if_none_match=etag).status_code == 304
            assert get(url, accept_encoding="gzip", if_none_match='"other"').status_code == 200


@pytest.mark.parametrize("cache", [None, "default"])
def test_a_gzip_file_in_memory_is_not_packed_again(register, configure, settings, cache):
    register(one=Numbers(3_000))
    configure(LIVE_CACHE=cache)
    packed = get("/sitemap-one-1.xml.gz").body
    # Otherwise, Django would keep the shorter original.
    assert len(gzip.compress(packed)) < len(packed) / 2
    settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware"]
    response = get("/sitemap-one-1.xml.gz", Accept_Encoding="gzip")
    assert (response.body, "Content-Encoding" in response.headers) == (packed, False)


PACKED = ["gzip", "br, gzip", "GZIP;q=0.5, *;q=0", "deflate, gzip ; q=1.0"]
PLAINLY = ["", "identity", "gzip;q=0", "gzip; q=0.000, br", "x-gzips", "br"]


@pytest.mark.parametrize("encodings", PACKED + PLAINLY)
@pytest.mark.parametrize("site", ["kept"], indirect=True)
def test_a_client_gets_a_kept_page_as_it_is_kept_only_if_it_accepts_gzip(site, encodings):
    response = get(PAGE, Accept_Encoding=encodings)
    is_packed = response.headers.get("Content-Encoding") == "gzip"
    content = gzip.decompress(response.content) if is_packed else response.content
    assert (content, is_packed) == (get(PAGE).content, encodings in PACKED)


@pytest.mark.parametrize("middleware", [[], ["django.middleware.common.CommonMiddleware"]])
@pytest.mark.parametrize("site", ["live"], indirect=True)
def test_head_is_answered_without_the_rows(site, middleware, settings, django_assert_num_queries):
    settings.MIDDLEWARE = middleware
    for url in FORMS:
        headers = {**get(url).headers, "Content-Length": ""}
        known_pages._entries.clear()
        with django_assert_num_queries(1):
            response = get(url, "head")
        # CommonMiddleware would say that the page is empty.
        assert "Content-Length" not in response.headers
        assert {**response.headers, "Content-Length": ""} == headers


@pytest.mark.parametrize("site", ["live"], indirect=True)
def test_a_view_is_public_if_a_login_is_required(site, settings):
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    assert get("/about/").status_code == 302
    assert {get(url).status_code for url in site.urls.values()} == {200}


@pytest.mark.parametrize("is_conditional", [False, True])
def test_cache_page_keeps_whole_responses_and_makes_them_once(
    route, register, settings, django_assert_num_queries, is_conditional
):
    """Neither a required login nor a conditional request puts a response without content into the cache."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    write_articles("a", "b")
    register(articles=Articles)
    cached, page = cache_page(60), r"^sitemap-(?P<section>\w+)-(?P<page>\d+)\.xml"
    patterns = [
        path("sitemap.xml", cached(views.sitemap_index), name="index"),
        re_path(rf"{page}$", cached(views.page), name="page"),
        re_path(rf"{page}\.gz$", cached(views.page_gz), name="page-gz"),
    ]
    route(path("", include((patterns, "django_sitemaps09"))), path("robots.txt", cached(views.robots_txt)))
    urls = ("/sitemap.xml", PAGE, f"{PAGE}.gz", "/robots.txt")
    if is_conditional:
        etags = {url: get(url)["ETag"] for url in urls[:3]}
        cache.clear()
        assert {get(url, if_none_match=etag).status_code for url, etag in etags.items()} == {304}
    first = {url: get(url) for url in urls}
    Article.objects.all().delete()
    with django_assert_num_queries(0):
        second = {url: get(url) for url in urls}
    for url in urls:
        assert (first[url].status_code, second[url].body) == (200, first[url].body)
        assert {**second[url].headers, "Age": 0} == {**first[url].headers, "Age": 0}
        assert first[url].body


@pytest.mark.parametrize("prefix", ["", "a/", "a/b/"])
def test_documents_name_the_stylesheet_beside_them_only_if_it_is_on(configure, route, prefix):
    route(path(prefix, include("django_sitemaps09.urls"), {"sitemaps": {"words": Numbers(3)}}))
    text, *documents = (f"/{prefix}sitemap{name}" for name in ("-words-1.txt", ".xml", "-words-1.xml"))
    plain = [get(url).content for url in (text, *documents)]
    # It is served even if the setting is off, because cached documents may still refer to it.
    assert get(f"/{prefix}sitemap.css").content == stylesheet()
    configure(STYLESHEET=True)
    declaration = b'<?xml version="1.0" encoding="UTF-8"?>\n'
    named = b'<?xml-stylesheet type="text/css" href="sitemap.css"?>\n'
    assert [get(url).content for url in (text, *documents)] == [
        plain[0], *(declaration + named + content.removeprefix(declaration) for content in plain[1:])
    ]  # fmt: skip
    assert {urljoin(url, "sitemap.css") for url in documents} == {reverse("django_sitemaps09:stylesheet")}


class TestAKeyFileOfIndexNow:
    @pytest.fixture(autouse=True)
    def _urls(self, settings):
        text_file = path("<str:name>.txt", lambda request, name: HttpResponse("other"))
        settings.ROOT_URLCONF = (path("", include("django_sitemaps09.urls")), text_file)
        settings.ALLOWED_HOSTS = ["www.example.com", "shop.example.com"]

    def test_is_at_the_address_of_its_key_if_that_is_valid_and_of_no_other_text(self, configure):
        assert reverse("django_sitemaps09:indexnow-key", kwargs={"key": KEY}) == f"/{KEY}.txt"
        for name in ("security", "humans12", f"{KEY}0", KEY.upper()):
            assert get(f"/{name}.txt", host="www.example.com").content == b"other"
        for key in (None, "invalid key", 7):
            configure(INDEXNOW_KEY=key)
            assert get(f"/{KEY}.txt", host="www.example.com").content == b"other"

    def test_of_each_host_has_its_own_key(self, configure, settings):
        configure(INDEXNOW_KEY={"www.example.com": KEY, "shop.example.com": OTHER})
        www, shop = "www.example.com", "shop.example.com:8000"
        requests = [(KEY, www, 200), (OTHER, shop, 200), (OTHER, www, 404), (KEY, shop.upper(), 404)]
        for key, host, status in (*requests, (KEY, "evil.example.net", 400)):
            response = get(f"/{key}.txt", host=host)
            assert (response.status_code, response.content == key.encode()) == (status, status == 200)
        settings.ROOT_URLCONF = (path("", include("django_sitemaps09.urls"), {"sitemaps": {}}),)
        assert get(f"/{KEY}.txt", host="www.example.com").content == KEY.encode()


@pytest.mark.parametrize("site", ["live"], indirect=True)
def test_the_event_loop_is_not_blocked_while_a_page_is_rendered(site, monkeypatch):
    """Under ASGI, Django runs views in a thread."""
    begun, may_end, render = threading.Event(), threading.Event(), live_pages.PageRequest._render

    def waiting(*arguments):
        begun.set()
        assert may_end.wait(20), "the event loop did not go on"
        return render(*arguments)

    async def both():
        request = asyncio.ensure_future(AsyncClient().get(PAGE))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        may_end.set()
        return await request

    monkeypatch.setattr(live_pages.PageRequest, "_render", waiting)
    assert b"/s8/" in async_to_sync(both)().content
