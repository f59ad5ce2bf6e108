"""What an earlier run or release published: page numbers, files no longer listed, shrinking sections."""

from __future__ import annotations

import tarfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client

from django_sitemaps09.exceptions import ExportError, UnknownSectionError
from django_sitemaps09.export import export
from django_sitemaps09.state.manifest import ROOT
from django_sitemaps09.stores import STATE
from tests.models import Article
from tests.support.manifests import (
    DAY,
    THERE,
    articles,
    entries,
    known,
    numbers_of,
    paths,
    plain,
    touched,
    write_articles,
)
from tests.support.sections import Numbers, declare

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.sitemaps09(MAX_URLS=2)]
SECOND = timedelta(seconds=1)
#: The folder after `after_two_runs()` by each release whose manifest has another format.
EXPORTS = sorted((Path(__file__).parent / "exports").glob("*.tar.gz"))
ONE, GONE, THREE = (f"sitemap-articles-{number}.xml.gz" for number in (1, 2, 3))


def run(folder, *names, rows=False, **counts):
    """Export sections with this many numbers, and with `rows` one of the articles."""
    options = {name: counts.pop(name) for name in ("gzip", "remove", "force", "dry_run") if name in counts}
    sitemaps = {"articles": articles()} if rows else {}
    sitemaps |= {name: Numbers(count) for name, count in counts.items()}
    return export(names, output=folder, sitemaps=sitemaps, **options)


@pytest.mark.parametrize("archive", EXPORTS, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_an_export_of_an_earlier_release_is_continued(archive, folder):
    with tarfile.open(archive) as stored:
        stored.extractall(folder, filter="data")
    write_articles(1, 2, 5, 6, 7)
    Article.objects.filter(pk=7).update(slug="changed")
    listed = entries(folder)
    sitemaps = {"articles": articles(), "numbers": Numbers(3)}
    report = export(output=folder, sitemaps=sitemaps)
    assert (report.published, report.failures, report.warnings, report.written) == (True, [], [], ())
    assert (numbers_of(folder, "articles"), entries(folder), paths(folder)) == ([1, 3, 4], listed, THERE)
    write_articles(8)
    report = export(output=folder, sitemaps=sitemaps, changed_only=True)
    assert [*report.written] == ["sitemap-articles-4.xml.gz", "sitemap.xml"]


def test_numbers_of_pages_are_not_used_again_for_positions_either(folder):
    for count, expected in ((6, [1, 2, 3]), (2, [1]), (6, [1, 4, 5]), (0, []), (3, [6, 7])):
        run(folder, a=count, b=1)
        assert numbers_of(folder, "a") == expected


def test_numbers_of_pages_are_not_used_again_after_rows_or_sections_were_gone_for_long(folder, clock):
    write_articles(1, 2, 3)
    run(folder, rows=True, a=3, b=1)
    Article.objects.all().delete()
    run(folder, rows=True, b=1, remove=["a"])
    clock.time += 30 * DAY
    run(folder, rows=True, b=1)
    assert {path.name for path in folder.glob("*.gz")} == {"sitemap-b-1.xml.gz"}
    write_articles(4)
    run(folder, rows=True, a=3, b=1)
    assert (numbers_of(folder, "articles"), numbers_of(folder, "a")) == ([3], [3, 4])


@pytest.mark.parametrize("name", ["sitemap-articles-7.xml", "sitemap-articles-7.xml.gz"])
@pytest.mark.parametrize("expected", [[8, 9], [1, 8]])
def test_numbers_of_pages_are_not_those_of_existing_files(folder, name, expected):
    write_articles(1)
    if expected[0] == 1:
        run(folder, rows=True)
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"of somebody")
    write_articles(2, 3, 4)
    run(folder, rows=True)
    assert (numbers_of(folder, "articles"), (folder / name).read_bytes()) == (expected, b"of somebody")


@pytest.mark.parametrize("digits", [9, 20, 200])
def test_numbers_of_pages_are_not_exhausted_by_a_huge_number(folder, state, register, configure, digits):
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


