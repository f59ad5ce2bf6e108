"""The export: the bytes and the states of files, whatever goes wrong."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from xml.etree import ElementTree

import django
import pytest
from django.apps import apps
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import ImproperlyConfigured
from django.core.files import locks
from django.core.files.storage import Storage
from django.db import OperationalError, connection
from django.db.models import F, Value
from django.db.models.functions import Concat, TruncDate
from django.test import Client, RequestFactory
from django.utils import timezone as django_timezone
from django.utils import translation
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_sitemaps09 import ModelSitemap, Route, Sitemap, sections, views
from django_sitemaps09.exceptions import ExportError, ExportRunningError, UnknownSectionError
from django_sitemaps09.export import Report, engines, export
from django_sitemaps09.export.publishing import robots as robots_files
from django_sitemaps09.export.publishing import steps
from django_sitemaps09.export.publishing.journal import JOURNAL
from django_sitemaps09.export.rendering import sink
from django_sitemaps09.export.rendering.page import render_page
from django_sitemaps09.manifest import BACKUP
from django_sitemaps09.manifest import ROOT as MANIFEST
from django_sitemaps09.protocol import Base
from django_sitemaps09.robots import BEGIN, END
from django_sitemaps09.stores import STATE
from tests import settings as configuration
from tests.support.published import SPACE
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09

BASE = "https://www.example.com"
ROOT = Path(__file__).parents[1]
#: Byte 3 is the flag of a name, 4 to 7 are the time.
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
BLOCK = f"{BEGIN}\n# Written by the export of sitemaps; changes inside this block are lost.\n"


class Failing(Numbers):
    """The first `fine` items are, the next one is a broken project."""

    def __init__(self, count: int, fine: int) -> None:
        super().__init__(count)
        self.fine = fine

    def location(self, item: int) -> str:
        if item >= self.fine:
            raise ImproperlyConfigured("the project is broken")
        return super().location(item)


class Stumbling(Numbers):
    """The database fails at those calls of `location`, counted from 1, that `failing` holds."""

    def __init__(self, count: int, failing: Sequence[int]) -> None:
        super().__init__(count)
        self.failing, self.calls = failing, 0

    def location(self, item: int) -> str:
        self.calls += 1
        if self.calls in self.failing:
            raise OperationalError("server closed the connection unexpectedly")
        return super().location(item)


class Bad(Numbers):
    """The items of `bad` have a location on another host, and number 3 an impossible priority."""

    def __init__(self, count: int, bad: Sequence[int] = ()) -> None:
        super().__init__(count)
        self.bad = bad

    def location(self, item: int) -> str:
        return "https://elsewhere.example.net/" if item in self.bad else super().location(item)

    def priority(self, item: int) -> float:
        return 7.5 if item == 3 else 0.5


class Spy(Numbers):
    """Calls `look` when its items are asked for, in the middle of an export."""

    def __init__(self, look: Callable[[], object]) -> None:
        super().__init__(5)
        self.look = look

    def items(self) -> Sequence[int]:
        self.look()
        return super().items()


def article_model() -> Any:
    from tests.models import Article  # this module is imported before setup, too

    return Article


def article_sitemap(**attributes: Any) -> Any:
    """A section of columns alone."""
    declared = {
        "model": article_model(),
        "location": Route("article", slug=F("slug")),
        "lastmod": F("updated"),
        "changefreq": "weekly",
        "priority": 0.8,
    }
    return type("Articles", (ModelSitemap,), declared | attributes)


def write_articles(*slugs: str) -> None:
    model = article_model()
    first = datetime(2026, 1, 1, 10, 30, 15, tzinfo=timezone.utc)
    model.objects.bulk_create(
        model(slug=slug, updated=first + timedelta(days=day)) for day, slug in enumerate(slugs)
    )


# What is there, as bytes and as states of files.


def content(folder: Path) -> dict[str, bytes]:
    """All that is published."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def touched(folder: Path) -> dict[str, tuple[bytes, int, int, int]]:
    """All that is published, so that a file that was written anew differs even with the same bytes."""
    found = {}
    for path in folder.iterdir():
        if path.is_file():
            status = path.stat()
            found[path.name] = (path.read_bytes(), status.st_mtime_ns, status.st_ino, status.st_mode)
    return found


def plain(folder: Path, name: str) -> bytes:
    data = (folder / name).read_bytes()
    assert data.startswith(GZIP_HEADER[:3]) == name.endswith(".gz")
    return unpacked(data)


def unpacked(data: bytes) -> bytes:
    return gzip.decompress(data) if data.startswith(GZIP_HEADER[:3]) else data


