"""The manifest: what an export remembers, what it does where it cannot, and what it never forgets."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from xml.etree import ElementTree

import pytest
from django.db.models import F
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_sitemaps09 import ModelSitemap, Route, manifest
from django_sitemaps09 import sections as registry
from django_sitemaps09.exceptions import ExportError, ManifestError, UnknownSectionError
from django_sitemaps09.export import Report, export
from django_sitemaps09.export.publishing import steps
from django_sitemaps09.export.publishing.journal import JOURNAL
from django_sitemaps09.manifest import BACKUP, ROOT, Manifest, PageRecord, SectionRecord
from django_sitemaps09.pages import Fingerprint
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore
from tests.support.clock import Clock
from tests.support.published import SPACE
from tests.support.sections import Numbers

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09(MAX_URLS=2)]

BASE = "https://www.example.com"
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def article_model() -> Any:
    from tests.models import Article  # this module is imported before setup, too

    return Article


def articles(**attributes: Any) -> Any:
    declared = {
        "model": article_model(),
        "location": Route("article", slug=F("slug")),
        "lastmod": F("updated"),
    }
    return type("Articles", (ModelSitemap,), declared | attributes)


def write_articles(*keys: int) -> None:
    model = article_model()
    first = datetime(2026, 1, 1, 10, 30, tzinfo=timezone.utc)
    model.objects.bulk_create(model(pk=pk, slug=f"a{pk}", updated=first + pk * DAY) for pk in keys)


def slugs(*keys: int) -> list[str]:
    return [f"/articles/a{key}/" for key in keys]


def plain(folder: Path, name: str) -> bytes:
    data = (folder / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def entries(folder: Path) -> dict[str, str | None]:
    """The files that the index names, in its order, with what it says of them."""
    root = ElementTree.fromstring(plain(folder, "sitemap.xml"))  # noqa: S314 our own output
    return {
        str(node.findtext(f"{SPACE}loc")).removeprefix(f"{BASE}/"): node.findtext(f"{SPACE}lastmod")
        for node in root
    }


def numbers_of(folder: Path, section: str) -> list[int]:
    """The numbers of a section's pages in the index."""
    prefix = f"sitemap-{section}-"
    return [
        int(name.removeprefix(prefix).split(".")[0]) for name in entries(folder) if name.startswith(prefix)
    ]


def paths(folder: Path) -> list[str]:
    """Every URL that a reader of the index finds, less the base."""
    found = []
    for name in entries(folder):
        page = ElementTree.fromstring(plain(folder, name))  # noqa: S314
        found += [str(loc.text).removeprefix(BASE) for loc in page.iter(f"{SPACE}loc")]
    return found


def touched(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """The files of a folder, so that one that was written anew differs even with the same bytes."""
    found = {}
    for path in folder.iterdir():
        if path.is_file():
            status = path.stat()
            found[path.name] = (path.read_bytes(), status.st_mtime_ns, status.st_ino)
    return found


def known(folder: Path, root: str = ROOT) -> Manifest:
    found = manifest.read(LocalStore(folder / STATE, 0o600, own=""), root)
    assert found is not None
    return found


@pytest.fixture
def state(folder: Path) -> Path:
    return folder / STATE


counting = st.integers(0, 2**63)
words = st.text(max_size=12)
maybe = words | st.none()
keys = st.lists(words, min_size=1, max_size=3).map(tuple)
times = st.floats(0, 1e12)
pages = st.builds(
    PageRecord,
    number=st.integers(1, 2**63),
    until=keys | st.none(),
    urls=counting,
    bytes=counting,
    size=counting,
    newest=maybe,
    changed=maybe,
    digest=words,
    fingerprint=st.none()
    | st.builds(
        Fingerprint, rows=counting, newest=maybe, hash=st.text() | st.integers(-(2**63), 2**64 - 1)
    ),
    index_number=counting,
)


def possible(record: SectionRecord) -> SectionRecord:
    """The same with numbers up to the highest, and with the last page open if pages are ranges of a key."""
    pages = record.pages
    if record.key_identity is not None and pages:
        closed = (page._replace(until=page.until or ("",)) for page in pages[:-1])
        pages = (*closed, pages[-1]._replace(until=None))
    highest = max([record.highest, *(page.number for page in pages)])
    return replace(record, pages=pages, highest=highest)


sections = st.builds(
    SectionRecord,
    suffix=st.sampled_from(["xml", "xml.gz", "txt"]),
    key_identity=st.none() | st.lists(words, max_size=4).map(tuple),
    declaration_digest=maybe,
    highest=counting,
    counts=st.lists(st.tuples(times, counting), max_size=3).map(tuple),
    pages=st.lists(
        pages, max_size=4, unique_by=(lambda page: page.number, lambda page: page.until or ("",))
    ).map(tuple),
).map(possible)
names = st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True)
published = names.map("sitemap-{}.xml.gz".format) | st.just("sitemap.xml")


