"""The recipes for serving an export and for caches, run with real servers, before and after changes."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from ast import literal_eval
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.db.models import F
from django.test import override_settings
from django.utils import timezone

from django_sitemaps09 import Route, Sitemap, StaticViewSitemap
from django_sitemaps09.export import export
from django_sitemaps09.tools.audit import audit
from tests.docs.pages import PAGES, run, take
from tests.models import Article, Category, Word
from tests.shop import models as shop
from tests.support import processes
from tests.support.configuration import BASE
from tests.support.published import SPACE
from tests.support.sections import declare
from tests.support.services import missing, require_packages, serve, sharing_connection

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.services]

SERVING, CACHING = "docs/howto/serve.md", "docs/howto/cache.md"
CACHE = take(CACHING, "nginx", language="nginx").text
DIRECTIVES = take(CACHING, "CDN")
FILES = take(SERVING, "nginx", language="nginx").text
SEVERAL = take(SERVING, "Several web servers", language="sh").text
STORAGE = take(SERVING, "Object storage", language="sh").text
VIEWS = f"{__name__}.SITEMAPS"
#: The number of seconds after which a server has failed.
SECONDS = 30
ARTICLE = Route("article", slug=F("slug"))


def sections():
    """Return a section of each form of files: by keys, by positions, as text, of views, and of contrib."""
    listed = {"items": lambda self: range(Category.objects.count()), "limit": 3}
    return {
        "columns": declare(model=Article, location=ARTICLE, lastmod=F("updated"), limit=10),
        "views": declare(StaticViewSitemap, viewnames=("home", "about")),
        "listed": declare(Sitemap, location=lambda self, item: f"/listed/{item}/", **listed),
        "texts": declare(model=Word, location=Route("word", word=F("word")), format="text", limit=4),
        "contrib": GenericSitemap({"queryset": Article.objects.order_by("pk"), "date_field": "updated"}),
    }


SITEMAPS = sections()


def expected():
    """Return the paths of each section, from the rows and without any code of the package."""
    articles = {f"/articles/{slug}/" for slug in Article.objects.values_list("slug", flat=True)}
    words = Word.objects.values_list("word", flat=True)
    return {
        "columns": articles,
        "views": {"/home/", "/about/"},
        "listed": {f"/listed/{number}/" for number in range(Category.objects.count())},
        "texts": {f"/words/{word}/" for word in words},
        "contrib": articles,
    }


@pytest.fixture(autouse=True)
def _rows(settings):
    settings.SITEMAPS09 = {"BASE_URL": BASE, "FEED": 10}
    now = timezone.now() - timedelta(minutes=30)
    Article.objects.bulk_create(Article(pk=n, slug=f"a{n}", updated=now) for n in range(1, 26))
    Category.objects.bulk_create(Category(pk=n, slug=f"c{n}") for n in range(1, 6))
    Word.objects.bulk_create(Word(word=f"w{n:02}") for n in range(6))


def change_rows():
    now = timezone.now()
    Article.objects.filter(pk__in=[3, 4, 17]).delete()
    Article.objects.filter(pk=8).update(slug="a-much-longer-slug-than-before", updated=now)
    Article.objects.bulk_create(Article(pk=n, slug=f"a{n}", updated=now) for n in range(26, 45))
    Category.objects.filter(pk=2).delete()
    Category.objects.bulk_create(Category(pk=n, slug=f"c{n}") for n in range(6, 12))
    Word.objects.filter(word="w01").delete()
    Word.objects.bulk_create(Word(word=f"x{n}") for n in range(7))


def run_export(output=None, **options):
    report = export(sitemaps=sections(), output=output, **options)
    assert (report.failures, report.published) == ([], True)


# A crawler: `fetch(name)` returns the content and the headers of a file.

TYPES = {"xml": ("application/xml", "text/xml"), "gz": ("application/gzip", "application/octet-stream")}


def crawl(fetch):
    found = {}
    for location in locations(checked(fetch, "sitemap.xml")):
        assert location.startswith(f"{BASE}/")
        name = location.removeprefix(f"{BASE}/")
        content = checked(fetch, name)
        urls = content.decode().splitlines() if name.endswith(".txt") else locations(content)
        section = re.sub(r"^sitemap-|-\d+\..*|\..*", "", name)
        assert all(url.startswith(f"{BASE}/") for url in urls)
        paths = found.setdefault(section, set())
        assert paths.isdisjoint(url.removeprefix(BASE) for url in urls)
        paths.update(url.removeprefix(BASE) for url in urls)
    return found


def crawl_twice(fetch, publish):
    for prepare in (lambda: None, change_rows):
        prepare()
        publish()
        assert crawl(fetch) == expected()
        content, headers = fetch("sitemap-changes.atom")
        assert (content.endswith(b"</feed>\n"), headers["Content-Type"]) == (True, "application/atom+xml")


def locations(content):
    found = [str(loc.text) for loc in ElementTree.fromstring(content).iter(f"{SPACE}loc")]  # noqa: S314 our own
    assert found
    return found


def checked(fetch, name):
    content, headers = fetch(name)
    length, encoding = headers.get("Content-Length"), headers.get("Content-Encoding")
    assert length is None or int(length) == len(content)
    kind = name.rpartition(".")[2]
    assert (headers.get("Content-Type") or "").partition(";")[0] in TYPES.get(kind, ("text/plain",)), name
    assert kind != "gz" or encoding is None, name
    return gzip.decompress(content) if "gz" in kind or encoding == "gzip" else content


def over_http(address):
    def fetch(name):
        _, content, headers, code = get(address, name, Accept_Encoding="gzip")
        assert code == 200
        return content, headers

    return fetch


LISTEN = "listen 80;"
#: The types of a stock installation, as far as they concern sitemaps, and compression switched on.
CONFIGURATION = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr; events {{}}
http {{
  log_format statuses "$upstream_cache_status $uri";
  access_log {folder}/access.log statuses; log_subrequest on;
  client_body_temp_path {folder}/client_body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  types {{ text/html html; text/xml xml; text/plain txt; }} default_type application/octet-stream;
  gzip on; gzip_proxied any; gzip_types text/plain text/xml application/xml application/gzip;
  {http}
}}
"""


