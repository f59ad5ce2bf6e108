"""Entries are found in exported files, wherever a chunk of the file ends."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from django_sitemaps09 import compression
from django_sitemaps09.inspector import published_entries
from django_sitemaps09.inspector.published_entries import Entry, ExportedFiles
from django_sitemaps09.published import ExportFolder
from django_sitemaps09.status import ExportState
from django_sitemaps09.stores.local import LocalStore

URLS = [f"https://www.example.com/{number}/?a=1&b='{number}'" for number in range(30)]


def entry(url):
    text = url.replace("&", "&amp;").replace("'", "&apos;")
    return f"<url><loc>{text}</loc><lastmod>2026-11-23</lastmod></url>\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("public")
    document = f"<urlset>\n{''.join(map(entry, URLS))}</urlset>\n".encode()
    (folder / "sitemap-a-1.xml").write_bytes(document)
    (folder / "sitemap-a-1.xml.gz").write_bytes(compression.compress(document))
    (folder / "sitemap-a-1.txt").write_text("".join(f"{url}\n" for url in URLS))
    (folder / "sitemap-a-2.xml.gz").write_bytes(b"\x1f\x8b damaged")
    return LocalStore(folder)


def files_in(store):
    return ExportedFiles(ExportState(folder=ExportFolder("", store, store)))


@given(st.sampled_from(URLS), st.integers(1, 500), st.sampled_from(["xml", "xml.gz", "txt"]))
def test_every_entry_is_found_with_chunks_of_any_size(store, url, size, suffix):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compression, "_CHUNK", size)
        files, names = files_in(store), [f"sitemap-a-1.{suffix}"]
        found = files.search(names, url).entry
        assert found is not None
        assert found.location == url
        assert found.value("lastmod") == (None if suffix == "txt" else "2026-11-23")
        assert files.search(names, url[:-1]).entry is None
        assert files.notes == []


def test_a_search_reads_each_file_once_and_ends_at_the_first_with_the_url(store, monkeypatch):
    names = ["sitemap-a-9.xml", "sitemap-a-2.xml.gz", "sitemap-a-1.xml", "sitemap-a-1.txt"]
    files = files_in(store)
    found = files.search(names, URLS[3])
    assert (found.name, found.files) == ("sitemap-a-1.xml", 3)
    [note] = files.notes
    assert note.startswith("sitemap-a-2.xml.gz cannot be read: ")
    monkeypatch.setattr(published_entries, "MAX_FILES", 2)
    files = files_in(store)
    assert files.search([*names[2:], *names[2:3]], "https://none/").files == 2
    assert files.notes == []


def test_an_entry_that_is_too_long_is_not_read(tmp_path):
    long_entry = f"<url><loc>https://a/</loc><x>{'x' * 3_000_000}</x></url>"
    (tmp_path / "sitemap-a-1.xml").write_text(f"<urlset>\n{long_entry}\n</urlset>")
    files = files_in(LocalStore(tmp_path))
    assert files.search(["sitemap-a-1.xml"], "https://a/").entry is None
    assert files.notes == []


def test_an_entry_shows_its_elements_without_escapes():
    link = '<xhtml:link rel="alternate" hreflang="de" href="https://a/?a=1&amp;b=2"/>'
    shown = Entry(f"<url><loc>https://a/&apos;</loc><priority>0.5</priority>{link}</url>")
    assert shown.location == "https://a/'"
    assert shown.value("priority") == "0.5"
    assert shown.value("changefreq") is None
    assert shown.links == [("de", "https://a/?a=1&b=2")]