def parse(data: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(data)  # noqa: S314 our own output


def locations(data: bytes) -> list[str]:
    return [str(loc.text) for loc in parse(data).iter(f"{SPACE}loc")]


def named(folder: Path) -> list[str]:
    """The files that the published index names, in its order."""
    return [loc.rpartition("/")[2] for loc in locations(plain(folder, "sitemap.xml"))]


def paths(folder: Path) -> list[str]:
    """Every URL that a reader of the index finds, less the base."""
    found = [loc for name in named(folder) for loc in locations(plain(folder, name))]
    assert all(loc.startswith(f"{BASE}/") for loc in found)
    return [loc.removeprefix(BASE) for loc in found]


def numbers(count: int, start: int = 0) -> list[str]:
    return [f"/numbers/{number}/" for number in range(start, start + count)]


def run_folders(folder: Path) -> list[str]:
    """What an export left of its own, but for the lock and the manifests with their sections."""
    state = folder / STATE
    known = {"lock"}
    for root in (MANIFEST, BACKUP):
        if (state / root).exists():
            known |= {root, *json.loads((state / root).read_bytes())["sections"].values()}
    return sorted(path.name for path in state.iterdir() if path.name not in known)


def tree(folder: Path) -> dict[str, tuple[int, int, int]]:
    """All that is in a folder, itself and what is our own too, so that whatever is written anew differs."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        found[str(path)] = (status.st_mtime_ns, status.st_ino, status.st_mode)
    return found


def write_index(folder: Path, data: str | bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "sitemap.xml"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


class Lazy(Mapping[str, Any]):
    """Sections that are found when they are asked for, as a project writes them; its length recurses."""

    def __getitem__(self, name: str) -> Any:
        return {"a": Numbers(3), "b": Numbers(1)}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("a", "b"))

    def __len__(self) -> int:
        return len(self.items())


class LazyDict(dict[str, Any]):
    """Sections that are filled in late."""

    def items(self) -> Any:
        return Lazy().items()

    def __iter__(self) -> Iterator[str]:
        return iter(Lazy())

    def __contains__(self, name: object) -> bool:
        return name in Lazy()

    __getitem__ = Lazy.__getitem__  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self)


@pytest.mark.parametrize("kind", [Lazy, LazyDict])
class TestAMappingOfTheProjects:
    """Contrib's views ask a mapping for neither its truth nor its length, and an export does not either."""

    def test_is_exported(self, kind: Any, folder: Path) -> None:
        report = export(output=folder, sitemaps=kind())
        assert report.urls == 4
        assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"]
        assert export(["b"], output=folder, sitemaps=kind()).urls == 1

    def test_is_told_where_a_section_is_unknown(self, kind: Any, folder: Path) -> None:
        with pytest.raises(UnknownSectionError, match="There are: a, b"):
            export(["nothing"], output=folder, sitemaps=kind())
        with pytest.raises(UnknownSectionError, match="There are: a, b"):
            raise sections.unknown("nothing", kind())

    def test_is_served(self, kind: Any) -> None:
        found = views.sitemap_index(RequestFactory().get("/sitemap.xml"), sitemaps=kind())
        assert found.content.count(b"<sitemap>") == 2


class TestTheFilesOfAnExport:
    def test_have_the_names_of_the_live_pages(self, folder: Path, configure: Callable[..., None]) -> None:
        configure(MAX_URLS=2)
        export(output=folder, sitemaps={"a": Numbers(3), "b-1": Numbers(1)})
        assert set(content(folder)) == {
            "sitemap.xml",
            "sitemap-a-1.xml.gz",
            "sitemap-a-2.xml.gz",
            "sitemap-b-1-1.xml.gz",
        }
        assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-a-2.xml.gz", "sitemap-b-1-1.xml.gz"]
        assert paths(folder) == [*numbers(3), *numbers(1)]

    @pytest.mark.parametrize("by", ["argument", "setting"])
    def test_are_plain_where_gzip_is_off(
        self, folder: Path, by: str, configure: Callable[..., None]
    ) -> None:
        if by == "setting":
            configure(GZIP=False)
        export(output=folder, sitemaps={"a": Numbers(3)}, gzip=False if by == "argument" else None)
        assert set(content(folder)) == {"sitemap.xml", "sitemap-a-1.xml"}
        assert named(folder) == ["sitemap-a-1.xml"]
        assert paths(folder) == numbers(3)

    def test_are_the_same_bytes_for_the_same_input(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        export(output=folder, sitemaps={"a": Numbers(5_000)})
        later = time.time() + 100_000
        monkeypatch.setattr(time, "time", lambda: later)
        export(output=tmp_path / "other", sitemaps={"a": Numbers(5_000)})
        assert content(tmp_path / "other") == content(folder)

    def test_have_neither_a_time_nor_a_name_in_their_gzip_header(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(3)})
        assert (folder / "sitemap-a-1.xml.gz").read_bytes().startswith(GZIP_HEADER)

    def test_hold_each_url_of_a_section_larger_than_a_slice_of_rows(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(4_321)})
        assert paths(folder) == numbers(4_321)

    def test_are_what_the_report_says(self, folder: Path, configure: Callable[..., None]) -> None:
        configure(MAX_URLS=3)
        report = export(output=folder, sitemaps={"a": Numbers(7), "b": Numbers(2)})
        assert (report.urls, [section.urls for section in report.sections]) == (9, [7, 2])
        for section in report.sections:
            for file in section.files:
                assert len(locations(plain(folder, file.name))) == file.urls
                assert len(plain(folder, file.name)) == file.bytes
                assert (folder / file.name).stat().st_size == file.size
            assert section.bytes == sum(file.bytes for file in section.files)
        assert (report.folder, report.index_url) == (folder, f"{BASE}/sitemap.xml")
        assert (report.published, report.failures, report.robots) == (True, [], "none")

    def test_are_new_in_a_folder_that_was_not_there(self, tmp_path: Path) -> None:
        export(output=tmp_path / "a" / "b", sitemaps={"a": Numbers(1)})
        assert paths(tmp_path / "a" / "b") == numbers(1)

    def test_stand_beside_what_is_not_ours(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "sitemap-a-9.xml.gz").write_bytes(b"of somebody")
        (folder / "index.html").write_text("hello")
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert content(folder)["sitemap-a-9.xml.gz"] == b"of somebody"
        assert content(folder)["index.html"] == b"hello"

    @pytest.mark.django_db
    def test_are_those_of_a_sitemap_that_others_wrote_for_contrib(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        class Foreign(ContribSitemap):
            configure = 2

            def items(self) -> list[str]:
                return ["/a/", "/b/", "/c/", "/d/", "/e/"]

            def location(self, item: str) -> str:
                return item

        configure(MAX_URLS=1)
        export(output=folder, sitemaps={"a": Foreign})
        assert sorted(paths(folder)) == ["/a/", "/b/", "/c/", "/d/", "/e/"]
        assert {len(locations(plain(folder, name))) for name in named(folder)} == {1}


class TestTheIndexOfAnExport:
    @pytest.mark.django_db
    def test_has_the_newest_lastmod_of_each_page(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        configure(MAX_URLS=2)
        write_articles("a", "b", "c")
        export(output=folder, sitemaps={"articles": article_sitemap()})
        found = [node.text for node in parse(plain(folder, "sitemap.xml")).iter(f"{SPACE}lastmod")]
        assert found == ["2026-01-02T10:30:15Z", "2026-01-03T10:30:15Z"]

    @pytest.mark.django_db
    def test_has_no_lastmod_for_a_page_with_a_url_that_has_none(self, folder: Path) -> None:
        write_articles("a", "b")
        article_model().objects.filter(slug="a").update(updated=None)
        export(output=folder, sitemaps={"articles": article_sitemap()})
        assert b"lastmod" not in plain(folder, "sitemap.xml")
        assert plain(folder, named(folder)[0]).count(b"<lastmod>") == 1

    @pytest.mark.parametrize("ahead", [timedelta(days=2), timedelta(hours=3)])
    @pytest.mark.django_db
    def test_has_no_lastmod_in_the_future(self, folder: Path, ahead: timedelta) -> None:
        write_articles("a", "b")
        article_model().objects.filter(slug="a").update(updated=datetime.now(timezone.utc) + ahead)
        export(output=folder, sitemaps={"articles": article_sitemap()})
        assert b"lastmod" not in plain(folder, "sitemap.xml")

    def test_has_a_lastmod_that_is_a_date_as_a_date(self, folder: Path) -> None:
        class Dated(Numbers):
            lastmod = date(2026, 3, 4)

        export(output=folder, sitemaps={"a": Dated(2)})
        assert b"<lastmod>2026-03-04</lastmod>" in plain(folder, "sitemap.xml")

    @pytest.mark.django_db
    def test_does_not_name_a_section_without_urls(self, folder: Path) -> None:
        sitemaps = {"empty": Numbers(0), "rows": article_sitemap(), "a": Numbers(1)}
        report = export(output=folder, sitemaps=sitemaps)
        assert set(content(folder)) == {"sitemap.xml", "sitemap-a-1.xml.gz"}
        assert named(folder) == ["sitemap-a-1.xml.gz"]
        assert report.failures == []

    def test_is_not_there_where_it_would_name_nothing(self, folder: Path, tmp_path: Path) -> None:
        robots = tmp_path / "robots.txt"
        report = export(output=folder, sitemaps={"a": Numbers(0), "b": Numbers(0)}, robots=robots)
        assert content(folder) == {}
        assert not robots.exists()
        assert (report.published, report.failures) == (False, [])
        assert "no URL in any section" in report.warnings[0]

    def test_stays_where_it_would_name_nothing(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)})
        before = touched(folder)
        export(output=folder, sitemaps={"a": Numbers(0)})
        assert touched(folder) == before

    def test_names_no_page_any_more_of_a_section_that_lost_its_urls(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
        export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(0)})
        assert named(folder) == ["sitemap-a-1.xml.gz"]

    def test_names_the_pages_of_a_section_that_is_gone_until_it_is_removed(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
        before = tree(folder)
        report = export(output=folder, sitemaps={"a": Numbers(1)})
        assert tree(folder) == before
        (failure,) = report.failures
        assert "'b' is published and not declared any more" in failure
        assert failure.endswith("--remove b")
        report = export(output=folder, sitemaps={"a": Numbers(1)}, remove=["b"])
        assert report.failures == []
        assert named(folder) == ["sitemap-a-1.xml.gz"]


class TestARunThatChangesNothing:
    @pytest.mark.parametrize("gzip", [True, False])
    @pytest.mark.parametrize("changed_only", [True, False])
    @pytest.mark.django_db
    def test_writes_nothing_not_even_of_its_own(
        self, folder: Path, configure: Callable[..., None], gzip: bool, changed_only: bool
    ) -> None:
        configure(MAX_URLS=3, MAX_BYTES=500, GZIP=gzip)
        write_articles(*"abcdefgh")
        sitemaps = {"articles": article_sitemap(), "a": Numbers(20), "bad": Bad(9, [1]), "none": Numbers(0)}
        robots = folder.with_name("robots.txt")
        first = export(output=folder, sitemaps=sitemaps, robots=robots, changed_only=changed_only)
        if changed_only:
            # Which finds the fingerprints of those pages that were split.
            assert export(output=folder, sitemaps=sitemaps, robots=robots, changed_only=True).written == ()
        before = tree(folder.parent)
        second = export(output=folder, sitemaps=sitemaps, robots=robots, changed_only=changed_only)
        assert tree(folder.parent) == before
        assert (second.written, second.deleted, second.failures) == ((), (), [])
        assert [section.written for section in second.sections] == [0, 0, 0, 0]
        assert [section.unchanged for section in second.sections] == [
            section.written for section in first.sections
        ]
        found, expected = (
            [(file.name, file.digest, file.size) for section in run.sections for file in section.files]
            for run in (second, first)
        )
        assert found == expected

    @pytest.mark.parametrize("rows", ["positions", "keys"])
    @pytest.mark.django_db
    def test_writes_nothing_where_pages_were_split_by_their_bytes(
        self, folder: Path, configure: Callable[..., None], rows: str
    ) -> None:
        class Longer(Numbers):
            def location(self, item: int) -> str:
                return f"/{'x' * (item * 7 % 300)}/{item}/"

        configure(MAX_BYTES=2_000)
        write_articles(*(f"{'x' * (number * 7 % 100)}-{number}" for number in range(100)))
        sitemaps = {"a": Longer(100) if rows == "positions" else article_sitemap()}
        (section,) = export(output=folder, sitemaps=sitemaps).sections
        assert section.split > 1
        if rows == "keys":
            # Parts of pages that were split are merged where they fit together, and that is it.
            (section,) = export(output=folder, sitemaps=sitemaps).sections
            assert (section.written, section.merged) == (1, 1)
        before = tree(folder)
        (section,) = export(output=folder, sitemaps=sitemaps).sections
        assert (section.written, section.removed, tree(folder) == before) == (0, 0, True)
        assert len(paths(folder)) == len(set(paths(folder))) == 100


class TestTheSchemas:
    @pytest.mark.django_db
    def test_admit_every_file(self, schema: Any, folder: Path, configure: Callable[..., None]) -> None:
        from lxml import etree

        class Translated(Bad):
            i18n = alternates = x_default = True
            lastmod = datetime(2026, 1, 1)
            changefreq = "never"

        configure(MAX_URLS=3)
        write_articles("a", "b", "c", "d")
        article_model().objects.filter(slug="b").update(updated=None)
        sitemaps = {
            "articles": article_sitemap(),
            "translated": Translated(5, [1]),
            "bare": Numbers(4),
        }
        export(output=folder, sitemaps=sitemaps)
        names = ["sitemap.xml", *named(folder)]
        assert len(names) == 1 + 2 + 4 + 2
        for name in names:
            schema.assertValid(etree.fromstring(plain(folder, name)))


class TestThePermissions:
    @pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o002, 0o664)], ids=oct)
    def test_of_files_are_the_umasks(
        self, folder: Path, umask: Callable[[int], int], mask: int, mode: int
    ) -> None:
        umask(mask)
        for _ in range(2):
            export(output=folder, sitemaps={"a": Numbers(1)}, robots=folder / "robots.txt")
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.is_file()
        }
        assert modes == dict.fromkeys(["sitemap.xml", "sitemap-a-1.xml.gz", "robots.txt"], mode)

    @pytest.mark.parametrize("mode", [0o604, 0o640], ids=oct)
    def test_of_files_are_the_storages_if_it_has_some(
        self, folder: Path, settings: Any, umask: Callable[[int], int], mode: int
    ) -> None:
        umask(0o077)
        settings.STORAGES = {**settings.STORAGES, "sitemaps": local_storage(folder, mode)}
        export(sitemaps={"a": Numbers(1)})
        for name in ("sitemap.xml", "sitemap-a-1.xml.gz"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == mode

    def test_of_our_own_folder_keep_the_web_server_out(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert stat.S_IMODE((folder / STATE).stat().st_mode) == 0o700
        assert run_folders(folder) == []


class TestWhatStandsInTheWay:
    """Somebody else's links, folders and pipes are neither followed nor waited for."""

    @pytest.mark.parametrize("name", ["sitemap.xml", "sitemap-b-1.xml.gz"])
    def test_at_the_place_of_a_file_stops_all_before_the_first_one(self, folder: Path, name: str) -> None:
        (folder / name).mkdir(parents=True)
        with pytest.raises(ExportError, match=f"{folder}: {name} is a folder"):
            export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
        assert content(folder) == {}
        assert run_folders(folder) == []

    @pytest.mark.parametrize("what", ["link", "file"])
    def test_at_the_place_of_our_folder_is_refused(self, folder: Path, tmp_path: Path, what: str) -> None:
        folder.mkdir()
        (tmp_path / "elsewhere").mkdir(mode=0o755)
        if what == "link":
            (folder / STATE).symlink_to(tmp_path / "elsewhere")
            expected = pytest.raises(ExportError, match="not a folder of this user")
        else:
            (folder / STATE).write_text("mine")
            expected = pytest.raises((ExportError, OSError), match=STATE)
        with expected:
            export(output=folder, sitemaps={"a": Numbers(1)})
        assert content(folder).keys() <= {STATE}
        assert list((tmp_path / "elsewhere").iterdir()) == []
        assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o755

    @pytest.mark.parametrize("what", ["link", "pipe"])
    def test_at_the_place_of_the_lock_touches_nothing_else(
        self, folder: Path, tmp_path: Path, what: str
    ) -> None:
        (folder / STATE).mkdir(parents=True)
        (tmp_path / "precious").write_text("mine")
        if what == "link":
            (folder / STATE / "lock").symlink_to(tmp_path / "precious")
            with pytest.raises(ExportError, match="cannot be locked"):
                export(output=folder, sitemaps={"a": Numbers(1)})
        else:
            os.mkfifo(folder / STATE / "lock")
            export(output=folder, sitemaps={"a": Numbers(1)})
        assert (tmp_path / "precious").read_text() == "mine"

    def test_among_the_runs_is_neither_followed_nor_taken_for_one(
        self, folder: Path, tmp_path: Path
    ) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)})
        (tmp_path / "precious").mkdir()
        (tmp_path / "precious" / "file").write_text("mine")
        (folder / STATE / "run-link").symlink_to(tmp_path / "precious")
        (folder / STATE / "run-file").write_text("left")
        export(output=folder, sitemaps={"a": Numbers(2)})
        assert run_folders(folder) == ["run-file", "run-link"]
        assert (tmp_path / "precious" / "file").read_text() == "mine"
        assert (folder / STATE / "run-file").read_text() == "left"

    def test_open_to_others_is_closed_if_it_is_our_folder(self, folder: Path) -> None:
        (folder / STATE).mkdir(parents=True, mode=0o755)
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert stat.S_IMODE((folder / STATE).stat().st_mode) == 0o700

    @pytest.mark.parametrize("what", ["pipe", "huge"])
    def test_as_robots_txt_or_index_is_not_read(self, folder: Path, tmp_path: Path, what: str) -> None:
        robots = tmp_path / "robots.txt"
        for path in (robots, folder / "sitemap.xml"):
            path.parent.mkdir(exist_ok=True)
            if what == "pipe":
                os.mkfifo(path)
            else:
                with path.open("wb") as file:
                    file.truncate(60_000_000)
        with pytest.raises(ExportError, match="no plain file"):
            export(["a"], output=folder, sitemaps={"a": Numbers(1)}, robots=robots)
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=robots)
        assert (report.robots, paths(folder)) == ("failed", numbers(1))
        assert "no plain file" in report.failures[0]


