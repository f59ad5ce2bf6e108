"""What an earlier run or release published, its state, and that state lost, damaged or forged."""

from __future__ import annotations

import json
import random
import shutil
import tarfile
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09.exceptions import ExportError, ManifestError, UnknownSectionError
from django_sitemaps09.export import export
from django_sitemaps09.export.engines.messages import build_reply
from tests.models import Article
from tests.support.internals import (
    BACKUP,
    EXPORTED,
    HISTORY,
    JOURNAL,
    ROOT,
    STATE,
    Fingerprint,
    LocalStore,
    Manifest,
    Page,
    PageFile,
    RenderedPage,
    SectionRecord,
    filenames,
    manifest,
    publication,
)
from tests.support.manifests import (
    DAY,
    THERE,
    after_two_runs,
    articles,
    entries,
    known,
    numbers_of,
    paths,
    plain,
    touched,
    write_articles,
)
from tests.support.memory import traced
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
        assert (run(folder, rows=True, numbers=1).deleted, numbers_of(folder, "articles")) == ((), [1, 3])

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
        others = ["sitemap-articles-9.xml.gz", "sitemap-2.xml", "sitemap-b-1.xml", "index.html", ".hidden"]
        for name in others:
            (folder / name).write_text("not ours")
        for _ in range(5):
            clock.time += 30 * DAY
            Article.objects.filter(pk=1).update(slug=f"a{clock.time:%m%d}")
            run(folder, rows=True, numbers=1)
        assert [(folder / name).read_text() for name in others] == ["not ours"] * len(others)
        assert not (folder / GONE).exists()


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


@pytest.mark.parametrize(("old", "new", "most", "passes"), [
    (200, 100, 0.5, True), (200, 99, 0.5, False), (201, 100, 0.5, False), (150, 51, 0.5, True),
    (99, 0, 0.0, True), (100, 0, 0.5, False), (1_000, 901, 0.0, True), (1_000, 900, 0.0, False),
    (1_000, 900, 0.1, True), (1_000, 899, 0.1, False), (1_000, 0, 1.0, True), (100, 300, 0.0, True),
])  # fmt: skip
def test_a_section_that_shrinks_too_much_is_held_back(folder, state, configure, old, new, most, passes):
    configure(MAX_SHRINK=most, MAX_URLS=1_000)
    run(folder, a=old, b=1)
    found = touched(folder), touched(state)
    report = run(folder, a=new, b=1)
    if passes:
        assert (report.failures, len(paths(folder))) == ([], new + 1)
    else:
        [failure] = report.failures
        assert (failure.startswith("Section 'a'"), failure.endswith("--force a.")) == (True, True)
        assert f"from {old:,} to {new:,} URLs" in failure
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
        assert (run(folder, a=count, b=1, **options).failures, len(paths(folder))) == ([], count + 1)
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


#: Values that replace another value.
HOSTILE = [
    *(None, True, -1, 0, 7, 10**30, 1e400, float("nan"), "", "x", "1", [], {}, [[]], [7], {"a": 7}),
    *("../x", "\ud800", "sitemap.xml", "sitemap-articles-1.xml.gz"),
]


def damaged(content, chance):
    """Return damaged content. Damaged JSON usually remains valid JSON."""
    lines = content.splitlines(keepends=True)
    what = chance.randrange(6)
    if what == 0 and len(lines) > 1:
        first, second = chance.sample(range(len(lines)), 2)
        lines[first], lines[second] = lines[second], lines[first]
    elif what == 1:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    elif what == 2:
        del lines[chance.randrange(len(lines))]
    elif what == 3:
        place = chance.randrange(len(content))
        return content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]
    else:
        place = chance.randrange(len(lines))
        document = within = json.loads(lines[place])
        while True:
            items = list(within.items() if isinstance(within, dict) else enumerate(within))
            key, value = chance.choice(items)
            if not (isinstance(value, (dict, list)) and value) or chance.random() < 0.3:
                break
            within = value
        within[key] = chance.choice([*HOSTILE, *(other for _, other in items)])
        lines[place] = f"{json.dumps(document)}\n".encode()
    return b"".join(lines)


def pick(contents, words):
    return {name: content for name, content in contents.items() if words in name}


def change_root(state, **values):
    (state / ROOT).write_bytes(manifest.seal({**manifest.unseal((state / ROOT).read_bytes()), **values}))


