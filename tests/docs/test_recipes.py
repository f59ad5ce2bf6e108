"""The recipes for serving an export, run with real servers, before and after a change."""

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
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, make_server
from xml.etree import ElementTree

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.db.models import F
from django.test import Client
from django.utils import timezone, translation

from django_sitemaps09 import Image, ModelSitemap, NewsSitemap, Route, Sitemap, StaticViewSitemap
from django_sitemaps09.export import export
from tests.docs.pages import PAGES, blocks
from tests.models import Article, Category, Word
from tests.support.published import SPACE
from tests.support.services import missing, require_packages

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.services]

BASE = "https://www.example.com"
SERVING = "docs/howto/serve.md"
SECONDS = 30


# One section of each kind


class Columns(ModelSitemap[Article]):
    queryset = Article.objects.filter(published=True)
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = 10


class Pictures(ModelSitemap[Category]):
    model = Category

    def location(self, item: Category) -> str:
        return f"/categories/{item.slug}/"

    def images(self, item: Category) -> list[Image]:
        return [Image(f"/media/{item.slug}.jpg")]


class Views(StaticViewSitemap):
    viewnames = ("home", "about")


class Listed(Sitemap[int]):
    limit = 3

    def items(self) -> Sequence[int]:
        return range(Category.objects.count())

    def location(self, item: int) -> str:
        return f"/listed/{item}/"


class Texts(ModelSitemap[Word]):
    model = Word
    location = Route("word", word=F("word"))
    format = "text"
    limit = 4


class Headlines(NewsSitemap[Article]):
    queryset = Article.objects.filter(updated__isnull=False)
    date_field = "updated"
    publication_name = "The Example Times"
    location = Route("article", slug=F("slug"))

    def title(self, item: Article) -> str:
        return item.slug


class Translations(Sitemap[str]):
    i18n = True
    alternates = True
    languages = ("en", "de")

    def items(self) -> Sequence[str]:
        return [category.slug for category in Category.objects.order_by("pk")]

    def location(self, item: str) -> str:
        return f"/{translation.get_language()}/{item}/"


def every_kind() -> dict[str, Any]:
    return {
        "columns": Columns,
        "pictures": Pictures,
        "views": Views,
        "listed": Listed,
        "texts": Texts,
        "headlines": Headlines,
        "translations": Translations,
        "contrib": GenericSitemap({"queryset": Article.objects.order_by("pk"), "date_field": "updated"}),
    }


#: The sections that the setting names for the views.
SITEMAPS = every_kind()


def expected() -> dict[str, set[str]]:
    """Return the paths of each section, from the rows and without any code of the package."""
    articles = {f"/articles/{slug}/" for slug in Article.objects.values_list("slug", flat=True)}
    categories = list(Category.objects.values_list("slug", flat=True))
    words = Word.objects.values_list("word", flat=True)
    return {
        "columns": articles,
        "pictures": {f"/categories/{slug}/" for slug in categories},
        "views": {"/home/", "/about/"},
        "listed": {f"/listed/{number}/" for number in range(len(categories))},
        "texts": {f"/words/{word}/" for word in words},
        "headlines": articles,
        "translations": {f"/{language}/{slug}/" for language in ("en", "de") for slug in categories},
        "contrib": articles,
    }


def write_rows() -> None:
    now = timezone.now() - timedelta(minutes=30)
    Article.objects.bulk_create(Article(pk=n, slug=f"a{n}", updated=now) for n in range(1, 26))
    Category.objects.bulk_create(Category(pk=n, slug=f"c{n}") for n in range(1, 6))
    Word.objects.bulk_create(Word(word=f"w{n:02}") for n in range(6))


def change_rows() -> None:
    """Make every section gain and lose URLs, and its files grow and shrink."""
    now = timezone.now()
    Article.objects.filter(pk__in=[3, 4, 17]).delete()
    Article.objects.filter(pk=8).update(slug="a-much-longer-slug-than-before", updated=now)
    Article.objects.bulk_create(Article(pk=n, slug=f"a{n}", updated=now) for n in range(26, 45))
    Category.objects.filter(pk=2).delete()
    Category.objects.bulk_create(Category(pk=n, slug=f"c{n}") for n in range(6, 12))
    Word.objects.filter(word="w01").delete()
    Word.objects.bulk_create(Word(word=f"x{n}") for n in range(7))


def run_export(output: Path | None, **options: Any) -> None:
    report = export(sitemaps=every_kind(), output=output, **options)
    assert report.failures == []
    assert report.published


# A crawler


class Answer(NamedTuple):
    content: bytes
    headers: Mapping[str, str | None]


#: A server's response for the name of a file.
Fetch = Callable[[str], Answer]

TYPES = {"xml": ("application/xml", "text/xml"), "gz": ("application/gzip", "application/octet-stream")}


def locations(content: bytes) -> list[str]:
    root = ElementTree.fromstring(content)  # noqa: S314 our own output
    found = [str(loc.text) for loc in root.iter(f"{SPACE}loc")]
    assert found
    return found


