"""Random changes of a site: an audit ends with a report, whatever it reads."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from django_sitemaps09.audit import audit
from tests.support.configuration import BASE
from tests.support.site_files import ALL, OTHER, PAGE, sound, url, urlset, write

pytestmark = pytest.mark.sitemaps09

FULL = urlset(
    url(
        "/words/en/",
        "<lastmod>2026-01-31T10:30:00Z</lastmod>"
        f'<xhtml:link rel="alternate" hreflang="en" href="{BASE}/words/en/"/>'
        f"<video:video><video:thumbnail_loc>{BASE}/a.jpg</video:thumbnail_loc><video:title>A</video:title>"
        f"<video:description>B</video:description><video:content_loc>{BASE}/a.mp4</video:content_loc>"
        "</video:video>",
    ),
    url(
        "/words/b/",
        "<changefreq>daily</changefreq><priority>0.5</priority><news:news><news:publication>"
        "<news:name>The Times</news:name><news:language>en</news:language></news:publication>"
        "<news:publication_date>2026-01-31</news:publication_date><news:title>A</news:title></news:news>",
    ),
    root=ALL,
).encode()
NAMES = [PAGE, "sitemap.xml", "robots.txt"]
CONTENTS = {**sound(), PAGE: FULL}


@st.composite
def changed(draw: Any) -> dict[str, Any]:
    """Return a site in which parts of a file are replaced, repeated or removed."""
    name = draw(st.sampled_from(NAMES))
    content = CONTENTS[name]
    data = bytearray(content.encode() if isinstance(content, str) else content or b"")
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 30)))
        piece = draw(st.binary(max_size=20) | st.text(max_size=10).map(lambda text: text.encode()))
        data[start:end] = piece * draw(st.sampled_from([1, 1, 1, 200]))
    if draw(st.booleans()):
        packed = bytearray(gzip.compress(bytes(data), mtime=0))
        packed[draw(st.integers(0, len(packed) - 1))] ^= draw(st.integers(0, 255))
        data = packed
    return {**CONTENTS, name: bytes(data)}


@given(site=changed())
def test_an_audit_of_any_folder_ends_with_a_report(site: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = audit(directory=write(Path(folder), site))
    assert all(example.isprintable() for finding in report.findings for example in finding.examples)


@given(
    location=st.text(max_size=40), start=st.sampled_from(["", "https://www.example.com/", "https://", "//"])
)
def test_an_audit_of_any_text_ends_with_a_report(location: str, start: str) -> None:
    files = {**sound(), OTHER: None, "sitemap.xml": None}
    content = f"{start}{location}".encode(errors="replace")
    with tempfile.TemporaryDirectory() as folder:
        robots = b"User-agent: *\nDisallow: /b\nSitemap: https://www.example.com/a.txt\nSitemap: " + content
        write(Path(folder), {**files, "a.txt": content, "robots.txt": robots})
        assert audit(directory=folder).documents >= 1
