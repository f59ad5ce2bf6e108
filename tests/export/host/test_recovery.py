"""Hosts whose files are missing, outdated, damaged or partly published."""

from __future__ import annotations

import os
import random
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest

from django_sitemaps09.export import export
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE
from tests.models import Article
from tests.support import killing, published
from tests.support.news import Fresh
from tests.support.several_hosts import (
    FINE,
    FOLDERS,
    KINDS,
    PAGE,
    SECTIONS,
    A,
    B,
    C,
    change,
    fill,
    lines,
    pages,
    quiet,
    run,
    slugs,
    thirty,
    tree,
    whole,
    written,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestATreeThatIsNotLikeTheOthers:
    HARMS = ("missing", "older", "damaged", "manifest", "section", "alone", "file", "added")

    @pytest.mark.parametrize("harm", HARMS)
    @pytest.mark.parametrize("host", [A, B])
    def test_is_repaired_and_no_other_is_written_and_the_next_run_is_quiet(
        self, folder: Path, harm: str, host: str
    ) -> None:
        thirty()
        run(folder)
        own = folder / FOLDERS[host]
        hosts: tuple[str, ...] = (A, B, C) if harm == "added" else (A, B)
        shutil.copytree(own, folder / "kept")
        fill(*range(31, 45))
        run(folder)
        if harm in ("missing", "older"):
            shutil.rmtree(own)
        if harm == "older":
            shutil.copytree(folder / "kept", own)
        if harm == "damaged":
            (own / "sitemap-a-2.xml.gz").write_bytes(b"\x1f\x8b half of it")
        if harm == "manifest":
            (own / STATE / MANIFEST).write_bytes(b"{")
        if harm == "section":
            for file in (own / STATE).glob("section-*.jsonl"):
                file.write_bytes(file.read_bytes()[:-30])
        if harm == "file":
            (own / "sitemap-a-3.xml.gz").unlink()
        if harm == "alone":
            fill(*range(45, 70))
            export(output=own, base_url=host, sitemaps=FINE)
            run(folder, *(other for other in hosts if other != host))
        named_before = {one: set(pages(folder / FOLDERS[one])) for one in (A, B)}
        [other] = {A, B} - {host}
        before = published.states(folder / FOLDERS[other])
        reports = run(folder, *hosts)
        written(reports)
        assert bool(reports[host].written) == (harm not in ("alone", "added"))
        assert reports[other].written == ()
        assert published.states(folder / FOLDERS[other]) == before
        whole(folder, *hosts)
        if harm in ("manifest", "section"):
            assert set(pages(own)).isdisjoint(named_before[host]), "a number came back"
        # Files that no index lists any more are kept for a while.
        assert named_before[host] <= set(tree(own))
        quiet(folder, *hosts)

    @pytest.mark.parametrize("name", ["hooks", "numbers", "translated", "text", "news", "own"])
    def test_has_what_it_would_have_alone_whatever_the_section_is(self, folder: Path, name: str) -> None:
        class Few(Fresh):
            limit = PAGE

        now = datetime.now(timezone.utc)
        Article.objects.bulk_create(Article(pk=key, slug=f"s{key}", updated=now) for key in range(1, 46))
        chosen = {name: {**KINDS, **SECTIONS, "news": Few}[name]}
        run(folder, sections=chosen)
        shutil.rmtree(folder / FOLDERS[A])
        written(run(folder, sections=chosen))
        for host in (A, B):
            alone = folder / "alone" / FOLDERS[host]
            export(output=alone, base_url=host, sitemaps=chosen)
            assert lines(folder / FOLDERS[host]) == lines(alone)
        quiet(folder, sections=chosen)

    def test_never_has_a_number_again_that_it_had(self, folder: Path) -> None:
        thirty()
        run(folder)
        shutil.copytree(folder / FOLDERS[A], folder / "kept")
        fill(*range(31, 41))
        run(folder)
        Article.objects.filter(pk__gt=30).delete()
        run(folder)
        # The first host never had a fourth page. Otherwise, its pages are those of the second host.
        shutil.rmtree(folder / FOLDERS[A])
        shutil.copytree(folder / "kept", folder / FOLDERS[A])
        assert "sitemap-a-4.xml.gz" in tree(folder / FOLDERS[B])
        assert "sitemap-a-4.xml.gz" not in pages(folder / FOLDERS[B])
        fill(*range(31, 41))
        run(folder)
        assert "sitemap-a-4.xml.gz" not in pages(folder / FOLDERS[B])

    @pytest.mark.parametrize("seed", range(3))
    def test_has_all_rows_after_any_history(self, folder: Path, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311
        hosts = [A, B, C]
        copies: dict[str, Path] = {}
        free = list(range(1, 300))
        chance.shuffle(free)
        fill(*(free.pop() for _ in range(40)))

        def alone() -> None:
            host = chance.choice(hosts)
            export(output=folder / FOLDERS[host], base_url=host, sitemaps=FINE)

        def lose() -> None:
            shutil.rmtree(folder / FOLDERS[chance.choice(hosts)], ignore_errors=True)

        def keep() -> None:
            host = chance.choice(hosts)
            if (folder / FOLDERS[host]).exists():
                copies[host] = folder / f"kept-{len(copies)}-{chance.random()}"
                shutil.copytree(folder / FOLDERS[host], copies[host])

        def restore() -> None:
            if copies:
                host = chance.choice(sorted(copies))
                shutil.rmtree(folder / FOLDERS[host], ignore_errors=True)
                shutil.copytree(copies[host], folder / FOLDERS[host])

        def harm() -> None:
            host = chance.choice(hosts)
            found = sorted((folder / FOLDERS[host]).glob("**/*.json*"))
            if found:
                chance.choice(found).write_bytes(b"?")

        def add() -> None:
            fill(*(free.pop() for _ in range(min(chance.randrange(1, 15), len(free)))))

        def delete() -> None:
            known = list(Article.objects.values_list("pk", flat=True))
            Article.objects.filter(pk__in=chance.sample(known, min(12, len(known) - 1))).delete()

        def edit() -> None:
            known = list(Article.objects.values_list("pk", flat=True))
            change(chance.choice(known), f"e{chance.randrange(10**6)}")

        steps = [alone, lose, keep, restore, harm, add, add, add, delete, edit]
        for _ in range(14):
            for _ in range(chance.randrange(1, 4)):
                chance.choice(steps)()
            some = chance.sample(hosts, chance.randrange(2, 4))
            written(run(folder, *some, rebalance=chance.random() < 0.1))
            whole(folder, *some)
        for _ in range(6):
            if not any(written(run(folder, *hosts))):
                break
        whole(folder, *hosts)
        quiet(folder, *hosts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork")
class TestAnExportThatIsKilled:
    @pytest.mark.parametrize("host", [A, B])
    def test_in_one_tree_leaves_both_whole_and_the_next_run_repairs_both(
        self, folder: Path, host: str
    ) -> None:
        fill(*range(100, 3_100, 100))
        public, kept = folder / "public", folder / "kept"
        run(public)
        shutil.copytree(public, kept)
        fill(*range(1_501, 1_508), 3_101)
        died = 0
        for point in range(1, 200, 11):
            shutil.rmtree(public)
            shutil.copytree(kept, public)
            dead = killing.is_killed_at(point, public / FOLDERS[host], lambda: run(public))
            for one in (A, B):
                found = slugs(public / FOLDERS[one])
                assert {f"s{key}" for key in range(100, 3_100, 100)} <= set(found)
            died += dead
            written(run(public))
            whole(public, A, B)
            if point % 4 == 1:
                quiet(public)
            if not dead:
                break
        assert died > 2
