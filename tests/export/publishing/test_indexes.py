"""Several indexes: which index lists which page, and that readers find all pages at every moment."""

from __future__ import annotations

import gzip
import re
import shutil
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from django_sitemaps09.export import export
from django_sitemaps09.filenames import index_name, index_number
from django_sitemaps09.protocol import Limits
from django_sitemaps09.state.manifest import ROOT
from django_sitemaps09.stores import STATE, LocalStore
from tests.models import Article
from tests.support.commands import Broken
from tests.support.configuration import BASE
from tests.support.exports import locations
from tests.support.killing import Killed
from tests.support.manifests import articles, known, slugs, write_articles
from tests.support.published import SPACE
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09(MAX_URLS=2)


def delete_articles(*keys):
    Article.objects.filter(pk__in=keys).delete()


def names_in(data):
    return [url.removeprefix(f"{BASE}/") for url in locations(data)]


@contextmanager
def killed_at_the_index(*, is_replaced=False):
    """Kill the export in the block before, or right after, it replaces the first index."""
    promote = LocalStore.promote

    def killed(store, staged, name):
        if name != "sitemap.xml" or is_replaced:
            promote(store, staged, name)
        if name == "sitemap.xml":
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalStore, "promote", killed)
        with pytest.raises(Killed):
            yield


class Site:
    """A site whose indexes robots.txt announces."""

    def __init__(self, folder, configure):
        self.folder, self.configure = folder, configure
        self.robots = folder.with_name("robots.txt")

    def __call__(self, *names, **options):
        return export(names, **{"output": self.folder, "robots": self.robots, **options})

    @property
    def indexed(self):
        """The pages that each index lists, abbreviated: `a1` is page 1 of section `a`."""
        found = {}
        for path in self.folder.iterdir():
            if index_number(path.name):
                named = names_in(path.read_bytes())
                found[path.name] = [
                    re.sub(r"sitemap-(\w)\w*-(\d+)\.xml\.gz", r"\1\2", name) for name in named
                ]
        return found

    @property
    def announced(self):
        """The indexes in robots.txt."""
        lines = self.robots.read_text().splitlines()
        return [line.removeprefix(f"Sitemap: {BASE}/") for line in lines if line.startswith("Sitemap: ")]

    def published(self, names=()):
        """Return every URL that a reader finds from these files on, or from all indexes of the folder."""
        names = [*names] or [path.name for path in self.folder.iterdir() if index_number(path.name)]
        found = set()
        for name in names:
            path = self.folder / name
            if not index_number(name):
                found |= {f"/{url}" for url in names_in(gzip.decompress(path.read_bytes()))}
            elif path.exists():
                names += [other for other in names_in(path.read_bytes()) if other not in names]
        return found

    @contextmanager
    def watched(self, urls, find):
        """Check after each step that these URLs are found. Yield what the indexes listed after each."""
        seen = []
        replace, wanted = Path.replace, {*urls}

        def replaced(path, target):
            done = replace(path, target)
            missing = wanted - find()
            assert not missing, f"{sorted(missing)} not there after {target}"
            seen.append(self.indexed)
            return done

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "replace", replaced)
            yield seen


@pytest.fixture(autouse=True)
def _three_pages_in_an_index(monkeypatch):
    monkeypatch.setattr("django_sitemaps09.protocol.INDEX_LIMITS", Limits(3, 50_000))


@pytest.fixture
def site(folder, configure):
    return Site(folder, configure)


def test_no_index_has_the_name_of_a_page():
    assert [index_name(1), index_name(2), index_name(1, cascade=True)] == [
        "sitemap.xml", "sitemap-2.xml", "sitemap-1.xml"
    ]  # fmt: skip
    assert all(map(index_number, ["sitemap.xml", "sitemap-1.xml", "sitemap-20.xml"]))
    others = ["sitemap-0.xml", "sitemap-a-1.xml", "sitemap-1.xml.gz", "sitemap-01.xml", "xsitemap.xml", ""]
    assert not any(map(index_number, others))