def server(recipe):
    return f"server {{\n{LISTEN}\n{recipe}}}\n"


@contextmanager
def nginx(http, folder):
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        missing("nginx is not installed")
    assert http.count(LISTEN) == 1
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir()
    http = http.replace(LISTEN, f"listen 127.0.0.1:{port};")
    (folder / "nginx.conf").write_text(CONFIGURATION.format(folder=folder, http=http), encoding="utf-8")
    with (folder / "errors.log").open("w+") as errors:
        command = [program, "-p", folder, "-c", folder / "nginx.conf"]
        process = subprocess.Popen(command, stderr=errors)  # noqa: S603

        def answers():
            assert process.poll() is None, (folder / "errors.log").read_text()
            return processes.answers(f"127.0.0.1:{port}")

        try:
            processes.until(answers, "nginx does not answer")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait(30)


@pytest.fixture
def served(folder, tmp_path):
    text = FILES.replace("/srv/shop/public", str(folder))
    return lambda more="": nginx(server(text + more), tmp_path / "nginx")


def test_nginx_serves_all_sections(folder, served):
    robots = folder / "robots.txt"
    with served() as address:
        fetch = over_http(address)
        crawl_twice(fetch, lambda: run_export(folder, robots=robots))
        assert checked(fetch, "robots.txt") == robots.read_bytes()


def test_nginx_serves_plain_files_and_keeps_the_folder_of_the_export_from_the_web(folder, served):
    run_export(folder, gzip=False)
    assert (folder / ".sitemaps09" / "manifest.json").exists()
    # The site serves everything else in this folder, too.
    with served(f"location / {{ root {folder}; }}\n") as address:
        assert crawl(over_http(address)) == expected()
        for path in ("manifest.json", "lock", "", "../.sitemaps09/manifest.json"):
            assert get(address, f".sitemaps09/{path}").code in (403, 404)


