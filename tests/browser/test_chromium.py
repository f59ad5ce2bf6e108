"""The inspector under a strict Content Security Policy, and styled documents, in a real Chromium."""

from __future__ import annotations

import mimetypes
import os
import re
import shutil
import subprocess
from base64 import b64decode
from contextlib import contextmanager
from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.handlers.wsgi import WSGIHandler
from django.test import override_settings

from django_sitemaps09 import Alternate, Extension, Image, News, Video
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.exports import Bad
from tests.support.factories import ArticleFactory
from tests.support.inspector import client_of, export_full_sections, site, superuser
from tests.support.internals import page_format, write_document
from tests.support.sections import Numbers, listing
from tests.support.services import BrowserServer, missing, require_packages, serve, sharing_connection
from tests.support.writing import single

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
#: Timeout in seconds for a page. It is long enough for a busy machine, and not a measurement.
SECONDS = 90
FLAGS = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
FLAGS += " disable-component-update disable-sync"

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(4 * SECONDS)]
pytestmark += [pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]
LONG = f"long-{'abcdefghij' * 10}"
HOSTILE = '"><script>alert(1)</script><style>*{display:none}</style>'


def luminance(color):
    """Return the relative luminance of `rgb(r, g, b)`, as WCAG 2 defines it."""
    parts = [int(number) / 255 for number in re.findall(r"\d+", color)[:3]]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    """Return the contrast of two colors, as WCAG 2 defines it."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


class Browser:
    def __init__(self, driver):
        self.driver, self.open, self.run = driver, driver.get, driver.execute_script

    def size(self, width, *, phone=False):
        """Set the width of the window. A phone lays out a page without a viewport at 980 px."""
        metrics = {"width": width, "height": 800, "screenWidth": width, "screenHeight": 800}
        metrics |= {"deviceScaleFactor": 1, "mobile": phone}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def scheme(self, name):
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def press(self, keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(keys).perform()

    def wait_for(self, script):
        """Wait until a script returns `True`, for example in a page that a key press requests."""
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, 20).until(lambda driver: driver.execute_script(script))

    def errors(self):
        """Return the messages in the console since the last call, such as violations of a policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def violations(self, axe):
        """Return the violations that axe-core finds on the page, with the first element of each."""
        self.run(axe)
        script = """const done = arguments[0]; axe.run(".sitemaps09").then(result =>
          done(result.violations.map(each => `${each.id}: ${each.nodes[0].html}`)));"""
        return list(self.driver.execute_async_script(script))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    require_packages("selenium")
    for program in (CHROMIUM, DRIVER):
        if shutil.which(program) is None:
            missing(f"{program} is not installed: apt-get install chromium chromium-driver")
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS.split(), f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    driver = Chrome(options=options, service=ChromeService(DRIVER))
    try:
        driver.set_page_load_timeout(SECONDS)
        driver.set_script_timeout(SECONDS)
        yield Browser(driver)
    finally:
        driver.quit()


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """Return the script of axe-core, which npm installs. Without npm, its tests are skipped."""
    folder, npm = tmp_path_factory.mktemp("axe"), shutil.which("npm")
    if npm is None:
        pytest.skip("npm, which installs axe-core, is not installed")
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=20000"]
    command = [str(npm), "install", *options, "axe-core@4"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True)  # noqa: S603
    if done.returncode:
        missing(f"npm does not install axe-core: {done.stderr[-500:]}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


@pytest.fixture
def exported(folder, register, configure):
    """Two exports: dated articles of several ages, and numbers of which one is skipped."""
    configure(ROOT=folder)
    register(articles=Articles, numbers=Bad(30, [7]))
    now = datetime.now(timezone.utc)
    for number in range(45):
        ArticleFactory(slug=f"s{number}", updated=now - timedelta(days=number**2 / 3))
    ArticleFactory(slug=LONG, updated=now)
    export()
    Article.objects.filter(slug="s1").update(updated=now)
    Article.objects.filter(slug="s2").update(published=False)
    export()
    Article.objects.filter(slug="s3").update(updated=now)


@contextmanager
def opened(browser, path, *, admin):
    """Log in a superuser, or a user with the permission of the plain site, and open a page.

    There is no icon, which a browser asks for at a time of its own: a 404 would be an error in its console.
    """

    def application(environ, start_response):
        if environ["PATH_INFO"] == "/favicon.ico":
            start_response("204 No Content", [])
            return []
        return handler(environ, start_response)

    with (
        site(admin=admin),
        sharing_connection(application) as shared,
        serve(shared, BrowserServer) as address,
    ):
        handler = StaticFilesHandler(WSGIHandler())
        client = superuser() if admin else client_of("ann", "shop.view_product", is_staff=True)
        browser.open(f"{address}/robots.txt")
        browser.driver.delete_all_cookies()
        browser.driver.add_cookie({"name": "sessionid", "value": client.cookies["sessionid"].value})
        browser.errors()
        browser.open(f"{address}{path}")
        yield address
        browser.open("about:blank")


#: Returns what the tests assert about a page.
SCRIPT = """
// A link of the admin takes a moment to change its color.
document.getAnimations().forEach(animation => animation.finish());
const root = document.documentElement, inside = document.querySelector(".sitemaps09");
// On a phone, the head of a table is only there for screen readers.
const visible = element => element.getClientRects().length > 0
  && (element.closest("thead")?.getBoundingClientRect().height ?? 9) > 1;
const background = element => {
  for (let e = element; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor;
    if (!color.match(/, 0\\)$/)) return color;
  }
  return getComputedStyle(root).backgroundColor;
};
const names = "h2, h3, p, li, dt, dd, th, td, span, small, time, label, button, summary, a, code, caption";
const texts = [...inside.querySelectorAll(names)].filter(
  element => visible(element) && element.textContent.trim()
);
return {
  headings: [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
    .filter(visible).map(heading => Number(heading.tagName[1])),
  colors: texts.map(e => [getComputedStyle(e).color, background(e), e.textContent.trim().slice(0, 40)]),
  marks: [...inside.querySelectorAll("rect")].map(e => [getComputedStyle(e).fill, background(e)]),
  labels: [...inside.querySelectorAll("svg text")].map(e => [getComputedStyle(e).fill, background(e)]),
  scope: [...inside.querySelectorAll("th")].every(th => ["col", "row"].includes(th.scope)),
  captions: [...inside.querySelectorAll("table")].every(table => table.caption?.textContent.trim()),
  label: inside.querySelector("input[name=url]").labels[0].textContent,
  width: root.clientWidth,
  scrolls: root.scrollWidth,
  edges: texts.map(e => e.getBoundingClientRect().right),
  right: Math.max(...[inside, ...inside.querySelectorAll("table, form")]
    .map(element => element.getBoundingClientRect().right)),
  scripts: inside.querySelectorAll("script, style, [style], [onclick], [onload]").length,
  sheets: [...document.styleSheets].filter(sheet => sheet.cssRules.length).length,
  background: background(inside),
};
"""


def check(browser):
    """Check layout, contrast and structure of a page, and that the policy was not violated."""
    seen = browser.run(SCRIPT)
    headings = seen["headings"]
    assert (headings[0], headings.count(1)) == (1, 1)
    assert all(following <= previous + 1 for previous, following in pairwise(headings))
    assert [entry for entry in seen["colors"] if contrast(*entry[:2]) < 4.5] == []
    assert all(contrast(*pair) >= 3 for pair in seen["marks"])
    assert all(contrast(*pair) >= 4.5 for pair in seen["labels"])
    assert (seen["scope"], seen["captions"], seen["scripts"], bool(seen["sheets"])) == (True, True, 0, True)
    assert seen["label"] == "Is this URL in the sitemap?"
    assert max(seen["scrolls"], *seen["edges"], seen["right"] + 10) <= seen["width"]
    assert browser.errors() == []
    return seen


@pytest.mark.usefixtures("exported")
def test_a_violation_of_the_policy_is_an_error_in_the_console(browser):
    """This proves that `check()` notices inline styles."""
    with opened(browser, "/sitemaps/", admin=False):
        assert browser.errors() == []
        browser.run("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">text</p>')")
        [message] = browser.errors()
        assert "Content Security Policy" in message


PAGES = {"index": ""}
PATHS = {"listed": "s5", "changed": "s3", "filtered": "s2", "long": LONG}
PAGES |= {name: f"url/?url=/articles/{slug}/" for name, slug in PATHS.items()}
PAGES["hostile"] = f"url/?url={quote(HOSTILE)}"


@pytest.mark.parametrize("admin", [True, False], ids=["admin", "plain"])
@pytest.mark.usefixtures("exported")
def test_pages_are_readable_and_respect_the_policy(browser, *, admin):
    """Screenshots are saved in the folder `SITEMAPS09_SCREENSHOTS` for inspection."""
    shots = os.environ.get("SITEMAPS09_SCREENSHOTS")
    root, kind = ("/admin/sitemaps/", "admin") if admin else ("/sitemaps/", "plain")
    with opened(browser, root, admin=admin) as address:
        for name, path in PAGES.items():
            browser.open(f"{address}{root}{path}")
            for width in (360, 1200):
                browser.size(width)
                for scheme in ("light", "dark"):
                    browser.scheme(scheme)
                    assert (luminance(check(browser)["background"]) < 0.5) == (scheme == "dark")
                    if shots:
                        file = Path(shots, f"inspector-{name}-{width}-{scheme}-{kind}.png")
                        options = {"captureBeyondViewport": True}
                        image = browser.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
                        file.write_bytes(b64decode(image))


@pytest.fixture
def many(folder, register, configure):
    """An export of 300 sections, of which one is over its limit, and one is no longer declared."""
    configure(ROOT=folder)
    sections = export_full_sections(300, register)
    del sections["part-7"]
    sections["part-8"].limit = 18
    register(**sections)


@pytest.mark.parametrize(("admin", "width"), [(True, 390), (False, 390), (False, 1280)])
@pytest.mark.usefixtures("many")
def test_300_sections_are_readable_and_accessible(browser, axe, width, *, admin):
    root = "/admin/sitemaps/" if admin else "/sitemaps/"
    browser.size(width)
    with opened(browser, root, admin=admin) as address:
        check(browser)
        assert browser.violations(axe) == []
        assert browser.run("return document.documentElement.scrollHeight") <= 3_500
        names = "return [...document.querySelectorAll('.sitemaps09 h2')].map(e => e.innerText)"
        assert browser.run(names)[:4] == ["Problems", "Export", "Last exports", "Last audit"]
        # A link to a section unfolds it.
        browser.open(f"{address}{root}#sitemaps09-section-part-250")
        top = "document.getElementById('sitemaps09-section-part-250').getBoundingClientRect().top"
        browser.wait_for(f"return -1 <= {top} && {top} < innerHeight")
        browser.run("document.getElementById('sitemaps09-filter').focus()")
        browser.press("PART-29\ue007")
        browser.wait_for("return document.readyState == 'complete' && location.search != ''")
        rows = "return [...document.querySelectorAll('#sitemaps09-sections ~ table tbody th')].length"
        assert browser.run(rows) == 11
        check(browser)
        assert browser.violations(axe) == []
        browser.open(f"{address}{root}url/?url=/numbers/3/")
        check(browser)
        assert browser.violations(axe) == []


@pytest.mark.usefixtures("exported")
def test_the_box_works_with_the_keyboard_and_shows_the_focus(browser):
    browser.size(360)
    with opened(browser, "/sitemaps/", admin=False):
        focus = """const style = getComputedStyle(document.activeElement);
        return [document.activeElement.tagName, document.activeElement.name, style.outlineStyle,
          parseFloat(style.outlineWidth)];"""
        browser.press("\ue004")
        # The link that skips to the content is visible only with the focus.
        assert browser.run(focus) == ["A", "", "solid", 3]
        assert browser.run("return document.activeElement.getBoundingClientRect().left") >= 0
        browser.press("\ue004")
        assert browser.run(focus) == ["INPUT", "url", "solid", 3]
        browser.press("/articles/s5/\ue007")
        browser.wait_for("return document.readyState == 'complete' && location.search != ''")
        heading = browser.run("return document.querySelector('.sitemaps09 h2').textContent")
        assert heading == browser.run("return document.title").partition(" | ")[0] == "In the sitemap"
        assert browser.run("return document.querySelector('input').value") == "/articles/s5/"
        assert browser.errors() == []


MANY = 50_000
LONG_PATH = f"/{'abcdefghij' * 30}/?q=1&r=ü"
#: A section with everything that an entry can have, and URLs that cannot be wrapped. News must be recent.
RICH = listing(
    [LONG_PATH, *(f"/pages/{number}/" for number in range(8))],
    location=lambda self, item: item,
    lastmod=date(2026, 11, 19),
    changefreq="weekly",
    priority=0.8,
    extensions=[Extension("x", "https://example.com/x", lambda item: "<x:price>19.90</x:price>")],
    alternates=lambda self, item: [Alternate("en", f"{BASE}{item}"),
                                   Alternate("zh-Hant", f"{BASE}{LONG_PATH}")],
    images=lambda self, item: [Image(f"{LONG_PATH}.jpg"), Image("/b.jpg")],
    videos=lambda self, item: [Video("/thumbnail.jpg", "A title", "Words " * 60, content_loc="/video.mp4")],
    news=lambda self, item: News("The Garden", "en", datetime.now(timezone.utc), "Rain at last"),
)  # fmt: skip


@pytest.fixture(scope="module")
def styled(tmp_path_factory):
    """Export with the stylesheet, and yield the address of the files.

    Their headers are the strictest ones that the documentation promises to work with.
    """

    def application(environ, start_response):
        file = folder / environ["PATH_INFO"].removeprefix("/")
        policy = ("Content-Security-Policy", "default-src 'none'; style-src 'self'")
        kind = ("Content-Type", mimetypes.guess_type(file)[0] or "text/plain")
        status = "200 OK" if file.is_file() else "404 Not Found"
        start_response(status, [policy, kind, ("X-Content-Type-Options", "nosniff")])
        return [file.read_bytes()] if file.is_file() else []

    folder, sitemaps = tmp_path_factory.mktemp("site"), {"rich": RICH, "few": Numbers(3)}
    keys = {"BASE_URL": BASE, "STYLESHEET": True, "GZIP": False, "ENGINE": "serial"}
    with override_settings(SITEMAPS09=keys):
        report = export(output=folder, sitemaps=sitemaps)
    assert (report.failures, [section for section in report.sections if section.errors]) == ([], [])
    locations = [f"{BASE}/numbers/{number}/" for number in range(MANY)]
    with (folder / "many.xml").open("wb") as file:
        write_document(page_format("xml", styled=True), [single([*range(MANY)], locations)], file.write)
    with serve(application, BrowserServer) as address:
        yield address


#: Returns the boxes of all rows and their content, and the widths and colors of the page.
ROWS_SCRIPT = """
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


def check_rows(seen, scheme):
    """Check that rows do not overlap, nothing leaves the window, and colors have enough contrast."""
    assert seen["rows"]
    assert seen["visible"]
    edge = 0.0
    for _, _, top, bottom in seen["rows"]:
        assert edge - 0.1 <= top < bottom - 10
        edge = bottom
    assert min(left for left, *_ in seen["rows"] + seen["parts"]) >= 0
    assert max(right for _, right, *_ in seen["rows"] + seen["parts"]) <= seen["width"] + 0.1
    assert seen["scrolls"] <= seen["width"]
    # On a phone, a URL uses the full width.
    assert seen["location"] >= seen["width"] * (0.6 if seen["width"] > 1000 else 0.85)
    assert all(contrast(color, seen["background"]) >= 4.5 for color in seen["colors"])
    assert (luminance(seen["background"]) < 0.5) == (scheme == "dark")
    assert "XML has no links to click" in seen["note"]


def test_rows_do_not_overlap_and_nothing_extends_beyond_the_window(browser, styled, tmp_path):
    """Screenshots are saved in the folder `SITEMAPS09_SCREENSHOTS` for inspection."""
    folder, images = Path(os.environ.get("SITEMAPS09_SCREENSHOTS") or tmp_path), set()
    for name, title in (("sitemap.xml", "Sitemap index"), ("sitemap-rich-1.xml", "Sitemap")):
        for width in (360, 1200):
            for scheme in ("light", "dark"):
                browser.size(width)
                browser.scheme(scheme)
                browser.open(f"{styled}/{name}")
                seen = browser.run(ROWS_SCRIPT)
                assert (seen["window"], seen["title"]) == (width, f'"{title}"')
                check_rows(seen, scheme)
                image = browser.driver.get_screenshot_as_png()
                (folder / f"{name}-{width}-{scheme}.png").write_bytes(image)
                images.add(image)
    assert len(images) == 8


def test_a_phone_that_lays_out_xml_at_980_px_shows_text_at_a_readable_size(browser, styled):
    browser.size(360, phone=True)
    browser.scheme("light")
    for name in ("sitemap.xml", "sitemap-rich-1.xml"):
        browser.open(f"{styled}/{name}")
        seen = browser.run(ROWS_SCRIPT)
        check_rows(seen, "light")
        assert seen["size"] * 360 / seen["window"] == pytest.approx(16, abs=1)


def test_links_to_other_languages_show_the_language_and_the_url(browser, styled):
    browser.size(1200)
    browser.open(f"{styled}/sitemap-rich-1.xml")
    [[display, language, url, height]] = browser.run(
        """return [...document.getElementsByTagNameNS("http://www.w3.org/1999/xhtml", "link")].slice(2, 3)
        .map(link => [getComputedStyle(link).display, getComputedStyle(link, "::before").content,
          getComputedStyle(link, "::after").content, link.getBoundingClientRect().height])"""
    )
    assert (display, language, url) == ("block", '"en: "', f'"{BASE}/pages/0/"')
    assert height > 10


def test_a_click_selects_a_url(browser, styled):
    browser.size(1200)
    browser.open(f"{styled}/sitemap-few-1.xml")
    browser.driver.find_element("tag name", "loc").click()
    assert browser.run("return getSelection().toString()").strip() == f"{BASE}/numbers/0/"


def test_a_page_of_50_000_rows_can_be_scrolled_to_its_end(browser, styled):
    browser.size(360)
    browser.open(f"{styled}/many.xml")
    assert browser.run("return document.documentElement.childElementCount") == MANY
    browser.run("document.documentElement.lastElementChild.scrollIntoView()")
    top, bottom, text = browser.run(
        """const {top, bottom} = document.documentElement.lastElementChild.getBoundingClientRect();
        return [top, bottom, document.documentElement.lastElementChild.textContent];"""
    )
    assert 0 <= top < bottom <= 800
    assert text == f"{BASE}/numbers/{MANY - 1}/"
    assert browser.driver.get_screenshot_as_png()
