"""The recipes for a shared cache in front of the views, run with nginx, with changes in between."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler

from django_sitemaps09.export import Published
from tests.docs.pages import Snippet, blocks
from tests.models import Article
from tests.support import crawling
from tests.support.crawling import (
    BASE,
    SECONDS,
    change_rows,
    crawl,
    expected,
    over_http,
    run_export,
    write_rows,
)
from tests.support.nginx import nginx, server
from tests.support.wsgi import serve, sharing_connection

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.services]

PAGE = "docs/howto/cache.md"
INDEX, STATIC = "sitemap.xml", "sitemap-views-1.xml"
BACKGROUND = "proxy_cache_background_update on;"
ORIGIN = "http://127.0.0.1:8000;"
#: A cache that knows nothing but the headers of the origin, as a CDN.
CDN = """
proxy_cache_path {folder}/cache keys_zone=cdn:1m;
{server}
"""
CDN_SERVER = """
location / {
    proxy_pass {origin};
    proxy_cache cdn;
    proxy_cache_key $uri;
    proxy_cache_revalidate on;
    proxy_cache_background_update on;
    proxy_cache_bypass $http_x_purge;
    add_header X-Cache-Status $upstream_cache_status;
    gzip off;
    {more}
}
"""


class Request(NamedTuple):
    path: str
    query: str
    headers: dict[str, str]
    status: int


@dataclass
class Origin:
    """The views behind a cache: the requests that reach them, and a gate that can make them wait."""

    address: str
    arrived: int = 0
    requests: list[Request] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)

    def asked(self, name: str) -> list[Request]:
        return [request for request in self.requests if request.path == f"/{name}"]


@contextmanager
def origin() -> Iterator[Origin]:
    """Serve the views in a thread, with the database connection of the test."""
    handler = WSGIHandler()

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        views.arrived += 1
        assert views.gate.wait(SECONDS)

        def started(status: str, *rest: Any) -> Any:
            headers = {name: value for name, value in environ.items() if name.startswith("HTTP_")}
            path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
            views.requests.append(Request(path, query, headers, int(status[:3])))
            return start_response(status, *rest)

        return handler(environ, started)

    with sharing_connection(application) as shared, serve(shared) as address:
        views = Origin(address)
        views.gate.set()
        try:
            yield views
        finally:
            views.gate.set()


class Cached(NamedTuple):
    status: str | None
    content: bytes
    headers: Any


def get(address: str, name: str, **headers: str) -> Cached:
    """Return the answer of a cache."""
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    request = urllib.request.Request(f"{address}/{name}", headers=named)  # noqa: S310
    with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 our own server
        return Cached(response.headers["X-Cache-Status"], response.read(), response.headers)


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def shows_rows(address: str) -> bool:
    """Return whether the documents in a cache are complete, and those of the current rows."""
    try:
        return crawl(over_http(address)) == expected()
    except (AssertionError, urllib.error.HTTPError):
        # Between two updates, an index and a page can be of different times.
        return False


@pytest.fixture(autouse=True)
def _configured(settings: Any) -> None:
    """Serve one section of each kind."""
    settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": f"{crawling.__name__}.SITEMAPS", "LIVE_SECONDS": 0}
    settings.ALLOWED_HOSTS = ["www.example.com", "127.0.0.1"]
    write_rows()


@pytest.fixture
def _varying(settings: Any) -> None:
    """Add middleware that makes answers depend on the headers of clients."""
    settings.MIDDLEWARE = [
        "django.middleware.gzip.GZipMiddleware",
        *settings.MIDDLEWARE,
        "django.middleware.locale.LocaleMiddleware",
    ]


@pytest.fixture
def in_front(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Run the nginx of the recipe in front of the views, and return its address."""
    [block] = blocks("nginx", PAGE)
    text = block.text
    for documented, used in (("/var/cache/nginx/sitemaps", f"{tmp_path}/cache"), (ORIGIN, "{address};")):
        assert text.count(documented) == 1
        text = text.replace(documented, used)
    with ExitStack() as stack:

        def run(views: Origin, *, is_in_background: bool = True) -> str:
            configuration = text.replace("{address}", views.address)
            if not is_in_background:
                assert BACKGROUND in text
                configuration = configuration.replace(BACKGROUND, "")
            return stack.enter_context(nginx(configuration, tmp_path / "nginx"))

        yield run


def logged(folder: Path) -> Counter[str]:
    """Return how often nginx has logged each status, also of updates in the background."""
    return Counter(line.split()[0] for line in (folder / "nginx" / "access.log").read_text().splitlines())