def test_nginx_asks_django_for_what_was_not_exported(folder, tmp_path, settings):
    settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": VIEWS}
    folder.mkdir()
    with sharing_connection(WSGIHandler()) as shared, serve(shared) as application:
        text = FILES.replace("/srv/shop/public", str(folder)).replace("http://127.0.0.1:8000", application)
        with nginx(server(text), tmp_path / "nginx") as address:
            fetch = over_http(address)
            assert crawl(fetch) == expected()
            run_export(folder)
            (folder / "sitemap-columns-1.xml.gz").write_bytes(b"from the folder")
            change_rows()
            assert fetch("sitemap-columns-1.xml.gz")[0] == b"from the folder"
            assert fetch("sitemap-columns-1.xml")[0] != b"from the folder"


def require_rsync():
    if shutil.which("rsync") is None:
        missing("rsync is not installed")


def test_several_web_servers_change_to_a_complete_copy(tmp_path, folder):
    require_rsync()
    script, servers = SEVERAL, [tmp_path / name for name in ("web1", "web2")]
    for there, here in (
        ("cd /srv/shop", f"cd {tmp_path}"),
        ("$server:/srv/sitemaps", "$server"),
        ('ssh $server "cd /srv/sitemaps', 'sh -c "cd $server'),
    ):
        assert there in script
        script = script.replace(there, here)
    exporting = '.venv/bin/python manage.py export_sitemaps --verbosity 0 "$@"'
    assert exporting in script

    def publish(release, status):
        copy = script.replace("$(date +%s)", str(release)).replace(exporting, f"(exit {status})")
        return subprocess.run(["sh", "-c", copy], timeout=SECONDS).returncode  # noqa: S603, S607

    for web in servers:
        web.mkdir()
    text = FILES.replace("/srv/shop/public", f"{servers[1]}/current")
    with nginx(server(text), tmp_path / "nginx") as address:
        fetch = over_http(address)
        run_export(folder)
        assert publish(1, 0) == 0
        before = expected()
        assert crawl(fetch) == before
        change_rows()
        run_export(folder)
        assert publish(2, 75) == 75
        servers[1].rename(tmp_path / "away")
        assert publish(2, 0) != 0
        (tmp_path / "away").rename(servers[1])
        assert ([(web / "current").resolve().name for web in servers], crawl(fetch)) == (["1", "1"], before)
        assert publish(2, 1) == 1
        assert crawl(fetch) == expected() != before
    for web in servers:
        first, second = web / "1", web / "2"
        assert ((web / "current").resolve(), [*second.glob(".*")]) == (second, [])
        shared = {path.name for path in first.iterdir() if path.samefile(second / path.name)}
        assert shared == {"sitemap-views-1.xml.gz", "sitemap-listed-1.xml.gz"}
    assert [publish(release, 0) for release in (3, 4, 5)] == [0, 0, 0]
    assert sorted(path.name for path in servers[0].iterdir()) == ["3", "4", "5", "current"]


def test_white_noise_serves_the_folder_of_a_release(tmp_path, settings):
    require_packages("whitenoise")
    require_rsync()
    settings.STATIC_URL = "/static/"
    [types] = re.findall(r"`WHITENOISE_MIMETYPES = (\{[^`]+\})`", PAGES[SERVING])
    settings.WHITENOISE_MIMETYPES = literal_eval(types)
    order = r"In `MIDDLEWARE`, put `GZipMiddleware` below\s+`WhiteNoiseMiddleware`"
    assert re.search(order, PAGES[SERVING]), "the page names the order of the middleware"
    settings.MIDDLEWARE = [
        "django.middleware.security.SecurityMiddleware",
        "whitenoise.middleware.WhiteNoiseMiddleware",
        "django.middleware.gzip.GZipMiddleware",
    ]
    [command] = re.findall(r"`(rsync [^`]+)`", PAGES[SERVING])
    *words, source, target = shlex.split(command)
    assert (source, target) == ("export/", "releases/42/public/")

    def release(name):
        run_export(tmp_path / "export")
        public = tmp_path / "releases" / name / "public"
        public.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([*words, f"{tmp_path / source}/", f"{public}/"], check=True, timeout=SECONDS)  # noqa: S603
        assert not list(public.glob(".*"))
        return public

    settings.WHITENOISE_ROOT = release("1")
    with serve(WSGIHandler()) as earlier:
        before = expected()
        assert crawl(over_http(earlier)) == before
        assert over_http(earlier)("sitemap-views-1.xml.gz")[1]["Content-Type"] == "application/gzip"
        change_rows()
        settings.WHITENOISE_ROOT = release("2")
        with serve(WSGIHandler()) as later:
            assert crawl(over_http(later)) == expected() != before
            # Until they end, processes of the previous release serve the same complete files as before.
            assert crawl(over_http(earlier)) == before
            assert "`WHITENOISE_AUTOREFRESH`" in PAGES[SERVING]
            settings.WHITENOISE_AUTOREFRESH, now = True, expected()
            with serve(WSGIHandler()) as refreshing:
                assert crawl(over_http(refreshing)) == now
                Article.objects.filter(pk__in=[5, 6]).delete()
                release("2")
                assert crawl(over_http(refreshing)) == expected() != now


