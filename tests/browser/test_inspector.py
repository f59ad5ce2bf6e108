"""The inspector in a real Chromium, under a strict Content Security Policy."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from django_sitemaps09.export import export
from tests.models import Article
from tests.support.articles import Articles
from tests.support.browsers import SECONDS, Browser, contrast
from tests.support.exports import Bad
from tests.support.factories import ArticleFactory
from tests.support.inspector import client_of, serving_site, site, superuser

pytestmark = [
    pytest.mark.services,
    pytest.mark.slow,
    pytest.mark.timeout(4 * SECONDS),
    pytest.mark.django_db,
    pytest.mark.sitemaps09(ENGINE="serial"),
]
LONG = f"long-{'abcdefghij' * 10}"
HOSTILE = '"><script>alert(1)</script><style>*{display:none}</style>'


@pytest.fixture
def exported(folder: Path, register: Callable[..., None], configure: Callable[..., None]) -> None:
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
def opened(browser: Browser, path: str, *, admin: bool) -> Iterator[str]:
    """Log in a superuser, or a user with the permission of the plain site, and open a page."""
    with site(admin=admin), serving_site() as address:
        client = superuser() if admin else client_of("ann", "shop.view_product", is_staff=True)
        browser.log_in(address, client)
        browser.errors()
        browser.open(f"{address}{path}")
        yield address
        browser.open("about:blank")


#: Returns what the tests assert about a page.
SCRIPT = """
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
  scripts: inside.querySelectorAll("script, style, [style], [onclick], [onload]").length,
  sheets: [...document.styleSheets].filter(sheet => sheet.cssRules.length).length,
  background: background(inside),
};
"""


def check(browser: Browser) -> dict[str, Any]:
    """Check layout, contrast and structure of a page, and that the policy was not violated."""
    seen: dict[str, Any] = browser.run(SCRIPT)
    assert seen["headings"][0] == 1
    assert seen["headings"].count(1) == 1
    for previous, following in zip(seen["headings"], seen["headings"][1:], strict=False):
        assert following <= previous + 1
    assert [entry for entry in seen["colors"] if contrast(*entry[:2]) < 4.5] == []
    assert all(contrast(*pair) >= 3 for pair in seen["marks"])
    assert all(contrast(*pair) >= 4.5 for pair in seen["labels"])
    assert seen["scope"]
    assert seen["captions"]
    assert seen["label"] == "Is this URL in the sitemap?"
    assert seen["scrolls"] <= seen["width"]
    assert max(seen["edges"]) <= seen["width"]
    assert seen["scripts"] == 0
    assert seen["sheets"]
    assert browser.errors() == []
    return seen


PAGES = {
    "index": "",
    "listed": "url/?url=/articles/s5/",
    "changed": "url/?url=/articles/s3/",
    "filtered": "url/?url=/articles/s2/",
    "long": f"url/?url=/articles/{LONG}/",
    "hostile": f"url/?url={quote(HOSTILE)}",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("admin", [True, False], ids=["admin", "plain"])
@pytest.mark.usefixtures("exported")
def test_pages_are_readable_and_respect_the_policy(
    browser: Browser, tmp_path: Path, width: int, scheme: str, *, admin: bool
) -> None:
    """Screenshots are saved in the folder `SITEMAPS09_SCREENSHOTS` for inspection."""
    shots = Path(os.environ.get("SITEMAPS09_SCREENSHOTS") or tmp_path)
    browser.size(width)
    browser.scheme(scheme)
    root = "/admin/sitemaps/" if admin else "/sitemaps/"
    with opened(browser, root, admin=admin) as address:
        for name, path in PAGES.items():
            browser.open(f"{address}{root}{path}")
            seen = check(browser)
            assert (sum(map(int, re.findall(r"\d+", seen["background"])[:3])) < 384) == (scheme == "dark")
            image = browser.full_screenshot()
            (shots / f"inspector-{name}-{width}-{scheme}-{'admin' if admin else 'plain'}.png").write_bytes(
                image
            )