def local_storage(folder: Path, mode: int | None = None) -> dict[str, Any]:
    options: dict[str, Any] = {"location": str(folder), "base_url": "/never/used/"}
    if mode is not None:
        options["file_permissions_mode"] = mode
    return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}


class Remote(Storage):
    """A storage without paths."""


class TestTheTarget:
    def test_is_the_output_then_the_storage_then_the_root(
        self, tmp_path: Path, settings: Any, configure: Callable[..., None]
    ) -> None:
        sitemaps = {"a": Numbers(1)}
        configure(ROOT=tmp_path / "root")
        assert export(sitemaps=sitemaps).folder == tmp_path / "root"
        settings.STORAGES = {**settings.STORAGES, "sitemaps": local_storage(tmp_path / "alias")}
        assert export(sitemaps=sitemaps).folder == tmp_path / "alias"
        settings.STORAGES = {**settings.STORAGES, "other": local_storage(tmp_path / "other")}
        configure(STORAGE="other")
        assert export(sitemaps=sitemaps).folder == tmp_path / "other"
        assert export(sitemaps=sitemaps, output=str(tmp_path / "output")).folder == tmp_path / "output"
        for name in ("root", "alias", "other", "output"):
            assert paths(tmp_path / name) == numbers(1)

    def test_is_never_reached_by_the_url_of_the_storage(self, folder: Path, settings: Any) -> None:
        settings.STORAGES = {**settings.STORAGES, "sitemaps": local_storage(folder)}
        assert export(sitemaps={"a": Numbers(1)}).index_url == f"{BASE}/sitemap.xml"
        assert b"/never/used/" not in plain(folder, "sitemap.xml")

    def test_is_asked_for_where_none_is_set(self) -> None:
        with pytest.raises(ExportError, match=r"--output.*'ROOT'.*'STORAGE'"):
            export(sitemaps={"a": Numbers(1)})

    def test_is_named_where_it_is_no_alias(self, configure: Callable[..., None]) -> None:
        configure(STORAGE="sitmaps")
        with pytest.raises(ExportError, match=r"STORAGE'\] is 'sitmaps'"):
            export(sitemaps={"a": Numbers(1)})

    def test_is_refused_where_it_has_no_path_and_no_cache_is_shared(self, settings: Any) -> None:
        backend = {"BACKEND": f"{__name__}.Remote"}
        settings.STORAGES = {**settings.STORAGES, "sitemaps": backend}
        with pytest.raises(ExportError, match=r"'sitemaps'.*cache 'default'.*not shared"):
            export(sitemaps={"a": Numbers(1)})

    def test_is_refused_where_it_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        with pytest.raises(ExportError, match="file"):
            export(output=tmp_path / "file", sitemaps={"a": Numbers(1)})
        assert (tmp_path / "file").read_text() == "mine"


class TestTheBase:
    @pytest.mark.django_db
    def test_is_the_argument_then_the_setting_then_the_site(self, tmp_path: Path, settings: Any) -> None:
        site = apps.get_model("sites", "Site")
        site.objects.update_or_create(pk=1, defaults={"domain": "site.example.org", "name": "x"})
        site.objects.clear_cache()

        def base(name: str, **options: Any) -> str:
            report = export(output=tmp_path / name, sitemaps={"a": Numbers(1)}, **options)
            (loc,) = locations(plain(tmp_path / name, "sitemap-a-1.xml.gz"))
            assert locations(plain(tmp_path / name, "sitemap.xml")) == [
                report.index_url.replace("sitemap.xml", "sitemap-a-1.xml.gz")
            ]
            assert report.index_url.removesuffix("sitemap.xml") == loc.removesuffix("numbers/0/")
            return loc.removesuffix("/numbers/0/")

        assert base("a", base_url="http://localhost:8000/") == "http://localhost:8000"
        assert base("b") == BASE
        settings.SITEMAPS09 = {}
        assert base("c") == "https://site.example.org"
        site.objects.clear_cache()

    @pytest.mark.django_db
    def test_is_asked_for_where_the_site_is_not_there(self, folder: Path, settings: Any) -> None:
        settings.SITEMAPS09 = {}
        settings.SITE_ID = 99
        with pytest.raises(ImproperlyConfigured, match=r"'BASE_URL'.*--base-url.*does not exist"):
            export(output=folder, sitemaps={"a": Numbers(1)})
        assert not folder.exists()

    def test_is_asked_for_where_there_are_no_sites(self, folder: Path, settings: Any) -> None:
        settings.SITEMAPS09 = {}
        settings.INSTALLED_APPS = [
            app for app in settings.INSTALLED_APPS if app.rpartition(".")[2] not in ("sites", "flatpages")
        ]
        with pytest.raises(ImproperlyConfigured, match=r"'BASE_URL'.*--base-url.*sites framework"):
            export(output=folder, sitemaps={"a": Numbers(1)})
        assert not folder.exists()

    @pytest.mark.parametrize(
        "url",
        ["www.example.com", "ftp://example.com", "https://", "https://example.com/path", "https://a b"],
    )
    def test_is_refused_by_name_where_it_is_no_base(
        self, folder: Path, configure: Callable[..., None], url: str
    ) -> None:
        with pytest.raises(ImproperlyConfigured, match="--base-url: "):
            export(output=folder, sitemaps={"a": Numbers(1)}, base_url=url)
        configure(BASE_URL=url)
        with pytest.raises(ImproperlyConfigured, match=r"SITEMAPS09\['BASE_URL'\]: "):
            export(output=folder, sitemaps={"a": Numbers(1)})
        assert not folder.exists()

    def test_gives_way_to_the_protocol_of_a_section(self, folder: Path) -> None:
        class Old(Numbers):
            protocol = "http"

        export(output=folder, sitemaps={"a": Old(1)})
        assert locations(plain(folder, "sitemap-a-1.xml.gz")) == ["http://www.example.com/numbers/0/"]

    def test_of_the_files_is_a_setting_of_its_own(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        configure(FILES_URL="https://cdn.example.net/maps/")
        robots = folder / "robots.txt"
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=robots)
        assert report.index_url == "https://cdn.example.net/maps/sitemap.xml"
        assert b"\nSitemap: https://cdn.example.net/maps/sitemap.xml\n" in robots.read_bytes()
        assert locations(plain(folder, "sitemap.xml")) == [
            "https://cdn.example.net/maps/sitemap-a-1.xml.gz"
        ]
        assert paths(folder) == numbers(1)

    def test_with_letters_of_any_script_is_written_in_ascii(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)}, base_url="https://bücher.example:8443")
        page = plain(folder, "sitemap-a-1.xml.gz")
        assert locations(page) == ["https://xn--bcher-kva.example:8443/numbers/0/"]