def from_bucket(bucket):
    def fetch(name):
        found = bucket.Object(name).get()
        headers = {"Content-Type": found["ContentType"], "Content-Encoding": found.get("ContentEncoding")}
        return found["Body"].read(), headers

    return fetch


@pytest.mark.parametrize("compressed", [True, False])
def test_the_command_line_of_aws_copies_all_sections(s3, bucket, tmp_path, compressed):
    programs = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    if shutil.which("aws", path=programs) is None:
        missing("the command line of AWS is not installed (pip install awscli, not in this environment)")
    made = bucket()
    variables = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "DEFAULT_REGION": "us-east-1"}
    variables |= {"ENDPOINT_URL": s3, "CONFIG_FILE": "none", "SHARED_CREDENTIALS_FILE": "none"}
    environ = os.environ | {"PATH": programs} | {f"AWS_{name}": value for name, value in variables.items()}

    def publish():
        run_export(tmp_path / "export", gzip=compressed)
        command = ["/bin/sh", "-euc", STORAGE.replace("s3://bucket/", f"s3://{made.name}/")]
        pipes = {"stdout": subprocess.DEVNULL, "cwd": tmp_path, "env": environ}
        subprocess.run(command, check=True, timeout=100, **pipes)  # noqa: S603 our own commands

    crawl_twice(from_bucket(made), publish)


@pytest.mark.usefixtures("shared_cache")
def test_an_export_to_s3_has_all_sections(bucket):
    crawl_twice(from_bucket(bucket(querystring_auth=False)), run_export)


HEADLESS = ("docs/howto/headless.md", "A front end on another host")
ARTICLES, PROXY = take(*HEADLESS), take(*HEADLESS, language="nginx").text
AUDIT, LAST = take(*HEADLESS, language="sh").text, PROXY.splitlines(keepends=True)[-1]
LINE, *MODULE = re.findall("`((?:Sitemap: |from mysite|SITEMAPS09 = )[^`]+)`", PAGES[HEADLESS[0]])


@pytest.fixture
def site(tmp_path, settings, register, monkeypatch):
    """Yield the answers of a front end, and the settings of Django, which are not those of audits."""
    settings.SITEMAPS09, settings.ALLOWED_HOSTS = {}, ["api.example.com", "127.0.0.1"]
    answers = {"/robots.txt": "200 OK"}
    made = SimpleNamespace(answers=answers, unknown="404 Not Found", robots="", settings={})

    def front_end(environ, start_response):
        path = environ["PATH_INFO"]
        headers = [("Content-Type", "text/html"), ("Location", f"{path}/")]
        start_response(made.answers.get(path, made.unknown), headers)
        return [made.robots.encode() if path == "/robots.txt" else b"<!doctype html>"]

    def django(environ, start_response):
        with override_settings(SITEMAPS09=made.settings):
            return WSGIHandler()(environ, start_response)

    def www(text):
        text = text.replace("http://127.0.0.1:8000", made.api).replace("http://127.0.0.1:3000", front)
        return nginx(server(text), tmp_path / str(hash(text)))

    monkeypatch.setitem(sys.modules, "shop.models", shop)
    run(ARTICLES)
    made.nginx = www
    with sharing_connection(django) as shared, serve(shared) as made.api, serve(front_end) as front:
        yield made


