"""Several indexes: which index lists which page, and that readers find all pages at every moment."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route
from django_sitemaps09.export import export
from django_sitemaps09.filenames import index_name, is_index
from django_sitemaps09.protocol import Limits
from django_sitemaps09.state import manifest
from django_sitemaps09.state.manifest import ROOT
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore
from tests.models import Article
from tests.support.clock import Clock
from tests.support.configuration import BASE
from tests.support.factories import ArticleFactory
from tests.support.published import SPACE
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09(MAX_URLS=2)


def articles() -> Any:
    attributes = {"model": Article, "location": Route("article", slug=F("slug"))}
    return type("Articles", (ModelSitemap,), attributes)


def write_articles(*keys: int) -> None:
    for pk in keys:
        ArticleFactory(pk=pk, slug=f"a{pk}")


def delete_articles(*keys: int) -> None:
    Article.objects.filter(pk__in=keys).delete()


def slugs(*keys: int) -> list[str]:
    return [f"/articles/a{key}/" for key in keys]


def locations(data: bytes) -> list[str]:
    root = ElementTree.fromstring(data)  # noqa: S314 our own output
    return [str(loc.text).removeprefix(f"{BASE}/") for loc in root.iter(f"{SPACE}loc")]


def indexed(folder: Path) -> dict[str, list[str]]:
    """Return the pages that each index lists, abbreviated: `a1` is page 1 of section `a`."""
    found = {}
    for path in folder.iterdir():
        if is_index(path.name):
            named = locations(path.read_bytes())
            found[path.name] = [re.sub(r"sitemap-(\w)\w*-(\d+)\.xml\.gz", r"\1\2", name) for name in named]
    return found


def published(folder: Path) -> list[str]:
    """Return every URL that a reader finds by starting from all indexes in the folder."""
    found = set()
    indexes = [path.name for path in folder.iterdir() if is_index(path.name)]
    for index in indexes:
        for name in locations((folder / index).read_bytes()):
            if not is_index(name):
                found |= set(locations(gzip.decompress((folder / name).read_bytes())))
    return sorted(f"/{path}" for path in found)


def found_by_crawlers(folder: Path, robots: Path) -> set[str]:
    """Return every URL that a reader finds by starting from robots.txt."""
    found: set[str] = set()
    names = announced(robots)
    for name in names:
        content = (folder / name).read_bytes() if (folder / name).exists() else b""
        if is_index(name):
            names += locations(content) if content else []
        else:
            found |= {f"/{path}" for path in locations(gzip.decompress(content))}
    return found


def announced(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    return [line.removeprefix(f"Sitemap: {BASE}/") for line in lines if line.startswith("Sitemap: ")]


def known(folder: Path) -> manifest.Manifest:
    found = manifest.read(LocalStore(folder / STATE, 0o600, own=""))
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def _three_pages_in_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_sitemaps09.export.publishing.indexes.LIMITS", Limits(3, 50_000))


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    return tmp_path / "robots.txt"


@pytest.fixture
def at_every_step(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[list[str]], list[dict[str, list[str]]]]:
    """Check after each step that these URLs are listed. Return what the indexes listed after each step."""

    def watch(urls: list[str]) -> list[dict[str, list[str]]]:
        seen: list[dict[str, list[str]]] = []
        replace = Path.replace

        def watched(self: Path, target: Path) -> Path:
            done = replace(self, target)
            if not (set(urls) <= set(published(folder))):
                missing = sorted(set(urls) - set(published(folder)))
                raise AssertionError(f"{missing} not there after {target}")
            seen.append(indexed(folder))
            return done

        monkeypatch.setattr(Path, "replace", watched)
        return seen

    return watch


def test_no_index_has_the_name_of_a_page() -> None:
    assert [index_name(1), index_name(2), index_name(1, cascade=True)] == [
        "sitemap.xml", "sitemap-2.xml", "sitemap-1.xml"
    ]  # fmt: skip
    assert all(map(is_index, ["sitemap.xml", "sitemap-1.xml", "sitemap-20.xml"]))
    others = ["sitemap-0.xml", "sitemap-a-1.xml", "sitemap-1.xml.gz", "sitemap-01.xml", "xsitemap.xml", ""]
    assert not any(map(is_index, others))


@pytest.mark.django_db
class TestSeveralIndexes:
    def test_are_as_few_as_the_limit_allows(self, folder: Path, robots: Path) -> None:
        for count, expected in (
            (6, {"sitemap.xml": ["a1", "a2", "a3"]}),
            (7, {"sitemap.xml": ["a1", "a2", "a3"], "sitemap-2.xml": ["a4"]}),
            (
                14,
                {
                    "sitemap.xml": ["a1", "a2", "a3"],
                    "sitemap-2.xml": ["a4", "a5", "a6"],
                    "sitemap-3.xml": ["a7"],
                },
            ),
        ):
            report = export(output=folder, sitemaps={"a": Numbers(count)}, robots=robots)
            assert indexed(folder) == expected
            assert list(report.indexes) == announced(robots) == list(expected)
            assert set(known(folder).indexes) == set(expected)
            assert report.failures == []
            assert len(published(folder)) == count

    def test_keep_their_pages_and_a_new_one_is_in_the_first_with_room(
        self, folder: Path, robots: Path
    ) -> None:
        sitemaps = {"articles": articles(), "numbers": Numbers(1)}
        write_articles(*range(1, 11))
        export(output=folder, sitemaps=sitemaps, robots=robots)
        assert indexed(folder) == {"sitemap.xml": ["a1", "a2", "a3"], "sitemap-2.xml": ["a4", "a5", "n1"]}
        # The second page is gone. The others stay in their indexes.
        delete_articles(3, 4)
        export(output=folder, sitemaps=sitemaps, robots=robots)
        assert indexed(folder) == {"sitemap.xml": ["a1", "a3"], "sitemap-2.xml": ["a4", "a5", "n1"]}
        write_articles(11)
        export(output=folder, sitemaps=sitemaps, robots=robots)
        assert indexed(folder) == {"sitemap.xml": ["a1", "a3", "a6"], "sitemap-2.xml": ["a4", "a5", "n1"]}
        write_articles(12, 13)
        export(output=folder, sitemaps=sitemaps, robots=robots)
        assert indexed(folder) == {
            "sitemap.xml": ["a1", "a3", "a6"],
            "sitemap-2.xml": ["a4", "a5", "n1"],
            "sitemap-3.xml": ["a7"],
        }

    def test_keep_a_page_that_another_one_was_merged_into(
        self,
        folder: Path,
        robots: Path,
        configure: Callable[..., None],
        at_every_step: Callable[[list[str]], list[Any]],
    ) -> None:
        configure(MAX_URLS=4)
        write_articles(*range(1, 25))
        sitemaps = {"articles": articles()}
        export(output=folder, sitemaps=sitemaps, robots=robots)
        assert indexed(folder) == {"sitemap.xml": ["a1", "a2", "a3"], "sitemap-2.xml": ["a4", "a5", "a6"]}
        # There is room in the first index now. Then the fourth and the fifth page have half a page each.
        delete_articles(1, 2, 3, 4)
        export(output=folder, sitemaps=sitemaps, robots=robots)
        assert indexed(folder)["sitemap.xml"] == ["a2", "a3"]
        delete_articles(13, 14, 17, 18)
        at_every_step(slugs(*range(5, 13), 15, 16, *range(19, 25)))
        (section,) = export(output=folder, sitemaps=sitemaps, robots=robots).sections
        assert section.urls == 16
        (section,) = export(output=folder, sitemaps=sitemaps, robots=robots).sections
        assert section.merged == 1
        assert indexed(folder) == {"sitemap.xml": ["a2", "a3"], "sitemap-2.xml": ["a4", "a6"]}

    def test_are_rebuilt_from_their_manifest_whoever_is_exported(self, folder: Path, robots: Path) -> None:
        sitemaps = {name: Numbers(5) for name in "abc"}
        export(output=folder, sitemaps=sitemaps, robots=robots)
        before = indexed(folder)
        assert before == {
            "sitemap.xml": ["a1", "a2", "a3"],
            "sitemap-2.xml": ["b1", "b2", "b3"],
            "sitemap-3.xml": ["c1", "c2", "c3"],
        }
        states = {name: (folder / name).stat().st_mtime_ns for name in before}
        export(["b"], output=folder, sitemaps={**sitemaps, "b": Numbers(3)}, robots=robots)
        assert indexed(folder) == {**before, "sitemap-2.xml": ["b1", "b2"]}
        for name in ("sitemap.xml", "sitemap-3.xml"):
            assert (folder / name).stat().st_mtime_ns == states[name]
        (folder / "sitemap-3.xml").unlink()
        (folder / "sitemap.xml").write_text("damaged")
        export(["b"], output=folder, sitemaps={**sitemaps, "b": Numbers(3)}, robots=robots)
        assert indexed(folder) == {**before, "sitemap-2.xml": ["b1", "b2"]}

    def test_that_no_file_announces_are_published_and_reported(
        self, folder: Path, robots: Path, configure: Callable[..., None]
    ) -> None:
        report = export(output=folder, sitemaps={"a": Numbers(7)})
        assert report.published
        (failure,) = report.failures
        assert "2 index files" in failure
        assert "'ROBOTS_TXT'" in failure
        assert "'CASCADE'" in failure
        assert len(published(folder)) == 7
        assert export(output=folder, sitemaps={"a": Numbers(7)}, robots=robots).failures == []
        configure(CASCADE=True)
        assert export(output=folder, sitemaps={"a": Numbers(7)}).failures == []

    @pytest.mark.parametrize("most", [300, 400, 500, 1_000])
    @pytest.mark.parametrize("lastmod", [None, datetime(2026, 1, 1, 10, 30, 15, tzinfo=timezone.utc)])
    def test_have_no_more_bytes_than_their_limit(
        self, folder: Path, robots: Path, monkeypatch: pytest.MonkeyPatch, most: int, lastmod: Any
    ) -> None:
        monkeypatch.setattr("django_sitemaps09.export.publishing.indexes.LIMITS", Limits(50_000, most))
        sitemaps = {name: type("Dated", (Numbers,), {"lastmod": lastmod})(21) for name in ("a", "longer")}
        export(output=folder, sitemaps=sitemaps, robots=robots)
        sizes = [(folder / name).stat().st_size for name in indexed(folder)]
        assert max(sizes) <= most
        assert len(sizes) == len(announced(robots)) > 1
        assert sum(map(len, indexed(folder).values())) == 22

    def test_that_become_empty_are_no_longer_announced_and_are_removed_later(
        self, folder: Path, robots: Path, clock: Clock
    ) -> None:
        export(output=folder, sitemaps={"a": Numbers(9)}, robots=robots)
        before = (folder / "sitemap-2.xml").read_bytes()
        export(output=folder, sitemaps={"a": Numbers(5)}, robots=robots)
        assert announced(robots) == ["sitemap.xml"]
        assert (folder / "sitemap-2.xml").read_bytes() == before
        assert "sitemap-2.xml" in known(folder).removed
        clock.time += timedelta(days=1)
        report = export(output=folder, sitemaps={"a": Numbers(5)}, robots=robots)
        assert "sitemap-2.xml" in report.deleted
        assert list(indexed(folder)) == ["sitemap.xml"]
        # Later, it is created again when it is needed.
        export(output=folder, sitemaps={"a": Numbers(9)}, robots=robots)
        assert announced(robots) == ["sitemap.xml", "sitemap-2.xml"]
        assert indexed(folder)["sitemap-2.xml"] == ["a6", "a7"]
        assert known(folder).removed == {}

    def test_that_return_before_their_removal_are_kept(
        self, folder: Path, robots: Path, clock: Clock
    ) -> None:
        for count in (9, 5, 9):
            export(output=folder, sitemaps={"a": Numbers(count)}, robots=robots)
        clock.time += timedelta(days=30)
        for _ in range(2):
            export(output=folder, sitemaps={"a": Numbers(9)}, robots=robots)
        assert announced(robots) == sorted(indexed(folder), key=len) == ["sitemap.xml", "sitemap-2.xml"]
        assert len(published(folder)) == 9

    @pytest.mark.parametrize("cascade", [False, True])
    def test_are_never_without_the_first_one(
        self,
        folder: Path,
        robots: Path,
        clock: Clock,
        configure: Callable[..., None],
        cascade: bool,
        at_every_step: Callable[[list[str]], list[Any]],
    ) -> None:
        configure(CASCADE=cascade)
        export(output=folder, sitemaps={"a": Numbers(6), "b": Numbers(4)}, robots=robots)
        with pytest.MonkeyPatch.context():
            at_every_step([f"/numbers/{number}/" for number in range(4)])
            report = export(output=folder, sitemaps={"b": Numbers(4)}, remove=["a"], robots=robots)
        assert report.failures == []
        clock.time += timedelta(days=1)
        export(output=folder, sitemaps={"b": Numbers(4)}, robots=robots)
        assert indexed(folder) == {"sitemap.xml": ["b1", "b2"]}
        assert announced(robots) == ["sitemap.xml"]

    @pytest.mark.parametrize("cascade", [False, True])
    def test_name_every_url_at_every_step(
        self,
        folder: Path,
        robots: Path,
        configure: Callable[..., None],
        cascade: bool,
        at_every_step: Callable[[list[str]], list[Any]],
    ) -> None:
        configure(MAX_URLS=3, CASCADE=cascade)
        write_articles(*range(10, 400, 10))
        sitemaps = {"articles": articles(), "b": Numbers(1)}
        export(output=folder, sitemaps=sitemaps, robots=robots)
        assert len(indexed(folder)) == 5 + cascade
        # Pages in the middle are split, the last one gets an upper bound, some are removed, and some are
        # merged.
        write_articles(*range(101, 109), 251, 252, *range(391, 400))
        delete_articles(10, 20, 30, 310, 320, 340, 350)
        stay = Article.objects.filter(pk__lt=400).values_list("pk", flat=True)
        seen = at_every_step(slugs(*(pk for pk in stay if pk % 10 == 0)))
        (section, _) = export(output=folder, sitemaps=sitemaps, robots=robots).sections
        assert section.split > 1
        (section, _) = export(output=folder, sitemaps=sitemaps, robots=robots).sections
        assert section.merged > 0
        roots = {"sitemap.xml"} if cascade else set()
        assert max(len(state[name]) for state in seen for name in state.keys() - roots) == 3
        assert set(published(folder)) >= set(slugs(*Article.objects.values_list("pk", flat=True)))


class TestACascade:
    def test_begins_if_one_index_is_not_enough(
        self, folder: Path, robots: Path, configure: Callable[..., None]
    ) -> None:
        configure(CASCADE=True)
        export(output=folder, sitemaps={"a": Numbers(6)}, robots=robots)
        assert indexed(folder) == {"sitemap.xml": ["a1", "a2", "a3"]}
        report = export(output=folder, sitemaps={"a": Numbers(9)}, robots=robots)
        assert indexed(folder) == {
            "sitemap.xml": ["sitemap-1.xml", "sitemap-2.xml"],
            "sitemap-1.xml": ["a1", "a2", "a3"],
            "sitemap-2.xml": ["a4", "a5"],
        }
        assert announced(robots) == ["sitemap.xml"]
        assert list(report.indexes) == ["sitemap.xml"]
        assert report.failures == []

    def test_is_switched_on_and_off_and_no_url_is_lost_meanwhile(
        self,
        folder: Path,
        robots: Path,
        configure: Callable[..., None],
        clock: Clock,
        at_every_step: Callable[[list[str]], list[Any]],
    ) -> None:
        sitemaps = {"a": Numbers(9)}
        export(output=folder, sitemaps=sitemaps, robots=robots)
        pages = {path: path.stat().st_mtime_ns for path in folder.glob("*.gz")}
        at_every_step(published(folder))
        plain = {"sitemap.xml": ["a1", "a2", "a3"], "sitemap-2.xml": ["a4", "a5"]}
        cascade = {
            "sitemap.xml": ["sitemap-1.xml", "sitemap-2.xml"],
            "sitemap-1.xml": ["a1", "a2", "a3"],
            "sitemap-2.xml": ["a4", "a5"],
        }
        for on, expected in ((True, cascade), (False, plain), (True, cascade), (False, plain)):
            configure(CASCADE=on)
            assert export(output=folder, sitemaps=sitemaps, robots=robots).failures == []
            assert indexed(folder).items() >= expected.items()
            assert set(known(folder).indexes) == set(expected)
            assert announced(robots) == (["sitemap.xml"] if on else ["sitemap.xml", "sitemap-2.xml"])
            assert export(output=folder, sitemaps=sitemaps, robots=robots).written == ()
        assert "sitemap-1.xml" in known(folder).removed
        clock.time += timedelta(days=1)
        export(output=folder, sitemaps=sitemaps, robots=robots)
        assert indexed(folder) == plain
        assert {path: path.stat().st_mtime_ns for path in folder.glob("*.gz")} == pages

    @pytest.mark.django_db
    @pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
    def test_is_switched_while_pages_are_split_and_robots_txt_announces_every_url_meanwhile(
        self,
        folder: Path,
        robots: Path,
        configure: Callable[..., None],
        monkeypatch: pytest.MonkeyPatch,
        on: bool,
    ) -> None:
        configure(MAX_URLS=3, CASCADE=not on)
        keys = range(10, 400, 10)
        write_articles(*keys)
        sitemaps = {"articles": articles()}
        export(output=folder, sitemaps=sitemaps, robots=robots)
        write_articles(*range(101, 109), 251, 252, *range(391, 400))
        configure(CASCADE=on)
        replace, steps = Path.replace, []

        def watched(self: Path, target: Path) -> Path:
            done = replace(self, target)
            steps.append(target.name)
            missing = {*slugs(*keys)} - found_by_crawlers(folder, robots)
            assert not missing, f"{len(missing)} announced nowhere after {target}"
            return done

        monkeypatch.setattr(Path, "replace", watched)
        (section,) = export(output=folder, sitemaps=sitemaps, robots=robots).sections
        assert section.split > 1
        assert len(steps) > 10
        assert {*slugs(*keys, 251, 252)} <= found_by_crawlers(folder, robots)

    def test_ends_if_one_index_is_enough_again(
        self, folder: Path, robots: Path, configure: Callable[..., None], clock: Clock
    ) -> None:
        configure(CASCADE=True)
        export(output=folder, sitemaps={"a": Numbers(9)}, robots=robots)
        export(output=folder, sitemaps={"a": Numbers(5)}, robots=robots)
        clock.time += timedelta(days=1)
        export(output=folder, sitemaps={"a": Numbers(5)}, robots=robots)
        assert indexed(folder) == {"sitemap.xml": ["a1", "a2", "a3"]}


class TestIndexesWithoutAManifest:
    @pytest.mark.parametrize("cascade", [False, True])
    def test_are_all_adopted_and_each_page_is_listed_once(
        self, folder: Path, robots: Path, configure: Callable[..., None], cascade: bool
    ) -> None:
        sitemaps = {"a": Numbers(9), "b": Numbers(5)}
        # The indexes left over from a cascade list the same pages.
        for on in (not cascade, cascade):
            configure(CASCADE=on)
            export(output=folder, sitemaps=sitemaps, robots=robots)
        before, found = indexed(folder), known(folder)
        (folder / STATE / ROOT).unlink()
        report = export(["b"], output=folder, sitemaps=sitemaps, robots=robots)
        assert report.failures == []
        after = known(folder)
        assert indexed(folder) == before
        assert [page.number for page in after.sections["a"].pages] == [1, 2, 3, 4, 5]
        assert set(after.indexes) == set(found.indexes)

    def test_of_other_programs_are_not_removed(self, folder: Path, robots: Path, clock: Clock) -> None:
        folder.mkdir()
        entry = f"<sitemap><loc>{BASE}/news/sitemap.xml</loc></sitemap>"
        theirs = f'<sitemapindex xmlns="{SPACE[1:-1]}">{entry}</sitemapindex>'
        (folder / "sitemap-2024.xml").write_text(theirs)
        for _ in range(3):
            export(output=folder, sitemaps={"a": Numbers(1)}, robots=robots)
            clock.time += timedelta(days=30)
        assert (folder / "sitemap-2024.xml").read_text() == theirs


class TestTheSchemas:
    @pytest.mark.parametrize("cascade", [False, True])
    def test_admit_every_index(
        self, schema: Any, folder: Path, configure: Callable[..., None], cascade: bool
    ) -> None:
        from lxml import etree

        configure(CASCADE=cascade)
        sitemaps = {"a": type("Dated", (Numbers,), {"lastmod": datetime(2026, 1, 1)})(9), "b": Numbers(3)}
        export(output=folder, sitemaps=sitemaps)
        assert len(indexed(folder)) == 3 + cascade
        for name in indexed(folder):
            schema.assertValid(etree.fromstring((folder / name).read_bytes()))