class TestTheLimits:
    @pytest.mark.parametrize("most", [1, 2, 3, 7, 10, 11])
    def test_no_file_has_more_urls_than_max_urls(
        self, folder: Path, configure: Callable[..., None], most: int
    ) -> None:
        configure(MAX_URLS=most)
        export(output=folder, sitemaps={"a": Numbers(10)})
        sizes = [len(locations(plain(folder, name))) for name in named(folder)]
        assert sorted(paths(folder)) == numbers(10)
        assert max(sizes) <= most
        assert len(sizes) == -(-10 // most)

    @pytest.mark.parametrize("room", [0, 1, 56, 57, 58, 113, 114, 400])
    def test_no_file_has_more_bytes_than_max_bytes_closing_tag_included(
        self, folder: Path, configure: Callable[..., None], room: int
    ) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)}, gzip=False)
        most = (folder / "sitemap-a-1.xml").stat().st_size + room
        entry = len(f"<url><loc>{BASE}/numbers/0/</loc></url>\n")
        assert entry == 57
        configure(MAX_BYTES=most)
        export(output=folder, sitemaps={"a": Numbers(10)}, gzip=False)
        sizes = [len(plain(folder, name)) for name in named(folder)]
        assert sorted(paths(folder)) == numbers(10)
        assert max(sizes) <= most
        entries = 1 + room // entry
        assert len(sizes) <= 2 * -(-10 // entries) + 2

    @pytest.mark.django_db
    def test_a_closed_page_that_overflows_is_halved_and_the_last_one_is_filled(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        configure(MAX_URLS=6)
        model = article_model()
        model.objects.bulk_create(model(pk=pk, slug=f"a{pk}") for pk in range(10, 130, 10))
        export(output=folder, sitemaps={"a": article_sitemap()})
        assert [len(locations(plain(folder, name))) for name in named(folder)] == [6, 6]
        # One in the middle of the first page, three behind the last one.
        model.objects.bulk_create(model(pk=pk, slug=f"a{pk}") for pk in (35, 130, 140, 150))
        (section,) = export(output=folder, sitemaps={"a": article_sitemap()}).sections
        sizes = [len(locations(plain(folder, name))) for name in named(folder)]
        assert sizes in ([3, 4, 6, 3], [4, 3, 6, 3])
        assert section.split == 1

    @settings(
        max_examples=40,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(
        lengths=st.lists(st.integers(0, 200), min_size=1, max_size=40),
        urls=st.integers(1, 12),
        size=st.integers(400, 2_000),
    )
    @pytest.mark.django_db
    def test_hold_for_any_lengths_and_every_url_is_there_once(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        settings: Any,
        lengths: list[int],
        urls: int,
        size: int,
    ) -> None:
        model = article_model()
        model.objects.all().delete()
        slugs = [f"{number}-{'x' * length}"[:120] for number, length in enumerate(lengths)]
        model.objects.bulk_create(model(slug=slug) for slug in slugs)
        settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": urls, "MAX_BYTES": size}
        folder = tmp_path_factory.mktemp("limits")
        report = export(output=folder, sitemaps={"a": article_sitemap()})
        assert report.failures == []
        assert sorted(paths(folder)) == sorted(f"/articles/{slug}/" for slug in slugs)
        for name in named(folder):
            assert 1 <= len(locations(plain(folder, name))) <= urls
            assert len(plain(folder, name)) <= size

    def test_a_url_that_fits_no_file_is_left_out_and_named(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        class Long(Numbers):
            def location(self, item: int) -> str:
                return f"/{'x' * 500}/" if item in (0, 4) else super().location(item)

        configure(MAX_BYTES=400)
        (section,) = export(output=folder, sitemaps={"a": Long(9)}).sections
        assert sorted(paths(folder)) == sorted(set(numbers(9)) - {"/numbers/0/", "/numbers/4/"})
        assert [(e.key, e.field, e.reason) for e in section.errors] == [
            ("1", "location", "fits no page"),
            ("5", "location", "fits no page"),
        ]

    @pytest.mark.parametrize("most", [1, 3, 4, 5, 6, 7])
    def test_the_languages_of_an_item_are_never_parted(
        self, folder: Path, configure: Callable[..., None], most: int
    ) -> None:
        class Translated(Numbers):
            i18n = True

            def location(self, item: int) -> str:
                return f"/{translation.get_language()}/{item}/"

        configure(MAX_URLS=most)
        (section,) = export(output=folder, sitemaps={"a": Translated(5)}).sections
        if most < 3:
            # Three languages do not fit at all.
            assert (len(section.files), section.left_out) == (0, 5)
            return
        homes: dict[str, set[str]] = {}
        for name in named(folder):
            found = [loc.split("/")[-3:-1] for loc in locations(plain(folder, name))]
            assert len(found) <= most
            for language, item in found:
                homes.setdefault(item, set()).add(name)
                assert language in ("en", "de", "pt-br")
        assert {item: len(home) for item, home in homes.items()} == dict.fromkeys("01234", 1)
        assert len(paths(folder)) == 15


class TestBadItems:
    def test_are_left_out_and_named_and_the_others_stay(
        self, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        report = export(output=folder, sitemaps={"a": Bad(6, [1])})
        (section,) = report.sections
        assert paths(folder) == [path for path in numbers(6) if path != "/numbers/1/"]
        priority, location = sorted(section.errors, key=lambda error: -int(error.key))
        assert (location.key, location.field) == ("2", "location")
        assert "is not on https://www.example.com" in location.reason
        assert (priority.key, priority.field) == ("4", "priority")
        assert "7.5 is not a priority" in priority.reason
        assert (section.left_out, section.failure) == (2, None)
        assert (report.published, report.failures) == (True, [])
        assert plain(folder, "sitemap-a-1.xml.gz").count(b"<priority>0.5</priority>") == 4
        assert plain(folder, "sitemap-a-1.xml.gz").count(b"<priority>") == 4
        for error in section.errors:
            assert f"Section 'a': left out: {error}" in caplog.messages

    def test_are_counted_once_though_a_page_is_cut(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        configure(MAX_BYTES=400)
        (section,) = export(output=folder, sitemaps={"a": Bad(60, [0, 30, 59])}).sections
        assert len(section.files) > 5
        assert section.left_out == len(section.errors) == 4

    def test_are_all_counted_and_the_first_thousand_named(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        for size in (100_000, 5_000):
            configure(MAX_BYTES=size)
            sitemaps = {"a": Bad(5_000, range(0, 5_000, 2))}
            (section,) = export(output=folder, sitemaps=sitemaps).sections
            # Item 3 has a priority that is none.
            assert (section.left_out, len(section.errors)) == (2_501, 1_000)

    def test_publish_nothing_under_strict(self, folder: Path, tmp_path: Path) -> None:
        robots = tmp_path / "robots.txt"
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        before = touched(folder)
        sitemaps = {"a": Bad(9, [1]), "b": Numbers(4)}
        report = export(output=folder, sitemaps=sitemaps, strict=True, robots=robots)
        assert touched(folder) == before
        assert not robots.exists()
        assert run_folders(folder) == []
        assert (report.published, len(report.failures)) == (False, 1)
        assert "strict" in report.failures[0]

    def test_that_are_none_are_published_under_strict(self, folder: Path) -> None:
        report = export(output=folder, sitemaps={"a": Numbers(3)}, strict=True)
        assert (report.published, report.failures, paths(folder)) == (True, [], numbers(3))

    def test_that_are_all_fail_their_section_and_name_the_first(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(4), "b": Numbers(1)})
        before = touched(folder)
        report = export(output=folder, sitemaps={"a": Bad(4, range(4)), "b": Numbers(2)})
        assert touched(folder)["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]
        assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"]
        assert paths(folder) == [*numbers(4), *numbers(2)]
        (failure,) = report.failures
        assert "'a'" in failure
        assert "every item was left out" in failure
        assert "item 1: location" in failure
        assert "elsewhere.example.net" in failure


class TestAFailedSection:
    def test_keeps_its_published_files_and_entries_and_the_others_are_published(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        configure(MAX_URLS=2)
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3), "c": Numbers(1)})
        index = parse(plain(folder, "sitemap.xml"))
        before = touched(folder)
        report = export(
            output=folder, sitemaps={"a": Numbers(1), "b": Failing(9, fine=5), "c": Numbers(4, start=9)}
        )
        after = touched(folder)
        for name in ("sitemap-b-1.xml.gz", "sitemap-b-2.xml.gz"):
            assert after[name] == before[name]
        assert "sitemap-b-3.xml.gz" not in after
        assert [node[0].text for node in index][2:4] == [
            node[0].text for node in parse(plain(folder, "sitemap.xml"))
        ][1:3]
        assert paths(folder) == [*numbers(1), *numbers(3), *numbers(4, start=9)]
        assert report.failures == ["Section 'b': ImproperlyConfigured: the project is broken."]
        assert report.published
        assert run_folders(folder) == []

    def test_does_not_keep_what_is_removed_beside_it(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1), "c": Numbers(1)})
        export(output=folder, sitemaps={"a": Failing(1, fine=0), "c": Numbers(1)}, remove=["b"])
        assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-c-1.xml.gz"]

    def test_stops_all_under_strict(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3)})
        before = touched(folder)
        report = export(
            output=folder, sitemaps={"a": Numbers(9), "b": Failing(9, fine=5)}, strict=True, robots=None
        )
        assert touched(folder) == before
        assert not report.published
        assert "'b'" in report.failures[0]

    def test_that_was_never_published_leaves_nothing(self, folder: Path) -> None:
        report = export(output=folder, sitemaps={"a": Numbers(1), "b": Failing(9, fine=5)})
        assert set(content(folder)) == {"sitemap.xml", "sitemap-a-1.xml.gz"}
        assert len(report.failures) == 1

    def test_may_fail_before_its_first_row(self, folder: Path) -> None:
        def factory() -> Any:
            raise RuntimeError("no sitemap today")

        report = export(output=folder, sitemaps={"b": factory, "a": Numbers(1)})
        assert report.failures == ["Section 'b': RuntimeError: no sitemap today."]
        assert paths(folder) == numbers(1)


@pytest.mark.django_db
class TestADatabaseThatFails:
    @pytest.mark.parametrize("call", range(1, 21))
    def test_once_is_asked_again_wherever_it_was(
        self, folder: Path, configure: Callable[..., None], call: int
    ) -> None:
        configure(MAX_URLS=4)
        sitemap = Stumbling(10, [call])
        report = export(output=folder, sitemaps={"a": sitemap})
        assert sitemap.calls > call
        assert (report.failures, paths(folder)) == ([], numbers(10))
        assert (report.urls, report.sections[0].left_out) == (10, 0)

    def test_once_for_each_of_two_pages_is_asked_again_each_time(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        configure(MAX_URLS=4)
        report = export(output=folder, sitemaps={"a": Stumbling(10, [12, 18])})
        assert (report.failures, paths(folder)) == ([], numbers(10))

    @pytest.mark.parametrize("call", [1, 5, 11, 16, 20])
    def test_for_good_fails_its_section_and_nothing_of_it_is_published(
        self, folder: Path, configure: Callable[..., None], call: int
    ) -> None:
        configure(MAX_URLS=4)
        sitemaps = {"a": Stumbling(10, range(call, 1_000)), "b": Numbers(1)}
        report = export(output=folder, sitemaps=sitemaps)
        assert set(content(folder)) == {"sitemap.xml", "sitemap-b-1.xml.gz"}
        assert report.failures == [
            "Section 'a': OperationalError: server closed the connection unexpectedly."
        ]
        assert run_folders(folder) == []

    @pytest.mark.parametrize(("times", "fails"), [(1, False), (2, True)])
    def test_in_the_middle_of_a_query_is_the_same(
        self, folder: Path, configure: Callable[..., None], times: int, fails: bool
    ) -> None:
        write_articles("a", "b", "c", "d", "e")
        configure(MAX_URLS=2)
        left = times

        def gone(execute: Any, sql: str, *arguments: Any) -> Any:
            nonlocal left
            if left and '."slug"' in sql and '."id" > ' in sql:
                left -= 1
                raise OperationalError("gone away")
            return execute(sql, *arguments)

        with connection.execute_wrapper(gone):
            report = export(output=folder, sitemaps={"a": article_sitemap()})
        assert left == 0
        if fails:
            assert report.failures == ["Section 'a': OperationalError: gone away."]
            assert report.urls == 0
            assert content(folder) == {}
        else:
            assert paths(folder) == [f"/articles/{slug}/" for slug in "abcde"]


class TestSectionsAsArguments:
    def test_leave_all_others_as_they_are(self, folder: Path, configure: Callable[..., None]) -> None:
        configure(MAX_URLS=2)
        sitemaps = {"a": Numbers(3), "b": Numbers(3), "c": Numbers(3)}
        export(output=folder, sitemaps=sitemaps)
        before = touched(folder)
        sitemaps = {"a": Numbers(9), "b": Numbers(5, start=5), "c": Numbers(9)}
        report = export(["b"], output=folder, sitemaps=sitemaps)
        after = touched(folder)
        assert [section.section for section in report.sections] == ["b"]
        for name in before:
            if "-b-" not in name and name != "sitemap.xml":
                assert after[name] == before[name]
        assert paths(folder) == [*numbers(3), *numbers(5, start=5), *numbers(3)]
        assert named(folder) == [
            f"sitemap-{name}-{number}.xml.gz" for name, most in (("a", 2), ("b", 3), ("c", 2))
            for number in range(1, most + 1)
        ]  # fmt: skip

    def test_begin_an_index_where_there_is_none(self, folder: Path) -> None:
        export(["b"], output=folder, sitemaps={"a": Numbers(1), "b": Numbers(2)})
        assert named(folder) == ["sitemap-b-1.xml.gz"]

    def test_come_in_the_order_of_the_declarations_and_once(self, folder: Path) -> None:
        sitemaps = {"a": Numbers(1), "b": Numbers(2), "c": Numbers(1)}
        export(["c", "a", "c"], output=folder, sitemaps=sitemaps)
        assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-c-1.xml.gz"]
        export(["b"], output=folder, sitemaps=sitemaps)
        assert named(folder) == [f"sitemap-{name}-1.xml.gz" for name in "abc"]

    def test_keep_the_entries_of_others_with_their_lastmods_as_far_as_their_files_are_there(
        self, folder: Path
    ) -> None:
        def entry(url: str) -> str:
            return f"<sitemap><loc>{url}</loc><lastmod>2026-01-01</lastmod></sitemap>\n"

        ours = entry(f"{BASE}/sitemap-b-7.xml")
        others = [entry(f"{BASE}/sitemap-b-8.xml"), entry("https://cdn.example.net/sitemap-b-7.xml")]
        write_index(folder, f'<sitemapindex xmlns="{SPACE[1:-1]}">{ours}{"".join(others)}</sitemapindex>')
        (folder / "sitemap-b-7.xml").write_bytes(b"of an earlier version")
        export(["a"], output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
        index = plain(folder, "sitemap.xml").decode()
        assert ours in index
        assert not any(other in index for other in others)
        assert "sitemap-a-1.xml.gz" in index
        assert (folder / "sitemap-b-7.xml").read_bytes() == b"of an earlier version"

    def test_tell_a_section_from_one_with_a_longer_name(self, folder: Path) -> None:
        sitemaps = {"a": Numbers(2), "a-1": Numbers(3), "a-1-1": Numbers(4)}
        export(output=folder, sitemaps=sitemaps)
        export(["a-1"], output=folder, sitemaps={**sitemaps, "a-1": Numbers(1)})
        assert paths(folder) == [*numbers(2), *numbers(1), *numbers(4)]

    @pytest.mark.parametrize(
        "index",
        [
            pytest.param("", id="empty"),
            pytest.param("<sitemapindex>", id="not well-formed"),
            pytest.param("<html></html>", id="a page"),
            pytest.param(
                f'<urlset xmlns="{SPACE[1:-1]}"><url><loc>{BASE}/x/</loc></url></urlset>', id="a urlset"
            ),
            pytest.param("<sitemapindex></sitemapindex>", id="without a namespace"),
            pytest.param(
                f'<!DOCTYPE sitemapindex SYSTEM "file:///etc/passwd">'
                f'<sitemapindex xmlns="{SPACE[1:-1]}"></sitemapindex>',
                id="with a document type",
            ),
            pytest.param(
                f'<!DOCTYPE x [<!ENTITY a "{"ha" * 500}">'
                + "".join(
                    f'<!ENTITY {b} "{f"&{a};" * 100}">' for a, b in zip("abcdef", "bcdefg", strict=True)
                )
                + f']><sitemapindex xmlns="{SPACE[1:-1]}"><sitemap><loc>&g;</loc></sitemap></sitemapindex>',
                id="a billion laughs",
            ),
            pytest.param(
                f'<?xml version="1.0" encoding="UTF-16"?><sitemapindex xmlns="{SPACE[1:-1]}"/>'.encode(
                    "utf-16"
                ),
                id="UTF-16",
            ),
            pytest.param(b"\x1f\x8b\x08\x00", id="compressed"),
        ],
    )
    @pytest.mark.parametrize("manifest", [False, True])
    def test_are_refused_beside_an_index_that_cannot_be_read_if_no_manifest_tells_what_it_said(
        self, folder: Path, index: str | bytes, manifest: bool
    ) -> None:
        sitemaps = {"a": Numbers(1), "b": Numbers(1)}
        if manifest:
            export(output=folder, sitemaps=sitemaps)
            whole = content(folder)
        write_index(folder, index)
        before = touched(folder)
        if manifest:
            export(["a"], output=folder, sitemaps=sitemaps)
            assert content(folder) == whole
        else:
            with pytest.raises(ExportError, match=rf"{folder}: sitemap\.xml is no index.*remove the file"):
                export(["a"], output=folder, sitemaps=sitemaps)
            assert touched(folder) == before
        assert run_folders(folder) == []

    def test_that_are_none_replace_an_index_that_cannot_be_read(self, folder: Path) -> None:
        write_index(folder, "<sitemapindex>")
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert paths(folder) == numbers(1)

    def test_with_a_name_that_is_none_are_answered_by_the_nearest(self, folder: Path) -> None:
        sitemaps = {"products": Numbers(1), "articles": Numbers(1)}
        with pytest.raises(UnknownSectionError, match=r"no section 'prodcts'\. Did you mean 'products'"):
            export(["articles", "prodcts"], output=folder, sitemaps=sitemaps)
        with pytest.raises(UnknownSectionError, match="There are: articles, products"):
            export(["zzz"], output=folder, sitemaps=sitemaps)
        assert not folder.exists()


class TestSectionsThatAreMissing:
    def test_are_an_error_that_tells_where_they_are_looked_for(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)})
        before = touched(folder)
        with pytest.raises(ExportError, match=r"sitemaps\.py.*'SITEMAPS'.*URLconf is not visible"):
            export(output=folder, sitemaps={})
        assert touched(folder) == before

    def test_are_those_of_the_setting_or_the_registered_ones(
        self, folder: Path, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sections, "_discovered", True)
        monkeypatch.setattr(sections, "_registered", {"registered": Numbers(2)})
        export(output=folder)
        assert named(folder) == ["sitemap-registered-1.xml.gz"]
        configure(SITEMAPS=f"{__name__}.SITEMAPS")
        export(output=folder / "other")
        assert named(folder / "other") == ["sitemap-set-1.xml.gz"]

    @pytest.mark.parametrize("name", ["a.b", "ä", "", "a b", "../a", "index", "a\n"])
    def test_a_name_that_no_file_can_have_is_refused(self, folder: Path, name: str) -> None:
        with pytest.raises(ImproperlyConfigured, match="section"):
            export(output=folder, sitemaps={name: Numbers(1)})
        assert not folder.exists()

    def test_names_that_differ_in_case_alone_are_refused(self, folder: Path) -> None:
        with pytest.raises(ImproperlyConfigured, match="upper and lower case"):
            export(output=folder, sitemaps={"a": Numbers(1), "A": Numbers(1)})
        assert not folder.exists()


SITEMAPS = {"set": Numbers(1)}


class TestADryRun:
    def test_writes_nothing_at_all(self, tmp_path: Path) -> None:
        robots = tmp_path / "robots.txt"
        report = export(
            output=tmp_path / "public", sitemaps={"a": Bad(9, [1])}, dry_run=True, robots=robots
        )
        assert list(tmp_path.iterdir()) == []
        assert (report.published, report.urls, report.sections[0].left_out) == (False, 8, 2)
        assert report.robots == "stale"

    def test_tells_whether_robots_txt_would_change(self, tmp_path: Path) -> None:
        robots = tmp_path / "robots.txt"
        for mine, state in ((f"Sitemap: {BASE}/sitemap.xml\n", "unchanged"), ("# mine\n", "stale")):
            robots.write_text(mine)
            report = export(
                output=tmp_path / "public", sitemaps={"a": Numbers(1)}, dry_run=True, robots=robots
            )
            assert (report.robots, robots.read_text()) == (state, mine)

    def test_finds_what_a_run_would_find(self, folder: Path) -> None:
        sitemaps = {"a": Bad(5_000, [1]), "b": Numbers(3), "c": Failing(5, 2)}
        found = export(output=folder, sitemaps=sitemaps, dry_run=True)
        assert not folder.exists()
        done = export(output=folder, sitemaps=sitemaps)
        assert [section.files for section in found.sections] == [s.files for s in done.sections]
        assert found.failures == done.failures

    def test_touches_nothing_that_is_published_and_needs_no_lock(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)})
        before = touched(folder)
        lock = (folder / STATE / "lock").stat().st_mtime_ns
        with (folder / STATE / "lock").open("rb") as handle:
            assert locks.lock(handle, locks.LOCK_EX | locks.LOCK_NB)
            export(output=folder, sitemaps={"a": Numbers(9)}, dry_run=True)
        assert touched(folder) == before
        assert (folder / STATE / "lock").stat().st_mtime_ns == lock
        assert run_folders(folder) == []


