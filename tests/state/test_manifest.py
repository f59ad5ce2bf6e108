"""The records of the manifest: what is written, and read again, also by other versions."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09.export import export
from django_sitemaps09.export.engines.messages import build_reply
from django_sitemaps09.export.rendering.page import RenderedPage
from django_sitemaps09.filenames import SUFFIXES, page_name
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.state import manifest
from django_sitemaps09.state.history import EXPORTED, HISTORY
from django_sitemaps09.state.manifest import BACKUP, ROOT, Manifest, PageFile, SectionRecord
from django_sitemaps09.stores import LocalStore
from tests.support.exports import locations, plain
from tests.support.manifests import articles, entries, known, numbers_of, touched, write_articles
from tests.support.memory import traced
from tests.support.sections import Numbers

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09(MAX_URLS=2)]

counting, words, times = st.integers(0, 2**63), st.text(max_size=12), st.floats(0, 1e12)
maybe, keys = words | st.none(), st.lists(words, min_size=1, max_size=3).map(tuple)
hashes = st.text() | st.integers(-(2**63), 2**64 - 1)
pages = st.builds(
    PageFile,
    # `possible()` sets the name and the lower bound.
    name=st.just(""),
    after=st.none(),
    number=st.integers(1, 2**63),
    until=keys | st.none(),
    **dict.fromkeys(("urls", "bytes", "size", "index_number"), counting),
    **dict.fromkeys(("lastmod", "changed"), maybe),
    digest=words,
    fingerprint=st.none() | st.builds(Fingerprint, rows=counting, newest=maybe, hash=hashes),
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
    return replace(record, pages=pages, highest=max([record.highest, *(page.number for page in pages)]))


unique_pages = st.lists(
    pages, max_size=4, unique_by=(lambda page: page.number, lambda page: page.until or ("",))
)
sections = st.builds(
    SectionRecord,
    suffix=st.sampled_from(["xml", "xml.gz", "txt"]),
    key_identity=st.none() | st.lists(words, max_size=4).map(tuple),
    declaration_digest=maybe,
    highest=counting,
    counts=st.lists(st.tuples(times, counting), max_size=3).map(tuple),
    pages=unique_pages.map(tuple),
).map(possible)
names = st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True)
published = names.map("sitemap-{}.xml.gz".format) | st.just("sitemap.xml")
roots = st.builds(
    Manifest,
    **dict.fromkeys(("run", "url", "base"), words),
    removed=st.dictionaries(published, times, max_size=3),
    files=st.lists(names, max_size=3).map(
        lambda found: {name: manifest.section_file(name, b"") for name in found}
    ),
    indexes=st.lists(published, max_size=3).map(tuple),
    stylesheets=st.sampled_from([(), ("sitemap.css",)]),
    unqueued=st.dictionaries(published, st.floats(0, manifest.MAX_TIME), max_size=3),
)


@pytest.fixture
def store(tmp_path):
    return LocalStore(tmp_path, 0o600, own="")


def file_of(store, record):
    """Write the file of a section, and return its name."""
    document = manifest.section_document(record)
    name = manifest.section_file("a", document)
    store.write(name, document)
    return name


def written_before(section, head, rows):
    """Return the name and the content of a section's file as earlier versions wrote them."""
    content = "".join(f"{json.dumps(line)}\n" for line in ({**head, "pages": len(rows)}, *rows)).encode()
    return f"section-{section}-{sha256(content).hexdigest()[:32]}.jsonl", content


#: A file with a page in each form: with a fingerprint of each kind, without one, adopted.
IDENTITY = ["tests_article.id", "integer"]
HEAD = {
    "suffix": "xml.gz",
    "identity": IDENTITY,
    "declared": "8d1f",
    "highest": 7,
    "counts": [[1_788_264_000.5, 90]],
}
LASTMOD, CHANGED = "2026-01-02T10:30:00Z", "2026-09-01T12:00:00Z"
ROWS = [
    [1, ["30"], 30, 4_000, 400, LASTMOD, CHANGED, "ab" * 32, [30, LASTMOD, 18_446_744_073_709_551_615], 1],
    [3, ["60"], 29, 4_000, 400, "2026-01-03", CHANGED, "cd" * 32, [29, None, "1f"], 1],
    [7, ["60", "é"], 1, 100, 90, None, None, "ef" * 32, None, 2],
    [2, None, 0, 0, 0, None, "2026-01-01", "", None, 0],
]


def test_a_file_of_an_earlier_version_is_read_and_written_as_it_was(store):
    """So a page takes no more bytes than before."""
    name, content = written_before("a-b", HEAD, ROWS)
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


@pytest.mark.django_db
@pytest.mark.parametrize("changed_only", [False, True])
def test_a_file_of_an_earlier_version_is_all_that_a_run_needs_to_write_nothing(folder, state, changed_only):
    write_articles(*range(1, 8))
    sitemaps = {"articles": articles(), "numbers": Numbers(3)}
    export(output=folder, sitemaps=sitemaps, changed_only=changed_only)
    # Write each file anew, from what is published and the columns that earlier versions had.
    found = known(folder)
    for section, record in found.sections.items():
        identity = record.key_identity and [*record.key_identity]
        head = {"suffix": "xml.gz", "identity": identity, "declared": record.declaration_digest}
        rows = []
        for page in record.pages:
            content = plain(folder, page.name)
            rows.append([
                page.number, page.until and list(page.until), len(locations(content)), len(content),
                (folder / page.name).stat().st_size, page.lastmod, entries(folder)[page.name],
                sha256(content).hexdigest(), page.fingerprint and list(page.fingerprint), 1,
            ])  # fmt: skip
        (state / found.files[section]).unlink()
        name, content = written_before(section, {**head, "highest": record.highest, "counts": []}, rows)
        (state / name).write_bytes(content)
        assert name == found.files[section]
    before = touched(folder)
    report = export(output=folder, sitemaps=sitemaps, changed_only=changed_only)
    assert (report.written, report.failures, touched(folder)) == ((), [], before)
    assert numbers_of(folder, "articles") == [1, 2, 3, 4]


@given(pages, st.sampled_from(SUFFIXES), keys | st.none())
def test_the_record_of_a_page_is_the_same_row_in_the_manifest_and_in_replies(page, suffix, after):
    page = replace(page, name=page_name("a", page.number, suffix), after=after)
    assert PageFile.from_row("a", suffix, after, json.loads(json.dumps(page.row))) == page
    rendered = RenderedPage(page, staged=f"stage/12345678-{page.name}")
    reply = json.loads(json.dumps(build_reply(rendered)))
    _, line = manifest.section_document(possible(SectionRecord(suffix, pages=(page,)))).splitlines()
    assert reply["page"] == json.loads(line)
    assert PageFile.from_row("a", suffix, after, reply["page"]) == page


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
            page_name("a", number, "xml.gz"), number, None, (str(number * 47_500),), 47_500, 9_000_000,
            700_000 + number, lastmod, lastmod, f"{number:064x}", Fingerprint(9, lastmod, 2**63 + 1), 1,
        )  # fmt: skip

    count = 20_000
    name = file_of(
        store, SectionRecord("xml.gz", highest=count, pages=tuple(map(page, range(1, count + 1))))
    )
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
    assert len(files) == 3
    assert found.keys() == {*files, ROOT, BACKUP, HISTORY, EXPORTED, "lock", "mine.txt"}
    assert {found[name] for name in found if name != "mine.txt"} == {0}