@pytest.fixture
def before(folder, tmp_path):
    """Return a function that restores the folder after two runs, and returns the sections."""
    sitemaps = after_two_runs(folder)
    shutil.copytree(folder, tmp_path / "kept")

    def again():
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "kept", folder)
        return sitemaps

    return again


def settles(folder, sitemaps):
    """Check the result of an export: a clear error, or every row published exactly once."""
    try:
        report = export(output=folder, sitemaps=sitemaps)
    except ExportError as error:
        assert str(folder) in str(error)  # noqa: PT017 both results are valid
        return "refused"
    assert (report.failures, report.published, sorted(paths(folder))) == ([], True, sorted(THERE))
    assert (export(output=folder, sitemaps=sitemaps).failures, sorted(paths(folder))) == ([], sorted(THERE))
    return "published"


def recovers(folder, sitemaps):
    """Check all invariants of a run that knows only the published files."""
    old = touched(folder)
    report = export(output=folder, sitemaps=sitemaps)
    assert (report.failures, report.published, paths(folder)) == ([], True, THERE)
    # Previous numbers are never used for other rows.
    assert numbers_of(folder, "articles") == [5, 6, 7]
    # Listed files do not disappear at once, and files that are due for deletion are remembered.
    new = touched(folder)
    assert {name for name in old if new[name] != old[name] and "-numbers-" not in name} == {"sitemap.xml"}
    assert all(new[name][0] == old[name][0] for name in old if name != "sitemap.xml")
    assert {f"sitemap-articles-{number}.xml.gz" for number in range(1, 5)} <= set(known(folder).removed)
    assert (export(output=folder, sitemaps=sitemaps).written, touched(folder)) == ((), new)


@pytest.mark.parametrize(("which", "damage", "change"), [
    *((which, "gone", None) for which in (ROOT, "articles")),
    *((which, "empty", lambda data: b"") for which in (ROOT, "articles")),
    (ROOT, "cut", lambda data: data[: len(data) // 2]), (ROOT, "a list", lambda data: b"[]"),
    (ROOT, "no UTF-8", lambda data: b"\xff" + data),
    (ROOT, "a list of sections", lambda data: json.dumps({**json.loads(data), "sections": []}).encode()),
    (ROOT, "a format of letters", lambda data: json.dumps({**json.loads(data), "format": "x"}).encode()),
    ("articles", "cut", lambda data: data[:-20]),
    ("articles", "without its head", lambda data: data[data.index(b"\n") + 1 :]),
    ("articles", "an invalid page", lambda data: data + b"[1, 2]\n"),
    ("articles", "a number as page", lambda data: data + b"7\n"),
])  # fmt: skip
def test_a_manifest_that_cannot_be_read_is_rebuilt_with_fresh_numbers(folder, state, which, damage, change):
    sitemaps = after_two_runs(folder)
    path = state / (ROOT if which == ROOT else known(folder).files[which])
    if change is None:
        path.unlink()
    else:
        path.write_bytes(change(path.read_bytes()))
    recovers(folder, sitemaps)


def test_a_manifest_with_a_damaged_backup_loses_only_the_removed_files(folder, state):
    sitemaps = after_two_runs(folder)
    for name in (ROOT, BACKUP):
        (state / name).write_bytes(b"")
    assert (export(output=folder, sitemaps=sitemaps).failures, paths(folder)) == ([], THERE)
    assert numbers_of(folder, "articles") == [5, 6, 7]
    # Its file is never deleted, because nothing records any more that it is ours.
    assert "sitemap-articles-2.xml.gz" not in known(folder).removed
    assert (folder / "sitemap-articles-2.xml.gz").exists()


def test_a_damaged_manifest_leaves_sections_that_are_not_exported_as_their_index_names_them(folder, state):
    sitemaps = after_two_runs(folder)
    old, listed = touched(folder), entries(folder)
    (state / ROOT).write_bytes(b"")
    assert export(["numbers"], output=folder, sitemaps=sitemaps).failures == []
    assert pick(entries(folder), "articles") == pick(listed, "articles")
    assert pick(touched(folder), "-articles-") == pick(old, "-articles-")


@pytest.mark.parametrize("which", [ROOT, "section", "gone"])
def test_a_damaged_manifest_does_not_disarm_the_guard(folder, state, configure, which):
    configure(MAX_URLS=100)
    for count in (249, 250):
        export(output=folder, sitemaps={"a": Numbers(count), "b": Numbers(count - 249)})
    if which == "gone":
        (state / ROOT).unlink()
    else:
        (state / (ROOT if which == ROOT else known(folder).files["b"])).write_bytes(b"")
    old = touched(folder)
    [failure] = export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)}).failures
    assert ("'a'" in failure, "--force a" in failure) == (True, True)
    assert pick(touched(folder), "-a-") == pick(old, "-a-")


