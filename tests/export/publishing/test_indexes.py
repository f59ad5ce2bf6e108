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
from tests.models import Article
from tests.support.commands import Broken
from tests.support.configuration import BASE, limit_indexes
from tests.support.exports import locations, promoting
from tests.support.internals import ROOT, STATE, filenames
from tests.support.killing import Killed
from tests.support.manifests import articles, known, slugs, write_articles
from tests.support.published import SPACE
from tests.support.sections import Numbers, declare

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(MAX_URLS=2)]


def delete_articles(*keys):
    Article.objects.filter(pk__in=keys).delete()


def names_in(data):
    return [url.removeprefix(f"{BASE}/") for url in locations(data)]


@contextmanager
def killed_at_the_index(*, is_replaced=False):
    """Kill the export in the block before, or right after, it replaces the first index."""

    def kill(store, name):
        if name == "sitemap.xml":
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        promoting(patch, **{"after" if is_replaced else "before": kill})
        with pytest.raises(Killed):
            yield


class Site:
    """A site whose indexes robots.txt announces."""

    def __init__(self, folder, configure):
        self.folder, self.configure, self.robots = folder, configure, folder.with_name("robots.txt")

    def __call__(self, *names, **options):
        """Export sections, numbers of which may be given as so many numbers."""
        sitemaps = {name: options.pop(name) for name in "abc" if name in options}
        sitemaps = {name: Numbers(of) if isinstance(of, int) else of for name, of in sitemaps.items()}
        options = {"output": self.folder, "robots": self.robots, "sitemaps": sitemaps, **options}
        return export(names, **options)

    @property
    def indexed(self):
        """The pages that each index lists, abbreviated: `a1` is page 1 of section `a`."""
        found = [path for path in self.folder.iterdir() if filenames.index_number(path.name)]
        listed = {path.name: " ".join(names_in(path.read_bytes())) for path in found}
        page = r"sitemap-(\w)\w*-(\d+)\.xml\.gz"
        return {name: re.sub(page, r"\1\2", names) for name, names in listed.items()}

    @property
    def announced(self):
        return re.findall(rf"^Sitemap: {BASE}/(.*)$", self.robots.read_text(), re.MULTILINE)

    def published(self, names=()):
        """Return every URL that a reader finds from these files on, or from all indexes of the folder."""
        files = (path.name for path in self.folder.iterdir())
        names = [*names] or [*filter(filenames.index_number, files)]
        found = set()
        for name in names:
            path = self.folder / name
            if not filenames.index_number(name):
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


@pytest.fixture
def site(folder, configure, monkeypatch):
    limit_indexes(monkeypatch, 3)
    return Site(folder, configure)


def test_no_index_has_the_name_of_a_page():
    names = [filenames.index_name(1), filenames.index_name(2), filenames.index_name(1, cascade=True)]
    assert names == ["sitemap.xml", "sitemap-2.xml", "sitemap-1.xml"]
    assert all(map(filenames.index_number, [*names, "sitemap-20.xml"]))
    others = ["sitemap-0.xml", "sitemap-a-1.xml", "sitemap-1.xml.gz", "sitemap-01.xml", "xsitemap.xml", ""]
    assert not any(map(filenames.index_number, others))


def test_indexes_are_as_few_as_the_limit_allows(site):
    for count, *pages in ((6, "a1 a2 a3"), (7, "a1 a2 a3", "a4"), (14, "a1 a2 a3", "a4 a5 a6", "a7")):
        report = site(a=count)
        expected = {filenames.index_name(at): found for at, found in enumerate(pages, 1)}
        assert (site.indexed, report.failures, len(site.published())) == (expected, [], count)
        assert [*report.indexes] == site.announced == [*expected]
        assert {*known(site.folder).indexes} == {*expected}


def test_indexes_keep_their_pages_and_a_new_one_is_in_the_first_with_room(site):
    write_articles(*range(1, 11))
    for deleted, added, first, third in (
        ((), (), "a1 a2 a3", None),
        # The second page is gone. The others stay in their indexes.
        ((3, 4), (), "a1 a3", None),
        ((), (11,), "a1 a3 a6", None),
        ((), (12, 13), "a1 a3 a6", "a7"),
    ):
        delete_articles(*deleted)
        write_articles(*added)
        site(a=articles(), b=1)
        expected = {"sitemap.xml": first, "sitemap-2.xml": "a4 a5 b1", "sitemap-3.xml": third}
        assert site.indexed == {name: pages for name, pages in expected.items() if pages}


def test_indexes_keep_a_page_that_another_one_was_merged_into(site):
    site.configure(MAX_URLS=4)
    write_articles(*range(1, 25))
    site(a=articles())
    assert site.indexed == {"sitemap.xml": "a1 a2 a3", "sitemap-2.xml": "a4 a5 a6"}
    # There is room in the first index now. Then the fourth and the fifth page have half a page each.
    delete_articles(1, 2, 3, 4)
    site(a=articles())
    assert site.indexed["sitemap.xml"] == "a2 a3"
    delete_articles(13, 14, 17, 18)
    with site.watched(slugs(*range(5, 13), 15, 16, *range(19, 25)), site.published):
        [section] = site(a=articles()).sections
        assert (section.urls, section.merged) == (16, 1)
        [section] = site(a=articles()).sections
        assert (section.written, section.merged) == (0, 0)
    assert site.indexed == {"sitemap.xml": "a2 a3", "sitemap-2.xml": "a4 a6"}


