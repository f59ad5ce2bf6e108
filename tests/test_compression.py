"""Compression: one complete gzip member with any codec."""

from __future__ import annotations

import zlib
from hashlib import sha256
from io import BytesIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, override_settings
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09 import checks, compression
from django_sitemaps09.compression import (
    TrailingDataError,
    compress,
    compressor,
    decompress,
    decompress_whole,
    gunzip,
)
from django_sitemaps09.conf import conf
from django_sitemaps09.export import export
from django_sitemaps09.protocol import MAX_BYTES
from tests.support.compressing import SECTIONS, unpacked
from tests.support.configuration import BASE
from tests.support.services import missing

LEVELS = range(1, 10)


#: Text with repetitions. A higher level finds more of them.
TEXT = b"".join(b"<url><loc>https://www.example.com/%d/%d/</loc></url>\n" % (i, i**3) for i in range(3_000))
SHORT = TEXT[:5_000]


@pytest.fixture(params=["zlib", pytest.param("isal", marks=pytest.mark.services)])
def codec(request, monkeypatch):
    """Run the test without the extra `fast`, and with it if it is installed."""
    name = request.param
    if name == "zlib":
        monkeypatch.setattr(compression, "isal_zlib", None)
    elif compression.isal_zlib is None:
        missing("isal is not installed: it is the extra `fast`")
    return name


@pytest.mark.usefixtures("codec")
class TestAGzipFile:
    @pytest.mark.parametrize("level", [None, *LEVELS])
    @pytest.mark.parametrize("data", [b"", b"x", TEXT], ids=["empty", "short", "long"])
    def test_is_one_member_without_a_name_or_a_time(self, data, level):
        assert unpacked(compress(data, level)) == data

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(chunks=st.lists(st.binary(max_size=2_000)), level=st.sampled_from([None, 1, 6, 9]))
    def test_holds_the_same_however_it_comes_in_chunks(self, chunks, level):
        stream = compressor(level)
        data = b"".join([*map(stream.compress, chunks), stream.flush()])
        assert unpacked(data) == b"".join(chunks)
        assert unpacked(compress(b"".join(chunks), level)) == b"".join(chunks)

    @pytest.mark.parametrize("level", LEVELS)
    def test_of_a_level_is_that_of_zlib_whatever_is_installed(self, level):
        stream = zlib.compressobj(level, zlib.DEFLATED, 31)
        assert compress(TEXT, level) == stream.compress(TEXT) + stream.flush()


@pytest.mark.parametrize("chunk", [1, 2, 100, compression._CHUNK])
class TestReadingAFile:
    @pytest.fixture(autouse=True)
    def _chunk(self, chunk, monkeypatch):
        monkeypatch.setattr(compression, "_CHUNK", chunk)

    @pytest.mark.parametrize("more", [-1, 0, 1])
    def test_ends_one_byte_after_the_limit(self, more):
        most = len(SHORT) + more
        for content in (SHORT, compress(SHORT)):
            assert b"".join(decompress(BytesIO(content), most)) == SHORT[: most + 1]
        assert decompress_whole(compress(SHORT), most) == (None if more < 0 else SHORT)

    def test_that_is_damaged_is_an_error(self):
        packed = compress(SHORT)
        for content, error in {packed[:-3]: EOFError, packed[:40] + b"x" * 40: zlib.error}.items():
            assert decompress_whole(content, MAX_BYTES) is None
            with pytest.raises(error):
                list(decompress(BytesIO(content), MAX_BYTES))

    def test_yields_the_content_before_a_wrong_checksum(self):
        pieces = []
        with pytest.raises(zlib.error, match="incorrect data check"):
            pieces.extend(decompress(BytesIO(compress(SHORT)[:-8] + bytes(8)), MAX_BYTES))
        assert b"".join(pieces) == SHORT

    def test_can_have_several_members_only_if_they_are_allowed(self):
        packed = compress(SHORT)
        assert b"".join(gunzip([packed + packed], MAX_BYTES, members=True)) == SHORT + SHORT
        for data in (packed, b"<!-- cached -->"):
            with pytest.raises(TrailingDataError, match="data after the end"):
                list(gunzip([packed, data], MAX_BYTES))
        with pytest.raises(TrailingDataError) as caught:
            list(gunzip([packed + b"<!-- cached -->"], MAX_BYTES))
        assert caught.value.data == b"<!-- cached -->"


def test_without_a_level_isal_is_used_if_it_is_installed(codec):
    if codec == "zlib":
        assert compress(TEXT) == compress(TEXT, 6)
    else:
        assert compress(TEXT) not in [compress(TEXT, level) for level in LEVELS]


class TestTheSetting:
    @pytest.mark.parametrize("level", [None, *LEVELS])
    def test_is_read_at_each_use(self, level):
        with override_settings(SITEMAPS09={"GZIP_LEVEL": level}):
            assert conf.gzip_level == level
            assert checks.check_settings() == []
        with override_settings(SITEMAPS09={}):
            assert conf.gzip_level is None

    @pytest.mark.parametrize("level", [0, 10, -1, "6", True, False, 6.0, [6], "fast"], ids=repr)
    def test_is_refused_by_name_if_zlib_has_no_such_level(self, level):
        with override_settings(SITEMAPS09={"GZIP_LEVEL": level}):
            with pytest.raises(ImproperlyConfigured, match=r"GZIP_LEVEL.*from 1 to 9") as raised:
                _ = conf.gzip_level
            (message,) = checks.check_settings()
            assert (message.id, message.msg) == ("sitemaps09.E003", str(raised.value))
            assert repr(level) in message.msg

    def test_that_is_refused_publishes_nothing(self, tmp_path):
        with override_settings(SITEMAPS09={"BASE_URL": BASE, "GZIP_LEVEL": 10}):
            report = export(output=tmp_path, sitemaps=SECTIONS)
        assert not report.published
        assert "SITEMAPS09['GZIP_LEVEL']" in report.failures[0]
        assert not [path for path in tmp_path.iterdir() if path.is_file()]


class TestWhatIsServedAndExported:
    """The content is the same with any codec and level."""

    @pytest.fixture
    def plain(self, tmp_path):
        with override_settings(SITEMAPS09={"BASE_URL": BASE}):
            export(output=tmp_path / "plain", sitemaps=SECTIONS, gzip=False)
        return (tmp_path / "plain" / "sitemap-numbers-1.xml").read_bytes()

    @pytest.mark.parametrize("level", [None, 1, 6, 9])
    @pytest.mark.usefixtures("codec")
    def test_holds_the_same_bytes(self, plain, tmp_path, level):
        given = {"BASE_URL": BASE, "GZIP_LEVEL": level, "SITEMAPS": f"{__name__}.SECTIONS"}
        with override_settings(SITEMAPS09=given):
            report = export(output=tmp_path / "public")
            response = Client().get("/sitemap-numbers-1.xml.gz")
        data = (tmp_path / "public" / "sitemap-numbers-1.xml.gz").read_bytes()
        assert unpacked(data) == plain
        assert unpacked(response.content) == plain
        assert response.content == compress(plain, level)
        (file,) = report.sections[0].files
        assert file.digest == sha256(plain).hexdigest()
        assert (file.bytes, file.size) == (len(plain), len(data))

    def test_has_a_digest_without_a_file_too(self, plain, tmp_path):
        with override_settings(SITEMAPS09={"BASE_URL": BASE}):
            report = export(output=tmp_path / "public", sitemaps=SECTIONS, dry_run=True)
        assert report.sections[0].files[0].digest == sha256(plain).hexdigest()
        assert not (tmp_path / "public").exists()