def test_a_damaged_manifest_lets_no_number_be_used_again(folder, state, configure, clock):
    configure(KEEP_REMOVED=0)
    write_articles(*range(1, 7))
    sitemaps = {"articles": articles(), "numbers": Numbers(1)}
    export(output=folder, sitemaps=sitemaps)
    Article.objects.filter(pk__gte=3).delete()
    for _ in range(3):
        clock.time += DAY
        Article.objects.filter(pk=1).update(slug=f"a{clock.time:%d}")
        export(output=folder, sitemaps=sitemaps)
    assert not (folder / "sitemap-articles-3.xml.gz").exists()
    (state / ROOT).write_bytes(b"")
    export(output=folder, sitemaps=sitemaps)
    assert numbers_of(folder, "articles") == [4]


@pytest.mark.parametrize("what", ["two pages of one number", "two lines swapped", "an open page"])
def test_damage_that_can_still_be_parsed_is_detected(folder, state, before, what):
    sitemaps = before()
    path = state / known(folder).files["articles"]
    head, *lines = path.read_text().splitlines(keepends=True)
    if what == "two lines swapped":
        lines[-2:] = reversed(lines[-2:])
    else:
        number, until, *rest = json.loads(lines[1])
        number, until = (1, until) if "number" in what else (number, None)
        lines[1] = f"{json.dumps([number, until, *rest])}\n"
    document = "".join([head, *lines])
    path.write_text(document)
    with pytest.raises(ManifestError, match="digest"):
        manifest.read_section(LocalStore(state, own=""), path.name)
    assert settles(folder, sitemaps) == "published"
    # The same holds if the digest is correct.
    before()
    file = manifest.section_file("articles", document.encode())
    (state / file).write_text(document)
    sections = manifest.unseal((state / ROOT).read_bytes())["sections"]
    change_root(state, sections={**sections, "articles": file})
    with pytest.raises(ManifestError, match="page"):
        known(folder)
    assert settles(folder, sitemaps) == "published"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("which", [ROOT, BACKUP, "articles", "numbers"])
def test_any_damage_loses_no_url_and_fails_no_run(folder, state, before, which, seed):
    chance = random.Random(seed)  # noqa: S311
    for _ in range(4):
        sitemaps = before()
        path = state / (which if which in (ROOT, BACKUP) else known(folder).files[which])
        path.write_bytes(damaged(path.read_bytes(), chance))
        # A format with a higher number is from a later version.
        assert settles(folder, sitemaps) == "published" or which == ROOT


