"""The previous state of an export: page numbers, files no longer listed, and shrinking sections."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from django_sitemaps09.exceptions import ExportError, UnknownSectionError
from django_sitemaps09.export import export
from django_sitemaps09.state.manifest import ROOT
from django_sitemaps09.stores import STATE
from tests.models import Article
from tests.support.manifests import (
    DAY,
    articles,
    entries,
    known,
    numbers_of,
    paths,
    plain,
    touched,
    write_articles,
)
from tests.support.sections import Numbers

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09(MAX_URLS=2)]
SECOND = timedelta(seconds=1)


@pytest.mark.django_db
class TestNumbersOfPages:
    def test_are_not_used_again_for_positions_either(self, folder):
        for count, expected in ((6, [1, 2, 3]), (2, [1]), (6, [1, 4, 5]), (0, []), (3, [6, 7])):
            export(output=folder, sitemaps={"a": Numbers(count), "b": Numbers(1)})
            assert numbers_of(folder, "a") == expected

    def test_are_not_used_again_after_all_rows_were_gone_for_long(self, folder, clock):
        sitemaps = {"articles": articles(), "numbers": Numbers(1)}
        write_articles(1, 2, 3)
        export(output=folder, sitemaps=sitemaps)
        Article.objects.all().delete()
        export(output=folder, sitemaps=sitemaps)
        clock.time += 30 * DAY
        export(output=folder, sitemaps=sitemaps)
        assert not list(folder.glob("sitemap-articles-*"))
        write_articles(4)
        export(output=folder, sitemaps=sitemaps)
        assert numbers_of(folder, "articles") == [3]

    def test_are_not_used_again_by_a_section_that_was_removed_and_comes_back(self, folder, clock):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        export(output=folder, sitemaps={"b": Numbers(1)}, remove=["a"])
        clock.time += 30 * DAY
        export(output=folder, sitemaps={"b": Numbers(1)})
        assert not list(folder.glob("sitemap-a-*"))
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        assert numbers_of(folder, "a") == [3, 4]

    @pytest.mark.parametrize("name", ["sitemap-articles-7.xml", "sitemap-articles-7.xml.gz"])
    @pytest.mark.parametrize("when", ["before", "between"])
    def test_are_not_those_of_existing_files(self, folder, name, when):
        sitemaps = {"articles": articles(), "numbers": Numbers(1)}
        write_articles(1)
        if when == "between":
            export(output=folder, sitemaps=sitemaps)
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"of somebody")
        write_articles(2, 3, 4)
        export(output=folder, sitemaps=sitemaps)
        assert numbers_of(folder, "articles") == ([8, 9] if when == "before" else [1, 8])
        assert (folder / name).read_bytes() == b"of somebody"

    @pytest.mark.parametrize("digits", [9, 20, 200])
    def test_are_not_exhausted_by_a_file_with_a_huge_number(
        self, folder, state, register, configure, digits
    ):
        configure(ROOT=folder)
        register(articles=articles())
        write_articles(1, 2, 3)
        huge = [f"sitemap-articles-{'9' * digits}.xml.gz", f"sitemap-{'9' * digits}.xml"]
        folder.mkdir()
        for name in huge:
            (folder / name).write_bytes(b"")
        assert (export().failures, numbers_of(folder, "articles")) == ([], [1, 2])
        (state / ROOT).write_bytes(b"")
        write_articles(4, 5)
        assert (export().failures, numbers_of(folder, "articles")) == ([], [3, 4, 5])
        assert known(folder).sections["articles"].highest == 5
        write_articles(6, 7)
        # Live indexes list the last page by its range.
        assert b"sitemap-articles-4.xml" in Client().get("/sitemap.xml").content
        assert (export().failures, numbers_of(folder, "articles")) == ([], [3, 4, 5, 6])
        assert all((folder / name).exists() for name in huge)


@pytest.mark.django_db
class TestFilesThatNoIndexNamesAnyMore:
    GONE = "sitemap-articles-2.xml.gz"

    @pytest.fixture
    def sitemaps(self, folder, clock):
        """Sections whose page 2 was removed from the index at the time of the clock."""
        found = {"articles": articles(), "numbers": Numbers(1)}
        write_articles(*range(1, 7))
        export(output=folder, sitemaps=found)
        clock.time += DAY
        Article.objects.filter(pk__in=(3, 4)).delete()
        assert export(output=folder, sitemaps=found).deleted == ()
        assert numbers_of(folder, "articles") == [1, 3]
        return found

    @pytest.mark.parametrize("keep", [timedelta(0), SECOND, timedelta(hours=24), 7 * DAY])
    def test_are_deleted_by_the_first_run_after_the_delay(self, folder, clock, configure, sitemaps, keep):
        configure(KEEP_REMOVED=keep)
        if keep:
            clock.time += keep - SECOND
            assert export(output=folder, sitemaps=sitemaps).deleted == ()
            assert plain(folder, self.GONE)
            clock.time += SECOND
        report = export(["numbers"], output=folder, sitemaps=sitemaps)
        assert report.deleted == (self.GONE,)
        assert not (folder / self.GONE).exists()
        assert known(folder).removed == {}
        assert export(output=folder, sitemaps=sitemaps).deleted == ()

    def test_are_deleted_neither_by_a_dry_run_nor_by_a_strict_one_that_failed(
        self, folder, clock, sitemaps
    ):
        clock.time += 30 * DAY
        export(output=folder, sitemaps=sitemaps, dry_run=True)
        bad = {**sitemaps, "numbers": type("Bad", (Numbers,), {"priority": 7.0})(1)}
        assert export(output=folder, sitemaps=bad, strict=True).failures
        assert (folder / self.GONE).exists()
        export(output=folder, sitemaps=sitemaps)
        assert not (folder / self.GONE).exists()

    def test_are_the_only_files_that_are_deleted(self, folder, clock, sitemaps):
        others = [
            "sitemap-articles-9.xml.gz",
            "sitemap-2.xml",
            "sitemap-news-1.xml",
            "index.html",
            ".hidden",
        ]
        for name in others:
            (folder / name).write_text("not ours")
        for _ in range(5):
            clock.time += 30 * DAY
            Article.objects.filter(pk=1).update(slug=f"a{clock.time:%m%d}")
            export(output=folder, sitemaps=sitemaps)
        assert [(folder / name).read_text() for name in others] == ["not ours"] * len(others)
        assert not (folder / self.GONE).exists()

    def test_that_are_gone_already_are_not_an_error(self, folder, clock, sitemaps):
        (folder / self.GONE).unlink()
        clock.time += 30 * DAY
        assert export(output=folder, sitemaps=sitemaps).failures == []
        assert known(folder).removed == {}

    def test_are_also_those_of_the_other_compression(self, folder, clock, sitemaps):
        export(output=folder, sitemaps=sitemaps, gzip=False)
        assert list(entries(folder)) == [
            "sitemap-articles-1.xml", "sitemap-articles-3.xml", "sitemap-numbers-1.xml"
        ]  # fmt: skip
        assert plain(folder, "sitemap-articles-1.xml.gz") == plain(folder, "sitemap-articles-1.xml")
        clock.time += DAY
        export(output=folder, sitemaps=sitemaps, gzip=False)
        assert not list(folder.glob("*.gz"))


@pytest.mark.django_db
class TestTheLastmodInTheIndex:
    def test_of_a_page_changes_exactly_when_its_content_does(self, folder, clock):
        write_articles(1, 2, 3)
        one, two = "sitemap-articles-1.xml.gz", "sitemap-articles-2.xml.gz"

        def exported():
            clock.time += DAY
            export(output=folder, sitemaps={"articles": articles()})
            return entries(folder)

        first = {one: "2026-01-03T10:30:00Z", two: "2026-01-04T10:30:00Z"}
        assert exported() == first
        assert exported() == first
        model = Article
        model.objects.filter(pk=1).update(slug="other")
        changed = {one: "2026-09-04T12:00:00Z", two: first[two]}
        assert exported() == changed
        assert exported() == changed
        # The original content is restored, which is another change.
        model.objects.filter(pk=1).update(slug="a1")
        assert exported() == {one: "2026-09-06T12:00:00Z", two: first[two]}
        write_articles(4)
        assert exported() == {one: "2026-09-06T12:00:00Z", two: "2026-09-07T12:00:00Z"}
        write_articles(5)
        three = "sitemap-articles-3.xml.gz"
        expected = {one: "2026-09-06T12:00:00Z", two: "2026-09-07T12:00:00Z", three: "2026-09-08T12:00:00Z"}
        assert exported() == expected
        assert exported() == expected

    def test_of_a_page_without_lastmods_is_when_it_was_seen_to_change(self, folder, clock):
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert entries(folder) == {"sitemap-a-1.xml.gz": None}
        clock.time += DAY
        export(output=folder, sitemaps={"a": Numbers(2)})
        assert entries(folder) == {"sitemap-a-1.xml.gz": "2026-09-02T12:00:00Z"}

    def test_does_not_report_a_new_compression(self, folder, clock):
        write_articles(1)
        export(output=folder, sitemaps={"articles": articles()})
        clock.time += DAY
        export(output=folder, sitemaps={"articles": articles()}, gzip=False)
        assert entries(folder) == {"sitemap-articles-1.xml": "2026-01-02T10:30:00Z"}


class TestASectionThatShrinks:
    @pytest.fixture(autouse=True)
    def _large_pages(self, configure):
        configure(MAX_URLS=1_000)

    def exported(self, folder, count, **options):
        return export(output=folder, sitemaps={"a": Numbers(count), "b": Numbers(1)}, **options)

    @pytest.mark.parametrize(
        ("before", "after", "most", "passes"),
        [
            (200, 100, 0.5, True),
            (200, 99, 0.5, False),
            (201, 100, 0.5, False),
            (150, 51, 0.5, True),
            (99, 0, 0.0, True),
            (100, 0, 0.5, False),
            (1_000, 901, 0.0, True),
            (1_000, 900, 0.0, False),
            (1_000, 900, 0.1, True),
            (1_000, 899, 0.1, False),
            (1_000, 1, 1.0, True),
            (1_000, 0, 1.0, True),
            (100, 300, 0.0, True),
        ],
    )
    def test_by_more_than_is_allowed_and_at_least_100_is_not_published(
        self, folder, state, configure, before, after, most, passes
    ):
        configure(MAX_SHRINK=most)
        self.exported(folder, before)
        found = touched(folder), touched(state)
        report = self.exported(folder, after)
        if passes:
            assert report.failures == []
            assert len(paths(folder)) == after + 1
        else:
            (failure,) = report.failures
            assert f"from {before:,} to {after:,} URLs" in failure
            assert failure.startswith("Section 'a'")
            assert failure.endswith("--force a.")
            assert (touched(folder), touched(state)) == found

    def test_in_small_steps_is_compared_with_the_maximum_of_seven_days(self, folder, clock):
        self.exported(folder, 1_000)
        clock.time += 30 * DAY
        assert self.exported(folder, 700).failures == []
        clock.time += 7 * DAY - SECOND
        assert "from 1,000 to 499" in self.exported(folder, 499).failures[0]
        assert self.exported(folder, 500).failures == []
        clock.time += 2 * SECOND
        # From now on, it is compared with the 700.
        assert self.exported(folder, 350).failures == []
        assert "from 700 to 349" in self.exported(folder, 349).failures[0]

    def test_is_published_by_force_and_that_is_the_measure_from_then_on(self, folder):
        self.exported(folder, 1_000)
        assert self.exported(folder, 300, force=["b"]).failures
        assert self.exported(folder, 300, force=["a"]).failures == []
        assert len(paths(folder)) == 301
        # The option is not needed again on each day of a week.
        assert self.exported(folder, 300).failures == []
        assert self.exported(folder, 299).failures == []
        assert "from 300 to 10" in self.exported(folder, 10).failures[0]

    def test_can_only_be_forced_if_it_exists(self, folder):
        with pytest.raises(UnknownSectionError, match="no section 'c'"):
            self.exported(folder, 1, force=["c"])
        assert not folder.exists()


class TestASectionThatIsRemoved:
    def test_is_not_named_any_more_and_its_files_stay_for_a_while(self, folder, clock):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        before = touched(folder)
        report = export(output=folder, sitemaps={"b": Numbers(1)}, remove=["a"])
        assert report.failures == []
        assert list(entries(folder)) == ["sitemap-b-1.xml.gz"]
        assert before.items() - touched(folder).items() == {("sitemap.xml", before["sitemap.xml"])}
        clock.time += DAY
        report = export(output=folder, sitemaps={"b": Numbers(1)})
        assert sorted(report.deleted) == ["sitemap-a-1.xml.gz", "sitemap-a-2.xml.gz"]
        assert set(touched(folder)) == {"sitemap.xml", "sitemap-b-1.xml.gz"}

    @pytest.mark.parametrize(
        ("name", "words_"),
        [
            ("b", "'b' cannot be removed, because it is still declared"),
            ("c", "'c' cannot be removed, because it is not published"),
            ("a", "'a' cannot be removed, because it is not published"),
        ],
    )
    def test_has_to_be_published_and_not_declared(self, folder, name, words_):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        export(output=folder, sitemaps={"b": Numbers(1)}, remove=["a"])
        before = touched(folder), touched(folder / STATE)
        with pytest.raises(ExportError, match=words_):
            export(output=folder, sitemaps={"b": Numbers(1)}, remove=[name])
        assert (touched(folder), touched(folder / STATE)) == before

    def test_is_the_only_other_section_that_changes_if_sections_are_named(self, folder):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1), "c": Numbers(1)})
        export(["b"], output=folder, sitemaps={"b": Numbers(2), "c": Numbers(2)}, remove=["a"])
        assert paths(folder) == ["/numbers/0/", "/numbers/1/", "/numbers/0/"]


class TestSectionsAsArguments:
    def test_leave_all_others_as_they_are_also_in_the_manifest(self, folder, state):
        export(output=folder, sitemaps={name: Numbers(5) for name in "abcd"})
        before, own = touched(folder), touched(state)
        files = known(folder).files
        report = export(["b"], output=folder, sitemaps={name: Numbers(9) for name in "abc"})
        # Only a run of all sections reports that a section is no longer declared.
        assert report.failures == []
        after = touched(folder)
        others = [name for name in before if not name.startswith(("sitemap-b-", "sitemap.xml"))]
        assert len(others) == 9
        assert {name: after[name] for name in others} == {name: before[name] for name in others}
        for name in "acd":
            assert known(folder).files[name] == files[name]
            assert touched(state)[files[name]] == own[files[name]]
        assert known(folder).files["b"] != files["b"]
        assert paths(folder) == [f"/numbers/{n}/" for count in (5, 9, 5, 5) for n in range(count)]