def add_article(site, slug):
    shop.Article.objects.create(slug=slug, title=slug, published_at=timezone.now())
    site.answers[f"/blog/{slug}"] = "200 OK"


def audited(url):
    report = audit(url, fetch="all", rate=0)
    return report.urls, {finding.rule for finding in report.findings}


def test_an_audit_says_what_a_front_end_lacks(site, settings, tmp_path):
    add_article(site, "first")
    with site.nginx(LAST) as www:
        assert audited(www) == (0, {"robots-no-sitemap", "document-missing"})
        site.settings, site.unknown = {"BASE_URL": www}, "200 OK"
        assert audited(www) == (0, {"robots-no-sitemap", "document-type"})
        site.robots = LINE.replace(BASE, site.api)
        assert audited(www) == (0, {"index-host"})
    with site.nginx(PROXY) as www:
        site.settings, site.robots = {"BASE_URL": www}, LINE.replace(BASE, www)
        (tmp_path / "mysite").mkdir()
        text = "from tests.settings import *\nDATABASES = {'default': DATABASES['default']}\n"
        (tmp_path / "mysite" / "settings.py").write_text(f"{text}SITEMAPS09 = {site.settings}")
        (tmp_path / "mysite" / "audit.py").write_text("\n".join(MODULE))
        words = shlex.split(AUDIT.replace(BASE, www).replace("manage.py", "-m django"))
        environ = processes.environment(tmp_path, "mysite.settings")
        status, out, _ = processes.ended(processes.started(*words, environ=environ))
        assert (status, "1 URL, 1 page fetched" in out) == (0, True), out
        site.answers["/blog/first"] = "308 Permanent Redirect"
        assert audited(www) == (1, {"page-redirect"})
        settings.SITEMAPS09 = site.settings
        assert audited(www) == (1, {"page-redirect", "url-unresolved"})


@pytest.mark.parametrize("way", ["live", "SERVE_EXPORTED", "folder", "FILES_URL"])
def test_the_sitemap_of_a_front_end_is_valid_before_and_after_a_change(site, folder, way):
    files = re.sub("(?m)^location = /robots.txt.*\n", "", FILES).replace("/srv/shop/public", str(folder))
    text = {"folder": files + LAST, "FILES_URL": LAST}.get(way, PROXY)
    with site.nginx(files) as host, site.nginx(text) as www:
        site.robots = LINE.replace(BASE, host if way == "FILES_URL" else www)
        keys = {} if way == "live" else {"ROOT": folder, "SERVE_EXPORTED": way == "SERVE_EXPORTED"}
        site.settings = {"BASE_URL": www, "FILES_URL": f"{host if way == 'FILES_URL' else www}/", **keys}
        for number, slug in enumerate(("first", "second"), 1):
            add_article(site, slug)
            with override_settings(SITEMAPS09=site.settings):
                assert way == "live" or export().published
            assert audited(www) == (number, set())
        add_article(site, "third")
        assert audited(www) == (3 if way == "live" else 2, set())


