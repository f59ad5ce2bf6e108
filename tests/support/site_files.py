"""Use these for an audit: files of a small site without faults, parts to change them, and its server."""

from __future__ import annotations

import http
import time
from collections.abc import Mapping
from contextlib import contextmanager
from typing import NamedTuple

from tests.support.configuration import BASE
from tests.support.services import serve

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
#: All namespaces that the audit knows.
ALL = (
    f'{SPACE} xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
)
PAGE, OTHER = "sitemap-a-1.xml", "sitemap-b-1.xml"


def url(location="/words/a/", rest="", *, base=BASE):
    """Return an entry. A location without a scheme is joined to the base."""
    start = base if location.startswith("/") and not location.startswith("//") else ""
    return f"<url><loc>{start}{location}</loc>{rest}</url>"


def urlset(*entries, root=SPACE):
    return f"{HEAD}<urlset {root}>\n" + "\n".join(entries) + "\n</urlset>"


def index(*names, base=BASE):
    entries = "".join(f"<sitemap><loc>{base}/{name}</loc></sitemap>\n" for name in names)
    return f"{HEAD}<sitemapindex {SPACE}>\n{entries}</sitemapindex>"


def sound(base=BASE):
    """Return the files of a site without faults, by name. Set one to `None` to omit it."""
    return {
        "robots.txt": f"User-agent: *\nDisallow: /private/\n\nSitemap: {base}/sitemap.xml\n",
        "sitemap.xml": index(PAGE, OTHER, base=base),
        PAGE: urlset(
            url("/words/a/", "<lastmod>2026-01-31</lastmod>", base=base),
            url("/words/b/", "<changefreq>daily</changefreq><priority>0.5</priority>", base=base),
        ),
        OTHER: urlset(url("/about/", "<lastmod>2026-01-31T10:30:00Z</lastmod>", base=base)),
    }


#: A fault of the site: the rule `url-duplicate`, once.
DUPLICATE = {PAGE: urlset(url(), url())}


def write(folder, files):
    for name, content in files.items():
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


class Answer(NamedTuple):
    """A response. `seconds` is how long the server waits before it."""

    content: str | bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    seconds: float = 0


@contextmanager
def site(answers=lambda base: {}, on_request=lambda environ: None):
    """Serve a site without faults but for these answers by path without a slash, and yield its base."""

    def application(environ, start_response):
        on_request(environ)
        base = f"http://{environ['HTTP_HOST']}"
        content = {**sound(base), **answers(base)}.get(environ["PATH_INFO"].removeprefix("/"))
        answer = content if isinstance(content, Answer) else Answer(content or "", 200 if content else 404)
        time.sleep(answer.seconds)
        status = f"{answer.status} {http.HTTPStatus(answer.status).phrase}"
        start_response(status, [*answer.headers.items()])
        return [answer.content.encode() if isinstance(answer.content, str) else answer.content]

    with serve(application) as base:
        yield base


def rules(report):
    return {finding.rule for finding in report.findings}
