"""The manifest: the state that an export keeps, and runs in which it is missing or damaged."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09.exceptions import ExportError, ManifestError
from django_sitemaps09.export import export
from django_sitemaps09.export.engines.messages import build_reply
from django_sitemaps09.export.rendering.page import RenderedPage
from django_sitemaps09.filenames import SUFFIXES, page_name
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.state import manifest
from django_sitemaps09.state.history import EXPORTED, HISTORY
from django_sitemaps09.state.journal import JOURNAL
from django_sitemaps09.state.manifest import BACKUP, ROOT, Manifest, PageFile, SectionRecord
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore
from tests.models import Article
from tests.support.exports import locations, plain
from tests.support.manifests import (
    DAY,
    THERE,
    after_two_runs,
    articles,
    entries,
    known,
    numbers_of,
    paths,
    state,
    touched,
    write_articles,
)
from tests.support.memory import traced
from tests.support.sections import Numbers

__all__ = ["state"]

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09(MAX_URLS=2)]

counting = st.integers(0, 2**63)

words = st.text(max_size=12)

maybe = words | st.none()

keys = st.lists(words, min_size=1, max_size=3).map(tuple)

times = st.floats(0, 1e12)

pages = st.builds(
    PageFile,
    # `possible()` sets the name and the lower bound.
    name=st.just(""),
    number=st.integers(1, 2**63),
    after=st.none(),
    until=keys | st.none(),
    urls=counting,
    bytes=counting,
    size=counting,
    lastmod=maybe,
    changed=maybe,
    digest=words,
    fingerprint=st.none()
    | st.builds(
        Fingerprint, rows=counting, newest=maybe, hash=st.text() | st.integers(-(2**63), 2**64 - 1)
    ),
    index_number=counting,
)


def possible(record):
    """Return the record with valid numbers. The last page of key ranges has no upper bound."""
    bounds = [page.until for page in record.pages]
    if record.key_identity is not None and bounds:
        bounds = [*(until or ("",) for until in bounds[:-1]), None]
    ranges = zip(record.pages, [None, *bounds], bounds, strict=False)
    pages = tuple(
        replace(page, name=page_name("a", page.number, record.suffix), after=after, until=until)
        for page, after, until in ranges
    )
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


def written_before(section, head, rows):
    """Return the name and the content of a section's file as earlier versions wrote them."""
    content = "".join(f"{json.dumps(line)}\n" for line in ({**head, "pages": len(rows)}, *rows)).encode()
    return f"section-{section}-{sha256(content).hexdigest()[:32]}.jsonl", content


#: A file with a page in each form: with a fingerprint of each kind, without one, adopted.
HEAD = {
    "suffix": "xml.gz",
    "identity": ["tests_article.id", "integer"],
    "declared": "8d1f",
    "highest": 7,
    "counts": [[1_788_264_000.5, 90]],
}
ROWS = [
    [
        *(1, ["30"], 30, 4_000, 400, "2026-01-02T10:30:00Z", "2026-09-01T12:00:00Z", "ab" * 32),
        *([30, "2026-01-02T10:30:00Z", 18_446_744_073_709_551_615], 1),
    ],
    [3, ["60"], 29, 4_000, 400, "2026-01-03", "2026-09-01T12:00:00Z", "cd" * 32, [29, None, "1f"], 1],
    [7, ["60", "é"], 1, 100, 90, None, None, "ef" * 32, None, 2],
    [2, None, 0, 0, 0, None, "2026-01-01", "", None, 0],
]