class TestRecords:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(record=sections)
    def test_of_a_section_are_read_as_they_were_written(
        self, tmp_path: Path, record: SectionRecord
    ) -> None:
        store = LocalStore(tmp_path, 0o600, own="")
        document = manifest.section_document(record)
        name = manifest.section_file("a", document)
        (tmp_path / name).write_bytes(document)
        assert manifest.read_section(store, name) == record

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.builds(
            Manifest,
            run=words,
            url=words,
            base=words,
            removed=st.dictionaries(published, times, max_size=3),
            files=st.dictionaries(names, st.just(b""), max_size=3).map(
                lambda found: {name: manifest.section_file(name, found[name]) for name in found}
            ),
            indexes=st.lists(published, max_size=3).map(tuple),
        )
    )
    def test_of_a_root_are_read_as_they_were_written(self, tmp_path: Path, root: Manifest) -> None:
        store = LocalStore(tmp_path, 0o600, own="")
        (tmp_path / ROOT).write_bytes(root.root())
        assert manifest.read_root(store) == root

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(found=st.dictionaries(names, sections, max_size=3))
    def test_of_all_are_read_by_the_names_in_the_root(
        self, tmp_path: Path, found: dict[str, SectionRecord]
    ) -> None:
        documents = {name: manifest.section_document(found[name]) for name in found}
        files = {name: manifest.section_file(name, documents[name]) for name in found}
        for name, file in files.items():
            (tmp_path / file).write_bytes(documents[name])
        whole = Manifest("run-1", f"{BASE}/", BASE, found, files=files)
        (tmp_path / ROOT).write_bytes(whole.root())
        assert manifest.read(LocalStore(tmp_path, 0o600, own="")) == whole

    def test_are_ranges_that_follow_each_other(self) -> None:
        page = PageRecord(1, ("5",), 2, 0, 0, None, None, "", None, 1)
        record = SectionRecord("xml.gz", pages=(page, page._replace(number=7, until=None)))
        assert [tuple(found) for found in record.page_map().pages] == [(1, None, ("5",)), (7, ("5",), None)]
        assert record.urls == 4

    def test_without_a_hash_have_no_fingerprint(self, tmp_path: Path) -> None:
        """As those of SQLite once were: it was blind to most changes."""
        page = PageRecord(1, None, 2, 0, 0, None, None, "", Fingerprint(2, "2026", 7), 1)
        written = manifest.section_document(SectionRecord("xml.gz", highest=1, pages=(page,)))
        content = written.replace(b'"2026", 7]', b'"2026", null]')
        assert content != written
        name = manifest.section_file("s", content)
        (tmp_path / name).write_bytes(content)
        [found] = manifest.read_section(LocalStore(tmp_path), name).pages
        assert found == page._replace(fingerprint=None)

    def test_are_none_where_nothing_was_exported(self, tmp_path: Path) -> None:
        assert manifest.read(LocalStore(tmp_path)) is None

    def test_of_20_000_pages_take_less_than_a_kilobyte_each(self, tmp_path: Path) -> None:
        def page(number: int) -> PageRecord:
            lastmod = f"2026-01-01T{number % 24:02}:30:15Z"
            fingerprint = Fingerprint(47_500, lastmod, 2**63 + number)
            until = (str(number * 47_500),)
            return PageRecord(
                number, until, 47_500, 9_000_000, 700_000 + number, lastmod, lastmod, f"{number:064x}",
                fingerprint, 1,
            )  # fmt: skip

        count = 20_000
        document = manifest.section_document(
            SectionRecord("xml.gz", highest=count, pages=tuple(page(n) for n in range(1, count + 1)))
        )
        name = manifest.section_file("a", document)
        (tmp_path / name).write_bytes(document)
        del document
        store = LocalStore(tmp_path, 0o600, own="")
        tracemalloc.start()
        try:
            record = manifest.read_section(store, name)
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(record.pages) == count
        assert held / count < 1_000
        # With the file beside them, as bytes and as lines.
        assert peak / count < 2_000


def after_two_runs(folder: Path) -> dict[str, Any]:
    """Pages 1, 3 and 4 of one section, page 2 a tombstone in both manifests; two pages of another one."""
    write_articles(*range(1, 7))
    sitemaps = {"articles": articles(), "numbers": Numbers(3)}
    export(output=folder, sitemaps=sitemaps)
    assert numbers_of(folder, "articles") == [1, 2, 3]
    article_model().objects.filter(pk__in=(3, 4)).delete()
    write_articles(7)
    export(output=folder, sitemaps=sitemaps)
    article_model().objects.filter(pk=7).update(slug="changed")
    export(output=folder, sitemaps=sitemaps)
    assert set(known(folder).removed) == set(known(folder, BACKUP).removed) == {"sitemap-articles-2.xml.gz"}
    return sitemaps


#: What is said of the articles then.
THERE = [*slugs(1, 2, 5, 6), "/articles/changed/", *(f"/numbers/{number}/" for number in range(3))]

DAMAGED_ROOTS = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "a list": lambda data: b"[]",
    "null": lambda data: b"null",
    "another object": lambda data: b"{}",
    "no JSON": lambda data: b"\x00" * len(data),
    "no UTF-8": lambda data: b"\xff" + data,
    "with sections that are a list": lambda data: json.dumps({**json.loads(data), "sections": []}).encode(),
    "with a format that is none": lambda data: json.dumps({**json.loads(data), "format": "x"}).encode(),
}
DAMAGED_SECTIONS = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-20],
    "without its head": lambda data: data[data.index(b"\n") + 1 :],
    "with a page that is none": lambda data: data + b"[1, 2]\n",
    "with no page but a number": lambda data: data + b"7\n",
    "no JSON": lambda data: b"\x00" * len(data),
    "gone": None,
}


