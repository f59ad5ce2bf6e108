"""Third-party sitemap readers find every URL of an export exactly once.

They are heavy, so they are an extra of their own, `test-clients`; with `SITEMAPS09_REQUIRE_CLIENTS=1` one
that is not installed is a failure. Each runs in a process of its own, for their warnings and reactors.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote

import pytest

from django_sitemaps09.export import export
from tests.invariants.strict_readers import require
from tests.support.processes import ended, environment, started
from tests.support.sections import listing

#: Characters that are not quoted in a path (RFC 3986, pchar and the slash), besides letters, digits and
#: "-._~".
PATH = "/!$&'()*+,;=:@"
PATHS = [f"/{number}/{'aä日😀 '[number % 5]}{PATH}/" for number in range(3_000)]


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

    off = dict.fromkeys(("COOKIES_ENABLED", "TELNETCONSOLE_ENABLED"), False)
    process = CrawlerProcess({"LOG_LEVEL": "ERROR", **off})
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


@pytest.fixture
def base(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}"
        pairs = {"alternates": lambda self, item: [("en", f"/{item}/"), ("de", "/de/")]}
        sections = {"a": listing(PATHS, location=lambda self, item: item), "b": listing(range(60), **pairs)}
        try:
            robots = tmp_path / "robots.txt"
            assert export(base_url=base, output=tmp_path, robots=robots, sitemaps=sections).failures == []
            yield base
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.sitemaps09(MAX_URLS=1_000, ENGINE="serial")
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_finds_every_url_once(request, reader, tmp_path):
    require(READERS[reader][1])
    # Exported only if the reader is installed.
    base = request.getfixturevalue("base")
    Handler.requested.clear()
    environ = environment(tmp_path, "tests.settings").items()
    environ = {name: value for name, value in environ if not name.lower().endswith("_proxy")}
    status, out, err = ended(started("-m", __name__, reader, base, environ=environ, cwd=tmp_path), 90)
    assert status == 0, out + err
    expected = [f"{base}{quote(path, safe=PATH)}" for path in PATHS]
    expected += [f"{base}/{number}/" for number in range(60)]
    assert sorted(json.loads(out.splitlines()[-1])) == sorted(expected)
    assert {"/robots.txt", "/sitemap.xml", "/sitemap-a-3.xml.gz"} < set(Handler.requested)


if __name__ == "__main__":
    read, _ = READERS[sys.argv[1]]
    sys.stdout.write("\n" + json.dumps(read(sys.argv[2])))