def crawl(fetch: Fetch) -> dict[str, set[str]]:
    """Return the paths of each section as a strict crawler reads them, starting at the index."""
    found: dict[str, set[str]] = {}
    for location in locations(checked(fetch, "sitemap.xml")):
        assert location.startswith(f"{BASE}/")
        name = location.removeprefix(f"{BASE}/")
        content = checked(fetch, name)
        urls = content.decode().splitlines() if name.endswith(".txt") else locations(content)
        section = name.removeprefix("sitemap-").rpartition("-")[0]
        assert all(url.startswith(f"{BASE}/") for url in urls)
        paths = found.setdefault(section, set())
        assert paths.isdisjoint(url.removeprefix(BASE) for url in urls) or section == "translations"
        paths.update(url.removeprefix(BASE) for url in urls)
    return found


def checked(fetch: Fetch, name: str) -> bytes:
    """Return the content of a file, and check that all known sitemap readers understand its headers."""
    content, headers = fetch(name)
    length = headers.get("Content-Length")
    assert length is None or int(length) == len(content)
    kind = name.rpartition(".")[2]
    given = (headers.get("Content-Type") or "").partition(";")[0]
    assert given in TYPES.get(kind, ("text/plain",)), name
    if kind == "gz":
        assert headers.get("Content-Encoding") is None, name
        return gzip.decompress(content)
    if headers.get("Content-Encoding") == "gzip":
        return gzip.decompress(content)
    return content


def over_http(address: str) -> Fetch:
    def fetch(name: str) -> Answer:
        request = urllib.request.Request(f"{address}/{name}", headers={"Accept-Encoding": "gzip"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 our own server
            assert response.status == 200
            return Answer(response.read(), response.headers)

    return fetch


@pytest.fixture(autouse=True)
def _configured(settings: Any) -> None:
    settings.SITEMAPS09 = {"BASE_URL": BASE}
    write_rows()


def recipe(language: str) -> str:
    [block] = blocks(language, SERVING)
    return block.text


# nginx


@contextmanager
def nginx(recipe: str, folder: Path) -> Iterator[str]:
    """Run nginx with a recipe in its server block, and yield the address."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        missing("nginx is not installed")
        raise AssertionError
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # The types of a stock installation, as far as they concern sitemaps, and compression switched on.
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}"
        "types { text/html html; text/xml xml; text/plain txt; }\ndefault_type application/octet-stream;\n"
        "gzip on; gzip_proxied any; gzip_types text/plain text/xml application/xml application/gzip;\n"
        f"server {{\nlisten 127.0.0.1:{port};\n{recipe}}}\n}}\n",
        encoding="utf-8",
    )
    command = [program, "-p", folder, "-c", configuration]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603
    try:
        until = time.monotonic() + SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < until, "nginx does not answer"
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def test_nginx_serves_every_kind_of_section(tmp_path: Path) -> None:
    public = tmp_path / "public"
    robots = public / "robots.txt"
    run_export(public, robots=robots)
    text = recipe("nginx").replace("/srv/example/public", str(public))
    (tmp_path / "nginx").mkdir()
    with nginx(text, tmp_path / "nginx") as address:
        assert crawl(over_http(address)) == expected()
        change_rows()
        run_export(public, robots=robots)
        assert crawl(over_http(address)) == expected()
        assert checked(over_http(address), "robots.txt") == robots.read_bytes()


def test_nginx_keeps_the_folder_of_the_export_from_the_web(tmp_path: Path) -> None:
    public = tmp_path / "public"
    run_export(public)
    assert (public / ".sitemaps09" / "manifest.json").exists()
    # The site serves everything else in this folder, too.
    text = recipe("nginx").replace("/srv/example/public", str(public))
    text += f"location / {{ root {public}; }}\n"
    (tmp_path / "nginx").mkdir()
    with nginx(text, tmp_path / "nginx") as address:
        for path in ("manifest.json", "lock", "", "../.sitemaps09/manifest.json"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                over_http(address)(f".sitemaps09/{path}")
            assert refused.value.code in (403, 404)
            refused.value.close()


def test_nginx_without_compressed_files(tmp_path: Path) -> None:
    public = tmp_path / "public"
    run_export(public, gzip=False)
    text = recipe("nginx").replace("/srv/example/public", str(public))
    (tmp_path / "nginx").mkdir()
    with nginx(text, tmp_path / "nginx") as address:
        assert crawl(over_http(address)) == expected()


# WhiteNoise


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def served() -> Iterator[str]:
    """Serve this project, as after a restart of its processes, and yield the address."""
    with make_server("127.0.0.1", 0, WSGIHandler(), handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(SECONDS)


@pytest.fixture
def white_noise(settings: Any) -> None:
    """Set the middleware in the order of the documentation."""
    require_packages("whitenoise")
    settings.STATIC_URL = "/static/"
    text = PAGES[SERVING]
    order = re.search(r"In `MIDDLEWARE`, put `GZipMiddleware` below\s+`WhiteNoiseMiddleware`", text)
    assert order, "the page names the order of the middleware"
    settings.MIDDLEWARE = [
        "django.middleware.security.SecurityMiddleware",
        "whitenoise.middleware.WhiteNoiseMiddleware",
        "django.middleware.gzip.GZipMiddleware",
    ]


def copy_export(source: Path, target: Path) -> None:
    """Run the command of the page for a copy without the export's own folder."""
    [command] = re.findall(r"`(rsync [^`]+)`", PAGES[SERVING])
    if shutil.which("rsync") is None:
        missing("rsync is not installed")
    words = shlex.split(command)
    assert words[-2:] == ["export/", "releases/42/public/"]
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*words[:-2], f"{source}/", f"{target}/"], check=True, timeout=SECONDS)  # noqa: S603