@pytest.mark.parametrize("seed", range(6))
def test_any_damage_with_a_correct_digest_is_a_clear_error_too(folder, state, before, seed):
    """An attacker who can do this can do more, but it must not cause a traceback."""
    chance = random.Random(seed)  # noqa: S311
    for _ in range(6):
        sitemaps = before()
        found = manifest.unseal((state / ROOT).read_bytes())
        change_root(state, **{chance.choice([*found]): chance.choice(HOSTILE)})
        try:
            report = export(output=folder, sitemaps=sitemaps)
        except ExportError:
            continue
        assert (report.failures, sorted(paths(folder))) == ([], sorted(THERE))


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_journal_is_refused_until_it_is_removed(folder, state, before, seed):
    chance = random.Random(seed)  # noqa: S311
    sitemaps = before()
    Article.objects.filter(pk=7).update(slug="changed-again")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, "replace_manifest", Mock(side_effect=OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            export(output=folder, sitemaps=sitemaps)
    Article.objects.filter(pk=7).update(slug="changed")
    journal = (state / JOURNAL).read_bytes()
    for _ in range(4):
        (state / JOURNAL).write_bytes(damaged(journal, chance))
        if (state / JOURNAL).read_bytes() != journal:
            assert settles(folder, sitemaps) == "refused"
    (state / JOURNAL).unlink()
    (state / ROOT).unlink()
    assert settles(folder, sitemaps) == "published"


def test_a_damaged_manifest_is_not_kept_as_the_backup_and_an_old_one_is_rebuilt(folder, state, before):
    sitemaps = before()
    backup = (state / BACKUP).read_bytes()
    (state / ROOT).write_bytes((state / ROOT).read_bytes()[:-9])
    assert settles(folder, sitemaps) == "published"
    assert (bool(known(folder, BACKUP).run), (state / BACKUP).read_bytes()) == (True, backup)
    sitemaps = before()
    found = manifest.unseal((state / ROOT).read_bytes())
    files = {}
    for section, file in found["sections"].items():
        files[section] = f"section-{section}-run-20260901T120000-0a1b2c3d.jsonl"
        (state / file).rename(state / files[section])
    (state / ROOT).write_text(json.dumps({**found, "format": 1, "sections": files}))
    assert settles(folder, sitemaps) == "published"


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_manifest_that_is_not_a_file_is_an_error_that_says_what_to_remove(folder, state, before, kind):
    sitemaps = before()
    # A link in the place of a section is only rebuilt.
    path = state / known(folder).files["articles"]
    path.rename(state / "moved")
    path.symlink_to("moved")
    assert settles(folder, sitemaps) == "published"
    before()
    (state / ROOT).rename(state / "moved")
    if kind == "link":
        (state / ROOT).symlink_to("moved")
    else:
        (state / ROOT).mkdir()
    old = touched(folder)
    with pytest.raises(ExportError, match=rf"{ROOT} is not a regular file\. Remove it\."):
        export(output=folder, sitemaps=sitemaps)
    assert touched(folder) == old


@pytest.fixture
def victim(folder):
    write_articles(1, 2, 3)
    export(output=folder, sitemaps={"articles": articles()})
    for path in (folder / "index.html", folder.parent / "victim.txt"):
        path.write_text("mine")
    return folder


@pytest.mark.parametrize("changes", [
    b"", b"{", b"[1, 2]", b"\xff",
    {"steps": [[f"{STATE}/run-1/a.xml", "index.html", ""]]}, {"steps": [["index.html", "sitemap.xml", ""]]},
    {"steps": [["x"]]}, {"steps": 7}, {"delete": ["index.html"]}, {"delete": ["../victim.txt"]},
    {"files": ["index.html"]}, {"run": "../../x"}, {"run": None},
    *({"root": root} for root in ("", "{}", "[]", "null", "7", '{"indexes": []}', None, [], "\ud800")),
], ids=str)  # fmt: skip
def test_a_forged_journal_is_refused_and_touches_no_file_of_others(victim, state, changes):
    root = (state / ROOT).read_text()
    journal = {"run": "run-1", "steps": [], "root": root, "sections": [], "files": [], "delete": []}
    document = changes if isinstance(changes, bytes) else manifest.seal(journal | changes)
    (state / JOURNAL).write_bytes(document)
    old = touched(victim), touched(state)
    with pytest.raises(ExportError, match=r"journal\.json cannot be read.*Remove it and manifest"):
        export(output=victim, sitemaps={"articles": articles()})
    assert (touched(victim), touched(state)) == old
    assert (victim / "index.html").read_text() == (victim.parent / "victim.txt").read_text() == "mine"


@pytest.mark.parametrize("values", [
    {"removed": {"index.html": 0}}, {"removed": {"../victim.txt": 0}}, {"indexes": ["index.html"]},
    {"sections": {"articles": "../../victim.txt"}},
    {"sections": {"../x": f"section-../x-{'0' * 32}.jsonl"}},
    {"sections": {"articles": f"section-other-{'0' * 32}.jsonl"}},
])  # fmt: skip
def test_a_forged_manifest_names_no_foreign_file(victim, state, values):
    """An attacker who can write to the state folder can only cause files to be written again."""
    change_root(state, **values)
    for _ in range(2):
        assert export(output=victim, sitemaps={"articles": articles()}).failures == []
    assert (victim / "index.html").read_text() == (victim.parent / "victim.txt").read_text() == "mine"


@pytest.mark.parametrize("line", ['[-5, null, 1, 1, 1, null, null, "", null, 1]', "[" * 99_999, '{"a": 1}'])
def test_a_forged_section_with_invalid_pages_is_divided_again(victim, state, line):
    head = (state / known(victim).files["articles"]).read_text().splitlines()[0]
    document = f"{head}\n{line}\n".replace('"pages": 2', '"pages": 1').encode()
    file = manifest.section_file("articles", document)
    (state / file).write_bytes(document)
    change_root(state, sections={"articles": file})
    assert export(output=victim, sitemaps={"articles": articles()}).failures == []


counting, words, times = st.integers(0, 2**63), st.text(max_size=12), st.floats(0, 1e12)
maybe, keys = words | st.none(), st.lists(words, min_size=1, max_size=3).map(tuple)
hashes = st.text() | st.integers(-(2**63), 2**64 - 1)
pages = st.builds(
    # `possible()` sets the name and the lower bound.
    PageFile, name=st.just(""), after=st.none(), number=st.integers(1, 2**63), until=keys | st.none(),
    **dict.fromkeys(("urls", "bytes", "size", "index_number"), counting), digest=words,
    fingerprint=st.none() | st.builds(Fingerprint, rows=counting, newest=maybe, hash=hashes),
    **dict.fromkeys(("lastmod", "changed"), maybe),
)  # fmt: skip


def possible(record):
    """Return the record with valid numbers. The last page of key ranges has no upper bound."""
    bounds = [page.until for page in record.pages]
    if record.key_identity is not None and bounds:
        bounds = [*(until or ("",) for until in bounds[:-1]), None]
    pages = tuple(
        replace(page, name=filenames.page_name("a", page.number, record.suffix), after=after, until=until)
        for page, after, until in zip(record.pages, [None, *bounds], bounds, strict=False)
    )
    return replace(record, pages=pages, highest=max([record.highest, *(page.number for page in pages)]))


unique = (lambda page: page.number, lambda page: page.until or ("",))
sections = st.builds(
    SectionRecord, suffix=st.sampled_from(["xml", "xml.gz", "txt"]), declaration_digest=maybe,
    key_identity=st.none() | st.lists(words, max_size=4).map(tuple), highest=counting,
    counts=st.lists(st.tuples(times, counting), max_size=3).map(tuple),
    pages=st.lists(pages, max_size=4, unique_by=unique).map(tuple),
).map(possible)  # fmt: skip
names = st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True)
published = names.map("sitemap-{}.xml.gz".format) | st.just("sitemap.xml")
roots = st.builds(
    Manifest, removed=st.dictionaries(published, times, max_size=3),
    **dict.fromkeys(("run", "url", "base"), words), indexes=st.lists(published, max_size=3).map(tuple),
    files=st.lists(names, max_size=3).map(lambda names: {n: manifest.section_file(n, b"") for n in names}),
    stylesheets=st.sampled_from([(), ("sitemap.css",)]),
    unqueued=st.dictionaries(published, st.floats(0, manifest.MAX_TIME), max_size=3),
)  # fmt: skip