def test_indexes_are_rebuilt_from_their_manifest_whoever_is_exported(site):
    site(a=5, b=5, c=5)
    before = site.indexed
    assert before == {"sitemap.xml": "a1 a2 a3", "sitemap-2.xml": "b1 b2 b3", "sitemap-3.xml": "c1 c2 c3"}
    others = [site.folder / name for name in ("sitemap.xml", "sitemap-3.xml")]
    times = [path.stat().st_mtime_ns for path in others]
    site("b", a=5, b=3, c=5)
    assert site.indexed == {**before, "sitemap-2.xml": "b1 b2"}
    assert [path.stat().st_mtime_ns for path in others] == times
    others[0].write_text("damaged")
    others[1].unlink()
    site("b", a=5, b=3, c=5)
    assert site.indexed == {**before, "sitemap-2.xml": "b1 b2"}


def test_indexes_that_no_file_announces_are_published_and_reported_without_a_cascade(site):
    report = site(a=7, robots=None)
    [failure] = report.failures
    assert (report.published, len(site.published())) == (True, 7)
    assert [word for word in ("2 index files", "'ROBOTS_TXT'", "'CASCADE'") if word not in failure] == []
    assert site(a=7).failures == []
    site.configure(CASCADE=True)
    assert site(a=7, robots=None).failures == []


@pytest.mark.parametrize("most", [300, 400, 500, 1_000])
@pytest.mark.parametrize("lastmod", [None, datetime(2026, 1, 1, 10, 30, 15, tzinfo=timezone.utc)])
def test_indexes_have_no_more_bytes_than_their_limit(site, monkeypatch, most, lastmod):
    limit_indexes(monkeypatch, 50_000, most)
    site(sitemaps={name: declare(Numbers, lastmod=lastmod)(21) for name in ("a", "longer")})
    sizes = [(site.folder / name).stat().st_size for name in site.indexed]
    assert max(sizes) <= most
    assert len(sizes) == len(site.announced) > 1
    assert sum(len(pages.split()) for pages in site.indexed.values()) == 22


def test_indexes_that_become_empty_are_no_longer_announced_and_are_removed_later(site, clock):
    site(a=9)
    before = (site.folder / "sitemap-2.xml").read_bytes()
    site(a=5)
    assert (site.announced, (site.folder / "sitemap-2.xml").read_bytes()) == (["sitemap.xml"], before)
    assert "sitemap-2.xml" in known(site.folder).removed
    clock.time += timedelta(days=1)
    assert ("sitemap-2.xml" in site(a=5).deleted, [*site.indexed]) == (True, ["sitemap.xml"])
    # Later, it is created again when it is needed, or kept if that is before its removal.
    for counts, pages in (((9,), "a6 a7"), ((5, 9, 9), "a8 a9")):
        for count in counts:
            site(a=count)
        assert (site.announced, site.indexed["sitemap-2.xml"]) == (["sitemap.xml", "sitemap-2.xml"], pages)
        assert "sitemap-2.xml" not in known(site.folder).removed
        clock.time += timedelta(days=30)
    assert ("sitemap-2.xml" in site(a=9).deleted, len(site.published())) == (False, 9)


def test_indexes_that_a_killed_export_had_published_again_are_kept_for_a_while(site, clock):
    for count in (9, 5):
        site(a=count)
    clock.time += timedelta(hours=23)
    with killed_at_the_index():
        site(a=9)
    assert site.announced == ["sitemap.xml", "sitemap-2.xml"]
    for run in (site.folder / STATE).glob("run-*"):
        shutil.rmtree(run)
    # It was removed more than a day ago, but announced two hours ago.
    clock.time += timedelta(hours=2)
    assert site(a=5).deleted == ("sitemap-a-4.xml.gz", "sitemap-a-5.xml.gz")
    assert (site.announced, site.indexed["sitemap-2.xml"]) == (["sitemap.xml"], "a6 a7")
    clock.time += timedelta(days=1)
    assert "sitemap-2.xml" in site(a=5).deleted


def test_indexes_of_a_killed_export_keep_their_files_after_the_next_run_finishes_it(site, clock):
    """Crawlers have read the old index until then, however long ago the export was killed."""
    write_articles(*range(1, 10))
    site(a=articles())
    named = {path.name for path in site.folder.glob("*.gz")}
    with killed_at_the_index():
        site(a=articles(), rebalance=True)
    clock.time += timedelta(days=2)
    assert site(a=articles()).deleted == ()
    assert named <= {path.name for path in site.folder.iterdir()}
    clock.time += timedelta(days=2)
    assert {*site(a=articles()).deleted} >= named