class TestTwoExportsAtOnce:
    def test_end_the_second_one_which_has_touched_nothing(self, folder: Path, tmp_path: Path) -> None:
        robots = tmp_path / "robots.txt"
        export(output=folder, sitemaps={"a": Numbers(3)})
        before = touched(folder)
        inside: list[object] = []

        def second() -> None:
            runs = run_folders(folder)
            with pytest.raises(ExportRunningError, match=f"Another export is writing to {folder}"):
                export(output=folder, sitemaps={"a": Numbers(9)}, robots=robots)
            assert touched(folder) == before
            assert run_folders(folder) == runs
            assert len(runs) == 1
            assert not robots.exists()
            inside.append(runs)

        # What is staged of the first one is not touched either.
        export(output=folder, sitemaps={"b": Numbers(2), "a": Spy(second)})
        assert len(inside) == 1
        assert paths(folder) == [*numbers(2), *numbers(5)]

    def test_into_two_folders_do_not_meet(self, tmp_path: Path) -> None:
        def second() -> Report:
            return export(output=tmp_path / "b", sitemaps={"a": Numbers(2)})

        export(output=tmp_path / "a", sitemaps={"a": Spy(second)})
        assert paths(tmp_path / "a") == numbers(5)
        assert paths(tmp_path / "b") == numbers(2)

    @pytest.mark.parametrize("how", ["well", "failed", "strict", "refused", "interrupted"])
    def test_are_one_after_the_other_however_the_first_ended(self, folder: Path, how: str) -> None:
        class Interrupted(Numbers):
            def location(self, item: int) -> str:
                raise KeyboardInterrupt

        if how == "well":
            export(output=folder, sitemaps={"a": Numbers(1)})
        elif how == "failed":
            export(output=folder, sitemaps={"a": Failing(1, 0)})
        elif how == "strict":
            export(output=folder, sitemaps={"a": Bad(3, [1])}, strict=True)
        elif how == "refused":
            write_index(folder, "")
            with pytest.raises(ExportError):
                export(["a"], output=folder, sitemaps={"a": Numbers(1)})
        else:
            with pytest.raises(KeyboardInterrupt):
                export(output=folder, sitemaps={"a": Interrupted(1)})
        assert run_folders(folder) == []
        export(output=folder, sitemaps={"a": Numbers(7)})
        assert paths(folder) == numbers(7)


