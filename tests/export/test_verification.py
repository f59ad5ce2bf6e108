"""`verify()`: it finds published files that are damaged or missing, and repairs nothing else."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import zlib
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.exceptions import ExportError, ExportRunningError, UnreadableError
from django_sitemaps09.export import export, verification, verify
from django_sitemaps09.target import published as contents
from tests.models import Article
from tests.support import published
from tests.support.configuration import BASE, limit_indexes
from tests.support.exports import promoting
from tests.support.internals import BACKUP, ROOT, STATE, LocalStore, compression, exclusive_lock
from tests.support.killing import dies_at
from tests.support.manifests import articles, entries, paths, slugs, write_articles
from tests.support.memory import traced
from tests.support.sections import Numbers, declare
from tests.support.stores import Overwriting, storage

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

PAGES = [f"sitemap-articles-{number}.xml.gz" for number in (1, 2, 3)]
TwoOnAPage = declare(Numbers, limit=2)


def sections(count=3, **attributes):
    return {"articles": articles(limit=2, **attributes), "numbers": TwoOnAPage(count)}


@pytest.fixture
def public(folder):
    write_articles(*range(1, 7))
    assert export(output=folder, sitemaps=sections()).failures == []
    return folder


def run(folder, *names, **options):
    return verify(names, output=folder, **{"sitemaps": sections(), **options})


def damaged(verification):
    return {file.name: file.repaired for file in verification.damaged}


def is_whole(folder, **options):
    result = run(folder, **options)
    return (result.damaged, result.failures, result.is_unfinished) == ([], [], False)


def rename(*keys, slug="new-{}"):
    for key in keys:
        Article.objects.filter(pk=key).update(slug=slug.format(key))


def flip(path):
    content = bytearray(path.read_bytes())
    content[37] ^= 1 << 4
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-9])


delete, append = Path.unlink, lambda path: path.write_bytes(2 * path.read_bytes())


def test_an_intact_export_is_read_completely_and_nothing_is_written(public, configure):
    before = published.states(public, hidden=True)
    result = run(public)
    assert (result.damaged, result.failures, result.repair) == ([], [], None)
    assert (result.files, result.urls, result.is_unfinished) == (6, 9, False)
    files = ((path.read_bytes(), path.name.endswith(".gz")) for path in public.glob("*.xml*"))
    assert result.bytes == sum(len(published.plain(*file)) for file in files)
    assert (result.target, result.index_url) == (str(public), f"{BASE}/sitemap.xml")
    # A repair changes nothing either, not even for new rows or other settings.
    write_articles(7)
    configure(MAX_URLS=1)
    assert (run(public, repair=True).repair, published.states(public, hidden=True)) == (None, before)


def test_an_intact_export_may_have_other_files_and_is_verified_beside_an_export_but_not_repaired(public):
    Article.objects.filter(pk__in=(3, 4)).delete()
    export(output=public, sitemaps=sections())
    (public / PAGES[1]).unlink()
    (public / "sitemap-articles-99.xml.gz").write_bytes(b"of another program")
    assert is_whole(public)
    with exclusive_lock(LocalStore(public)):
        assert is_whole(public)
        delete(public / PAGES[0])
        assert damaged(run(public)) == {PAGES[0]: False}
        with pytest.raises(ExportRunningError):
            run(public, repair=True)


@pytest.mark.parametrize(("name", "damage"), [
    *((name, damage) for name in (PAGES[1], "sitemap.xml") for damage in (flip, truncate, append, delete)),
    (PAGES[1], lambda path: path.write_bytes((path.parent / PAGES[0]).read_bytes())),
    (PAGES[1], lambda path: path.unlink() or path.symlink_to(PAGES[0])), ("sitemap-numbers-1.xml.gz", flip),
    *((PAGES[1], lambda path, more=more: path.write_bytes(path.read_bytes() + more))
      for more in (b"x", compression.compress(b""), bytes(2_000_000))),
    (PAGES[1], lambda path: path.write_bytes(gzip.decompress(path.read_bytes()))),
    ("sitemap.xml", lambda path: path.write_bytes(compression.compress(path.read_bytes()))),
    *(("sitemap.xml", lambda path, end=end: path.write_bytes(path.read_bytes()[:end])) for end in (-1, 0)),
], ids=range(18))  # fmt: skip
def test_a_damaged_file_is_found_and_repaired_alone(public, name, damage, django_assert_num_queries):
    contents, index = paths(public), entries(public)
    damage(public / name)
    before = published.states(public)
    result = run(public)
    [failure] = result.failures
    assert (damaged(result), name in failure, str(public) in failure) == ({name: False}, True, True)
    assert published.states(public) == before
    if name == "sitemap.xml":
        # It is written again without a query.
        with django_assert_num_queries(0):
            result = run(public, repair=True)
    else:
        result = run(public, repair=True)
        assert result.repair.written == (name,)
    assert (damaged(result), result.failures) == ({name: True}, [])
    after = published.states(public)
    assert {file for file in after if after[file] != before.get(file)} == {name}
    assert (paths(public), entries(public), is_whole(public)) == (contents, index, True)


def test_a_damaged_page_gets_its_new_rows_and_other_pages_wait_for_the_next_export(public):
    rename(1, 3)
    write_articles(7)
    delete(public / PAGES[1])
    index = entries(public)
    assert damaged(run(public, repair=True)) == {PAGES[1]: True}
    assert paths(public)[:6] == [*slugs(1, 2), "/articles/new-3/", *slugs(4, 5, 6)]
    assert {name for name, lastmod in entries(public).items() if lastmod != index[name]} == {PAGES[1]}
    export(output=public, sitemaps=sections(), changed_only=True)
    assert paths(public)[:7] == ["/articles/new-1/", *slugs(2), "/articles/new-3/", *slugs(4, 5, 6, 7)]


def test_a_damaged_page_of_a_section_whose_declaration_has_changed_has_all_its_pages_rendered(public):
    delete(public / PAGES[1])
    result = run(public, repair=True, sitemaps=sections(changefreq="daily"))
    assert {*result.repair.written} == {*PAGES, "sitemap.xml"}


@pytest.mark.parametrize(("sitemaps", "words"), [
    ({"numbers": TwoOnAPage(3)}, "--remove articles"),
    ({"articles": declare(Numbers, items=lambda self: 1 / 0)(3)}, "Section 'articles': ZeroDivisionError"),
])  # fmt: skip
def test_a_damaged_page_of_a_section_that_fails_or_is_not_declared_stays_damaged(public, sitemaps, words):
    delete(public / PAGES[0])
    # One of another section is not looked at.
    assert (run(public, "numbers").damaged, damaged(run(public, "articles"))) == ([], {PAGES[0]: False})
    result = run(public, repair=True, sitemaps=sitemaps)
    assert damaged(result) == {PAGES[0]: False}
    assert any(words in failure for failure in result.failures)


def test_a_damaged_page_whose_rows_are_gone_leaves_the_index(public):
    Article.objects.filter(pk__in=(3, 4)).delete()
    delete(public / PAGES[1])
    assert damaged(run(public, repair=True)) == {PAGES[1]: True}
    assert (PAGES[1] in entries(public), is_whole(public)) == (False, True)


def test_a_damaged_page_that_a_killed_export_had_replaced_leaves_no_other_one_without_a_digest(public):
    rename(2, 4, slug="new")
    before = published.states(public)
    assert dies_at(3, lambda: export(output=public, sitemaps=sections(9)))
    after = published.states(public)
    first, _ = [name for name in after if after[name] != before.get(name)]
    flip(public / first)
    assert run(public, sitemaps=sections(9), repair=True).failures == []
    assert is_whole(public, sitemaps=sections(9))


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("has_staged_files", [True, False])
def test_a_killed_export_is_finished_by_a_repair_without_damage(public, step, has_staged_files):
    rename(2, 4, slug="new")
    assert dies_at(step, lambda: export(output=public, sitemaps=sections()))
    if not has_staged_files:
        for path in (public / STATE).glob("run-*"):
            shutil.rmtree(path)
    found = run(public)
    assert (found.damaged, found.is_unfinished) == ([], True)
    result = run(public, repair=True)
    assert (result.failures, result.is_unfinished, is_whole(public)) == ([], False, True)
    assert [path for path in paths(public) if "new" in path] == 2 * ["/articles/new/"]


def test_a_page_that_the_disk_cannot_read_is_found_and_repaired(public, monkeypatch):
    inode = (public / PAGES[0]).stat().st_ino
    truncate(public / PAGES[1])
    opened = LocalStore.open

    def failing(store, name):
        file = opened(store, name)
        if file is not None and os.fstat(file.fileno()).st_ino == inode:
            file.close()
            raise OSError(errno.EIO, "Input/output error")
        return file

    monkeypatch.setattr(LocalStore, "open", failing)
    found = run(public)
    assert damaged(found) == {PAGES[0]: False, PAGES[1]: False}
    assert "it cannot be read (" in found.failures[0]
    assert ("Input/output error" in found.failures[0], run(public, repair=True).failures) == (True, [])


def test_the_indexes_of_a_cascade_are_checked(folder, configure, monkeypatch):
    limit_indexes(monkeypatch, 2)
    configure(CASCADE=True)
    write_articles(*range(1, 7))
    export(output=folder, sitemaps=sections())
    names = {path.name for path in folder.glob("sitemap*.xml")}
    assert (len(names), is_whole(folder)) == (4, True)
    configure(CASCADE=False)
    for name in names:
        truncate(folder / name)
    assert {*damaged(run(folder))} == names


@pytest.mark.sitemaps09(STYLESHEET=True)
def test_a_damaged_stylesheet_is_found_and_one_of_the_project_is_kept(folder):
    export(output=folder, sitemaps=sections())
    for damage in (truncate, delete):
        assert is_whole(folder)
        damage(folder / "sitemap.css")
        assert damaged(run(folder, repair=True)) == {"sitemap.css": True}
    (folder / "sitemap.css").write_text("urlset { color: green }")
    assert run(folder, repair=True).damaged == []
    assert (folder / "sitemap.css").read_text() == "urlset { color: green }"


def test_a_robots_txt_without_the_index_is_found(public, tmp_path):
    path = tmp_path / "robots.txt"
    path.write_text("User-agent: *\n")
    result = run(public, robots=path)
    assert (damaged(result), f"{BASE}/sitemap.xml" in result.failures[0]) == ({str(path): False}, True)
    assert damaged(run(public, robots=path, repair=True)) == {str(path): True}
    assert f"Sitemap: {BASE}/sitemap.xml" in path.read_text()
    assert is_whole(public, robots=path)
    path.write_text("# BEGIN django-sitemaps09\n")
    (failure,) = run(public, robots=path).failures
    assert failure.startswith(f"{path} in {public} is damaged: The markers of the generated block ")
    assert failure.endswith("or remove them all.")


@pytest.mark.parametrize(("harm", "options", "error", "advice"), [
    (shutil.rmtree, {}, ExportError, "Export first"),
    (lambda public: flip(public / STATE / ROOT), {}, UnreadableError, "without --verify"),
    (lambda public: None, {"base_url": "https://other.example"}, ExportError, "another target"),
    *((lambda public: None, {"workers": count}, ImproperlyConfigured, f"one worker, not {count}")
      for count in (0, -1)),
], ids=["missing", "damaged", "of another site", "no worker", "less"])  # fmt: skip
def test_a_manifest_and_a_worker_are_needed(public, harm, options, error, advice):
    harm(public)
    with pytest.raises(error, match=advice):
        run(public, **options)
    assert public.exists() != (harm is shutil.rmtree)


def test_a_manifest_without_a_digest_makes_a_page_damaged(public):
    for name in (ROOT, BACKUP):
        (public / STATE / name).unlink(missing_ok=True)
    export(["numbers"], output=public, sitemaps=sections())
    result = run(public, repair=True)
    assert {file.name for file in result.damaged if "no digest" in file.problem} == {*PAGES}
    assert (is_whole(public), paths(public)[:6]) == (True, slugs(*range(1, 7)))


def test_an_export_meanwhile_does_not_make_its_files_look_damaged(public, monkeypatch):
    check, calls = verification.check_file, []

    def after_an_export(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            export(["numbers"], output=public, sitemaps={**sections(), "numbers": TwoOnAPage(9, 5)})
        return check(*arguments)

    monkeypatch.setattr(verification, "check_file", after_an_export)
    delete(public / PAGES[2])
    assert (damaged(run(public, workers=1)), len(calls) > 6) == ({PAGES[2]: False}, True)


def test_an_export_meanwhile_can_be_at_any_step(public, monkeypatch):
    results, verified = [], lambda store, name: results.append(run(public))
    promoting(monkeypatch, before=verified, after=verified)
    rename(2, 4)
    write_articles(7, 8, 9)
    report = export(output=public, sitemaps=sections(9))
    assert len(results) >= 2 * len(report.written) > 10
    assert {(*result.damaged, result.is_unfinished) for result in results} == {(True,)}


@pytest.mark.usefixtures("shared_cache")
@pytest.mark.parametrize("is_open", [False, True])
def test_an_outage_of_a_storage_is_not_taken_for_damage(declare, monkeypatch, is_open):
    def fail(self, name):
        if not name.endswith(".gz"):
            return open_(self, name)
        if is_open:
            read = Mock(side_effect=OSError(5, "the storage is down"))
            return type("Closing", (BytesIO,), {"read": read})()
        raise RuntimeError("the storage is down")

    declare(sitemaps=storage(Overwriting))
    export(sitemaps={"n": TwoOnAPage(5)})
    open_ = Overwriting.open
    monkeypatch.setattr(Overwriting, "open", fail)
    with pytest.raises((ExportError, OSError), match="the storage is down"):
        verify(sitemaps={"n": TwoOnAPage(5)}, repair=not is_open)


@pytest.mark.slow
@pytest.mark.usefixtures("shared_cache")
def test_objects_on_s3_that_are_overwritten_or_deleted_are_repaired(bucket):
    made = bucket(location="maps")
    sitemaps = {"n": TwoOnAPage(7)}
    export(sitemaps=sitemaps)
    objects = [made.Object(f"maps/sitemap-n-{number}.xml.gz") for number in range(1, 5)]
    contents = [each.get()["Body"].read() for each in objects]
    flipped = bytearray(contents[0])
    flipped[40] ^= 4
    for each, content in zip(objects, (bytes(flipped), contents[2], contents[2][:-1]), strict=False):
        each.put(Body=content)
    objects[3].delete()
    result = verify(sitemaps=sitemaps, repair=True)
    assert damaged(result) == {each.key.removeprefix("maps/"): True for each in objects}
    assert [each.get()["Body"].read() for each in objects] == contents
    result = verify(sitemaps=sitemaps, workers=2)
    assert (result.damaged, result.files, result.urls) == ([], 5, 7)


NAME, PLAIN = "sitemap-a-1.xml.gz", "sitemap-a-1.xml"
CONTENT = b"<urlset>\n" + b"".join(b"<url><loc>https://a/%d/</loc></url>\n" % n for n in range(9))
WHOLE = compression.compress(CONTENT)


def expected(content=CONTENT, name=NAME, urls=9):
    return contents.ExpectedFile(name, frozenset([sha256(content).hexdigest()]), "a", urls, len(content))


@pytest.fixture
def check(tmp_path):
    def written(content, file):
        (tmp_path / file.name).write_bytes(content)
        return contents.check_file(LocalStore(tmp_path), file)

    return written


def test_every_bit_that_changes_the_content_and_every_truncation_is_found(check):
    harmless = 0
    for bit in range(8 * len(WHOLE)):
        content = bytearray(WHOLE)
        content[bit // 8] ^= 1 << bit % 8
        if check(bytes(content), expected()).problem is None:
            assert gzip.decompress(content) == CONTENT
            harmless += 1
    # Bits of the time in the header, for example.
    assert harmless < 10 * 8
    assert check(WHOLE, expected()) == contents.CheckedFile(NAME, "a", 9, len(CONTENT))
    assert all(check(WHOLE[:length], expected()).problem is not None for length in range(len(WHOLE)))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 36, 1_000])
def test_urls_are_counted_across_chunks(check, monkeypatch, size):
    monkeypatch.setattr(compression, "_CHUNK", size)
    assert check(CONTENT, expected(name=PLAIN)).urls == 9
    text = b"https://a/1/\nhttps://a/2/\n"
    found = check(text, expected(text, "sitemap-a-1.txt", 2))
    assert found == contents.CheckedFile("sitemap-a-1.txt", "a", 2, 26)
    assert check(WHOLE, expected(urls=10)).problem == "it has 9 URLs, but the manifest has 10"


def test_a_file_needs_little_memory_and_a_huge_one_is_not_read_to_its_end(check, monkeypatch):
    stream = zlib.compressobj(1, zlib.DEFLATED, 31)
    whole = b"".join([*(stream.compress(bytes(1_000_000)) for _ in range(40)), stream.flush()])
    read = 0

    class Digest:
        def update(self, data):
            nonlocal read
            read += len(data)

        def hexdigest(self):
            return ""

    monkeypatch.setattr(contents, "sha256", Digest)
    file = contents.ExpectedFile(NAME, frozenset([""]), "a", 0, 40_000_000)
    with traced() as memory:
        assert check(whole, file).problem is None
    assert (read, memory.peak < 8_000_000) == (40_000_000, True)
    monkeypatch.setattr(contents, "MAX_BYTES", 5_000_000)
    assert check(whole, file._replace(bytes=3_000_000, digests=frozenset(["x"]))).problem is not None
    assert 40_000_000 < read < 50_000_000