store = pytest.fixture(lambda tmp_path: LocalStore(tmp_path, 0o600, own=""))


def file_of(store, record):
    document = manifest.section_document(record)
    name = manifest.section_file("a", document)
    store.write(name, document)
    return name


#: A file with a page in each form: with a fingerprint of each kind, without one, adopted.
IDENTITY = ["tests_article.id", "integer"]
HEAD = {"suffix": "xml.gz", "identity": IDENTITY, "declared": "8d1f", "highest": 7}
HEAD["counts"] = [[1_788_264_000.5, 90]]
LASTMOD, CHANGED = "2026-01-02T10:30:00Z", "2026-09-01T12:00:00Z"
ROWS = [
    [1, ["30"], 30, 4_000, 400, LASTMOD, CHANGED, "ab" * 32, [30, LASTMOD, 18_446_744_073_709_551_615], 1],
    [3, ["60"], 29, 4_000, 400, "2026-01-03", CHANGED, "cd" * 32, [29, None, "1f"], 1],
    [7, ["60", "é"], 1, 100, 90, None, None, "ef" * 32, None, 2],
    [2, None, 0, 0, 0, None, "2026-01-01", "", None, 0],
]


def test_a_file_of_an_earlier_version_is_read_and_written_as_it_was(store):
    """So a page takes no more bytes than before."""
    content = "".join(f"{json.dumps(line)}\n" for line in ({**HEAD, "pages": len(ROWS)}, *ROWS)).encode()
    name = f"section-a-b-{sha256(content).hexdigest()[:32]}.jsonl"
    store.write(name, content)
    record = manifest.read_section(store, name)
    assert (manifest.section_document(record), manifest.section_file("a-b", content)) == (content, name)
    assert record.file_names == [f"sitemap-a-b-{number}.xml.gz" for number in (1, 3, 7, 2)]
    bounds = [None, ("30",), ("60",), ("60", "é"), None]
    assert [page.page for page in record.pages] == [*map(Page, (1, 3, 7, 2), bounds, bounds[1:])]
    assert not any(page.unchanged for page in record.pages)
    assert record.pages[0] == PageFile(
        "sitemap-a-b-1.xml.gz", 1, None, ("30",), 30, 4_000, 400, LASTMOD, CHANGED, "ab" * 32,
        Fingerprint(30, LASTMOD, 2**64 - 1), 1,
    )  # fmt: skip