@pytest.mark.django_db
class TestSeveralIndexes:
    def test_are_as_few_as_the_limit_allows(self, site):
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
            report = site(sitemaps={"a": Numbers(count)})
            assert site.indexed == expected
            assert list(report.indexes) == site.announced == list(expected)
            assert set(known(site.folder).indexes) == set(expected)
            assert report.failures == []
            assert len(site.published()) == count

    def test_keep_their_pages_and_a_new_one_is_in_the_first_with_room(self, site):
        sitemaps = {"articles": articles(), "numbers": Numbers(1)}
        write_articles(*range(1, 11))
        site(sitemaps=sitemaps)
        assert site.indexed == {"sitemap.xml": ["a1", "a2", "a3"], "sitemap-2.xml": ["a4", "a5", "n1"]}
        # The second page is gone. The others stay in their indexes.
        delete_articles(3, 4)
        site(sitemaps=sitemaps)
        assert site.indexed == {"sitemap.xml": ["a1", "a3"], "sitemap-2.xml": ["a4", "a5", "n1"]}
        write_articles(11)
        site(sitemaps=sitemaps)
        assert site.indexed == {"sitemap.xml": ["a1", "a3", "a6"], "sitemap-2.xml": ["a4", "a5", "n1"]}
        write_articles(12, 13)
        site(sitemaps=sitemaps)
        assert site.indexed == {
            "sitemap.xml": ["a1", "a3", "a6"],
            "sitemap-2.xml": ["a4", "a5", "n1"],
            "sitemap-3.xml": ["a7"],
        }

    def test_keep_a_page_that_another_one_was_merged_into(self, site):
        site.configure(MAX_URLS=4)
        write_articles(*range(1, 25))
        sitemaps = {"articles": articles()}
        site(sitemaps=sitemaps)
        assert site.indexed == {"sitemap.xml": ["a1", "a2", "a3"], "sitemap-2.xml": ["a4", "a5", "a6"]}
        # There is room in the first index now. Then the fourth and the fifth page have half a page each.
        delete_articles(1, 2, 3, 4)
        site(sitemaps=sitemaps)
        assert site.indexed["sitemap.xml"] == ["a2", "a3"]
        delete_articles(13, 14, 17, 18)
        with site.watched(slugs(*range(5, 13), 15, 16, *range(19, 25)), site.published):
            (section,) = site(sitemaps=sitemaps).sections
            assert (section.urls, section.merged) == (16, 1)
            (section,) = site(sitemaps=sitemaps).sections
            assert (section.written, section.merged) == (0, 0)
        assert site.indexed == {"sitemap.xml": ["a2", "a3"], "sitemap-2.xml": ["a4", "a6"]}

    def test_are_rebuilt_from_their_manifest_whoever_is_exported(self, site):
        sitemaps = {name: Numbers(5) for name in "abc"}
        site(sitemaps=sitemaps)
        before = site.indexed
        assert before == {
            "sitemap.xml": ["a1", "a2", "a3"],
            "sitemap-2.xml": ["b1", "b2", "b3"],
            "sitemap-3.xml": ["c1", "c2", "c3"],
        }
        states = {name: (site.folder / name).stat().st_mtime_ns for name in before}
        site("b", sitemaps={**sitemaps, "b": Numbers(3)})
        assert site.indexed == {**before, "sitemap-2.xml": ["b1", "b2"]}
        for name in ("sitemap.xml", "sitemap-3.xml"):
            assert (site.folder / name).stat().st_mtime_ns == states[name]
        (site.folder / "sitemap-3.xml").unlink()
        (site.folder / "sitemap.xml").write_text("damaged")
        site("b", sitemaps={**sitemaps, "b": Numbers(3)})
        assert site.indexed == {**before, "sitemap-2.xml": ["b1", "b2"]}

    def test_that_no_file_announces_are_published_and_reported(self, site):
        report = site(sitemaps={"a": Numbers(7)}, robots=None)
        assert report.published
        (failure,) = report.failures
        assert "2 index files" in failure
        assert "'ROBOTS_TXT'" in failure
        assert "'CASCADE'" in failure
        assert len(site.published()) == 7
        assert site(sitemaps={"a": Numbers(7)}).failures == []
        site.configure(CASCADE=True)
        assert site(sitemaps={"a": Numbers(7)}, robots=None).failures == []

    @pytest.mark.parametrize("most", [300, 400, 500, 1_000])
    @pytest.mark.parametrize("lastmod", [None, datetime(2026, 1, 1, 10, 30, 15, tzinfo=timezone.utc)])
    def test_have_no_more_bytes_than_their_limit(self, site, monkeypatch, most, lastmod):
        monkeypatch.setattr("django_sitemaps09.protocol.INDEX_LIMITS", Limits(50_000, most))
        sitemaps = {name: type("Dated", (Numbers,), {"lastmod": lastmod})(21) for name in ("a", "longer")}
        site(sitemaps=sitemaps)
        sizes = [(site.folder / name).stat().st_size for name in site.indexed]
        assert max(sizes) <= most
        assert len(sizes) == len(site.announced) > 1
        assert sum(map(len, site.indexed.values())) == 22

    def test_that_become_empty_are_no_longer_announced_and_are_removed_later(self, site, clock):
        site(sitemaps={"a": Numbers(9)})
        before = (site.folder / "sitemap-2.xml").read_bytes()
        site(sitemaps={"a": Numbers(5)})
        assert site.announced == ["sitemap.xml"]
        assert (site.folder / "sitemap-2.xml").read_bytes() == before
        assert "sitemap-2.xml" in known(site.folder).removed
        clock.time += timedelta(days=1)
        report = site(sitemaps={"a": Numbers(5)})
        assert "sitemap-2.xml" in report.deleted
        assert list(site.indexed) == ["sitemap.xml"]
        # Later, it is created again when it is needed.
        site(sitemaps={"a": Numbers(9)})
        assert site.announced == ["sitemap.xml", "sitemap-2.xml"]
        assert site.indexed["sitemap-2.xml"] == ["a6", "a7"]
        assert known(site.folder).removed == {}

    def test_that_return_before_their_removal_are_kept(self, site, clock):
        for count in (9, 5, 9):
            site(sitemaps={"a": Numbers(count)})
        clock.time += timedelta(days=30)
        for _ in range(2):
            site(sitemaps={"a": Numbers(9)})
        assert site.announced == sorted(site.indexed, key=len) == ["sitemap.xml", "sitemap-2.xml"]
        assert len(site.published()) == 9

    def test_that_a_killed_export_had_published_again_are_kept_like_others_that_become_empty(
        self, site, clock
    ):
        site(sitemaps={"a": Numbers(9)})
        site(sitemaps={"a": Numbers(5)})
        clock.time += timedelta(hours=23)
        with killed_at_the_index():
            site(sitemaps={"a": Numbers(9)})
        assert site.announced == ["sitemap.xml", "sitemap-2.xml"]
        for run in (site.folder / STATE).glob("run-*"):
            shutil.rmtree(run)
        # It was removed more than a day ago, but announced two hours ago.
        clock.time += timedelta(hours=2)
        report = site(sitemaps={"a": Numbers(5)})
        assert site.announced == ["sitemap.xml"]
        assert report.deleted == ("sitemap-a-4.xml.gz", "sitemap-a-5.xml.gz")
        assert site.indexed["sitemap-2.xml"] == ["a6", "a7"]
        clock.time += timedelta(days=1)
        assert "sitemap-2.xml" in site(sitemaps={"a": Numbers(5)}).deleted

    def test_of_a_killed_export_keep_their_files_after_the_next_run_finishes_it(self, site, clock):
        """Crawlers have read the old index until then, however long ago the export was killed."""
        write_articles(*range(1, 10))
        site(sitemaps={"a": articles()})
        named = {
            f"sitemap-{name[0]}-{name[1:]}.xml.gz" for names in site.indexed.values() for name in names
        }
        with killed_at_the_index():
            site(sitemaps={"a": articles()}, rebalance=True)
        clock.time += timedelta(days=2)
        assert site(sitemaps={"a": articles()}).deleted == ()
        assert named <= {path.name for path in site.folder.iterdir()}
        clock.time += timedelta(days=2)
        assert {*site(sitemaps={"a": articles()}).deleted} >= named

    def test_of_a_killed_export_are_announced_if_cascade_was_switched_on_meanwhile(self, site, clock):
        site(sitemaps={"a": Numbers(5)})
        with killed_at_the_index(is_replaced=True):
            site(sitemaps={"a": Numbers(9)})
        site.configure(CASCADE=True)
        assert not site(sitemaps={"a": Numbers(9), "b": Broken(1)}, strict=True).published
        assert site.announced == ["sitemap.xml", "sitemap-2.xml"]

    @pytest.mark.parametrize("cascade", [False, True])
    def test_are_never_without_the_first_one(self, site, clock, cascade):
        site.configure(CASCADE=cascade)
        site(sitemaps={"a": Numbers(6), "b": Numbers(4)})
        with site.watched([f"/numbers/{number}/" for number in range(4)], site.published):
            report = site(sitemaps={"b": Numbers(4)}, remove=["a"])
        assert report.failures == []
        clock.time += timedelta(days=1)
        site(sitemaps={"b": Numbers(4)})
        assert site.indexed == {"sitemap.xml": ["b1", "b2"]}
        assert site.announced == ["sitemap.xml"]

    @pytest.mark.parametrize(
        ("before", "after"), [(False, False), (True, True), (False, True), (True, False)]
    )
    def test_that_robots_txt_announces_name_every_url_at_every_step(self, site, before, after):
        """The setting `CASCADE` is switched on or off, or neither, while pages are divided."""
        site.configure(MAX_URLS=3, CASCADE=before)
        write_articles(*range(10, 400, 10))
        sitemaps = {"articles": articles(), "b": Numbers(1)}
        site(sitemaps=sitemaps)
        assert len(site.indexed) == 5 + before
        # Pages in the middle are split, the last one gets an upper bound, some are removed, and some are
        # merged.
        write_articles(*range(101, 109), 251, 252, *range(391, 400))
        delete_articles(10, 20, 30, 310, 320, 340, 350)
        stay = slugs(*Article.objects.filter(pk__in=range(10, 400, 10)).values_list("pk", flat=True))
        site.configure(CASCADE=after)
        with site.watched(stay, lambda: site.published(site.announced)) as seen:
            (section, _) = site(sitemaps=sitemaps).sections
            assert section.split > 1
            assert section.merged > 0
            assert site(sitemaps=sitemaps).written == ()
        assert len(seen) > 10
        roots = {"sitemap.xml"} if before or after else set()
        assert max(len(state[name]) for state in seen for name in state.keys() - roots) == 3
        every = slugs(*Article.objects.values_list("pk", flat=True))
        assert site.published() >= site.published(site.announced) >= {*every}