class TestAFileOfAnEarlierVersion:
    def test_is_read_and_written_as_it_was(self, tmp_path):
        """So a page takes no more bytes than before."""
        store = LocalStore(tmp_path, 0o600, own="")
        name, content = written_before("a-b", HEAD, ROWS)
        (tmp_path / name).write_bytes(content)
        record = manifest.read_section(store, name)
        assert manifest.section_document(record) == content
        assert manifest.section_file("a-b", content) == name
        assert record.file_names == [f"sitemap-a-b-{number}.xml.gz" for number in (1, 3, 7, 2)]
        assert [page.page for page in record.pages] == [
            Page(1, None, ("30",)),
            Page(3, ("30",), ("60",)),
            Page(7, ("60",), ("60", "é")),
            Page(2, ("60", "é"), None),
        ]
        first = record.pages[0]
        assert (first.urls, first.bytes, first.size, first.index_number) == (30, 4_000, 400, 1)
        assert (first.lastmod, first.changed) == ("2026-01-02T10:30:00Z", "2026-09-01T12:00:00Z")
        assert first.fingerprint == Fingerprint(30, "2026-01-02T10:30:00Z", 2**64 - 1)
        assert not any(page.unchanged for page in record.pages)

    @pytest.mark.django_db
    @pytest.mark.parametrize("changed_only", [False, True])
    def test_is_all_that_a_run_needs_to_write_nothing(self, folder, state, changed_only):
        write_articles(*range(1, 8))
        sitemaps = {"articles": articles(), "numbers": Numbers(3)}
        export(output=folder, sitemaps=sitemaps, changed_only=changed_only)
        # Write each file anew, from what is published and the columns that earlier versions had.
        found = known(folder)
        for section, record in found.sections.items():
            head = {
                "suffix": "xml.gz",
                "identity": record.key_identity and list(record.key_identity),
                "declared": record.declaration_digest,
                "highest": record.highest,
                "counts": [],
            }
            rows = []
            for page in record.pages:
                content = plain(folder, page.name)
                rows.append([
                    page.number, page.until and list(page.until), len(locations(content)), len(content),
                    (folder / page.name).stat().st_size, page.lastmod, entries(folder)[page.name],
                    sha256(content).hexdigest(), page.fingerprint and list(page.fingerprint), 1,
                ])  # fmt: skip
            (state / found.files[section]).unlink()
            name, content = written_before(section, head, rows)
            (state / name).write_bytes(content)
            assert name == found.files[section]
        before = touched(folder)
        report = export(output=folder, sitemaps=sitemaps, changed_only=changed_only)
        assert (report.written, report.failures) == ((), [])
        assert touched(folder) == before
        assert numbers_of(folder, "articles") == [1, 2, 3, 4]