@given(pages, st.sampled_from(filenames.SUFFIXES), keys | st.none())
def test_the_record_of_a_page_is_the_same_row_in_the_manifest_and_in_replies(page, suffix, after):
    page = replace(page, name=filenames.page_name("a", page.number, suffix), after=after)
    assert PageFile.from_row("a", suffix, after, json.loads(json.dumps(page.row))) == page
    rendered = RenderedPage(page, staged=f"stage/12345678-{page.name}")
    reply = json.loads(json.dumps(build_reply(rendered)))
    _, line = manifest.section_document(possible(SectionRecord(suffix, pages=(page,)))).splitlines()
    assert (reply["page"], PageFile.from_row("a", suffix, after, reply["page"])) == (json.loads(line), page)


@pytest.mark.parametrize("row", [
    [], [1, 2], None, 7, [*ROWS[0], 1], ROWS[0][:-1], [0, *ROWS[0][1:]], [None, *ROWS[0][1:]],
    *([*ROWS[0][:place], -1, *ROWS[0][place + 1 :]] for place in (0, 2, 3, 4, 9)),
    *([*ROWS[0][:8], fingerprint, 1] for fingerprint in ([-1, None, 5], [1, None])),
], ids=str)  # fmt: skip
def test_the_record_of_a_page_is_refused_if_its_row_is_invalid(row):
    with pytest.raises(manifest.PARSE_ERRORS):
        PageFile.from_row("a", "xml.gz", None, row)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sections, roots)
def test_the_records_of_sections_and_roots_are_read_as_they_were_written(store, record, root):
    assert manifest.read_section(store, file_of(store, record)) == record
    store.write(ROOT, root.root())
    assert manifest.read_root(store) == root


def test_the_records_of_20_000_pages_take_less_than_a_kilobyte_each(store):
    def page(number):
        lastmod = f"2026-01-01T{number % 24:02}:30:15Z"
        return PageFile(
            filenames.page_name("a", number, "xml.gz"), number, None, (str(number * 47_500),), 47_500,
            9_000_000, 700_000 + number, lastmod, lastmod, f"{number:064x}",
            Fingerprint(9, lastmod, 2**63 + 1), 1,
        )  # fmt: skip

    count = 20_000
    pages = tuple(map(page, range(1, count + 1)))
    name = file_of(store, SectionRecord("xml.gz", highest=count, pages=pages))
    with traced() as memory:
        record = manifest.read_section(store, name)
    assert len(record.pages) == count
    # The peak includes the content of the file, as bytes and as lines.
    assert (memory.held / count < 1_000, memory.peak / count < 2_000) == (True, True)


def test_the_files_of_the_manifest_and_of_its_backup_are_for_this_user_alone(folder, state):
    for count in (1, 2, 3, 4, 9):
        export(output=folder, sitemaps={"a": Numbers(count), "b": Numbers(1)})
        now = known(folder)
        if count == 4:
            (state / "section-c-run-gone.jsonl").write_text("of a run that was killed")
            (state / "mine.txt").write_text("not ours")
    past = known(folder, BACKUP)
    assert (now.sections["a"].urls, past.sections["a"].urls) == (9, 4)
    # Unchanged files are not written again.
    assert now.files["b"] == past.files["b"]
    files = {*now.files.values(), *past.files.values()}
    found = {path.name: path.stat().st_mode & 0o077 for path in state.iterdir()}
    assert (len(files), found.keys()) == (3, {*files, ROOT, BACKUP, HISTORY, EXPORTED, "lock", "mine.txt"})
    assert {found[name] for name in found if name != "mine.txt"} == {0}
