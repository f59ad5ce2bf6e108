"""Third-party sitemap readers find every URL of the example's database exactly once.

They are heavy, so they are an extra of their own, `test-clients`; with `SITEMAPS09_REQUIRE_CLIENTS=1` one
that is not installed is a failure. Each runs in a process of its own, for their warnings and reactors.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import quote

import pytest

import django_sitemaps09
from tests.invariants.readers import READERS
from tests.support.paths import ROOT
from tests.support.strict_readers import require

EXAMPLE = ROOT / "example_project"
ARTICLES, PRODUCTS = 3_000, 60
SETTINGS = """
from example.settings import *
SITEMAPS09 = {**SITEMAPS09, "MAX_URLS": 1_000}
"""
#: Characters that are not quoted in a path (RFC 3986, pchar and the slash), besides letters, digits and
#: "-._~".
PATH = "/!$&'()*+,;=:@"


class Site(NamedTuple):
    """An exported example on its own server."""

    base: str
    database: Path
    public: Path
    requested: list[str]

    def expected(self):
        """Return every URL of the site, computed only from the rows."""
        with closing(sqlite3.connect(self.database)) as database:
            paths = ["/", "/about/", "/contact/"]
            paths += [f"/info{url}" for (url,) in database.execute("SELECT url FROM django_flatpage")]
            paths += [
                f"/articles/{category}/{slug}/"
                for category, slug in database.execute(
                    "SELECT category.slug, article.slug FROM articles_article article"
                    " JOIN articles_category category ON category.id = article.category_id"
                    " WHERE article.published"
                )
            ]
            for (code,) in database.execute("SELECT code FROM products_product"):
                paths += [f"{prefix}/products/{code}/" for prefix in ("", "/de")]
        return [f"{self.base}{quote(path, safe=PATH)}" for path in paths]


class Handler(SimpleHTTPRequestHandler):
    """Python's `http.server`, which records requests instead of printing them."""

    def __init__(self, *arguments, requested, **options):
        self.requested = requested
        super().__init__(*arguments, **options)

    def log_request(self, code="-", size="-"):
        self.requested.append(self.path)

    def log_message(self, format, *arguments):
        pass


def environment(folder, base):
    """Return the environment of processes that can import the example and use no proxy."""
    package = Path(django_sitemaps09.__file__).parents[1]
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return kept | {
        "PYTHONPATH": os.pathsep.join(map(str, [folder, EXAMPLE, package, ROOT])),
        "DJANGO_SETTINGS_MODULE": "client_settings",
        "EXAMPLE_BASE_URL": base,
        "EXAMPLE_DATABASE_URL": f"sqlite:///{folder / 'db.sqlite3'}",
        "EXAMPLE_DEBUG": "",
    }


def run(folder, base, *command):
    done = subprocess.run(  # noqa: S603 our own interpreter and arguments
        [sys.executable, *map(str, command)],
        env=environment(folder, base),
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clients")
    public = folder / "public"
    public.mkdir()
    (folder / "client_settings.py").write_text(SETTINGS)
    requested = []
    handler = partial(Handler, directory=str(public), requested=requested)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
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
            yield Site(base, folder / "db.sqlite3", public, requested)
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_finds_every_url_once(request, reader):
    require(READERS[reader][1])
    # Created only if a reader is installed.
    site = request.getfixturevalue("site")
    site.requested.clear()
    said = run(site.public.parent, site.base, "-m", "tests.invariants.readers", reader, site.base)
    found = json.loads(said.splitlines()[-1])
    expected = site.expected()
    assert len(expected) == len(set(expected)) == 3 + 4 + ARTICLES * 49 // 50 + 2 * PRODUCTS
    assert sorted(found) == sorted(expected)
    assert {"/robots.txt", "/sitemap.xml", "/sitemap-articles-3.xml.gz"} < set(site.requested)