class TestACascade:
    def test_begins_if_one_index_is_not_enough_and_ends_if_it_is_again(self, site, clock):
        site.configure(CASCADE=True)
        site(sitemaps={"a": Numbers(6)})
        assert site.indexed == {"sitemap.xml": ["a1", "a2", "a3"]}
        report = site(sitemaps={"a": Numbers(9)})
        assert site.indexed == {
            "sitemap.xml": ["sitemap-1.xml", "sitemap-2.xml"],
            "sitemap-1.xml": ["a1", "a2", "a3"],
            "sitemap-2.xml": ["a4", "a5"],
        }
        assert list(report.indexes) == site.announced == ["sitemap.xml"]
        assert report.failures == []
        for _ in range(2):
            site(sitemaps={"a": Numbers(5)})
            clock.time += timedelta(days=1)
        assert site.indexed == {"sitemap.xml": ["a1", "a2", "a3"]}

    def test_is_switched_on_and_off_and_no_url_is_lost_meanwhile(self, site, clock):
        sitemaps = {"a": Numbers(9)}
        site(sitemaps=sitemaps)
        pages = {path: path.stat().st_mtime_ns for path in site.folder.glob("*.gz")}
        plain = {"sitemap.xml": ["a1", "a2", "a3"], "sitemap-2.xml": ["a4", "a5"]}
        cascade = {
            "sitemap.xml": ["sitemap-1.xml", "sitemap-2.xml"],
            "sitemap-1.xml": ["a1", "a2", "a3"],
            "sitemap-2.xml": ["a4", "a5"],
        }
        with site.watched(site.published(), site.published):
            for on, expected in ((True, cascade), (False, plain), (True, cascade), (False, plain)):
                site.configure(CASCADE=on)
                assert site(sitemaps=sitemaps).failures == []
                assert site.indexed.items() >= expected.items()
                assert set(known(site.folder).indexes) == set(expected)
                assert site.announced == (["sitemap.xml"] if on else ["sitemap.xml", "sitemap-2.xml"])
                assert site(sitemaps=sitemaps).written == ()
        assert "sitemap-1.xml" in known(site.folder).removed
        clock.time += timedelta(days=1)
        site(sitemaps=sitemaps)
        assert site.indexed == plain
        assert {path: path.stat().st_mtime_ns for path in site.folder.glob("*.gz")} == pages