class TestAFileThatNoIndexNamesAnyMore:
    @pytest.fixture(autouse=True)
    def _removed(self, folder, clock):
        """Remove page 2 from the index at the time of the clock."""
        write_articles(*range(1, 7))
        run(folder, rows=True, numbers=1)
        clock.time += DAY
        Article.objects.filter(pk__in=(3, 4)).delete()
        assert run(folder, rows=True, numbers=1).deleted == ()
        assert numbers_of(folder, "articles") == [1, 3]

    @pytest.mark.parametrize("keep", [timedelta(0), SECOND, timedelta(hours=24), 7 * DAY])
    @pytest.mark.parametrize("is_there", [True, False])
    def test_is_deleted_by_the_first_run_after_the_delay(self, folder, clock, configure, keep, is_there):
        configure(KEEP_REMOVED=keep)
        if keep:
            clock.time += keep - SECOND
            assert run(folder, rows=True, numbers=1).deleted == ()
            assert plain(folder, GONE)
            clock.time += SECOND
        if not is_there:
            (folder / GONE).unlink()
        report = run(folder, "numbers", rows=True, numbers=1)
        assert (report.failures, not is_there or report.deleted == (GONE,)) == ([], True)
        assert ((folder / GONE).exists(), known(folder).removed) == (False, {})
        assert run(folder, rows=True, numbers=1).deleted == ()

    def test_is_deleted_neither_by_a_dry_run_nor_by_a_strict_one_that_failed(self, folder, clock):
        clock.time += 30 * DAY
        run(folder, rows=True, numbers=1, dry_run=True)
        bad = {"articles": articles(), "numbers": declare(Numbers, priority=7.0)(1)}
        assert export(output=folder, sitemaps=bad, strict=True).failures
        assert (folder / GONE).exists()

    def test_is_the_only_file_that_is_deleted(self, folder, clock):
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
            run(folder, rows=True, numbers=1)
        assert [(folder / name).read_text() for name in others] == ["not ours"] * len(others)
        assert not (folder / GONE).exists()

    def test_is_also_one_of_the_other_compression(self, folder, clock):
        names = [f"sitemap-{page}.xml" for page in ("articles-1", "articles-3", "numbers-1")]
        run(folder, rows=True, numbers=1, gzip=False)
        assert [*entries(folder)] == names
        assert plain(folder, ONE) == plain(folder, names[0])
        clock.time += DAY
        run(folder, rows=True, numbers=1, gzip=False)
        assert not [*folder.glob("*.gz")]


def test_the_lastmod_in_the_index_changes_exactly_when_the_content_of_its_page_does(folder, clock):
    write_articles(1, 2, 3)
    index = {ONE: "2026-01-03T10:30:00Z", GONE: "2026-01-04T10:30:00Z"}
    days = iter(range(2, 30))

    def check(**changed):
        """Export twice, a day apart. The first time, the lastmod of these pages becomes that time."""
        for changes in (changed, {}):
            clock.time, day = clock.time + DAY, next(days)
            run(folder, rows=True)
            index.update(dict.fromkeys(changes.values(), f"2026-09-{day:02}T12:00:00Z"))
            assert entries(folder) == index

    check()
    # The original content is restored, which is another change.
    for slug in ("other", "a1"):
        Article.objects.filter(pk=1).update(slug=slug)
        check(page=ONE)
    for key, page in ((4, GONE), (5, THREE)):
        write_articles(key)
        check(page=page)


def test_the_lastmod_in_the_index_is_when_a_page_without_lastmods_was_seen_to_change(folder, clock):
    write_articles(1)
    for count, lastmod in ((1, None), (2, "2026-09-02T12:00:00Z")):
        run(folder, rows=True, a=count)
        assert entries(folder)["sitemap-a-1.xml.gz"] == lastmod
        clock.time += DAY
    # It does not report a new compression.
    run(folder, rows=True, a=2, gzip=False)
    assert entries(folder)["sitemap-articles-1.xml"] == "2026-01-02T10:30:00Z"