INDEX, STATIC = "sitemap.xml", "sitemap-views-1.xml"
BACKGROUND = "proxy_cache_background_update on;"
#: A cache that knows nothing but the headers of the origin, as a CDN.
CDN = """
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


def get(address, name, **headers):
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    request = urllib.request.Request(f"{address}/{name}", headers=named)  # noqa: S310
    try:
        response = urllib.request.urlopen(request, timeout=SECONDS)  # noqa: S310 our own server
    except urllib.error.HTTPError as error:
        response = error
    with response:
        headers = response.headers
        return Answer(headers["X-Cache-Status"], response.read(), headers, response.status)


def until(condition):
    processes.until(condition, "the cache does not show it")


def until_status(address, name, status):
    until(lambda: get(address, name).status == status)


def shows_rows(address):
    try:
        return crawl(over_http(address)) == expected()
    except AssertionError:
        # Between two updates, an index and a page can be of different times.
        return False


Request = namedtuple("Request", "path query headers status")
Answer = namedtuple("Answer", "status content headers code")


class Origin:
    def __init__(self):
        self.arrived, self.requests, self.gate, self.stack = 0, [], threading.Event(), ExitStack()
        self.gate.set()
        handler = WSGIHandler()

        def application(environ, start_response):
            self.arrived += 1
            assert self.gate.wait(SECONDS)

            def started(status, *rest):
                headers = {name: value for name, value in environ.items() if name.startswith("HTTP_")}
                path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
                self.requests.append(Request(path, query, headers, int(status[:3])))
                return start_response(status, *rest)

            return handler(environ, started)

        shared = self.stack.enter_context(sharing_connection(application))
        self.address = self.stack.enter_context(serve(shared))

    def end(self):
        self.gate.set()
        self.stack.close()

    def asked(self, name):
        return [request for request in self.requests if request.path == f"/{name}"]


@pytest.fixture
def views(_rows, settings):
    settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": VIEWS, "LIVE_SECONDS": 0}
    settings.ALLOWED_HOSTS = ["www.example.com", "127.0.0.1"]
    origin = Origin()
    yield origin
    origin.end()


@pytest.fixture
def stack():
    with ExitStack() as made:
        yield made


class TestNginx:
    """The views also have middleware that makes answers depend on the headers of clients."""

    @pytest.fixture(autouse=True)
    def _varying(self, settings):
        before, after = "django.middleware.gzip.GZipMiddleware", "django.middleware.locale.LocaleMiddleware"
        settings.MIDDLEWARE = [before, *settings.MIDDLEWARE, after]

    @pytest.fixture
    def in_front(self, tmp_path, stack, views):
        def start(without=""):
            text = CACHE
            for documented, used in {
                "/var/cache/nginx/sitemaps": f"{tmp_path}/cache",
                "http://127.0.0.1:8000;": f"{views.address};",
                without or BACKGROUND: "" if without else BACKGROUND,
            }.items():
                assert text.count(documented) == 1
                text = text.replace(documented, used)
            return stack.enter_context(nginx(text, tmp_path / "nginx"))

        return start

    def test_caches_all_sections_for_a_minute(self, in_front, views):
        address, rows = in_front(), expected()
        assert crawl(over_http(address)) == rows
        requests = len(views.requests)
        assert {request.status for request in views.requests} == {200}
        change_rows()
        assert crawl(over_http(address)) == rows != expected()
        assert len(views.requests) == requests
        # A page that does not exist is not cached.
        assert [get(address, "sitemap-views-7.xml").code for _ in range(2)] == [404, 404]
        assert [request.status for request in views.requests[requests:]] == [404, 404]

    def test_has_one_entry_for_each_path(self, in_front, views):
        address = in_front()
        sent = {"Accept_Language": "de", "Accept_Encoding": "gzip", "Cookie": "sessionid=1"}
        first = get(address, f"{STATIC}?page=2", **sent, X_Forwarded_Host="evil.example", Host="a.example")
        assert (first.status, "Vary" in first.headers) == ("MISS", False)
        assert first.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"
        for query, headers in (
            ("", {}),
            ("?page=3&lang=de", {}),
            ("", {"Accept_Language": "en"}),
            ("", {"Accept_Encoding": "gzip, br"}),
            ("", {"Cookie": "sessionid=2", "Authorization": "Basic eDp5"}),
            ("", {"Host": "other.example"}),
            ("", {"Cache_Control": "no-cache", "Pragma": "no-cache"}),
        ):
            assert get(address, f"{STATIC}{query}", **headers)[:2] == ("HIT", first.content)
        [request] = views.requests
        request.headers.pop("HTTP_CONNECTION", None)
        assert request.headers == {"HTTP_HOST": "www.example.com", "HTTP_X_FORWARDED_PROTO": "http"}
        assert request.query == ""
        # The same page in another form is another document.
        assert get(address, f"{STATIC}.gz").status == "MISS"
        assert get(address, f"{STATIC}.gz?x").content[:2] == b"\x1f\x8b"
        assert get(address, STATIC, If_None_Match=first.headers["ETag"]).code == 304

    def test_asks_once_for_several_clients(self, in_front, views):
        address, meeting = in_front(), threading.Barrier(8)
        views.gate.clear()

        def request():
            meeting.wait(SECONDS)
            return get(address, INDEX)[1::2]

        with ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(request) for _ in range(8)]
            until(lambda: views.arrived > 0)
            views.gate.set()
            [(_, code)] = {answer.result() for answer in answers}
        assert (code, len(views.asked(INDEX))) == (200, 1)

    def test_shows_a_change_of_rows_after_the_time(self, in_front, views, configure, tmp_path):
        configure(CACHE_CONTROL={"max_age": 1})
        address = in_front()
        until(lambda: shows_rows(address))
        change_rows()
        cache.clear()  # Five minutes later, the views renew the bounds of pages.
        until(lambda: shows_rows(address))
        until_status(address, STATIC, "STALE")
        until_status(address, STATIC, "HIT")
        assert {request.status for request in views.asked(STATIC)[1:]} == {304}
        assert all("HTTP_IF_NONE_MATCH" in request.headers for request in views.asked(STATIC)[1:])
        # Updates in the background are logged, too.
        log = tmp_path / "nginx" / "access.log"
        statuses = {"MISS", "HIT", "STALE", "REVALIDATED", "EXPIRED"}
        until(lambda: statuses <= Counter(line.split()[0] for line in log.read_text().splitlines()).keys())

    def test_serves_the_old_page_during_an_update(self, in_front, views, configure):
        configure(CACHE_CONTROL={"max_age": 1})
        address = in_front()
        old = get(address, INDEX).content
        views.gate.clear()
        Article.objects.all().delete()
        cache.clear()
        until_status(address, INDEX, "STALE")
        assert get(address, INDEX)[:2] == ("UPDATING", old)
        views.gate.set()
        until(lambda: get(address, INDEX).content != old)

    @pytest.mark.parametrize("without", ["", BACKGROUND])
    def test_serves_the_old_page_while_the_application_fails(self, in_front, views, configure, without):
        """With updates in the background, `updating` is enough; otherwise the other words are needed."""
        configure(CACHE_CONTROL={"max_age": 1})
        address = in_front(without)
        old = get(address, INDEX).content
        views.end()
        until_status(address, INDEX, "STALE")
        assert get(address, INDEX).content == old


class TestACdn:
    @pytest.fixture
    def cdn(self, tmp_path, stack):
        def start(address, more=""):
            text = server(CDN.replace("{origin}", address).replace("{more}", more))
            http = f"proxy_cache_path {tmp_path}/cache keys_zone=cdn:1m;\n{text}"
            return stack.enter_context(nginx(http, tmp_path / "cdn"))

        return start

    @pytest.fixture
    def in_front(self, cdn, configure, views):
        """Run the cache in front of views with the documented directives, or with other values for some."""

        def start(**directives):
            documented = run(DIRECTIVES).SITEMAPS09
            assert documented["BASE_URL"] == BASE
            configure(CACHE_CONTROL={**documented["CACHE_CONTROL"], **directives})
            return cdn(views.address)

        return start

    def test_asks_in_the_background_and_serves_the_old_page_while_the_site_fails(self, in_front, views):
        address = in_front(s_maxage=1)
        until(lambda: shows_rows(address))
        change_rows()
        cache.clear()
        until_status(address, INDEX, "STALE")
        until(lambda: shows_rows(address))
        assert {request.status for request in views.asked(STATIC)} <= {200, 304}
        old = get(address, STATIC)
        views.end()
        until_status(address, STATIC, "STALE")
        assert get(address, STATIC).content == old.content

    def test_fails_with_the_site_without_the_last_two_directives(self, in_front, views):
        address = in_front(s_maxage=1, stale_while_revalidate=0, stale_if_error=0)
        assert get(address, STATIC).status == "MISS"
        views.end()
        until(lambda: get(address, STATIC).code == 502)

    def test_shows_exported_files_after_a_purge(self, cdn, served, folder):
        run_export(folder)
        with served() as server_url:
            address, rows = cdn(server_url, "proxy_cache_valid 200 1d;"), expected()
            assert crawl(over_http(address)) == rows
            change_rows()

            def purge(published):
                assert crawl(over_http(address)) == rows
                for url in published.written:
                    get(address, url.removeprefix(f"{BASE}/"), X_Purge="1")

            run_export(folder, on_published=purge)
            assert crawl(over_http(address)) == expected() != rows
            assert get(address, INDEX).status == "HIT"