@pytest.mark.django_db
class TestAManifestThatCannotBeRead:
    def recovered(self, folder: Path, sitemaps: dict[str, Any]) -> None:
        """All laws of a run that knows nothing but what the files tell."""
        before = touched(folder)
        report = export(output=folder, sitemaps=sitemaps)
        assert (report.failures, report.published) == ([], True)
        assert paths(folder) == THERE
        # Numbers of before are never those of other rows.
        assert numbers_of(folder, "articles") == [5, 6, 7]
        # What was named is not gone at once, and what was to be removed is not forgotten.
        after = touched(folder)
        assert {name for name in before if after[name] != before[name] and "-numbers-" not in name} == {
            "sitemap.xml"
        }
        assert all(after[name][0] == before[name][0] for name in before if name != "sitemap.xml")
        assert {f"sitemap-articles-{number}.xml.gz" for number in range(1, 5)} <= set(known(folder).removed)
        after = touched(folder)
        assert export(output=folder, sitemaps=sitemaps).written == ()
        assert touched(folder) == after

    @pytest.mark.parametrize("damage", DAMAGED_ROOTS)
    def test_is_made_anew_from_the_files_and_pages_get_fresh_numbers(
        self, folder: Path, state: Path, damage: str
    ) -> None:
        sitemaps = after_two_runs(folder)
        (state / ROOT).write_bytes(DAMAGED_ROOTS[damage]((state / ROOT).read_bytes()))
        self.recovered(folder, sitemaps)

    @pytest.mark.parametrize("damage", DAMAGED_SECTIONS)
    def test_in_a_part_is_made_anew_too(self, folder: Path, state: Path, damage: str) -> None:
        sitemaps = after_two_runs(folder)
        path = state / known(folder).files["articles"]
        change = DAMAGED_SECTIONS[damage]
        if change is None:
            path.unlink()
        else:
            path.write_bytes(change(path.read_bytes()))
        self.recovered(folder, sitemaps)

    def test_and_is_gone_is_the_same(self, folder: Path, state: Path) -> None:
        sitemaps = after_two_runs(folder)
        (state / ROOT).unlink()
        self.recovered(folder, sitemaps)

    def test_nor_the_one_before_costs_the_tombstones_alone(self, folder: Path, state: Path) -> None:
        sitemaps = after_two_runs(folder)
        for name in (ROOT, BACKUP):
            (state / name).write_bytes(b"")
        assert export(output=folder, sitemaps=sitemaps).failures == []
        assert paths(folder) == THERE
        assert numbers_of(folder, "articles") == [5, 6, 7]
        # Its file stays for ever: nothing says any more that it is ours.
        assert "sitemap-articles-2.xml.gz" not in known(folder).removed
        assert (folder / "sitemap-articles-2.xml.gz").exists()

    def test_leaves_sections_that_are_not_exported_as_their_index_names_them(
        self, folder: Path, state: Path
    ) -> None:
        sitemaps = after_two_runs(folder)
        before, said = touched(folder), entries(folder)
        (state / ROOT).write_bytes(b"")
        report = export(["numbers"], output=folder, sitemaps=sitemaps)
        assert report.failures == []
        assert entries(folder).items() >= {n: said[n] for n in said if "articles" in n}.items()
        assert {n: touched(folder)[n] for n in before if "-articles-" in n} == {
            n: before[n] for n in before if "-articles-" in n
        }

    @pytest.mark.parametrize("damaged", [ROOT, "section", "gone"])
    def test_does_not_disarm_the_guard(
        self, folder: Path, state: Path, configure: Callable[..., None], damaged: str
    ) -> None:
        configure(MAX_URLS=100)
        for count in (249, 250):
            export(output=folder, sitemaps={"a": Numbers(count), "b": Numbers(count - 249)})
        if damaged == "gone":
            (state / ROOT).unlink()
        else:
            name = ROOT if damaged == ROOT else known(folder).files["b"]
            (state / name).write_bytes(b"")
        before = touched(folder)
        report = export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        (failure,) = report.failures
        assert "'a'" in failure
        assert "--force a" in failure
        assert {n: touched(folder)[n] for n in before if "-a-" in n} == {
            n: before[n] for n in before if "-a-" in n
        }

    def test_does_not_make_numbers_new_that_no_file_has_any_more(
        self, folder: Path, state: Path, configure: Callable[..., None], clock: Clock
    ) -> None:
        configure(KEEP_REMOVED=0)
        write_articles(*range(1, 7))
        sitemaps = {"articles": articles(), "numbers": Numbers(1)}
        export(output=folder, sitemaps=sitemaps)
        article_model().objects.filter(pk__gte=3).delete()
        for _ in range(3):
            clock.time += DAY
            article_model().objects.filter(pk=1).update(slug=f"a{clock.time:%d}")
            export(output=folder, sitemaps=sitemaps)
        assert not (folder / "sitemap-articles-3.xml.gz").exists()
        (state / ROOT).write_bytes(b"")
        export(output=folder, sitemaps=sitemaps)
        assert numbers_of(folder, "articles") == [4]

    def test_since_a_later_version_wrote_it_is_refused(self, folder: Path, state: Path) -> None:
        sitemaps = after_two_runs(folder)
        found = json.loads((state / ROOT).read_bytes())
        (state / ROOT).write_text(json.dumps({**found, "format": manifest.FORMAT + 1}))
        before = touched(folder), touched(state)
        with pytest.raises(ManifestError, match=r"manifest\.json was written by a later version.*remove"):
            export(output=folder, sitemaps=sitemaps)
        assert (touched(folder), touched(state)) == before
        # As the message says.
        (state / ROOT).unlink()
        self.recovered(folder, sitemaps)

    @pytest.mark.parametrize(
        "journal", [b"", b"{", b"[]", b"[1, 2]", b'["r", [["a"]], "", [], [], []]', b"\xff"]
    )
    def test_since_its_journal_is_damaged_is_refused_until_both_are_removed(
        self, folder: Path, state: Path, journal: bytes
    ) -> None:
        sitemaps = after_two_runs(folder)
        (state / JOURNAL).write_bytes(journal)
        before = touched(folder), touched(state)
        with pytest.raises(ExportError, match=r"journal\.json cannot be read.*Remove it and manifest"):
            export(output=folder, sitemaps=sitemaps)
        assert (touched(folder), touched(state)) == before
        (state / JOURNAL).unlink()
        (state / ROOT).unlink()
        self.recovered(folder, sitemaps)