class TestRecords:
    @given(pages, st.sampled_from(SUFFIXES), keys | st.none())
    def test_of_a_page_are_one_row_in_the_manifest_and_in_replies(self, page, suffix, after):
        page = replace(page, name=page_name("a", page.number, suffix), after=after)
        assert PageFile.from_row("a", suffix, after, json.loads(json.dumps(page.row))) == page
        rendered = RenderedPage(page, staged=f"stage/12345678-{page.name}")
        reply = json.loads(json.dumps(build_reply(rendered)))
        record = possible(SectionRecord(suffix, pages=(page,)))
        _, line = manifest.section_document(record).splitlines()
        assert reply["page"] == json.loads(line)
        assert PageFile.from_row("a", suffix, after, reply["page"]) == page

    @pytest.mark.parametrize(
        "row",
        [
            [],
            [1, 2],
            None,
            7,
            [*ROWS[0], 1],
            ROWS[0][:-1],
            *([*ROWS[0][:place], -1, *ROWS[0][place + 1 :]] for place in (0, 2, 3, 4, 9)),
            [0, *ROWS[0][1:]],
            [*ROWS[0][:8], [-1, None, 5], 1],
            [*ROWS[0][:8], [1, None], 1],
            [None, *ROWS[0][1:]],
        ],
        ids=str,
    )
    def test_of_a_page_are_refused_if_their_row_is_invalid(self, row):
        with pytest.raises(manifest.PARSE_ERRORS):
            PageFile.from_row("a", "xml.gz", None, row)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(record=sections)
    def test_of_a_section_are_read_as_they_were_written(self, tmp_path, record):
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
            stylesheets=st.sampled_from([(), ("sitemap.css",)]),
            unqueued=st.dictionaries(published, st.floats(0, manifest.MAX_TIME), max_size=3),
        )
    )
    def test_of_a_root_are_read_as_they_were_written(self, tmp_path, root):
        store = LocalStore(tmp_path, 0o600, own="")
        (tmp_path / ROOT).write_bytes(root.root())
        assert manifest.read_root(store) == root

    def test_of_20_000_pages_take_less_than_a_kilobyte_each(self, tmp_path):
        def page(number):
            lastmod = f"2026-01-01T{number % 24:02}:30:15Z"
            fingerprint = Fingerprint(47_500, lastmod, 2**63 + number)
            until = (str(number * 47_500),)
            return PageFile(
                page_name("a", number, "xml.gz"), number, None, until, 47_500, 9_000_000,
                700_000 + number, lastmod, lastmod, f"{number:064x}", fingerprint, 1,
            )  # fmt: skip

        count = 20_000
        document = manifest.section_document(
            SectionRecord("xml.gz", highest=count, pages=tuple(page(n) for n in range(1, count + 1)))
        )
        name = manifest.section_file("a", document)
        (tmp_path / name).write_bytes(document)
        del document
        store = LocalStore(tmp_path, 0o600, own="")
        with traced() as memory:
            record = manifest.read_section(store, name)
        assert len(record.pages) == count
        assert memory.held / count < 1_000
        # The peak includes the content of the file, as bytes and as lines.
        assert memory.peak / count < 2_000


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
    "gone": None,
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
    def recovered(self, folder, sitemaps):
        """Check all invariants of a run that knows only the published files."""
        before = touched(folder)
        report = export(output=folder, sitemaps=sitemaps)
        assert (report.failures, report.published) == ([], True)
        assert paths(folder) == THERE
        # Previous numbers are never used for other rows.
        assert numbers_of(folder, "articles") == [5, 6, 7]
        # Listed files do not disappear at once, and files that are due for deletion are remembered.
        after = touched(folder)
        assert {name for name in before if after[name] != before[name] and "-numbers-" not in name} == {
            "sitemap.xml"
        }
        assert all(after[name][0] == before[name][0] for name in before if name != "sitemap.xml")
        assert {f"sitemap-articles-{number}.xml.gz" for number in range(1, 5)} <= set(known(folder).removed)
        after = touched(folder)
        assert export(output=folder, sitemaps=sitemaps).written == ()
        assert touched(folder) == after

    @pytest.mark.parametrize(
        ("which", "damage"),
        [
            *((ROOT, damage) for damage in DAMAGED_ROOTS),
            *(("articles", damage) for damage in DAMAGED_SECTIONS),
        ],
    )
    def test_is_rebuilt_from_the_files_and_pages_get_fresh_numbers(self, folder, state, which, damage):
        sitemaps = after_two_runs(folder)
        path = state / (ROOT if which == ROOT else known(folder).files[which])
        change = (DAMAGED_ROOTS if which == ROOT else DAMAGED_SECTIONS)[damage]
        if change is None:
            path.unlink()
        else:
            path.write_bytes(change(path.read_bytes()))
        self.recovered(folder, sitemaps)

    def test_with_a_damaged_backup_loses_only_the_removed_files(self, folder, state):
        sitemaps = after_two_runs(folder)
        for name in (ROOT, BACKUP):
            (state / name).write_bytes(b"")
        assert export(output=folder, sitemaps=sitemaps).failures == []
        assert paths(folder) == THERE
        assert numbers_of(folder, "articles") == [5, 6, 7]
        # Its file is never deleted, because nothing records any more that it is ours.
        assert "sitemap-articles-2.xml.gz" not in known(folder).removed
        assert (folder / "sitemap-articles-2.xml.gz").exists()

    def test_leaves_sections_that_are_not_exported_as_their_index_names_them(self, folder, state):
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
    def test_does_not_disarm_the_guard(self, folder, state, configure, damaged):
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

    def test_does_not_make_numbers_new_that_no_file_has_any_more(self, folder, state, configure, clock):
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

    def test_since_a_later_version_wrote_it_is_refused(self, folder, state):
        sitemaps = after_two_runs(folder)
        found = json.loads((state / ROOT).read_bytes())
        (state / ROOT).write_text(json.dumps({**found, "format": manifest.FORMAT + 1}))
        before = touched(folder), touched(state)
        with pytest.raises(ManifestError, match=r"manifest\.json was written by a later version.*remove"):
            export(output=folder, sitemaps=sitemaps)
        assert (touched(folder), touched(state)) == before
        # Do what the message recommends.
        (state / ROOT).unlink()
        self.recovered(folder, sitemaps)


