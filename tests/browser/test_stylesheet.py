"""Indexes and pages with the stylesheet are readable in a real Chromium."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import date, datetime, timezone
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.test import override_settings

from django_sitemaps09 import Alternate, Extension, Image, News, Video
from django_sitemaps09.export import export
from django_sitemaps09.writer import page_format, write_document
from tests.support.browsers import SECONDS, contrast, luminance, serving
from tests.support.configuration import BASE
from tests.support.paths import ROOT
from tests.support.sections import Numbers, listing
from tests.support.writing import single

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(4 * SECONDS)]
EXAMPLE = ROOT / "example_project"
MANY = 50_000
LONG = f"/{'abcdefghij' * 30}/?q=1&r=ü"


#: A section with everything that an entry can have, and URLs that cannot be wrapped. News must be recent.
RICH = listing(
    [LONG, *(f"/pages/{number}/" for number in range(8))],
    location=lambda self, item: item,
    lastmod=date(2026, 11, 19),
    changefreq="weekly",
    priority=0.8,
    extensions=[Extension("x", "https://example.com/x", lambda item: "<x:price>19.90</x:price>")],
    alternates=lambda self, item: [Alternate("en", f"{BASE}{item}"), Alternate("zh-Hant", f"{BASE}{LONG}")],
    images=lambda self, item: [Image(f"{LONG}.jpg"), Image("/b.jpg")],
    videos=lambda self, item: [Video("/thumbnail.jpg", "A title", "Words " * 60, content_loc="/video.mp4")],
    news=lambda self, item: News("The Garden", "en", datetime.now(timezone.utc), "Rain at last"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Export with the stylesheet, and yield the address of the files."""
    folder = tmp_path_factory.mktemp("site")
    sitemaps = {"rich": RICH, "few": Numbers(3)}
    keys = {"BASE_URL": BASE, "STYLESHEET": True, "GZIP": False, "ENGINE": "serial"}
    with override_settings(SITEMAPS09=keys):
        report = export(output=folder, sitemaps=sitemaps)
    assert (report.failures, [section for section in report.sections if section.errors]) == ([], [])
    locations = [f"{BASE}/numbers/{number}/" for number in range(MANY)]
    with (folder / "many.xml").open("wb") as file:
        write_document(page_format("xml", styled=True), [single([*range(MANY)], locations)], file.write)
    with serving(folder) as address:
        yield address


#: Returns the boxes of all rows and their content, and the widths and colors of the page.
SCRIPT = """
const box = element => {
  const {left, right, top, bottom} = element.getBoundingClientRect();
  return [left, right, top, bottom];
};
const root = document.documentElement, style = getComputedStyle(root);
const rows = [...root.children];
const loc = document.getElementsByTagName("loc")[0], lastmod = document.getElementsByTagName("lastmod")[0];
return {
  rows: rows.map(box),
  parts: rows.flatMap(row => [...row.querySelectorAll("*")].map(box)),
  visible: rows.every(row => [...row.children].every(part => getComputedStyle(part).display != "none")),
  width: root.clientWidth,
  scrolls: root.scrollWidth,
  background: style.backgroundColor,
  colors: [style, ...[loc, lastmod].filter(Boolean).map(part => getComputedStyle(part))].map(s => s.color),
  location: loc.getBoundingClientRect().width,
  title: style.listStyleType,
  note: getComputedStyle(root, "::before").content,
  size: parseFloat(style.fontSize),
  window: innerWidth,
};
"""


def check(seen, scheme):
    """Check that rows do not overlap, nothing leaves the window, and colors have enough contrast."""
    assert seen["rows"]
    assert seen["visible"]
    edge = 0.0
    for _, _, top, bottom in seen["rows"]:
        assert bottom - top > 10
        assert top >= edge - 0.1
        edge = bottom
    assert min(left for left, *_ in seen["rows"] + seen["parts"]) >= 0
    assert max(right for _, right, *_ in seen["rows"] + seen["parts"]) <= seen["width"] + 0.1
    assert seen["scrolls"] <= seen["width"]
    # On a phone, a URL uses the full width.
    assert seen["location"] >= seen["width"] * (0.6 if seen["width"] > 1000 else 0.85)
    assert all(contrast(color, seen["background"]) >= 4.5 for color in seen["colors"])
    assert (luminance(seen["background"]) < 0.5) == (scheme == "dark")
    assert "XML has no links to click" in seen["note"]