#: What stands in the place of a value.
HOSTILE: list[Any] = [
    *(None, True, -1, 0, 7, 10**30, 1e400, float("nan"), "", "x", "1", [], {}, [[]], [7], {"a": 7}),
    *("../x", "\ud800", "sitemap.xml", "sitemap-articles-1.xml.gz"),
]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content after something has happened to it; JSON stays JSON, most of the time."""
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
        document = json.loads(lines[place])
        within = document
        while True:
            items = list(within.items() if isinstance(within, dict) else enumerate(within))
            key, value = chance.choice(items)
            if not (isinstance(value, (dict, list)) and value) or chance.random() < 0.3:
                break
            within = value
        others = [other for _, other in items]
        within[key] = chance.choice([*HOSTILE, *others])
        lines[place] = f"{json.dumps(document)}\n".encode()
    return b"".join(lines)


@pytest.mark.django_db
class TestStateThatIsDamaged:
    """Whatever happens to what an export remembers: it is found out, and nothing is lost or there twice."""

    @pytest.fixture
    def before(self, folder: Path, tmp_path: Path) -> Callable[[], dict[str, Any]]:
        """Puts the folder back to where it was before the damage."""
        sitemaps = after_two_runs(folder)
        kept = tmp_path / "kept"
        shutil.copytree(folder, kept)

        def again() -> dict[str, Any]:
            shutil.rmtree(folder)
            shutil.copytree(kept, folder)
            return sitemaps

        return again

    def settles(self, folder: Path, sitemaps: dict[str, Any]) -> str:
        """What came of it: a clear error, or all that there is is published, once."""
        try:
            report = export(output=folder, sitemaps=sitemaps)
        except ExportError as error:
            assert str(folder) in str(error)  # noqa: PT017 both are right
            return "refused"
        assert (report.failures, report.published) == ([], True)
        assert sorted(paths(folder)) == sorted(THERE)
        assert export(output=folder, sitemaps=sitemaps).failures == []
        assert sorted(paths(folder)) == sorted(THERE)
        return "published"

    @pytest.mark.parametrize("what", ["two pages of one number", "two lines swapped", "an open page"])
    def test_so_that_it_can_be_parsed_is_not_believed(
        self, folder: Path, state: Path, before: Callable[[], dict[str, Any]], what: str
    ) -> None:
        sitemaps = before()
        path = state / known(folder).files["articles"]
        head, *lines = path.read_text().splitlines(keepends=True)
        if what == "two lines swapped":
            lines[-2:] = reversed(lines[-2:])
        else:
            number, until, *rest = json.loads(lines[1])
            number, until = (1, until) if "number" in what else (number, None)
            lines[1] = f"{json.dumps([number, until, *rest])}\n"
        path.write_text("".join([head, *lines]))
        with pytest.raises(ManifestError, match="digest"):
            manifest.read_section(LocalStore(state, own=""), path.name)
        assert self.settles(folder, sitemaps) == "published"
        # Nor where the digest is right.
        before()
        document = "".join([head, *lines]).encode()
        found = manifest.unsealed((state / ROOT).read_bytes())
        found["sections"]["articles"] = manifest.section_file("articles", document)
        (state / found["sections"]["articles"]).write_bytes(document)
        (state / ROOT).write_bytes(manifest.sealed(found))
        with pytest.raises(ManifestError, match="page"):
            known(folder)
        assert self.settles(folder, sitemaps) == "published"

    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("which", [ROOT, BACKUP, "articles", "numbers"])
    def test_costs_no_url_and_no_run(
        self, folder: Path, state: Path, before: Callable[[], dict[str, Any]], which: str, seed: int
    ) -> None:
        chance = random.Random(seed)  # noqa: S311
        for _ in range(4):
            sitemaps = before()
            path = state / (which if which in (ROOT, BACKUP) else known(folder).files[which])
            path.write_bytes(damaged(path.read_bytes(), chance))
            outcome = self.settles(folder, sitemaps)
            # A format with a higher number is one of later.
            assert outcome == "published" or which == ROOT

    @pytest.mark.parametrize("seed", range(6))
    def test_with_a_right_digest_ends_clearly_too(
        self, folder: Path, state: Path, before: Callable[[], dict[str, Any]], seed: int
    ) -> None:
        """Who can do that can do more; but nothing of it is a traceback."""
        chance = random.Random(seed)  # noqa: S311
        for _ in range(6):
            sitemaps = before()
            found = manifest.unsealed((state / ROOT).read_bytes())
            key = chance.choice([*found])
            found[key] = chance.choice(HOSTILE)
            (state / ROOT).write_bytes(manifest.sealed(found))
            try:
                report = export(output=folder, sitemaps=sitemaps)
            except ExportError:
                continue
            assert report.failures == []
            assert sorted(paths(folder)) == sorted(THERE)

    @pytest.mark.parametrize("seed", range(4))
    def test_while_an_export_was_ending_is_refused_until_it_is_removed(
        self, folder: Path, state: Path, before: Callable[[], dict[str, Any]], seed: int
    ) -> None:
        chance = random.Random(seed)  # noqa: S311
        sitemaps = before()
        article_model().objects.filter(pk=7).update(slug="changed-again")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(steps, "replace_manifest", Mock(side_effect=OSError("killed")))
            with pytest.raises(OSError, match="killed"):
                export(output=folder, sitemaps=sitemaps)
        article_model().objects.filter(pk=7).update(slug="changed")
        journal = (state / JOURNAL).read_bytes()
        for _ in range(4):
            (state / JOURNAL).write_bytes(damaged(journal, chance))
            if (state / JOURNAL).read_bytes() != journal:
                assert self.settles(folder, sitemaps) == "refused"
        (state / JOURNAL).unlink()
        (state / ROOT).unlink()
        assert self.settles(folder, sitemaps) == "published"

    def test_since_an_earlier_version_wrote_it_is_made_anew(
        self, folder: Path, state: Path, before: Callable[[], dict[str, Any]]
    ) -> None:
        sitemaps = before()
        found = manifest.unsealed((state / ROOT).read_bytes())
        files = {}
        for section, file in found["sections"].items():
            files[section] = f"section-{section}-run-20260901T120000-0a1b2c3d.jsonl"
            (state / file).rename(state / files[section])
        (state / ROOT).write_text(json.dumps({**found, "format": 1, "sections": files}))
        assert self.settles(folder, sitemaps) == "published"


class TestAnExportOfAnotherProject:
    @pytest.mark.parametrize("what", ["base", "files"])
    def test_is_not_overwritten(
        self, folder: Path, state: Path, configure: Callable[..., None], what: str
    ) -> None:
        sitemaps = {"a": Numbers(3)}
        export(output=folder, sitemaps=sitemaps)
        before = touched(folder), touched(state)
        if what == "base":
            configure(BASE_URL="https://www.example.org")
        else:
            configure(FILES_URL=f"{BASE}/maps/")
        for names_ in ([], ["a"]):
            with pytest.raises(ExportError, match=rf"holds an export of {BASE}.*remove manifest\.json"):
                export(names_, output=folder, sitemaps=sitemaps)
        assert (touched(folder), touched(state)) == before
        (state / ROOT).unlink()
        assert export(output=folder, sitemaps=sitemaps).failures == []


@pytest.mark.django_db
class TestTheFilesOfTheManifest:
    def test_are_those_of_this_one_and_of_the_one_before(self, folder: Path, state: Path) -> None:
        for count in range(1, 5):
            export(output=folder, sitemaps={"a": Numbers(count), "b": Numbers(1)})
            (state / "section-c-run-gone.jsonl").write_text("of a run that was killed")
            (state / "mine.txt").write_text("not ours")
        export(output=folder, sitemaps={"a": Numbers(9), "b": Numbers(1)})
        now, past = known(folder), known(folder, BACKUP)
        assert (now.sections["a"].urls, past.sections["a"].urls) == (9, 4)
        # What did not change is not written again.
        assert now.files["b"] == past.files["b"]
        files = {*now.files.values(), *past.files.values()}
        assert len(files) == 3
        assert {path.name for path in state.iterdir()} == {*files, ROOT, BACKUP, "lock", "mine.txt"}

    def test_say_of_each_page_what_its_file_says(self, folder: Path) -> None:
        after_two_runs(folder)
        found = known(folder)
        assert (found.url, found.base, found.indexes) == (f"{BASE}/", BASE, ("sitemap.xml",))
        for name, record in found.sections.items():
            assert record.highest == max(page.number for page in record.pages)
            for page in record.pages:
                file = f"sitemap-{name}-{page.number}.xml.gz"
                data = plain(folder, file)
                assert (len(data), (folder / file).stat().st_size) == (page.bytes, page.size)
                assert data.count(b"<loc>") == page.urls
                assert entries(folder)[file] == page.changed

    def test_are_for_this_user_alone(self, folder: Path, state: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert {path.stat().st_mode & 0o077 for path in state.iterdir()} == {0}


@pytest.mark.django_db
class TestNumbersOfPages:
    def test_are_not_used_again_after_their_rows_are_gone(self, folder: Path) -> None:
        sitemaps = {"articles": articles(), "numbers": Numbers(1)}
        write_articles(*range(1, 7))
        export(output=folder, sitemaps=sitemaps)
        article_model().objects.filter(pk__gte=3).delete()
        export(output=folder, sitemaps=sitemaps)
        assert numbers_of(folder, "articles") == [1]
        write_articles(*range(11, 16))
        export(output=folder, sitemaps=sitemaps)
        assert numbers_of(folder, "articles") == [1, 4, 5, 6]
        assert paths(folder)[:-1] == slugs(1, 2, *range(11, 16))

    def test_of_positions_are_not_either(self, folder: Path) -> None:
        for count, expected in ((6, [1, 2, 3]), (2, [1]), (6, [1, 4, 5]), (0, []), (3, [6, 7])):
            export(output=folder, sitemaps={"a": Numbers(count), "b": Numbers(1)})
            assert numbers_of(folder, "a") == expected

    def test_are_not_used_again_after_all_rows_were_gone_for_long(self, folder: Path, clock: Clock) -> None:
        sitemaps = {"articles": articles(), "numbers": Numbers(1)}
        write_articles(1, 2, 3)
        export(output=folder, sitemaps=sitemaps)
        article_model().objects.all().delete()
        export(output=folder, sitemaps=sitemaps)
        clock.time += 30 * DAY
        export(output=folder, sitemaps=sitemaps)
        assert not list(folder.glob("sitemap-articles-*"))
        write_articles(4)
        export(output=folder, sitemaps=sitemaps)
        assert numbers_of(folder, "articles") == [3]

    def test_are_not_used_again_by_a_section_that_was_removed_and_comes_back(
        self, folder: Path, clock: Clock
    ) -> None:
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        export(output=folder, sitemaps={"b": Numbers(1)}, remove=["a"])
        clock.time += 30 * DAY
        export(output=folder, sitemaps={"b": Numbers(1)})
        assert not list(folder.glob("sitemap-a-*"))
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        assert numbers_of(folder, "a") == [3, 4]

    @pytest.mark.parametrize("name", ["sitemap-articles-7.xml", "sitemap-articles-7.xml.gz"])
    @pytest.mark.parametrize("when", ["before", "between"])
    def test_are_not_those_of_files_that_lie_there(self, folder: Path, name: str, when: str) -> None:
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
    def test_are_not_used_up_by_a_file_of_a_huge_one(
        self, folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch, configure: Any, digits: int
    ) -> None:
        configure(ROOT=folder)
        monkeypatch.setattr(registry, "_discovered", True)
        monkeypatch.setattr(registry, "_registered", {"articles": articles()})
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
        assert b"sitemap-articles-6.xml" in Client().get("/sitemap.xml").content
        assert all((folder / name).exists() for name in huge)

    def test_are_all_fresh_after_rebalancing(self, folder: Path) -> None:
        sitemaps = {"articles": articles()}
        write_articles(1, 2, 3)
        export(output=folder, sitemaps=sitemaps)
        report = export(output=folder, sitemaps=sitemaps, rebalance=True)
        assert numbers_of(folder, "articles") == [3, 4]
        assert paths(folder) == slugs(1, 2, 3)
        assert report.sections[0].removed == 2


@pytest.mark.django_db
class TestFilesThatNoIndexNamesAnyMore:
    GONE = "sitemap-articles-2.xml.gz"

    @pytest.fixture
    def sitemaps(self, folder: Path, clock: Clock) -> dict[str, Any]:
        """Page 2 is not named any more since the time of the clock."""
        found = {"articles": articles(), "numbers": Numbers(1)}
        write_articles(*range(1, 7))
        export(output=folder, sitemaps=found)
        clock.time += DAY
        article_model().objects.filter(pk__in=(3, 4)).delete()
        assert export(output=folder, sitemaps=found).deleted == ()
        assert numbers_of(folder, "articles") == [1, 3]
        return found

    @pytest.mark.parametrize("keep", [timedelta(0), SECOND, timedelta(hours=24), 7 * DAY])
    def test_are_deleted_by_the_first_run_that_starts_so_much_later(
        self,
        folder: Path,
        clock: Clock,
        configure: Callable[..., None],
        sitemaps: dict[str, Any],
        keep: timedelta,
    ) -> None:
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
        self, folder: Path, clock: Clock, sitemaps: dict[str, Any]
    ) -> None:
        clock.time += 30 * DAY
        export(output=folder, sitemaps=sitemaps, dry_run=True)
        bad = {**sitemaps, "numbers": type("Bad", (Numbers,), {"priority": 7.0})(1)}
        assert export(output=folder, sitemaps=bad, strict=True).failures
        assert (folder / self.GONE).exists()
        export(output=folder, sitemaps=sitemaps)
        assert not (folder / self.GONE).exists()

    def test_alone_are_deleted_and_nothing_that_is_not_ours(
        self, folder: Path, clock: Clock, sitemaps: dict[str, Any]
    ) -> None:
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
            article_model().objects.filter(pk=1).update(slug=f"a{clock.time:%m%d}")
            export(output=folder, sitemaps=sitemaps)
        assert [(folder / name).read_text() for name in others] == ["not ours"] * len(others)
        assert not (folder / self.GONE).exists()

    def test_that_are_gone_already_are_no_error(
        self, folder: Path, clock: Clock, sitemaps: dict[str, Any]
    ) -> None:
        (folder / self.GONE).unlink()
        clock.time += 30 * DAY
        assert export(output=folder, sitemaps=sitemaps).failures == []
        assert known(folder).removed == {}

    def test_are_also_those_of_the_other_compression(
        self, folder: Path, clock: Clock, sitemaps: dict[str, Any]
    ) -> None:
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
    def test_of_a_page_changes_exactly_when_its_content_does(self, folder: Path, clock: Clock) -> None:
        write_articles(1, 2, 3)
        one, two = "sitemap-articles-1.xml.gz", "sitemap-articles-2.xml.gz"

        def exported() -> dict[str, str | None]:
            clock.time += DAY
            export(output=folder, sitemaps={"articles": articles()})
            return entries(folder)

        first = {one: "2026-01-03T10:30:00Z", two: "2026-01-04T10:30:00Z"}
        assert exported() == first
        assert exported() == first
        model = article_model()
        model.objects.filter(pk=1).update(slug="other")
        changed = {one: "2026-09-04T12:00:00Z", two: first[two]}
        assert exported() == changed
        assert exported() == changed
        # As it was at first, which is a change again.
        model.objects.filter(pk=1).update(slug="a1")
        assert exported() == {one: "2026-09-06T12:00:00Z", two: first[two]}
        write_articles(4)
        assert exported() == {one: "2026-09-06T12:00:00Z", two: "2026-09-07T12:00:00Z"}
        write_articles(5)
        three = "sitemap-articles-3.xml.gz"
        expected = {one: "2026-09-06T12:00:00Z", two: "2026-09-07T12:00:00Z", three: "2026-09-08T12:00:00Z"}
        assert exported() == expected
        assert exported() == expected

    def test_of_a_page_without_lastmods_is_when_it_was_seen_to_change(
        self, folder: Path, clock: Clock
    ) -> None:
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert entries(folder) == {"sitemap-a-1.xml.gz": None}
        clock.time += DAY
        export(output=folder, sitemaps={"a": Numbers(2)})
        assert entries(folder) == {"sitemap-a-1.xml.gz": "2026-09-02T12:00:00Z"}

    def test_does_not_tell_of_a_new_compression(self, folder: Path, clock: Clock) -> None:
        write_articles(1)
        export(output=folder, sitemaps={"articles": articles()})
        clock.time += DAY
        export(output=folder, sitemaps={"articles": articles()}, gzip=False)
        assert entries(folder) == {"sitemap-articles-1.xml": "2026-01-02T10:30:00Z"}


class TestASectionThatShrinks:
    @pytest.fixture(autouse=True)
    def _large_pages(self, configure: Callable[..., None]) -> None:
        configure(MAX_URLS=1_000)

    def exported(self, folder: Path, count: int, **options: Any) -> Report:
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
        self,
        folder: Path,
        state: Path,
        configure: Callable[..., None],
        before: int,
        after: int,
        most: float,
        passes: bool,
    ) -> None:
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

    def test_in_small_steps_is_measured_against_the_most_of_seven_days(
        self, folder: Path, clock: Clock
    ) -> None:
        self.exported(folder, 1_000)
        clock.time += 30 * DAY
        assert self.exported(folder, 700).failures == []
        clock.time += 7 * DAY - SECOND
        assert "from 1,000 to 499" in self.exported(folder, 499).failures[0]
        assert self.exported(folder, 500).failures == []
        clock.time += 2 * SECOND
        # Now it is measured against the 700.
        assert self.exported(folder, 350).failures == []
        assert "from 700 to 349" in self.exported(folder, 349).failures[0]

    def test_is_published_by_force_and_that_is_the_measure_from_then_on(self, folder: Path) -> None:
        self.exported(folder, 1_000)
        assert self.exported(folder, 300, force=["b"]).failures
        assert self.exported(folder, 300, force=["a"]).failures == []
        assert len(paths(folder)) == 301
        # Nobody has to say so each day of a week.
        assert self.exported(folder, 300).failures == []
        assert self.exported(folder, 299).failures == []
        assert "from 300 to 10" in self.exported(folder, 10).failures[0]

    def test_does_not_keep_others_from_being_published(self, folder: Path) -> None:
        self.exported(folder, 1_000)
        export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(7)})
        assert len(paths(folder)) == 1_007

    def test_keeps_all_from_being_published_under_strict(self, folder: Path) -> None:
        self.exported(folder, 1_000)
        before = touched(folder)
        report = export(output=folder, sitemaps={"a": Numbers(1), "b": Numbers(7)}, strict=True)
        assert (report.published, touched(folder)) == (False, before)

    def test_by_force_has_to_be_one_that_there_is(self, folder: Path) -> None:
        with pytest.raises(UnknownSectionError, match="no section 'c'"):
            self.exported(folder, 1, force=["c"])
        assert not folder.exists()


class TestASectionThatIsRemoved:
    def test_is_not_named_any_more_and_its_files_stay_for_a_while(self, folder: Path, clock: Clock) -> None:
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
        ("name", "words_"), [("b", "is declared"), ("c", "no section 'c'"), ("a", "no section 'a'")]
    )
    def test_has_to_be_published_and_not_declared(self, folder: Path, name: str, words_: str) -> None:
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)})
        export(output=folder, sitemaps={"b": Numbers(1)}, remove=["a"])
        before = touched(folder), touched(folder / STATE)
        with pytest.raises(ExportError, match=words_):
            export(output=folder, sitemaps={"b": Numbers(1)}, remove=[name])
        assert (touched(folder), touched(folder / STATE)) == before

    def test_beside_sections_as_arguments_is_the_only_other_one_that_changes(self, folder: Path) -> None:
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1), "c": Numbers(1)})
        export(["b"], output=folder, sitemaps={"b": Numbers(2), "c": Numbers(2)}, remove=["a"])
        assert paths(folder) == ["/numbers/0/", "/numbers/1/", "/numbers/0/"]


class TestSectionsAsArguments:
    def test_leave_all_others_as_they_are_also_in_the_manifest(self, folder: Path, state: Path) -> None:
        export(output=folder, sitemaps={name: Numbers(5) for name in "abcd"})
        before, own = touched(folder), touched(state)
        files = known(folder).files
        report = export(["b"], output=folder, sitemaps={name: Numbers(9) for name in "abc"})
        # That one is gone is told by a run over all.
        assert report.failures == []
        after = touched(folder)
        others = [name for name in before if not name.startswith(("sitemap-b-", "sitemap.xml"))]
        assert len(others) == 9
        assert {name: after[name] for name in others} == {name: before[name] for name in others}
        for name in "acd":
            assert known(folder).files[name] == files[name]
            assert touched(state)[files[name]] == own[files[name]]
        assert known(folder).files["b"] != files["b"]

    def test_that_fail_change_nothing_at_all(self, folder: Path, state: Path) -> None:
        export(output=folder, sitemaps={name: Numbers(500) for name in "ab"})
        before = touched(folder), touched(state)
        report = export(["b"], output=folder, sitemaps={name: Numbers(9) for name in "ab"})
        assert len(report.failures) == 1
        assert (touched(folder), touched(state)) == before


@pytest.mark.django_db
class TestAManifestThatSomebodyElseWrote:
    """Whoever can write to the state folder decides no more than which of our files are made anew."""

    @pytest.fixture
    def victim(self, folder: Path) -> Path:
        write_articles(1, 2, 3)
        export(output=folder, sitemaps={"articles": articles()})
        (folder / "index.html").write_text("mine")
        (folder.parent / "victim.txt").write_text("mine")
        return folder

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("removed", {"index.html": 0}),
            ("removed", {"../victim.txt": 0}),
            ("indexes", ["index.html"]),
            ("sections", {"articles": "../../victim.txt"}),
            ("sections", {"../x": f"section-../x-{'0' * 32}.jsonl"}),
            ("sections", {"articles": f"section-other-{'0' * 32}.jsonl"}),
        ],
    )
    def test_names_no_file_that_is_none_of_ours(self, victim: Path, key: str, value: object) -> None:
        path = victim / STATE / ROOT
        path.write_bytes(manifest.sealed({**manifest.unsealed(path.read_bytes()), key: value}))
        for _ in range(2):
            assert export(output=victim, sitemaps={"articles": articles()}).failures == []
        assert (victim / "index.html").read_text() == (victim.parent / "victim.txt").read_text() == "mine"

    @pytest.mark.parametrize(
        "line", ['[-5, null, 1, 1, 1, null, null, "", null, 1]', '["x"]', "[" * 100_000, '{"a": 1}']
    )
    def test_has_pages_that_are_none_and_all_are_cut_anew(self, victim: Path, line: str) -> None:
        root = victim / STATE / ROOT
        found = manifest.unsealed(root.read_bytes())
        head = (victim / STATE / found["sections"]["articles"]).read_text().splitlines()[0]
        document = f"{head}\n{line}\n".replace('"pages": 2', '"pages": 1').encode()
        file = manifest.section_file("articles", document)
        (victim / STATE / file).write_bytes(document)
        root.write_bytes(manifest.sealed({**found, "sections": {"articles": file}}))
        assert export(output=victim, sitemaps={"articles": articles()}).failures == []
        assert (victim / "sitemap-articles-2.xml.gz").exists()

    @pytest.mark.parametrize(
        "changes",
        [
            {"steps": [[f"{STATE}/run-1/a.xml", "index.html", ""]]},
            {"steps": [["index.html", "sitemap.xml", ""]]},
            {"steps": [["x"]]},
            {"steps": 7},
            {"delete": ["../victim.txt"]},
            {"run": "../../x"},
            {"run": None},
            *({"root": root} for root in ("", "{}", "[]", "null", "7", '{"indexes": []}')),
            *({"root": root} for root in (None, [], "\ud800")),
        ],
        ids=str,
    )
    def test_beside_a_journal_of_his_is_refused(self, victim: Path, changes: dict[str, object]) -> None:
        root = (victim / STATE / ROOT).read_text()
        journal = {"run": "run-1", "steps": [], "root": root, "sections": [], "files": [], "delete": []}
        (victim / STATE / JOURNAL).write_bytes(manifest.sealed(journal | changes))
        with pytest.raises(ExportError, match=r"journal\.json cannot be read"):
            export(output=victim, sitemaps={"articles": articles()})
        assert (victim / "index.html").read_text() == (victim.parent / "victim.txt").read_text() == "mine"
