"""Third-party sitemap readers find every URL of the example's database exactly once.

They are heavy, so they are an extra of their own, `test-clients`; with `SITEMAPS09_REQUIRE_CLIENTS=1` one
that is not installed is a failure. Each runs in a process of its own, for their warnings and reactors.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

import django_sitemaps09
from tests.invariants.strict_readers import require
from tests.support.processes import ROOT, ended, environment, started

EXAMPLE = ROOT / "example_project"
ARTICLES, PRODUCTS = 3_000, 60
SETTINGS = """
from example.settings import *
SITEMAPS09 = {**SITEMAPS09, "MAX_URLS": 1_000}
"""
#: Characters that are not quoted in a path (RFC 3986, pchar and the slash), besides letters, digits and
#: "-._~".
PATH = "/!$&'()*+,;=:@"


def usp(base, **options):
    from usp.tree import sitemap_tree_for_homepage

    return [page.url for page in sitemap_tree_for_homepage(f"{base}/", **options).all_pages()]


def advertools(base):
    from advertools import sitemap_to_df

    frame = sitemap_to_df(f"{base}/robots.txt")
    assert "errors" not in frame or frame["errors"].isna().all()
    return list(frame["loc"])


def scrapy(base):
    from scrapy.crawler import CrawlerProcess
    from scrapy.spiders import SitemapSpider

    found = []

    class Reader(SitemapSpider):
        name = "reader"
        sitemap_urls = [f"{base}/robots.txt"]

        def sitemap_filter(self, entries):
            # Only the files are requested, not the pages that they list.
            if entries.type == "urlset":
                found.extend(entry["loc"] for entry in entries)
            else:
                yield from entries

    process = CrawlerProcess(
        {"LOG_LEVEL": "ERROR", "COOKIES_ENABLED": False, "TELNETCONSOLE_ENABLED": False}
    )
    process.crawl(Reader)
    process.start()
    return found


READERS = {
    "usp": (partial(usp, use_known_paths=False), "ultimate-sitemap-parser"),
    # It requests the usual names of sitemaps as well.
    "usp_guessing": (usp, "ultimate-sitemap-parser"),
    "advertools": (advertools, "advertools"), "scrapy": (scrapy, "scrapy"),
}  # fmt: skip


class Handler(SimpleHTTPRequestHandler):
    requested = []

    def log_message(self, format, *arguments):
        """Record the request instead of printing it."""
        self.requested.append(self.path)


def run(folder, base, *command):
    """Return what a process says that can import the example and uses no proxy."""
    package = Path(django_sitemaps09.__file__).parents[1]
    paths = os.pathsep.join(map(str, [folder, EXAMPLE, package, ROOT]))
    database = f"sqlite:///{folder / 'db.sqlite3'}"
    example = {"EXAMPLE_BASE_URL": base, "EXAMPLE_DATABASE_URL": database, "EXAMPLE_DEBUG": ""}
    environ = environment(folder, "client_settings", PYTHONPATH=paths, **example)
    environ = {name: value for name, value in environ.items() if not name.lower().endswith("_proxy")}
    status, out, err = ended(started(*command, environ=environ, cwd=folder), 90)
    assert status == 0, out + err
    return out


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """An exported example on a server of its own: its folder and its base."""
    folder = tmp_path_factory.mktemp("clients")
    public = folder / "public"
    public.mkdir()
    (folder / "client_settings.py").write_text(SETTINGS)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(public))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}"
        try:
            for command in (
                ["migrate", "-v0"],
                ["populate", f"--articles={ARTICLES}", f"--products={PRODUCTS}"],
                ["export_sitemaps", f"--output={public}", f"--robots={public / 'robots.txt'}"],
            ):
                run(folder, base, EXAMPLE / "manage.py", *command)
            yield folder, base
        finally:
            server.shutdown()
            thread.join()


def urls_of_rows(folder, base):
    """Return every URL of the site, computed only from the rows."""
    with closing(sqlite3.connect(folder / "db.sqlite3")) as database:
        paths = ["/", "/about/", "/contact/"]
        paths += [f"/info{url}" for (url,) in database.execute("SELECT url FROM django_flatpage")]
        articles = database.execute(
            "SELECT category.slug, article.slug FROM articles_article article"
            " JOIN articles_category category ON category.id = article.category_id WHERE article.published"
        )
        paths += [f"/articles/{category}/{slug}/" for category, slug in articles]
        for (code,) in database.execute("SELECT code FROM products_product"):
            paths += [f"{prefix}/products/{code}/" for prefix in ("", "/de")]
    return [f"{base}{quote(path, safe=PATH)}" for path in paths]


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_finds_every_url_once(request, reader):
    require(READERS[reader][1])
    # Created only if a reader is installed.
    folder, base = request.getfixturevalue("site")
    Handler.requested.clear()
    found = json.loads(run(folder, base, "-m", __name__, reader, base).splitlines()[-1])
    expected = urls_of_rows(folder, base)
    assert len(expected) == len(set(expected)) == 3 + 4 + ARTICLES * 49 // 50 + 2 * PRODUCTS
    assert sorted(found) == sorted(expected)
    assert {"/robots.txt", "/sitemap.xml", "/sitemap-articles-3.xml.gz"} < set(Handler.requested)


if __name__ == "__main__":
    read, _ = READERS[sys.argv[1]]
    sys.stdout.write("\n" + json.dumps(read(sys.argv[2])))