@pytest.mark.django_db
class TestTheFilesOfTheManifest:
    def test_are_those_of_this_one_and_of_the_one_before(self, folder, state):
        for count in range(1, 5):
            export(output=folder, sitemaps={"a": Numbers(count), "b": Numbers(1)})
            (state / "section-c-run-gone.jsonl").write_text("of a run that was killed")
            (state / "mine.txt").write_text("not ours")
        export(output=folder, sitemaps={"a": Numbers(9), "b": Numbers(1)})
        now, past = known(folder), known(folder, BACKUP)
        assert (now.sections["a"].urls, past.sections["a"].urls) == (9, 4)
        # Unchanged files are not written again.
        assert now.files["b"] == past.files["b"]
        files = {*now.files.values(), *past.files.values()}
        assert len(files) == 3
        assert {path.name for path in state.iterdir()} == {
            *files,
            ROOT,
            BACKUP,
            HISTORY,
            EXPORTED,
            "lock",
            "mine.txt",
        }

    def test_are_for_this_user_alone(self, folder, state):
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert {path.stat().st_mode & 0o077 for path in state.iterdir()} == {0}


@pytest.mark.django_db
class TestAForgedManifest:
    """An attacker who can write to the state folder can only cause files to be written again."""

    @pytest.fixture
    def victim(self, folder):
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
    def test_names_no_foreign_file(self, victim, key, value):
        path = victim / STATE / ROOT
        path.write_bytes(manifest.seal({**manifest.unseal(path.read_bytes()), key: value}))
        for _ in range(2):
            assert export(output=victim, sitemaps={"articles": articles()}).failures == []
        assert (victim / "index.html").read_text() == (victim.parent / "victim.txt").read_text() == "mine"

    @pytest.mark.parametrize(
        "line", ['[-5, null, 1, 1, 1, null, null, "", null, 1]', '["x"]', "[" * 100_000, '{"a": 1}']
    )
    def test_has_invalid_pages_and_all_are_divided_again(self, victim, line):
        root = victim / STATE / ROOT
        found = manifest.unseal(root.read_bytes())
        head = (victim / STATE / found["sections"]["articles"]).read_text().splitlines()[0]
        document = f"{head}\n{line}\n".replace('"pages": 2', '"pages": 1').encode()
        file = manifest.section_file("articles", document)
        (victim / STATE / file).write_bytes(document)
        root.write_bytes(manifest.seal({**found, "sections": {"articles": file}}))
        assert export(output=victim, sitemaps={"articles": articles()}).failures == []
        assert (victim / "sitemap-articles-2.xml.gz").exists()

    @pytest.mark.parametrize(
        "changes",
        [
            *(b"", b"{", b"[]", b"[1, 2]", b'["r", [["a"]], "", [], [], []]', b"\xff"),
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
    def test_with_a_forged_or_damaged_journal_is_refused(self, victim, changes):
        root = (victim / STATE / ROOT).read_text()
        journal = {"run": "run-1", "steps": [], "root": root, "sections": [], "files": [], "delete": []}
        document = changes if isinstance(changes, bytes) else manifest.seal(journal | changes)
        (victim / STATE / JOURNAL).write_bytes(document)
        before = touched(victim), touched(victim / STATE)
        with pytest.raises(ExportError, match=r"journal\.json cannot be read.*Remove it and manifest"):
            export(output=victim, sitemaps={"articles": articles()})
        assert (touched(victim), touched(victim / STATE)) == before
        assert (victim / "index.html").read_text() == (victim.parent / "victim.txt").read_text() == "mine"