@pytest.mark.usefixtures("white_noise")
def test_white_noise_serves_the_folder_of_a_release(tmp_path: Path, settings: Any) -> None:
    run_export(tmp_path / "export")
    first, second = (tmp_path / "releases" / name / "public" for name in ("1", "2"))
    copy_export(tmp_path / "export", first)
    settings.WHITENOISE_ROOT = first
    with served() as earlier:
        before = expected()
        assert crawl(over_http(earlier)) == before
        change_rows()
        run_export(tmp_path / "export")
        copy_export(tmp_path / "export", second)
        settings.WHITENOISE_ROOT = second
        with served() as later:
            assert crawl(over_http(later)) == expected() != before
            # Until they end, processes of the previous release serve the same complete files as before.
            assert crawl(over_http(earlier)) == before
    assert not list(second.glob(".*"))


@pytest.mark.usefixtures("white_noise")
def test_white_noise_with_autorefresh_serves_what_is_there(tmp_path: Path, settings: Any) -> None:
    assert "`WHITENOISE_AUTOREFRESH`" in PAGES[SERVING]
    settings.WHITENOISE_AUTOREFRESH = True
    settings.WHITENOISE_ROOT = tmp_path / "public"
    run_export(tmp_path / "export")
    copy_export(tmp_path / "export", tmp_path / "public")
    with served() as address:
        assert crawl(over_http(address)) == expected()
        change_rows()
        run_export(tmp_path / "export")
        copy_export(tmp_path / "export", tmp_path / "public")
        assert crawl(over_http(address)) == expected()


# Django's views


def test_the_views_serve_every_kind_of_section(tmp_path: Path, settings: Any, client: Client) -> None:
    def fetch(name: str) -> Answer:
        response = client.get(f"/{name}", headers={"Accept-Encoding": "gzip"})
        assert response.status_code == 200, name
        return Answer(response.content, response.headers)

    settings.SITEMAPS09 = {
        "BASE_URL": BASE,
        "ROOT": tmp_path / "export",
        "SITEMAPS": f"{__name__}.SITEMAPS",
    }
    assert crawl(fetch) == expected()
    run_export(None)
    assert crawl(fetch) == expected()
    change_rows()
    run_export(None)
    # Five minutes later, the views renew the bounds of pages.
    cache.clear()
    assert crawl(fetch) == expected()


# Object storage


@pytest.fixture
def aws(s3: str, bucket: Callable[..., Any], tmp_path: Path) -> Callable[[], Fetch]:
    """Run the commands of the recipe on a bucket, and return a function that fetches from it."""
    program = shutil.which("aws", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if program is None:
        missing(
            "the command line of AWS is not installed (pip install awscli, in an environment of its own)"
        )
    made = bucket()
    environment = {
        **os.environ,
        "PATH": f"{Path(str(program)).parent}:{os.environ.get('PATH', '')}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": s3,
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }

    def copy() -> Fetch:
        commands = recipe("sh").replace("s3://bucket/", f"s3://{made.name}/")
        subprocess.run(  # noqa: S603 our own commands
            ["/bin/sh", "-euc", commands],
            cwd=tmp_path,
            env=environment,
            check=True,
            timeout=100,
            stdout=subprocess.DEVNULL,
        )
        return from_bucket(made)

    return copy


def from_bucket(bucket: Any) -> Fetch:
    def fetch(name: str) -> Answer:
        found = bucket.Object(name).get()
        headers = {"Content-Type": found["ContentType"], "Content-Encoding": found.get("ContentEncoding")}
        return Answer(found["Body"].read(), headers)

    return fetch


@pytest.mark.parametrize("compressed", [True, False])
def test_the_command_line_of_aws_copies_every_kind_of_section(
    aws: Callable[[], Fetch], tmp_path: Path, compressed: bool
) -> None:
    run_export(tmp_path / "export", gzip=compressed)
    assert crawl(aws()) == expected()
    change_rows()
    run_export(tmp_path / "export", gzip=compressed)
    assert crawl(aws()) == expected()


@pytest.mark.usefixtures("shared_cache")
def test_an_export_to_s3_has_every_kind_of_section(bucket: Callable[..., Any]) -> None:
    made = bucket(querystring_auth=False)
    run_export(None)
    assert crawl(from_bucket(made)) == expected()
    change_rows()
    run_export(None)
    assert crawl(from_bucket(made)) == expected()