def test_rows_do_not_overlap_and_nothing_extends_beyond_the_window(browser, site, tmp_path):
    """Screenshots are saved in the folder `SITEMAPS09_SCREENSHOTS` for inspection."""
    folder, images = Path(os.environ.get("SITEMAPS09_SCREENSHOTS") or tmp_path), set()
    for name, title in (("sitemap.xml", "Sitemap index"), ("sitemap-rich-1.xml", "Sitemap")):
        for width in (360, 1200):
            for scheme in ("light", "dark"):
                browser.size(width)
                browser.scheme(scheme)
                browser.open(f"{site}/{name}")
                seen = browser.run(SCRIPT)
                assert (seen["window"], seen["title"]) == (width, f'"{title}"')
                check(seen, scheme)
                image = browser.screenshot()
                (folder / f"{name}-{width}-{scheme}.png").write_bytes(image)
                images.add(image)
    assert len(images) == 8


def test_a_phone_that_lays_out_xml_at_980_px_shows_text_at_a_readable_size(browser, site):
    browser.size(360, phone=True)
    browser.scheme("light")
    for name in ("sitemap.xml", "sitemap-rich-1.xml"):
        browser.open(f"{site}/{name}")
        seen = browser.run(SCRIPT)
        check(seen, "light")
        assert seen["size"] * 360 / seen["window"] == pytest.approx(16, abs=1)


def test_links_to_other_languages_show_the_language_and_the_url(browser, site):
    browser.size(1200)
    browser.open(f"{site}/sitemap-rich-1.xml")
    links = browser.run(
        """return [...document.getElementsByTagNameNS("http://www.w3.org/1999/xhtml", "link")].slice(2, 3)
        .map(link => [getComputedStyle(link).display, getComputedStyle(link, "::before").content,
          getComputedStyle(link, "::after").content, link.getBoundingClientRect().height])"""
    )
    [[display, language, url, height]] = links
    assert (display, language, url) == ("block", '"en: "', f'"{BASE}/pages/0/"')
    assert height > 10


def test_a_click_selects_a_url(browser, site):
    browser.size(1200)
    browser.open(f"{site}/sitemap-few-1.xml")
    browser.click("loc")
    assert browser.run("return getSelection().toString()").strip() == f"{BASE}/numbers/0/"


def test_a_page_of_50_000_rows_can_be_scrolled_to_its_end(browser, site):
    browser.size(360)
    browser.open(f"{site}/many.xml")
    assert browser.run("return document.documentElement.childElementCount") == MANY
    browser.run("document.documentElement.lastElementChild.scrollIntoView()")
    top, bottom, text = browser.run(
        """const {top, bottom} = document.documentElement.lastElementChild.getBoundingClientRect();
        return [top, bottom, document.documentElement.lastElementChild.textContent];"""
    )
    assert 0 <= top < bottom <= 800
    assert text == f"{BASE}/numbers/{MANY - 1}/"
    assert browser.screenshot()


@contextmanager
def example(folder):
    """Run the example project's server with a small demo, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    environ = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, [EXAMPLE, ROOT])),
        "DJANGO_SETTINGS_MODULE": "example.settings",
        "EXAMPLE_DATABASE_URL": f"sqlite:///{folder / 'db.sqlite3'}",
        "EXAMPLE_BASE_URL": address,
        "EXAMPLE_DEBUG": "",
    }
    manage = [sys.executable, str(EXAMPLE / "manage.py")]
    demo = [*manage, "demo", "--articles=300", "--products=40", f"--output={folder / 'public'}"]
    subprocess.run(demo, env=environ, check=True, capture_output=True)  # noqa: S603
    server = subprocess.Popen(  # noqa: S603
        [*manage, "runserver", "--noreload", str(port)],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + SECONDS
        while True:
            try:
                urlopen(f"{address}/sitemap.xml", timeout=SECONDS).close()  # noqa: S310
                break
            except OSError:
                assert server.poll() is None
                assert time.monotonic() < until, "the example does not answer"
                time.sleep(0.1)
        yield address
    finally:
        server.kill()
        server.wait()


def test_the_example_project_shows_its_live_documents(browser, tmp_path):
    with example(tmp_path) as address:
        for name in ("sitemap.xml", "sitemap-articles-1.xml", "sitemap-products-1.xml"):
            for width in (360, 1200):
                browser.size(width)
                browser.scheme("dark")
                browser.open(f"{address}/{name}")
                check(browser.run(SCRIPT), "dark")
