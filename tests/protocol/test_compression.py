"""Compression: one complete gzip member with any codec."""

from __future__ import annotations

import gzip
import zlib
from hashlib import sha256
from io import BytesIO

import pytest
from django.test import Client, override_settings
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09.export import export
from django_sitemaps09.protocol.compression import TrailingDataError, decompress, decompress_whole, gunzip
from tests.support.configuration import BASE
from tests.support.exports import GZIP_HEADER
from tests.support.internals import MAX_BYTES, compression
from tests.support.sections import Numbers, declare
from tests.support.services import missing

LEVELS = range(1, 10)
#: Text with repetitions. A higher level finds more of them.
TEXT = b"".join(b"<url><loc>https://www.example.com/%d/%d/</loc></url>\n" % (i, i**3) for i in range(3_000))
SHORT = TEXT[:5_000]
# The section that the setting SITEMAPS names. Its pages do not compress well.
SECTIONS = {"numbers": declare(Numbers, location=lambda self, item: f"/numbers/{item}/{item**3}/")(5_000)}


@pytest.fixture(params=["zlib", pytest.param("isal", marks=pytest.mark.services)])
def codec(request, monkeypatch):
    """Run the test without the extra `fast`, and with it if it is installed."""
    if request.param == "zlib":
        monkeypatch.setattr(compression, "isal_zlib", None)
    elif compression.isal_zlib is None:
        missing("isal is not installed: it is the extra `fast`")
    return request.param


def unpacked(data):
    """Return the content of exactly one gzip member, without a second member or other data after it."""
    reader = zlib.decompressobj(31)
    content = reader.decompress(data) + reader.flush()
    assert data.startswith(GZIP_HEADER)
    assert (reader.eof, reader.unused_data, gzip.decompress(data)) == (True, b"", content)
    return content


@pytest.mark.parametrize("level", [None, *LEVELS])
def test_a_gzip_file_is_one_member_without_a_name_or_a_time(codec, level):
    for data in (b"", b"x", TEXT):
        assert unpacked(compression.compress(data, level)) == data
    # With a level, it is that of zlib, whatever is installed.
    stream = zlib.compressobj(6 if level is None else level, zlib.DEFLATED, 31)
    is_of_zlib = compression.compress(TEXT, level) == stream.compress(TEXT) + stream.flush()
    assert is_of_zlib == (codec == "zlib" or level is not None)
    others = [compression.compress(TEXT, other) for other in LEVELS]
    assert is_of_zlib or compression.compress(TEXT) not in others


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chunks=st.lists(st.binary(max_size=2_000)), level=st.sampled_from([None, 1, 6, 9]))
def test_a_gzip_file_holds_the_same_however_it_comes_in_chunks(codec, chunks, level):
    stream = compression.compressor(level)
    data = b"".join([*map(stream.compress, chunks), stream.flush()])
    assert unpacked(data) == unpacked(compression.compress(b"".join(chunks), level)) == b"".join(chunks)


@pytest.mark.parametrize("chunk", [1, 2, 100, compression._CHUNK])
class TestReadingAFile:
    @pytest.fixture(autouse=True)
    def _chunk(self, chunk, monkeypatch):
        monkeypatch.setattr(compression, "_CHUNK", chunk)

    @pytest.mark.parametrize("more", [-1, 0, 1])
    def test_ends_one_byte_after_the_limit(self, more):
        most = len(SHORT) + more
        for content in (SHORT, compression.compress(SHORT)):
            assert b"".join(decompress(BytesIO(content), most)) == SHORT[: most + 1]
        assert decompress_whole(compression.compress(SHORT), most) == (None if more < 0 else SHORT)

    def test_that_is_damaged_is_an_error(self):
        packed = compression.compress(SHORT)
        for content, error in {packed[:-3]: EOFError, packed[:40] + b"x" * 40: zlib.error}.items():
            assert decompress_whole(content, MAX_BYTES) is None
            with pytest.raises(error):
                list(decompress(BytesIO(content), MAX_BYTES))
        # The content comes before a wrong checksum.
        pieces = []
        with pytest.raises(zlib.error, match="incorrect data check"):
            pieces.extend(decompress(BytesIO(packed[:-8] + bytes(8)), MAX_BYTES))
        assert b"".join(pieces) == SHORT

    def test_can_have_several_members_only_if_they_are_allowed(self):
        packed, text = compression.compress(SHORT), b"<!-- cached -->"
        assert b"".join(gunzip([packed + packed], MAX_BYTES, members=True)) == SHORT + SHORT
        for chunks in ([packed, packed], [packed, text], [packed + text]):
            with pytest.raises(TrailingDataError, match="data after the end") as caught:
                list(gunzip(chunks, MAX_BYTES))
        assert caught.value.data == text


def test_an_invalid_level_publishes_nothing(tmp_path):
    with override_settings(SITEMAPS09={"BASE_URL": BASE, "GZIP_LEVEL": 10}):
        report = export(output=tmp_path, sitemaps=SECTIONS)
    assert (bool(report.published), "SITEMAPS09['GZIP_LEVEL']" in report.failures[0]) == (False, True)
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


@pytest.mark.parametrize("level", [None, 1, 6, 9])
def test_what_is_served_and_exported_holds_the_same_bytes_with_any_codec(codec, level, tmp_path):
    name = "sitemap-numbers-1.xml"
    with override_settings(SITEMAPS09={"BASE_URL": BASE}):
        export(output=tmp_path / "plain", sitemaps=SECTIONS, gzip=False)
        dry = export(output=tmp_path / "dry", sitemaps=SECTIONS, dry_run=True)
    plain = (tmp_path / "plain" / name).read_bytes()
    given_settings = {"BASE_URL": BASE, "GZIP_LEVEL": level, "SITEMAPS": f"{__name__}.SECTIONS"}
    with override_settings(SITEMAPS09=given_settings):
        report, response = export(output=tmp_path / "public"), Client().get(f"/{name}.gz")
    data = (tmp_path / "public" / f"{name}.gz").read_bytes()
    assert unpacked(data) == unpacked(response.content) == plain
    assert response.content == compression.compress(plain, level)
    [file] = report.sections[0].files
    assert (file.digest, file.bytes, file.size) == (sha256(plain).hexdigest(), len(plain), len(data))
    # A file that is not written has a digest, too.
    assert (dry.sections[0].files[0].digest, (tmp_path / "dry").exists()) == (file.digest, False)