class TestIndexesWithoutAManifest:
    @pytest.mark.parametrize("cascade", [False, True])
    def test_are_all_adopted_and_each_page_is_listed_once(self, site, cascade):
        sitemaps = {"a": Numbers(9), "b": Numbers(5)}
        # The indexes left over from a cascade list the same pages.
        for on in (not cascade, cascade):
            site.configure(CASCADE=on)
            site(sitemaps=sitemaps)
        before, found = site.indexed, known(site.folder)
        (site.folder / STATE / ROOT).unlink()
        report = site("b", sitemaps=sitemaps)
        assert report.failures == []
        after = known(site.folder)
        assert site.indexed == before
        assert [page.number for page in after.sections["a"].pages] == [1, 2, 3, 4, 5]
        assert set(after.indexes) == set(found.indexes)

    def test_of_other_programs_are_not_removed(self, site, clock):
        site.folder.mkdir()
        entry = f"<sitemap><loc>{BASE}/news/sitemap.xml</loc></sitemap>"
        theirs = f'<sitemapindex xmlns="{SPACE[1:-1]}">{entry}</sitemapindex>'
        (site.folder / "sitemap-2024.xml").write_text(theirs)
        for _ in range(3):
            site(sitemaps={"a": Numbers(1)})
            clock.time += timedelta(days=30)
        assert (site.folder / "sitemap-2024.xml").read_text() == theirs