@pytest.mark.usefixtures("_varying")
class TestNginx:
    def test_caches_every_kind_of_section_for_a_minute(self, in_front: Callable[..., str]) -> None:
        with origin() as views:
            address = in_front(views)
            rows = expected()
            assert crawl(over_http(address)) == rows
            requests = len(views.requests)
            assert {request.status for request in views.requests} == {200}
            change_rows()
            assert crawl(over_http(address)) == rows != expected()
            assert len(views.requests) == requests

    def test_has_one_entry_for_each_path(self, in_front: Callable[..., str]) -> None:
        with origin() as views:
            address = in_front(views)
            sent = {
                "Accept_Language": "de",
                "Accept_Encoding": "gzip",
                "Cookie": "sessionid=1",
                "X_Forwarded_Host": "evil.example",
                "Host": "evil.example",
            }
            first = get(address, f"{STATIC}?page=2", **sent)
            assert first.status == "MISS"
            assert "Vary" not in first.headers
            assert first.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"
            same = [
                get(address, STATIC),
                get(address, f"{STATIC}?page=3&lang=de"),
                get(address, STATIC, Accept_Language="en"),
                get(address, STATIC, Accept_Encoding="gzip, br"),
                get(address, STATIC, Cookie="sessionid=2", Authorization="Basic eDp5"),
                get(address, STATIC, Host="other.example"),
                get(address, STATIC, Cache_Control="no-cache", Pragma="no-cache"),
            ]
            assert [answer.status for answer in same] == ["HIT"] * len(same)
            assert {answer.content for answer in same} == {first.content}
            [request] = views.requests
            request.headers.pop("HTTP_CONNECTION", None)
            assert request.headers == {"HTTP_HOST": "www.example.com", "HTTP_X_FORWARDED_PROTO": "http"}
            assert request.query == ""
            # The same page in another form is another document.
            assert get(address, f"{STATIC}.gz").status == "MISS"
            assert get(address, f"{STATIC}.gz?x").content[:2] == b"\x1f\x8b"
            with pytest.raises(urllib.error.HTTPError) as unchanged:
                get(address, STATIC, If_None_Match=first.headers["ETag"])
            assert unchanged.value.code == 304
            unchanged.value.close()

    def test_caches_no_page_that_does_not_exist(self, in_front: Callable[..., str]) -> None:
        with origin() as views:
            address = in_front(views)
            for _ in range(2):
                with pytest.raises(urllib.error.HTTPError) as missing:
                    get(address, "sitemap-views-7.xml")
                assert missing.value.code == 404
                missing.value.close()
            assert [request.status for request in views.requests] == [404, 404]

    def test_asks_once_for_several_clients(self, in_front: Callable[..., str]) -> None:
        with origin() as views, ThreadPoolExecutor(8) as pool:
            address, meeting = in_front(views), threading.Barrier(8)
            views.gate.clear()

            def request() -> bytes:
                meeting.wait(SECONDS)
                return get(address, INDEX).content

            answers = [pool.submit(request) for _ in range(8)]
            until(lambda: views.arrived > 0)
            views.gate.set()
            assert len({answer.result() for answer in answers}) == 1
            assert len(views.asked(INDEX)) == 1

    def test_shows_a_change_of_rows_after_the_time(
        self, in_front: Callable[..., str], configure: Callable[..., None], tmp_path: Path
    ) -> None:
        configure(CACHE_CONTROL={"max_age": 1})
        with origin() as views:
            address = in_front(views)
            until(lambda: shows_rows(address))
            change_rows()
            # Five minutes later, the views renew the bounds of pages.
            cache.clear()
            until(lambda: shows_rows(address))
            until(lambda: get(address, STATIC).status == "STALE")
            until(lambda: get(address, STATIC).status == "HIT")
            assert {request.status for request in views.asked(STATIC)[1:]} == {304}
            assert all("HTTP_IF_NONE_MATCH" in request.headers for request in views.asked(STATIC)[1:])
            until(lambda: {"MISS", "HIT", "STALE", "REVALIDATED", "EXPIRED"} <= {*logged(tmp_path)})

    def test_serves_the_old_page_during_an_update(
        self, in_front: Callable[..., str], configure: Callable[..., None]
    ) -> None:
        configure(CACHE_CONTROL={"max_age": 1})
        with origin() as views:
            address = in_front(views)
            old = get(address, INDEX).content
            views.gate.clear()
            Article.objects.all().delete()
            cache.clear()
            until(lambda: get(address, INDEX).status == "STALE")
            updating = get(address, INDEX)
            assert (updating.status, updating.content) == ("UPDATING", old)
            views.gate.set()
            until(lambda: get(address, INDEX).content != old)

    @pytest.mark.parametrize("is_in_background", [True, False])
    def test_serves_the_old_page_while_the_application_fails(
        self, in_front: Callable[..., str], configure: Callable[..., None], is_in_background: bool
    ) -> None:
        """With updates in the background, `updating` is enough; otherwise the other words are needed."""
        configure(CACHE_CONTROL={"max_age": 1})
        with origin() as views:
            address = in_front(views, is_in_background=is_in_background)
            old = get(address, INDEX).content
        until(lambda: get(address, INDEX).status == "STALE")
        assert get(address, INDEX).content == old


