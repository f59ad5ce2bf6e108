"""`verify()`: it finds published files that are damaged or missing, and repairs nothing else."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from django_sitemaps09 import protocol
from django_sitemaps09.exceptions import ExportError, ExportRunningError, UnreadableError
from django_sitemaps09.export import export, export_hosts, verify, verify_hosts
from django_sitemaps09.export.publishing import file_checks
from django_sitemaps09.state.manifest import BACKUP, ROOT
from django_sitemaps09.stores import STATE, LocalStore, exclusive_lock
from tests.models import Article
from tests.support import published
from tests.support.configuration import BASE
from tests.support.killing import dies_at
from tests.support.manifests import articles, entries, paths, slugs, write_articles
from tests.support.sections import Numbers
from tests.support.stores import Overwriting, storage

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

PAGES = [f"sitemap-articles-{number}.xml.gz" for number in (1, 2, 3)]


class TwoOnAPage(Numbers):
    limit = 2


def sections():
    return {"articles": articles(limit=2), "numbers": TwoOnAPage(3)}


@pytest.fixture
def public(folder):
    """The folder of an export with three pages of articles, and two of numbers."""
    write_articles(*range(1, 7))
    assert export(output=folder, sitemaps=sections()).failures == []
    return folder


def run(folder, *names, **options):
    return verify(names, output=folder, **{"sitemaps": sections(), **options})


def damaged(verification):
    """Return the damaged files, and whether each was repaired."""
    return {file.name: file.repaired for file in verification.damaged}


def flip(path, bit=300):
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-9])


def append(path):
    path.write_bytes(2 * path.read_bytes())


def delete(path):
    path.unlink()


def overwrite(path):
    path.write_bytes((path.parent / "sitemap-articles-1.xml.gz").read_bytes())


def replace_by_link(path):
    path.unlink()
    path.symlink_to("sitemap-articles-1.xml.gz")


DAMAGES = [flip, truncate, append, delete, overwrite, replace_by_link]


class TestAnIntactExport:
    def test_is_read_completely_and_nothing_is_written(self, public, configure):
        before = published.states(public, hidden=True)
        result = run(public)
        assert (result.damaged, result.failures, result.repair) == ([], [], None)
        assert (result.files, result.urls, result.is_unfinished) == (6, 9, False)
        assert result.bytes == sum(len(published.plain(*read(path))) for path in public.glob("*.xml*"))
        assert (result.target, result.index_url) == (str(public), f"{BASE}/sitemap.xml")
        assert published.states(public, hidden=True) == before
        # A repair changes nothing either, not even for new rows or other settings.
        write_articles(7)
        configure(MAX_URLS=1)
        assert run(public, repair=True).repair is None
        assert published.states(public, hidden=True) == before

    def test_can_have_other_files_and_removed_pages_beside_it(self, public):
        Article.objects.filter(pk__in=(3, 4)).delete()
        export(output=public, sitemaps=sections())
        (public / PAGES[1]).unlink()
        (public / "sitemap-articles-99.xml.gz").write_bytes(b"of another program")
        assert run(public).damaged == []

    def test_may_be_verified_while_an_export_has_the_lock(self, public):
        with exclusive_lock(LocalStore(public)):
            assert run(public).damaged == []
            delete(public / PAGES[0])
            assert damaged(run(public)) == {PAGES[0]: False}
            with pytest.raises(ExportRunningError):
                run(public, repair=True)


def read(path):
    return path.read_bytes(), path.name.endswith(".gz")


class TestADamagedPage:
    @pytest.mark.parametrize(
        ("name", "damage"),
        [*((PAGES[1], damage) for damage in DAMAGES), ("sitemap-numbers-1.xml.gz", flip)],
    )
    def test_is_found_and_the_only_file_that_a_repair_writes(self, public, name, damage):
        contents, index = paths(public), entries(public)
        damage(public / name)
        before = published.states(public)
        result = run(public)
        assert damaged(result) == {name: False}
        [failure] = result.failures
        assert name in failure
        assert str(public) in failure
        assert published.states(public) == before
        result = run(public, repair=True)
        assert damaged(result) == {name: True}
        assert result.failures == []
        assert result.repair is not None
        assert result.repair.written == (name,)
        after = published.states(public)
        assert {file for file in after if after[file] != before.get(file)} == {name}
        assert (paths(public), entries(public)) == (contents, index)
        assert run(public).damaged == []

    def test_gets_its_new_rows_and_other_pages_wait_for_the_next_export(self, public):
        for key in (1, 3):
            Article.objects.filter(pk=key).update(slug=f"new-{key}")
        write_articles(7)
        delete(public / PAGES[1])
        index = entries(public)
        assert damaged(run(public, repair=True)) == {PAGES[1]: True}
        assert paths(public)[:6] == [*slugs(1, 2), "/articles/new-3/", *slugs(4, 5, 6)]
        changed = {name for name, lastmod in entries(public).items() if lastmod != index[name]}
        assert changed == {PAGES[1]}
        export(output=public, sitemaps=sections(), changed_only=True)
        assert paths(public)[:7] == ["/articles/new-1/", *slugs(2), "/articles/new-3/", *slugs(4, 5, 6, 7)]

    def test_of_a_section_whose_declaration_has_changed_has_all_its_pages_rendered(self, public):
        delete(public / PAGES[1])
        changed = {**sections(), "articles": articles(limit=2, changefreq="daily")}
        result = run(public, repair=True, sitemaps=changed)
        assert result.repair is not None
        assert set(result.repair.written) == {*PAGES, "sitemap.xml"}

    def test_of_another_section_is_not_looked_at(self, public):
        delete(public / PAGES[0])
        assert run(public, "numbers").damaged == []
        assert damaged(run(public, "articles")) == {PAGES[0]: False}

    def test_of_a_section_that_is_no_longer_declared_needs_a_removal(self, public):
        delete(public / PAGES[0])
        result = run(public, repair=True, sitemaps={"numbers": TwoOnAPage(3)})
        assert damaged(result) == {PAGES[0]: False}
        assert "--remove articles" in result.failures[0]

    def test_whose_section_fails_stays_damaged(self, public):
        delete(public / PAGES[0])
        broken = type("Broken", (articles(limit=2),), {"get_queryset": lambda self: 1 / 0})
        result = run(public, repair=True, sitemaps={"articles": broken})
        assert damaged(result) == {PAGES[0]: False}
        assert any(failure.startswith("Section 'articles'") for failure in result.failures)

    def test_whose_rows_are_gone_leaves_the_index(self, public):
        Article.objects.filter(pk__in=(3, 4)).delete()
        delete(public / PAGES[1])
        assert damaged(run(public, repair=True)) == {PAGES[1]: True}
        assert PAGES[1] not in entries(public)
        assert run(public).damaged == []

    def test_that_a_killed_export_had_replaced_leaves_no_other_page_without_a_digest(self, public):
        Article.objects.filter(pk__in=[2, 4]).update(slug="new")
        changed = {**sections(), "numbers": TwoOnAPage(9)}
        before = published.states(public)
        assert dies_at(3, lambda: export(output=public, sitemaps=changed))
        after = published.states(public)
        first, _ = [name for name in after if after[name] != before.get(name)]
        flip(public / first)
        assert run(public, sitemaps=changed, repair=True).failures == []
        again = run(public, sitemaps=changed)
        assert (again.failures, again.is_unfinished) == ([], False)

    @pytest.mark.parametrize("step", [1, 2, 3])
    @pytest.mark.parametrize("has_staged_files", [True, False])
    def test_need_not_exist_for_a_repair_to_finish_a_killed_export(self, public, step, has_staged_files):
        Article.objects.filter(pk__in=[2, 4]).update(slug="new")
        assert dies_at(step, lambda: export(output=public, sitemaps=sections()))
        if not has_staged_files:
            for path in (public / STATE).glob("run-*"):
                shutil.rmtree(path)
        found = run(public)
        assert (found.damaged, found.is_unfinished) == ([], True)
        result = run(public, repair=True)
        assert (result.failures, result.is_unfinished) == ([], False)
        again = run(public)
        assert (again.damaged, again.is_unfinished) == ([], False)
        assert [path for path in paths(public) if "new" in path] == 2 * ["/articles/new/"]

    def test_that_the_disk_cannot_read_is_found_and_repaired(self, public, monkeypatch):
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
        assert "Input/output error" in found.failures[0]
        assert run(public, repair=True).failures == []


class TestOtherFiles:
    @pytest.mark.parametrize("damage", [flip, truncate, append, delete])
    def test_a_damaged_index_is_written_again_without_a_query(
        self, public, damage, django_assert_num_queries
    ):
        before = (public / "sitemap.xml").read_bytes()
        damage(public / "sitemap.xml")
        assert damaged(run(public)) == {"sitemap.xml": False}
        with django_assert_num_queries(0):
            result = run(public, repair=True)
        assert damaged(result) == {"sitemap.xml": True}
        assert (public / "sitemap.xml").read_bytes() == before

    def test_indexes_of_a_cascade_are_checked(self, folder, configure, monkeypatch):
        monkeypatch.setattr(protocol, "INDEX_LIMITS", protocol.INDEX_LIMITS._replace(urls=2))
        configure(CASCADE=True)
        write_articles(*range(1, 7))
        export(output=folder, sitemaps=sections())
        names = {path.name for path in folder.glob("sitemap*.xml")}
        assert len(names) == 4
        assert run(folder).damaged == []
        configure(CASCADE=False)
        for name in names:
            truncate(folder / name)
        assert set(damaged(run(folder))) == names

    @pytest.mark.sitemaps09(STYLESHEET=True)
    @pytest.mark.sitemaps09(STYLESHEET=True)
    def test_a_damaged_stylesheet_is_found_and_one_of_the_project_is_kept(self, folder):
        export(output=folder, sitemaps=sections())
        for damage in (truncate, delete):
            assert run(folder).damaged == []
            damage(folder / "sitemap.css")
            assert damaged(run(folder, repair=True)) == {"sitemap.css": True}
        (folder / "sitemap.css").write_text("urlset { color: green }")
        assert run(folder, repair=True).damaged == []
        assert (folder / "sitemap.css").read_text() == "urlset { color: green }"

    def test_a_robots_txt_without_the_index_is_found(self, public, tmp_path):
        path = tmp_path / "robots.txt"
        path.write_text("User-agent: *\n")
        result = run(public, robots=path)
        assert damaged(result) == {str(path): False}
        assert f"{BASE}/sitemap.xml" in result.failures[0]
        assert damaged(run(public, robots=path, repair=True)) == {str(path): True}
        assert f"Sitemap: {BASE}/sitemap.xml" in path.read_text()
        assert run(public, robots=path).damaged == []


@pytest.mark.parametrize(
    ("harm", "options", "error", "advice"),
    [
        (shutil.rmtree, {}, ExportError, "Export first"),
        (lambda public: flip(public / STATE / ROOT), {}, UnreadableError, "without --verify"),
        (lambda public: None, {"base_url": "https://other.example"}, ExportError, "another target"),
    ],
    ids=["missing", "damaged", "of another site"],
)
def test_a_manifest_is_needed(public, harm, options, error, advice):
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
    assert run(public).damaged == []
    assert paths(public)[:6] == slugs(*range(1, 7))


class TestAnExportMeanwhile:
    def test_does_not_make_its_files_look_damaged(self, public, monkeypatch):
        check, calls = file_checks.check_file, []

        def after_an_export(*arguments):
            calls.append(arguments)
            if len(calls) == 1:
                changed = {**sections(), "numbers": TwoOnAPage(9, 5)}
                export(["numbers"], output=public, sitemaps=changed)
            return check(*arguments)

        monkeypatch.setattr(file_checks, "check_file", after_an_export)
        delete(public / PAGES[2])
        result = run(public, workers=1)
        assert damaged(result) == {PAGES[2]: False}
        assert len(calls) > 6

    def test_can_be_at_any_step(self, public, monkeypatch):
        promote, results = LocalStore.promote, []

        def verified(store, staged, name):
            for step in (lambda: None, lambda: promote(store, staged, name)):
                step()
                results.append(run(public))

        monkeypatch.setattr(LocalStore, "promote", verified)
        for key in (2, 4):
            Article.objects.filter(pk=key).update(slug=f"new-{key}")
        write_articles(7, 8, 9)
        report = export(output=public, sitemaps={**sections(), "numbers": TwoOnAPage(9)})
        assert len(results) >= 2 * len(report.written) > 10
        assert [result.damaged for result in results] == [[]] * len(results)
        assert all(result.is_unfinished for result in results)


def test_several_hosts_are_repaired_in_their_own_folders(folder):
    write_articles(*range(1, 7))
    hosts = ["https://a.example", "https://b.example"]
    export_hosts(hosts, output=folder, sitemaps=sections())
    before = published.states(folder / "a.example"), published.states(folder / "b.example")
    truncate(folder / "b.example" / PAGES[1])
    results = verify_hosts(hosts, output=folder, sitemaps=sections(), repair=True)
    assert [damaged(result) for result in results.values()] == [{}, {PAGES[1]: True}]
    after = published.states(folder / "a.example"), published.states(folder / "b.example")
    assert after[0] == before[0]
    assert {name for name in after[1] if after[1][name] != before[1][name]} == {PAGES[1]}


class Unreliable(Overwriting):
    """A storage whose files cannot be read."""

    fails = False

    def open(self, name, mode="rb"):
        if type(self).fails and name.endswith(".gz"):
            raise RuntimeError("the storage is down")
        return super().open(name, mode)


@pytest.mark.usefixtures("shared_cache")
class TestStorages:
    def test_an_outage_is_not_taken_for_damage(self, declare, monkeypatch):
        declare(sitemaps=storage(Unreliable))
        export(sitemaps={"n": TwoOnAPage(5)})
        monkeypatch.setattr(Unreliable, "fails", True)
        with pytest.raises(ExportError, match="the storage is down"):
            verify(sitemaps={"n": TwoOnAPage(5)}, repair=True)

    @pytest.mark.slow
    def test_objects_on_s3_that_are_overwritten_or_deleted_are_repaired(self, bucket):
        made = bucket(location="maps")
        sitemaps = {"n": TwoOnAPage(7)}
        export(sitemaps=sitemaps)
        keys = [f"maps/sitemap-n-{number}.xml.gz" for number in range(1, 5)]
        contents = [made.Object(key).get()["Body"].read() for key in keys]
        flipped = bytearray(contents[0])
        flipped[40] ^= 4
        made.Object(keys[0]).put(Body=bytes(flipped))
        made.Object(keys[1]).put(Body=contents[2])
        made.Object(keys[2]).put(Body=contents[2][:-1])
        made.Object(keys[3]).delete()
        result = verify(sitemaps=sitemaps, repair=True)
        assert damaged(result) == {key.removeprefix("maps/"): True for key in keys}
        assert [made.Object(key).get()["Body"].read() for key in keys] == contents
        result = verify(sitemaps=sitemaps, workers=2)
        assert (result.damaged, result.files, result.urls) == ([], 5, 7)