def test_indexes_of_a_killed_export_are_announced_if_cascade_was_switched_on_meanwhile(site):
    site(a=5)
    with killed_at_the_index(is_replaced=True):
        site(a=9)
    site.configure(CASCADE=True)
    assert not site(a=9, b=Broken(1), strict=True).published
    assert site.announced == ["sitemap.xml", "sitemap-2.xml"]


@pytest.mark.parametrize("cascade", [False, True])
def test_indexes_are_never_without_the_first_one(site, clock, cascade):
    site.configure(CASCADE=cascade)
    site(a=6, b=4)
    with site.watched([f"/numbers/{number}/" for number in range(4)], site.published):
        assert site(b=4, remove=["a"]).failures == []
    clock.time += timedelta(days=1)
    site(b=4)
    assert (site.indexed, site.announced) == ({"sitemap.xml": "b1 b2"}, ["sitemap.xml"])


@pytest.mark.parametrize(("before", "after"), [(False, False), (True, True), (False, True), (True, False)])
def test_indexes_that_robots_txt_announces_name_every_url_at_every_step(site, before, after):
    """The setting `CASCADE` is switched on or off, or neither, while pages are divided."""
    site.configure(MAX_URLS=3, CASCADE=before)
    write_articles(*range(10, 400, 10))
    site(a=articles(), b=1)
    assert len(site.indexed) == 5 + before
    # Pages in the middle are split, the last one gets an upper bound, some are removed, and some merged.
    write_articles(*range(101, 109), 251, 252, *range(391, 400))
    delete_articles(10, 20, 30, 310, 320, 340, 350)
    stay = slugs(*Article.objects.filter(pk__in=range(10, 400, 10)).values_list("pk", flat=True))
    site.configure(CASCADE=after)
    with site.watched(stay, lambda: site.published(site.announced)) as seen:
        section, _ = site(a=articles(), b=1).sections
        assert (section.split > 1, section.merged > 0, site(a=articles(), b=1).written) == (True, True, ())
    assert len(seen) > 10
    roots = {"sitemap.xml"} if before or after else set()
    assert max(len(state[name].split()) for state in seen for name in state.keys() - roots) == 3
    every = slugs(*Article.objects.values_list("pk", flat=True))
    assert site.published() >= site.published(site.announced) >= {*every}


PLAIN = {"sitemap.xml": "a1 a2 a3", "sitemap-2.xml": "a4 a5"}
CASCADE = {**PLAIN, "sitemap.xml": "sitemap-1.xml sitemap-2.xml", "sitemap-1.xml": "a1 a2 a3"}


def test_a_cascade_begins_if_one_index_is_not_enough_and_ends_if_it_is_again(site, clock):
    site.configure(CASCADE=True)
    site(a=6)
    assert site.indexed == {"sitemap.xml": "a1 a2 a3"}
    report = site(a=9)
    assert (site.indexed, report.failures) == (CASCADE, [])
    assert [*report.indexes] == site.announced == ["sitemap.xml"]
    for _ in range(2):
        site(a=5)
        clock.time += timedelta(days=1)
    assert site.indexed == {"sitemap.xml": "a1 a2 a3"}


def test_a_cascade_is_switched_on_and_off_and_no_url_is_lost_meanwhile(site, clock):
    site(a=9)
    pages = {path: path.stat().st_mtime_ns for path in site.folder.glob("*.gz")}
    with site.watched(site.published(), site.published):
        for on, expected in ((True, CASCADE), (False, PLAIN)) * 2:
            site.configure(CASCADE=on)
            assert (site(a=9).failures, site.indexed.items() >= expected.items()) == ([], True)
            assert {*known(site.folder).indexes} == {*expected}
            assert site.announced == (["sitemap.xml"] if on else ["sitemap.xml", "sitemap-2.xml"])
            assert site(a=9).written == ()
    clock.time += timedelta(days=1)
    site(a=9)
    assert site.indexed == PLAIN
    assert {path: path.stat().st_mtime_ns for path in site.folder.glob("*.gz")} == pages


@pytest.mark.parametrize("cascade", [False, True])
def test_indexes_without_a_manifest_are_all_adopted_and_each_page_is_listed_once(site, cascade):
    # The indexes left over from a cascade list the same pages.
    for on in (not cascade, cascade):
        site.configure(CASCADE=on)
        site(a=9, b=5)
    before, found = site.indexed, known(site.folder)
    (site.folder / STATE / ROOT).unlink()
    assert site("b", a=9, b=5).failures == []
    after = known(site.folder)
    assert (site.indexed, {*after.indexes}) == (before, {*found.indexes})
    assert [page.number for page in after.sections["a"].pages] == [1, 2, 3, 4, 5]


def test_indexes_of_other_programs_are_not_removed(site, clock):
    site.folder.mkdir()
    entry = f"<sitemap><loc>{BASE}/news/sitemap.xml</loc></sitemap>"
    theirs = f'<sitemapindex xmlns="{SPACE[1:-1]}">{entry}</sitemapindex>'
    (site.folder / "sitemap-2024.xml").write_text(theirs)
    for _ in range(3):
        site(a=1)
        clock.time += timedelta(days=30)
    assert (site.folder / "sitemap-2024.xml").read_text() == theirs