@pytest.mark.parametrize(("before", "after", "most", "passes"), [
    (200, 100, 0.5, True), (200, 99, 0.5, False), (201, 100, 0.5, False), (150, 51, 0.5, True),
    (99, 0, 0.0, True), (100, 0, 0.5, False), (1_000, 901, 0.0, True), (1_000, 900, 0.0, False),
    (1_000, 900, 0.1, True), (1_000, 899, 0.1, False), (1_000, 0, 1.0, True), (100, 300, 0.0, True),
])  # fmt: skip
def test_a_section_that_shrinks_too_much_is_not_published(
    folder, state, configure, before, after, most, passes
):
    configure(MAX_SHRINK=most, MAX_URLS=1_000)
    run(folder, a=before, b=1)
    found = touched(folder), touched(state)
    report = run(folder, a=after, b=1)
    if passes:
        assert (report.failures, len(paths(folder))) == ([], after + 1)
    else:
        [failure] = report.failures
        assert failure.startswith("Section 'a'")
        assert failure.endswith("--force a.")
        assert f"from {before:,} to {after:,} URLs" in failure
        assert (touched(folder), touched(state)) == found


@pytest.mark.sitemaps09(MAX_URLS=1_000)
def test_a_section_that_shrinks_in_small_steps_is_compared_with_the_maximum_of_seven_days(folder, clock):
    run(folder, a=1_000, b=1)
    clock.time += 30 * DAY
    assert run(folder, a=700, b=1).failures == []
    clock.time += 7 * DAY - SECOND
    assert "from 1,000 to 499" in run(folder, a=499, b=1).failures[0]
    assert run(folder, a=500, b=1).failures == []
    clock.time += 2 * SECOND
    # From now on, it is compared with the 700.
    assert run(folder, a=350, b=1).failures == []
    assert "from 700 to 349" in run(folder, a=349, b=1).failures[0]
    # Force publishes it, and that is the measure from then on, so it is not needed again for a week.
    assert run(folder, a=300, b=1, force=["b"]).failures
    for count, options in ((300, {"force": ["a"]}), (300, {}), (299, {})):
        assert run(folder, a=count, b=1, **options).failures == []
        assert len(paths(folder)) == count + 1
    assert "from 300 to 10" in run(folder, a=10, b=1).failures[0]
    with pytest.raises(UnknownSectionError, match="no section 'c'"):
        run(folder / "new", a=1, force=["c"])
    assert not (folder / "new").exists()


def test_a_section_that_is_removed_is_not_named_any_more_and_its_files_stay_for_a_while(folder, clock):
    run(folder, a=3, b=1, c=1)
    before = touched(folder)
    # If sections are named, it is the only other one that changes.
    assert run(folder, "b", b=1, c=2, remove=["a"]).failures == []
    assert [*entries(folder)] == ["sitemap-b-1.xml.gz", "sitemap-c-1.xml.gz"]
    assert before.items() - touched(folder).items() == {("sitemap.xml", before["sitemap.xml"])}
    clock.time += DAY
    assert sorted(run(folder, b=1, c=1).deleted) == ["sitemap-a-1.xml.gz", "sitemap-a-2.xml.gz"]
    assert {*touched(folder)} == {"sitemap.xml", "sitemap-b-1.xml.gz", "sitemap-c-1.xml.gz"}
    before = touched(folder), touched(folder / STATE)
    for name, reason in (
        ("b", "it is still declared"),
        ("d", "it is not published"),
        ("a", "it is not published"),
    ):
        with pytest.raises(ExportError, match=f"'{name}' cannot be removed, because {reason}"):
            run(folder, b=1, c=1, remove=[name])
    assert (touched(folder), touched(folder / STATE)) == before


def test_sections_as_arguments_leave_all_others_as_they_are_also_in_the_manifest(folder, state):
    run(folder, a=5, b=5, c=5, d=5)
    before, own, files = touched(folder), touched(state), known(folder).files
    # Only a run of all sections reports that a section is no longer declared.
    assert run(folder, "b", a=9, b=9, c=9).failures == []
    others = [name for name in before if not name.startswith(("sitemap-b-", "sitemap.xml"))]
    assert len(others) == 9
    assert touched(folder).items() >= {name: before[name] for name in others}.items()
    found = known(folder).files
    assert {name: found[name] for name in "acd"} == {name: files[name] for name in "acd"}
    assert touched(state).items() >= {files[name]: own[files[name]] for name in "acd"}.items()
    assert found["b"] != files["b"]
    assert paths(folder) == [f"/numbers/{n}/" for count in (5, 9, 5, 5) for n in range(count)]
