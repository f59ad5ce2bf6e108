"""Reading one published file back: what counts as damage, the count of its URLs, and memory."""

from __future__ import annotations

import gzip
import zlib
from hashlib import sha256

import pytest

from django_sitemaps09 import compression
from django_sitemaps09.compression import compress
from django_sitemaps09.export.publishing import file_checks
from django_sitemaps09.export.publishing.file_checks import CheckedFile, ExpectedFile, check_file
from django_sitemaps09.stores import LocalStore
from tests.support.memory import traced

NAME, PLAIN = "sitemap-a-1.xml.gz", "sitemap-a-1.xml"
CONTENT = b"<urlset>\n" + b"".join(b"<url><loc>https://a/%d/</loc></url>\n" % n for n in range(9))
WHOLE = compress(CONTENT)


def expected(content=CONTENT, name=NAME, urls=9):
    return ExpectedFile(name, frozenset([sha256(content).hexdigest()]), "a", urls, len(content))


@pytest.fixture
def check(tmp_path):
    """Return a function that writes a file, and checks it."""

    def written(content, file):
        (tmp_path / file.name).write_bytes(content)
        return check_file(LocalStore(tmp_path), file)

    return written


def test_every_bit_that_changes_the_content_and_every_truncation_is_found(check):
    harmless = 0
    for bit in range(8 * len(WHOLE)):
        content = bytearray(WHOLE)
        content[bit // 8] ^= 1 << bit % 8
        if check(bytes(content), expected()).problem is None:
            assert gzip.decompress(content) == CONTENT
            harmless += 1
    # Bits of the time in the header, for example.
    assert harmless < 10 * 8
    assert check(WHOLE, expected()) == CheckedFile(NAME, "a", 9, len(CONTENT))
    assert all(check(WHOLE[:length], expected()).problem is not None for length in range(len(WHOLE)))


@pytest.mark.parametrize(("name", "content"), [
    (NAME, WHOLE + b"x"), (NAME, WHOLE + compress(b"")), (NAME, WHOLE + bytes(2_000_000)), (NAME, CONTENT),
    (PLAIN, WHOLE), (PLAIN, CONTENT[:-1]), (PLAIN, b""),
])  # fmt: skip
def test_other_damage_is_found(check, name, content):
    assert check(content, expected(name=name)).problem is not None


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 36, 1_000])
def test_urls_are_counted_across_chunks(check, monkeypatch, size):
    monkeypatch.setattr(compression, "_CHUNK", size)
    assert check(CONTENT, expected(name=PLAIN)).urls == 9
    text = b"https://a/1/\nhttps://a/2/\n"
    assert check(text, expected(text, "sitemap-a-1.txt", 2)) == CheckedFile("sitemap-a-1.txt", "a", 2, 26)
    problem = check(WHOLE, expected(urls=10)).problem
    assert problem == "it has 9 URLs, but the manifest has 10"


def test_a_file_needs_little_memory_and_a_huge_one_is_not_read_to_its_end(check, monkeypatch):
    stream = zlib.compressobj(1, zlib.DEFLATED, 31)
    whole = b"".join([*(stream.compress(bytes(1_000_000)) for _ in range(40)), stream.flush()])
    read = 0

    class Digest:
        def update(self, data):
            nonlocal read
            read += len(data)

        def hexdigest(self):
            return ""

    monkeypatch.setattr(file_checks, "sha256", Digest)
    file = ExpectedFile(NAME, frozenset([""]), "a", 0, 40_000_000)
    with traced() as memory:
        assert check(whole, file).problem is None
    assert (read, memory.peak < 8_000_000) == (40_000_000, True)
    monkeypatch.setattr(file_checks.protocol, "MAX_BYTES", 5_000_000)
    assert check(whole, file._replace(bytes=3_000_000, digests=frozenset(["x"]))).problem is not None
    assert 40_000_000 < read < 50_000_000