class TestAFailureToWrite:
    """Each file whole or not at all."""

    @pytest.fixture
    def before(self, folder: Path) -> dict[str, Any]:
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3)})
        return touched(folder)

    @pytest.mark.parametrize("gzip", [True, False])
    def test_in_the_middle_of_a_page_fails_its_section_alone(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, gzip: bool
    ) -> None:
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3)}, gzip=gzip)
        before = touched(folder)
        monkeypatch.setattr(sink.Sink, "_out", full_after(4_000, sink.Sink._out))
        report = export(
            output=folder,
            sitemaps={"a": Numbers(20_000), "b": Numbers(4)},
            gzip=gzip,
            robots=folder / "robots.txt",
        )
        after = touched(folder)
        assert next(name for name in before if "-a-" in name) in after
        assert {name: after[name] for name in after if "-a-" in name} == {
            name: before[name] for name in before if "-a-" in name
        }
        assert paths(folder) == [*numbers(3), *numbers(4)]
        (failure,) = report.failures
        assert "Section 'a': OSError" in failure
        assert "No space left" in failure
        assert run_folders(folder) == []

    @pytest.mark.parametrize("call", [1, 2])
    def test_at_the_fsync_of_a_page_fails_its_section_alone(
        self, folder: Path, before: dict[str, Any], monkeypatch: pytest.MonkeyPatch, call: int
    ) -> None:
        monkeypatch.setattr(os, "fsync", failing_at(call, os.fsync))
        report = export(output=folder, sitemaps={"a": Numbers(9), "b": Numbers(9)})
        failed, other = ("a", "b") if call == 1 else ("b", "a")
        after = touched(folder)
        assert after[f"sitemap-{failed}-1.xml.gz"] == before[f"sitemap-{failed}-1.xml.gz"]
        assert after[f"sitemap-{other}-1.xml.gz"] != before[f"sitemap-{other}-1.xml.gz"]
        assert [f"Section {failed!r}: OSError" in failure for failure in report.failures] == [True]

    def test_of_the_staged_index_leaves_all_as_it_was(
        self, folder: Path, before: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "fsync", failing_at(3, os.fsync))
        with pytest.raises(OSError, match="Input/output"):
            export(output=folder, sitemaps={"a": Numbers(9), "b": Numbers(9)})
        assert touched(folder) == before
        assert run_folders(folder) == []

    @pytest.mark.parametrize(
        ("call", "found", "begun"),
        [
            # The files of both sections in the manifest, and the journal.
            (1, [3, 3], False),
            (2, [3, 3], False),
            (3, [3, 3], False),
            # The pages, the index, the manifest of before, and that of now.
            (4, [3, 3], True),
            (5, [9, 3], True),
            (6, [9, 9], True),
            (7, [9, 9], True),
            (8, [9, 9], True),
        ],
    )
    def test_while_publishing_leaves_an_index_over_whole_files_and_the_next_one_ends_it(
        self,
        folder: Path,
        before: dict[str, Any],
        monkeypatch: pytest.MonkeyPatch,
        call: int,
        found: list[int],
        begun: bool,
    ) -> None:
        sitemaps = {"a": Numbers(9), "b": Numbers(9)}
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", failing_at(call, Path.replace))
            with pytest.raises(OSError, match="Input/output"):
                export(output=folder, sitemaps=sitemaps)
        after = touched(folder)
        assert (after == before) == (call <= 4)
        assert [len(locations(plain(folder, name))) for name in named(folder)] == found
        assert (JOURNAL in run_folders(folder)) == begun
        report = export(output=folder, sitemaps=sitemaps)
        assert report.recovered == begun
        assert paths(folder) == [*numbers(9), *numbers(9)]
        if begun:
            assert report.written == ()
            # What was staged is not made again.
            assert all(
                touched(folder)[name] == after[name] for name in after if after[name] != before[name]
            )
        assert run_folders(folder) == []

    @pytest.mark.parametrize("count", [1, 4_000])
    def test_that_the_system_makes_is_the_same(
        self, folder: Path, before: dict[str, Any], count: int
    ) -> None:
        done = in_a_process("limited", folder, count)
        assert done.returncode == 0, done.stderr
        failed = "Section 'a': OSError" in done.stdout
        assert failed == (count > 1)
        assert touched(folder)["sitemap-b-1.xml.gz"] != before["sitemap-b-1.xml.gz"]
        assert (touched(folder)["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]) == failed
        assert paths(folder) == [*numbers(3 if failed else 1), *numbers(1)]


def failing_at(call: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that fails when it is called for the n-th time, counted from 1."""
    calls = 0

    def failing(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return function(*arguments, **options)

    return failing


def full_after(size: int, write: Callable[..., int]) -> Callable[..., int]:
    """A disk that takes so many bytes of each file."""
    taken: dict[object, int] = {}

    def full(sink: Any, data: bytes) -> int:
        taken[sink] = taken.get(sink, 0) + len(data)
        if taken[sink] > size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(sink, data)

    return full


class TestTheOrderOfPublishing:
    def test_is_all_files_on_disk_then_the_pages_then_the_index(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, configure: Callable[..., None]
    ) -> None:
        configure(MAX_URLS=2)
        steps: list[str] = []
        fsync, replace = os.fsync, Path.replace

        def synced(descriptor: int) -> None:
            found = os.fstat(descriptor)
            names = {(folder / name).stat().st_ino: f"names in {name!r}" for name in ("", STATE)}
            if not stat.S_ISDIR(found.st_mode):
                steps.append("content")
            elif found.st_ino in names:
                steps.append(names[found.st_ino])
            fsync(descriptor)

        def replaced(self: Path, target: Path) -> Path:
            steps.append(re.sub(r"-[0-9a-f]{32}", "", target.name))
            return replace(self, target)

        folder.mkdir()
        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(Path, "replace", replaced)
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)}, robots=folder / "robots.txt")
        public, own = "names in ''", f"names in {STATE!r}"
        # Three pages and an index.
        assert steps[:4] == ["content"] * 4
        assert steps[4:7] == ["content", "section-a.jsonl", own]
        assert steps[7:10] == ["content", "section-b.jsonl", own]
        # What is staged has its names on disk before the journal says so.
        assert steps[10:14] == [own, "content", JOURNAL, own]
        assert sorted(steps[14:17]) == [f"sitemap-{page}.xml.gz" for page in ("a-1", "a-2", "b-1")]
        # The names of the pages are on disk before the index that names them.
        assert steps[17:19] == [public, "sitemap.xml"]
        assert steps[19] == public
        assert steps[20:23] == ["content", "robots.txt", public]
        # And all that before it is said to be published.
        assert steps[23:26] == ["content", MANIFEST, own]
        # At the end the folder of the run is moved away, and removed.
        assert {step for step in steps[26:] if not step.startswith("tmp-")} <= {public, own}

    def test_leaves_at_every_step_an_index_that_names_whole_files(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, configure: Callable[..., None]
    ) -> None:
        configure(MAX_URLS=2)
        export(output=folder, sitemaps={"a": Numbers(7), "b": Numbers(1)})
        replace, steps = Path.replace, 0

        def watched(self: Path, target: Path) -> Path:
            nonlocal steps
            steps += 1
            done = replace(self, target)
            # Whole gzip, well-formed XML, or this raises.
            assert len(paths(folder)) > 0
            return done

        monkeypatch.setattr(Path, "replace", watched)
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(9)})
        # Of `a` one page shrinks and two are gone; of `b` one grows and four are new.
        pages, index, sections_and_journal, manifests, run_folder = 1 + 5, 1, 2 + 1, 2, 1
        assert steps == pages + index + sections_and_journal + manifests + run_folder


class TestAKilledExport:
    @pytest.mark.parametrize(
        ("when", "published"),
        [
            ("write:1", [3, 3]),
            ("write:3", [3, 3]),
            # The files of two sections in the manifest, and the journal.
            ("replace:1", [3, 3]),
            ("replace:2", [3, 3]),
            ("replace:3", [3, 3]),
            # The pages, the index, the manifest of before, and that of now.
            ("replace:4", [3, 3]),
            ("replace:5", [9, 3]),
            ("replace:6", [9, 9]),
            ("replace:7", [9, 9]),
            ("replace:8", [9, 9]),
        ],
    )
    def test_leaves_what_was_published_whole_and_the_next_one_cleans_up(
        self, folder: Path, when: str, published: list[int]
    ) -> None:
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3)})
        before = touched(folder)
        done = in_a_process("killed", folder, when)
        assert done.returncode == -signal.SIGKILL, done.stderr
        after = touched(folder)
        assert set(after) == set(before)
        assert [len(locations(plain(folder, name))) for name in named(folder)] == published
        if published == [3, 3]:
            assert after == before
        what, _, call = when.partition(":")
        begun = what == "replace" and int(call) > 3
        assert (JOURNAL in run_folders(folder)) == begun
        assert any(name.startswith("run-") for name in run_folders(folder)) == (what == "replace")
        report = export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(2)})
        assert report.recovered == begun
        assert paths(folder) == [*numbers(1), *numbers(2)]
        assert run_folders(folder) == []

    def test_that_was_the_first_leaves_no_index(self, folder: Path) -> None:
        done = in_a_process("killed", folder, "replace:5")
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert set(content(folder)) == {"sitemap-a-1.xml.gz"}
        assert gzip.decompress((folder / "sitemap-a-1.xml.gz").read_bytes())
        export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(2)})
        assert paths(folder) == [*numbers(1), *numbers(2)]


class TestRobotsTxt:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "robots.txt"

    @pytest.mark.parametrize("by", ["argument", "setting"])
    def test_is_created_with_our_block_alone(
        self, folder: Path, path: Path, by: str, configure: Callable[..., None]
    ) -> None:
        if by == "setting":
            configure(ROBOTS_TXT=path)
        report = export(
            output=folder, sitemaps={"a": Numbers(1)}, robots=str(path) if by == "argument" else None
        )
        assert path.read_text() == f"{BLOCK}Sitemap: {BASE}/sitemap.xml\n{END}\n"
        assert (report.robots, report.failures, report.warnings) == ("written", [], [])

    def test_keeps_every_byte_of_its_owner(self, folder: Path, path: Path) -> None:
        mine = b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /caf\xc3\xa9 # x\r\n\r\nDisallow:\t/a"
        path.write_bytes(mine)
        export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert path.read_bytes().startswith(mine)
        block = path.read_bytes().removeprefix(mine)
        assert block.count(b"\n") == block.count(b"\r\n") == 6
        assert f"\r\nSitemap: {BASE}/sitemap.xml\r\n".encode() in block
        moved = folder.with_name("moved")
        export(output=moved, sitemaps={"a": Numbers(1)}, robots=path, base_url="https://example.org")
        assert path.read_bytes() == mine + block.replace(b"www.example.com", b"example.org")

    def test_is_not_written_where_nothing_changes(self, tmp_path: Path) -> None:
        public, robots = tmp_path / "public", tmp_path / "robots"
        robots.mkdir()
        export(output=public, sitemaps={"a": Numbers(1)}, robots=robots / "robots.txt")
        before = touched(robots), robots.stat().st_mtime_ns
        report = export(output=public, sitemaps={"a": Numbers(9)}, robots=robots / "robots.txt")
        assert (touched(robots), robots.stat().st_mtime_ns) == before
        assert report.robots == "unchanged"

    def test_is_not_written_where_the_owner_lists_the_index(self, folder: Path, path: Path) -> None:
        path.write_text(f"sitemap:{BASE}/sitemap.xml")
        before = path.stat()
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
        assert report.robots == "unchanged"

    @pytest.mark.parametrize("mode", [0o600, 0o664, 0o440], ids=oct)
    def test_keeps_its_mode(self, folder: Path, path: Path, mode: int) -> None:
        path.write_text("User-agent: *\n")
        path.chmod(mode)
        export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert "Sitemap: " in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == mode

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_keeps_its_owner(self, folder: Path, path: Path) -> None:
        path.write_text("User-agent: *\n")
        os.chown(path, 1234, 2345)
        export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert "Sitemap: " in path.read_text()
        assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)

    @pytest.mark.parametrize("there", [True, False])
    def test_that_is_a_link_stays_one(self, folder: Path, path: Path, tmp_path: Path, there: bool) -> None:
        real = tmp_path / "real" / "robots-of-the-site.txt"
        real.parent.mkdir()
        if there:
            real.write_text("User-agent: *\n")
        path.symlink_to(Path("real") / real.name)
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert (report.robots, report.failures) == ("written", [])
        assert path.is_symlink()
        assert "Sitemap: " in real.read_text()
        assert [entry.name for entry in real.parent.iterdir()] == [real.name]

    @pytest.mark.parametrize(
        ("mine", "why"),
        [
            (b"User-agent: caf\xe9\n", "UTF-8"),
            ("User-agent: *\n".encode("utf-16"), "UTF-8"),
            (f"{BEGIN}\nUser-agent: *\n".encode(), "out of order"),
            (b"#" * 511_990 + b"\n", "512,000"),
        ],
    )
    def test_that_is_refused_is_left_as_it_is_and_the_sitemap_is_published(
        self, folder: Path, path: Path, mine: bytes, why: str
    ) -> None:
        path.write_bytes(mine)
        before = path.stat().st_mtime_ns
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert (path.read_bytes(), path.stat().st_mtime_ns) == (mine, before)
        assert (report.published, paths(folder), report.robots) == (True, numbers(1), "failed")
        (failure,) = report.failures
        assert str(path) in failure
        assert why in failure

    @pytest.mark.parametrize("what", ["a missing folder", "a folder"])
    def test_that_cannot_be_written_fails_after_publishing(
        self, folder: Path, tmp_path: Path, what: str
    ) -> None:
        path = tmp_path / "missing" / "robots.txt" if what == "a missing folder" else tmp_path
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert (report.published, paths(folder), report.robots) == (True, numbers(1), "failed")
        assert f"{path} was left as it is" in report.failures[0]
        assert not (tmp_path / "missing").exists()

    def test_is_whole_or_as_it_was(self, folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        mine = "User-agent: *\n"
        states: list[str] = []
        left_alone: list[bool] = []
        for call in count(1):
            path.write_text(mine)
            failing = failing_at(call, os.fsync)
            with monkeypatch.context() as patch, suppress(OSError):
                patch.setattr(os, "fsync", failing)
                report = export(output=folder / str(call), sitemaps={"a": Numbers(1)}, robots=path)
                states.append(report.robots)
                left_alone.append(path.read_text() == mine)
            assert path.read_text() in (mine, f"{mine}\n{BLOCK}Sitemap: {BASE}/sitemap.xml\n{END}\n")
            assert [entry.name for entry in path.parent.iterdir() if entry.is_file()] == ["robots.txt"]
            if states[-1:] == ["written"]:
                break
        assert ("failed", True) in zip(states, left_alone, strict=True)
        assert not left_alone[-1]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of others")
    @pytest.mark.parametrize("far", [False, True], ids=["link", "behind a link of ours"])
    def test_that_is_a_link_of_another_user_is_not_followed(
        self, folder: Path, path: Path, tmp_path: Path, far: bool
    ) -> None:
        victim, link = tmp_path / "victim", tmp_path / "link" if far else path
        victim.write_text("mine\n")
        link.symlink_to(victim)
        os.chown(link, 1234, 2345, follow_symlinks=False)
        if far:
            path.symlink_to(link)
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert (victim.read_text(), path.is_symlink()) == ("mine\n", True)
        assert (report.published, paths(folder), report.robots) == (True, numbers(1), "failed")
        assert f"{link} is a symbolic link of another user" in report.failures[0]

    def test_that_is_a_link_to_itself_ends_no_run_and_no_journal(
        self, folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path.symlink_to(path)
        for count_ in (1, 2):
            report = export(output=folder, sitemaps={"a": Numbers(count_)}, robots=path)
            assert (report.published, paths(folder), report.robots) == (True, numbers(count_), "failed")
            assert "links lead to each other" in report.failures[0]
        # And in a run that is killed before its end, which the next one finishes.
        path.unlink()
        with monkeypatch.context() as patch:
            patch.setattr(steps, "replace_manifest", Mock(side_effect=OSError("killed")))
            with pytest.raises(OSError, match="killed"):
                export(output=folder, sitemaps={"a": Numbers(3)}, robots=path)
        path.unlink()
        path.symlink_to(path)
        report = export(output=folder, sitemaps={"a": Numbers(3)}, robots=path)
        assert (report.recovered, report.robots) == (True, "failed")
        assert paths(folder) == numbers(3)
        assert not (folder / STATE / JOURNAL).exists()

    @pytest.mark.parametrize("how", ["in place", "by another file"])
    def test_that_its_owner_edits_meanwhile_has_the_edit(
        self, folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        path.write_text("User-agent: *\n")
        edits = iter(["Disallow: /first/\n", "Disallow: /second/\n"])
        real = robots_files.create_whole

        def create(*arguments: Any) -> Any:
            content = path.read_text() + next(edits, "")
            if how == "in place":
                path.write_text(content)
            else:
                path.with_name("new").write_text(content)
                path.with_name("new").replace(path)
            return real(*arguments)

        monkeypatch.setattr(robots_files, "create_whole", create)
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        expected = "User-agent: *\nDisallow: /first/\nDisallow: /second/\n"
        assert path.read_text() == f"{expected}\n{BLOCK}Sitemap: {BASE}/sitemap.xml\n{END}\n"
        assert report.robots == "written"

    def test_that_never_rests_is_left_alone(
        self, folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = robots_files.create_whole

        def create(*arguments: Any) -> Any:
            with path.open("a") as file:
                file.write("# again\n")
            return real(*arguments)

        monkeypatch.setattr(robots_files, "create_whole", create)
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert (report.published, report.robots) == (True, "failed")
        assert set(path.read_text().splitlines()) == {"# again"}
        assert [entry.name for entry in path.parent.iterdir() if entry.is_file()] == ["robots.txt"]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork")
    def test_whose_replacement_is_killed_leaves_nothing_behind_the_next_run(
        self, folder: Path, path: Path
    ) -> None:
        path.write_text("User-agent: *\n")
        foreign = path.with_name(".robots.txt.1.tmp")
        foreign.write_text("mine")
        export(output=folder, sitemaps={"a": Numbers(1)})
        number = os.fork()
        if not number:
            os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
            robots_files.Robots(path, Base("https", "www.example.com"), [f"{BASE}/sitemap.xml"]).update()
            os._exit(1)
        assert os.waitpid(number, 0)[1] == signal.SIGKILL
        assert len([entry for entry in path.parent.iterdir() if entry.is_file()]) == 3
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert report.robots == "written"
        assert {entry.name for entry in path.parent.iterdir() if entry.is_file()} == {
            "robots.txt",
            foreign.name,
        }

    @pytest.mark.skipif(not hasattr(os, "setxattr"), reason="the system has no such attributes")
    def test_keeps_its_extended_attributes(self, folder: Path, path: Path) -> None:
        path.write_text("User-agent: *\n")
        try:
            os.setxattr(path, "user.note", b"mine")
        except OSError:
            pytest.skip("the file system has no such attributes")
        export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        assert "Sitemap: " in path.read_text()
        assert os.getxattr(path, "user.note") == b"mine"

    def test_that_keeps_crawlers_from_the_index_is_warned_about_with_its_path(
        self, folder: Path, path: Path
    ) -> None:
        path.write_text("User-agent: *\nDisallow: /sitemap\n")
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=path)
        (warning,) = report.warnings
        assert warning.startswith(f"{path}: ")
        assert "line 2 (" in warning
        assert report.failures == []

    def test_of_a_wrong_kind_is_refused_before_anything_is_published(
        self, folder: Path, configure: Callable[..., None]
    ) -> None:
        configure(ROBOTS_TXT=7)
        with pytest.raises(ImproperlyConfigured, match="ROBOTS_TXT"):
            export(output=folder, sitemaps={"a": Numbers(1)})
        assert not folder.exists()


@pytest.mark.django_db
class TestLivePages:
    @pytest.mark.parametrize("gzip", [True, False])
    def test_are_the_bytes_of_the_exported_files(
        self, folder: Path, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, gzip: bool
    ) -> None:
        class Translated(Bad):
            i18n = alternates = x_default = True
            lastmod = date(2026, 1, 1)

        monkeypatch.setattr(sections, "_discovered", True)
        sitemaps = {
            "articles": article_sitemap(),
            "some": article_sitemap(queryset=article_model().objects.exclude(slug="b"), limit=3),
            "numbers": Translated(5, [1]),
        }
        monkeypatch.setattr(sections, "_registered", sitemaps)
        configure(MAX_URLS=4, GZIP=gzip, ROOT=folder)
        write_articles(*"abcdefgh")
        export()
        client = Client()
        for name in named(folder):
            exported = plain(folder, name)
            assert client.get(f"/{name.removesuffix('.gz')}").content == exported
            live = client.get(f"/{name}").content
            assert live.startswith(GZIP_HEADER[:3]) == gzip
            assert unpacked(live) == exported
        # One item to a page; the page of the bad one would be empty.
        assert len(named(folder)) == 2 + 3 + 4

    @pytest.mark.parametrize("gzip", [True, False])
    def test_are_named_by_the_bytes_of_the_exported_index(
        self, folder: Path, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, gzip: bool
    ) -> None:
        monkeypatch.setattr(sections, "_discovered", True)
        monkeypatch.setattr(sections, "_registered", {"articles": article_sitemap(), "numbers": Numbers(7)})
        configure(MAX_URLS=4, GZIP=gzip, ROOT=folder)
        write_articles(*"abcdefgh")
        article_model().objects.filter(slug="h").update(updated=None)
        export()
        assert Client().get("/sitemap.xml").content == plain(folder, "sitemap.xml")


@pytest.mark.django_db
class TestWhatIsActiveWhereTheExportIsCalled:
    """Nothing of it shows: an export may be called in a request, too."""

    def exported(self, folder: Path, sitemaps: dict[str, Any]) -> dict[str, bytes]:
        export(output=folder, sitemaps=sitemaps)
        return content(folder)

    def test_neither_a_language(self, tmp_path: Path) -> None:
        class Spoken(Numbers):
            def items(self) -> list[int]:
                return [{"en": 1, "de": 2}[translation.get_language()]]

        class Foreign(ContribSitemap):
            def items(self) -> list[str]:
                return [translation.get_language()]

            def location(self, item: str) -> str:
                return f"/{item}/"

        sitemaps = {"a": Spoken(0), "b": Foreign}
        expected = self.exported(tmp_path / "a", sitemaps)
        with translation.override("de"):
            assert self.exported(tmp_path / "b", sitemaps) == expected
            assert translation.get_language() == "de"

    def test_nor_a_time_zone(self, tmp_path: Path) -> None:
        write_articles("a")
        late = datetime(2026, 1, 1, 23, 30, tzinfo=timezone.utc)
        article_model().objects.update(updated=late)
        sitemaps = {"a": article_sitemap(lastmod=TruncDate("updated"))}
        expected = self.exported(tmp_path / "a", sitemaps)
        assert b"<lastmod>2026-01-02</lastmod>" in plain(tmp_path / "a", "sitemap-a-1.xml.gz")
        with django_timezone.override(timezone(timedelta(hours=-9))):
            assert self.exported(tmp_path / "b", sitemaps) == expected


def test_the_memory_of_an_export_does_not_grow_with_its_rows(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        done = in_a_process("peak", tmp_path / str(rows), rows)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    # The locations alone of 180,000 rows would take 15 MB.
    assert peak(200_000) - peak(20_000) < 5_000_000


# What runs in a process of its own: `python -m tests.test_export killed FOLDER WHEN`.


def in_a_process(function: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    return subprocess.run(  # noqa: S603 our own interpreter and arguments
        [sys.executable, "-m", "tests.test_export", function, *map(str, arguments)],
        env=environ,
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def killed(folder: str, when: str) -> None:
    """An export that ends as by a power cut, at the n-th write to a page or move of a file."""
    what, _, number = when.partition(":")
    left = int(number)

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments)

        return called

    if what == "write":
        sink.Sink.write = dying(sink.Sink.write)  # type: ignore[method-assign]
    else:
        Path.replace = dying(Path.replace)  # type: ignore[method-assign]
    export(output=folder, sitemaps={"a": Numbers(9), "b": Numbers(9)}, base_url=BASE)


def limited(folder: str, count: str) -> None:
    """An export under a system that lets no file grow over 4 kB."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))
    sitemaps = {"a": Numbers(int(count)), "b": Numbers(1)}
    report = export(output=folder, sitemaps=sitemaps, base_url=BASE)
    sys.stdout.write("\n".join(report.failures))


def peak(folder: str, rows: str) -> None:
    """Prints the most memory that an export of so many rows ever took, in bytes."""
    model = article_model()
    with connection.schema_editor() as editor:
        editor.create_model(model._meta.get_field("category").related_model)
        editor.create_model(model)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} (id, slug, published, updated)"  # noqa: S608 no input
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            " SELECT i, 'article-number-' || i, 1, '2026-01-01 00:00:00' FROM n",
            [int(rows)],
        )
    sitemap = article_sitemap(location=Concat(Value("/articles/"), F("slug"), Value("/")))
    report = export(output=folder, sitemaps={"a": sitemap}, base_url=BASE)
    assert report.urls == int(rows), report.failures
    sys.stdout.write(str(high_water()))


def high_water() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike ru_maxrss, which begins with that of the process that started this one.
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1_024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024)


