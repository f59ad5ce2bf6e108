"""Real readers of sitemaps, each for `python -m tests.invariants.readers READER BASE`."""

from __future__ import annotations

import json
import sys


def usp(base):
    from usp.tree import sitemap_tree_for_homepage

    return [page.url for page in sitemap_tree_for_homepage(f"{base}/", use_known_paths=False).all_pages()]


def usp_guessing(base):
    """Return what ultimate-sitemap-parser finds, with the usual names of sitemaps requested as well."""
    from usp.tree import sitemap_tree_for_homepage

    return [page.url for page in sitemap_tree_for_homepage(f"{base}/").all_pages()]


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
    "usp": (usp, "ultimate-sitemap-parser"), "usp_guessing": (usp_guessing, "ultimate-sitemap-parser"),
    "advertools": (advertools, "advertools"), "scrapy": (scrapy, "scrapy"),
}  # fmt: skip


if __name__ == "__main__":
    read, _ = READERS[sys.argv[1]]
    sys.stdout.write("\n" + json.dumps(read(sys.argv[2])))