@pytest.fixture
def cdn(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Run a cache in front of an origin, and return its address."""
    with ExitStack() as stack:

        def run(address: str, more: str = "") -> str:
            location = CDN_SERVER.replace("{origin}", address).replace("{more}", more)
            http = CDN.replace("{folder}", str(tmp_path)).replace("{server}", server(location))
            return stack.enter_context(nginx(http, tmp_path / "cdn"))

        yield run


@pytest.fixture
def cache_control(configure: Callable[..., None]) -> Callable[..., dict[str, Any]]:
    """Set `CACHE_CONTROL` as documented, with other values for some directives."""

    def use(**directives: int) -> dict[str, Any]:
        [block] = blocks("python", PAGE, "CDN")
        module = Snippet(block).run("cdn_settings")
        assert module.SITEMAPS09["BASE_URL"] == BASE
        used = {**module.SITEMAPS09["CACHE_CONTROL"], **directives}
        configure(CACHE_CONTROL=used)
        return used

    return use


class TestACdn:
    def test_keeps_pages_for_the_time_of_shared_caches(
        self, cdn: Callable[..., str], cache_control: Callable[..., dict[str, Any]]
    ) -> None:
        cache_control()
        with origin() as views:
            address = cdn(views.address)
            rows = expected()
            assert crawl(over_http(address)) == rows
            requests = len(views.requests)
            assert set(get(address, INDEX).headers["Cache-Control"].split(", ")) == {
                "public",
                "max-age=60",
                "s-maxage=600",
                "stale-while-revalidate=3600",
                "stale-if-error=86400",
            }
            change_rows()
            assert get(address, f"{INDEX}?x=1").status == "HIT"
            assert crawl(over_http(address)) == rows
            assert len(views.requests) == requests

    def test_asks_in_the_background_and_serves_the_old_page_while_the_site_fails(
        self, cdn: Callable[..., str], cache_control: Callable[..., dict[str, Any]]
    ) -> None:
        cache_control(s_maxage=1)
        with origin() as views:
            address = cdn(views.address)
            until(lambda: shows_rows(address))
            change_rows()
            cache.clear()
            until(lambda: get(address, INDEX).status == "STALE")
            until(lambda: shows_rows(address))
            assert {request.status for request in views.asked(STATIC)} <= {200, 304}
            old = get(address, STATIC)
        until(lambda: get(address, STATIC).status == "STALE")
        assert get(address, STATIC).content == old.content

    def test_fails_with_the_site_without_the_last_two_directives(
        self, cdn: Callable[..., str], cache_control: Callable[..., dict[str, Any]]
    ) -> None:
        cache_control(s_maxage=1, stale_while_revalidate=0, stale_if_error=0)
        with origin() as views:
            address = cdn(views.address)
            assert get(address, STATIC).status == "MISS"

        def fails() -> bool:
            try:
                get(address, STATIC)
            except urllib.error.HTTPError as error:
                error.close()
                return error.code == 502
            return False

        until(fails)

    def test_shows_exported_files_after_a_purge(self, cdn: Callable[..., str], tmp_path: Path) -> None:
        public = tmp_path / "public"
        [block] = blocks("nginx", "docs/howto/serve.md")
        files = block.text.replace("/srv/shop/public", str(public))
        run_export(public)
        with nginx(server(files), tmp_path / "nginx") as web_server:
            address = cdn(web_server, "proxy_cache_valid 200 1d;")
            rows = expected()
            assert crawl(over_http(address)) == rows
            change_rows()

            def purge(published: Published) -> None:
                assert crawl(over_http(address)) == rows
                for url in published.written:
                    get(address, url.removeprefix(f"{BASE}/"), X_Purge="1")

            run_export(public, on_published=purge)
            assert crawl(over_http(address)) == expected() != rows
            assert get(address, INDEX).status == "HIT"