if __name__ == "__main__":
    configuration.DATABASES["default"]["NAME"] = f"{sys.argv[2]}.sqlite3"
    django.setup()
    {"killed": killed, "limited": limited, "peak": peak}[sys.argv[1]](*sys.argv[2:])


class Pages(ContribSitemap):
    """As others write them for contrib, with pages that are far from full."""

    limit = 10

    def items(self) -> list[int]:
        return list(range(120))

    def location(self, item: int) -> str:
        return f"/pages/{item}/"


class Forging:
    """An engine that answers with another file, or another name, than it was told."""

    workers = 1
    answers: tuple[str, str] = ("", "")

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def __enter__(self) -> Forging:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def begin(self, renderer: Any, task: Any) -> Callable[[], Any]:
        made = render_page(renderer, task)
        staged, name = self.answers
        file = replace(made.file, name=name or made.file.name)
        return lambda: made._replace(staged=(staged,) if staged else made.staged, files=(file,))


def test_pages_of_a_paginator_of_others_come_to_rest(folder: Path) -> None:
    export(output=folder, sitemaps={"pages": Pages})
    before = touched(folder)
    assert len(before) == 13
    for _ in range(3):
        assert export(output=folder, sitemaps={"pages": Pages}).written == ()
    assert touched(folder) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("staged", "name"), [("private.txt", ""), (".sitemaps09/lock", ""), ("", "index.html")]
)
def test_a_worker_does_not_choose_what_is_published_under_which_name(
    folder: Path, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, staged: str, name: str
) -> None:
    configure(MAX_URLS=2, SITEMAPS=f"{__name__}.FORGED")
    monkeypatch.setattr(engines, "_unseen_rows", lambda: None)
    monkeypatch.setitem(globals(), "FORGED", {"articles": article_sitemap()})
    monkeypatch.setattr(Forging, "answers", (staged, name))
    write_articles("a", "b", "c")
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    (folder / "private.txt").write_text("mine")
    report = export(output=folder, engine=f"{__name__}.Forging")
    assert "A worker answered with" in report.failures[0]
    assert content(folder) == {"index.html": b"mine", "private.txt": b"mine"}


class Listed(Sitemap):
    """Paged by position."""

    limit = 10

    def items(self) -> list[int]:
        return list(range(25))

    def location(self, item: int) -> str:
        return f"/x{item}/"


class Made(Listed):
    """Read through its own get_urls()."""

    def get_urls(self, *arguments: Any, **options: Any) -> Any:
        return super().get_urls(*arguments, **options)


@pytest.mark.usefixtures("cached_site")
@pytest.mark.parametrize("kinds", [(Listed, Made), (Made, Listed)], ids=["made", "listed"])
def test_a_section_without_a_key_that_is_read_in_another_way_is_cut_anew_once(
    folder: Path, kinds: tuple[Any, Any]
) -> None:
    export(output=folder, sitemaps={"s": kinds[0]})
    report = export(output=folder, sitemaps={"s": kinds[1]})
    assert report.failures == []
    assert [file.urls for file in report.sections[0].files] == [10, 10, 5]
    assert export(output=folder, sitemaps={"s": kinds[1]}).written == ()
