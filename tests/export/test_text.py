"""Exports of text files, and sections that change their format."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09.export import Report, export
from django_sitemaps09.state.journal import JOURNAL
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore
from tests.export.notifications import Notifications
from tests.models import Article
from tests.support import published as looked_at
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.factories import ArticleFactory
from tests.support.killing import dies_at
from tests.support.manifests import known
from tests.support.text import TextArticles, get, indexed, lines, names, of, text_of, urls, write

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.sitemaps09(ENGINE="serial")]
DAY = 24 * 3600


def published_urls() -> set[str]:
    return {f"{BASE}/articles/{row.slug}/" for row in Article.objects.filter(published=True)}


class TestAnExportOfText:
    def run(self, folder: Path, sitemap: Any = TextArticles, **options: Any) -> Report:
        return export(output=folder, sitemaps={"articles": sitemap}, **options)

    @pytest.mark.parametrize("compressed", [True, False])
    def test_has_uncompressed_files_that_the_index_names_with_the_bytes_of_live_pages(
        self, folder: Path, register: Callable[..., None], configure: Callable[..., None], compressed: bool
    ) -> None:
        configure(GZIP=compressed, ROOT=folder)
        register(articles=TextArticles)
        write(0, 15)
        report = export()
        assert names(folder) == ["sitemap-articles-1.txt", "sitemap-articles-2.txt"]
        pages = [text_of(*(f"s{n}" for n in part)) for part in (range(10), range(10, 15))]
        assert [(folder / name).read_bytes() for name in names(folder)] == pages
        assert [get(name).content for name in names(folder)] == pages
        digests = [sha256(data).hexdigest() for data in pages]
        assert [(file.urls, file.bytes, file.size, file.digest) for file in report.sections[0].files] == [
            (len(data.splitlines()), len(data), len(data), digest)
            for data, digest in zip(pages, digests, strict=True)
        ]
        assert [page.digest for page in known(folder).sections["articles"].pages] == digests

    @pytest.mark.parametrize("options", [{}, {"changed_only": True}, {"strict": True}, {"gzip": False}])
    def test_writes_nothing_if_only_what_text_does_not_have_changed(
        self, folder: Path, options: dict[str, bool]
    ) -> None:
        write(0, 25)
        self.run(folder)
        before = looked_at.states(folder)
        for _ in range(2):
            assert self.run(folder, **options).written == ()
            assert looked_at.states(folder) == before
            Article.objects.update(updated="2026-01-01T00:00:00Z")

    def test_skips_pages_whose_rows_did_not_change(self, folder: Path) -> None:
        write(0, 25)
        Article.objects.update(updated="2026-01-01T00:00:00Z")
        self.run(folder, changed_only=True)
        report = self.run(folder, changed_only=True)
        assert report.sections[0].skipped == 3
        Article.objects.filter(slug="s12").update(slug="s-twelve", updated="2026-01-02T00:00:00Z")
        report = self.run(folder, changed_only=True)
        assert report.sections[0].skipped == 2
        assert report.written == ("sitemap-articles-2.txt", "sitemap.xml")
        assert indexed(folder) == published_urls()

    @pytest.mark.parametrize("keys", [{"MAX_URLS": 4}, {"MAX_BYTES": 200}])
    def test_is_split_if_a_page_is_full_by_urls_or_by_bytes(
        self, folder: Path, configure: Callable[..., None], keys: dict[str, int]
    ) -> None:
        write(0, 6)
        # The first entries determine how many fit, and these are longer.
        for n in range(9):
            ArticleFactory(pk=100 + n, slug="long" * 10 + str(n))
        configure(**keys)
        for run in range(3):
            assert self.run(folder).failures == []
            assert indexed(folder) == published_urls()
            assert sum(len(lines(folder, name)) for name in names(folder)) == Article.objects.count()
            for name in names(folder):
                assert len(lines(folder, name)) <= keys.get("MAX_URLS", 10)
                assert (folder / name).stat().st_size <= keys.get("MAX_BYTES", 10_000)
            # Add rows to a page with an upper bound.
            ArticleFactory(pk=2 * run + 2, slug=f"even{run}")

    def test_tells_which_urls_have_changed(self, folder: Path) -> None:
        notifications = Notifications()
        write(0, 25)
        report = self.run(folder, changes=True, on_published=notifications)
        assert notifications.changes()["added"] == {f"/articles/s{n}/" for n in range(25)}
        assert report.changes == {"added": 25, "removed": 0, "changed": 0}
        Article.objects.filter(slug="s3").update(slug="s-three")
        Article.objects.filter(slug="s14").delete()
        Article.objects.filter(slug="s15").update(updated="2026-01-01T00:00:00Z")
        # Add rows to the first page, which is then split.
        for n in (1, 2, 3):
            ArticleFactory(pk=2 * n, slug=f"even{n}")
        report = self.run(folder, changes=True, on_published=notifications)
        assert report.sections[0].split == 1
        assert notifications.changes() == {
            "added": {"/articles/s-three/", *(f"/articles/even{n}/" for n in (1, 2, 3))},
            "removed": {"/articles/s3/", "/articles/s14/"},
            "changed": set(),
        }
        assert all(name.endswith(".txt") for name in notifications.written[:-1])

    def test_tells_of_urls_as_they_are_in_text(self, folder: Path) -> None:
        notifications = Notifications()
        self.run(folder, of("/?a=1&b=2", "/&amp;", "/ü", "/x"), changes=True, on_published=notifications)
        assert notifications.changes()["added"] == {"/?a=1&b=2", "/&amp;", "/%C3%BC", "/x"}
        self.run(folder, of("/?a=1&b=2", "/&amp;", "/&"), changes=True, on_published=notifications)
        assert notifications.changes() == {"added": {"/&"}, "removed": {"/%C3%BC", "/x"}, "changed": set()}

    @pytest.mark.sitemaps09(ENGINE="serial", KEEP_REMOVED=0)
    def test_deletes_no_file_that_is_not_its_own(self, folder: Path) -> None:
        write(0, 25)
        folder.mkdir()
        foreign = ("sitemap-articles-2.txt", "sitemap-articles-7.txt", "sitemap-other-1.txt", "sitemap.txt")
        for name in foreign:
            (folder / name).write_bytes(b"of somebody")
        for kept in (25, 10, 3):
            Article.objects.filter(pk__gt=2 * kept).delete()
            self.run(folder, force=["articles"])
            assert indexed(folder) == published_urls()
        self.run(folder, rebalance=True)
        self.run(folder)
        assert {(folder / name).read_bytes() for name in foreign} == {b"of somebody"}

    @pytest.mark.parametrize("to", ["text", "gzip"])
    def test_replaces_no_foreign_file_when_the_suffix_changes(
        self, folder: Path, configure: Callable[..., None], to: str
    ) -> None:
        write(0, 5)
        self.run(folder, Articles)
        foreign = folder / ("sitemap-articles-1.txt" if to == "text" else "sitemap-articles-1.xml")
        foreign.write_bytes(b"of somebody")
        self.run(folder, TextArticles if to == "text" else Articles, gzip=False)
        assert foreign.read_bytes() == b"of somebody"


#: Consecutive formats and compression, with the resulting suffix of page names.
WAYS = {
    "xml.gz": (Articles, True),
    "xml": (Articles, False),
    "txt": (TextArticles, True),
    "txt, plain": (TextArticles, False),
}


class TestASectionThatChangesItsFormat:
    def run(self, folder: Path, way: str, **options: Any) -> Report:
        sitemap, compressed = WAYS[way]
        report = export(output=folder, sitemaps={"articles": sitemap}, gzip=compressed, **options)
        assert report.failures == []
        suffix = way.partition(",")[0]
        assert all(name.endswith(f".{suffix}") for name in names(folder))
        assert indexed(folder) == published_urls()
        return report

    @settings(
        max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    @given(
        ways=st.lists(st.sampled_from([*WAYS]), min_size=2, max_size=7),
        option=st.sampled_from(["", "changed_only", "rebalance", "strict", "changes"]),
        keep=st.sampled_from([0, DAY]),
        seed=st.randoms(use_true_random=False),
    )
    def test_has_every_url_in_some_page_that_is_named_and_whole(
        self, configure: Callable[..., None], ways: list[str], option: str, keep: int, seed: Any
    ) -> None:
        """Check each step of publishing, and old files that are still kept, while rows come and go."""
        configure(KEEP_REMOVED=keep)
        Article.objects.all().delete()
        write(0, 40)
        with looked_at.quick_folder() as folder:
            earlier: set[str] = set()
            for way in ways:
                before = published_urls()
                Article.objects.filter(pk__in=seed.sample(range(1, 80), 6)).delete()
                Article.objects.bulk_create(
                    [
                        Article(pk=pk, slug=f"p{pk}")
                        for pk in seed.sample(range(1, 120), 6)
                        if not Article.objects.filter(pk=pk).exists()
                    ]
                )
                stays = before & published_urls()
                with pytest.MonkeyPatch.context() as patch:
                    if earlier:
                        patch.setattr(LocalStore, "promote", self.looking(folder, stays))
                    self.run(folder, way, **({option: True} if option else {}))
                if keep:
                    assert earlier <= {path.name for path in folder.iterdir()}
                earlier |= set(names(folder))
                for name in earlier:
                    if (folder / name).exists():
                        urls(folder, name)

    def looking(self, folder: Path, stays: set[str]) -> Callable[..., None]:
        """Call a check after each step of publishing."""
        promote = LocalStore.promote

        def promoted(self: LocalStore, *arguments: Any) -> None:
            promote(self, *arguments)
            assert indexed(folder) >= stays

        return promoted

    @pytest.mark.sitemaps09(ENGINE="serial", KEEP_REMOVED=0)
    @pytest.mark.parametrize(("one", "other"), [("xml.gz", "txt"), ("txt", "xml.gz"), ("xml", "xml.gz")])
    def test_can_return_to_files_that_it_has_removed(self, folder: Path, one: str, other: str) -> None:
        write(0, 25)
        pages = {way: {f"sitemap-articles-{n}.{way}" for n in (1, 2, 3)} for way in (one, other)}

        def there() -> set[str]:
            return {path.name for path in folder.glob("sitemap-*")}

        self.run(folder, one)
        report = self.run(folder, other)
        assert report.sections[0].removed == 3
        assert there() == pages[one] | pages[other]
        # These files would be deleted in this run if they were not needed.
        self.run(folder, one)
        assert there() == pages[one] | pages[other]
        assert set(self.run(folder, one).deleted) == pages[other]
        assert there() == pages[one]
        assert self.run(folder, one).written == ()

    def test_keeps_its_files_when_it_is_guarded(self, folder: Path) -> None:
        write(0, 200)
        self.run(folder, "xml.gz")
        before = looked_at.states(folder)
        Article.objects.filter(pk__gt=20).delete()
        report = export(output=folder, sitemaps={"articles": TextArticles})
        assert "shrink" in str(report.sections[0].failure)
        assert looked_at.states(folder) == before

    @pytest.mark.parametrize(("one", "other"), [("xml.gz", "txt"), ("txt", "xml")])
    def test_is_repaired_after_a_kill_at_any_step(self, folder: Path, one: str, other: str) -> None:
        above = folder
        for step in count(1):
            folder = above / str(step)
            Article.objects.all().delete()
            write(0, 25)
            self.run(folder, one)
            everything = published_urls()
            work = partial(self.run, folder, other)
            killed = dies_at(step, work, "promote", "write", "delete")
            assert indexed(folder) == everything
            Article.objects.filter(pk__lt=8).delete()
            self.run(folder, one if step % 2 else other)
            assert not (folder / STATE / JOURNAL).exists()
            if not killed:
                break
        assert step > 7

    @pytest.mark.sitemaps09(ENGINE="serial", KEEP_REMOVED=0)
    @pytest.mark.parametrize("way", ["txt", "xml", "xml.gz"])
    @pytest.mark.parametrize("then", ["txt", "xml.gz"])
    def test_is_adopted_from_the_index_if_the_manifest_was_lost(
        self, folder: Path, way: str, then: str
    ) -> None:
        write(0, 25)
        self.run(folder, way)
        before = set(names(folder))
        for lost in (folder / STATE).iterdir():
            if lost.is_file():
                lost.unlink()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LocalStore, "promote", self.looking(folder, published_urls()))
            self.run(folder, then)
        # Numbers are never used again, and the export still recognizes its old files.
        assert {name.split(".")[0] for name in names(folder)}.isdisjoint(
            name.split(".")[0] for name in before
        )
        assert set(self.run(folder, then).deleted) == before

    @pytest.mark.parametrize(("way", "changed"), [("xml", 0), ("txt", 25)])
    def test_tells_of_the_format_as_of_elements_that_have_changed(
        self, folder: Path, way: str, changed: int
    ) -> None:
        notifications = Notifications()
        write(0, 25)
        self.run(folder, "xml.gz")
        report = self.run(folder, way, changes=True, on_published=notifications)
        assert report.changes == {"added": 0, "removed": 0, "changed": changed}
        assert len(notifications.removed) == 3
