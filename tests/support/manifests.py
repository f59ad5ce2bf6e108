"""Use these for what an export keeps for the next one: `known` reads the manifest, `entries` the index."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from xml.etree import ElementTree

from django.db.models import F

from django_sitemaps09 import Route
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.exports import paths, plain, touched
from tests.support.internals import BACKUP, ROOT, STATE, LocalStore, manifest
from tests.support.published import SPACE
from tests.support.sections import Numbers, declare

__all__ = ["paths", "plain", "touched"]

DAY = timedelta(days=1)


def articles(**attributes):
    # An earlier release has exported this section, see `tests/target/exports`.
    hooks = {"location": Route("article", slug=F("slug")), "lastmod": F("updated")}
    return declare(model=Article, **hooks | attributes)


def write_articles(*keys):
    first = datetime(2026, 1, 1, 10, 30, tzinfo=timezone.utc)
    Article.objects.bulk_create(Article(pk=pk, slug=f"a{pk}", updated=first + pk * DAY) for pk in keys)


def slugs(*keys):
    return [f"/articles/a{key}/" for key in keys]


def entries(folder):
    """Return the entries of the index in order, by file."""
    root = ElementTree.fromstring(plain(folder, "sitemap.xml"))  # noqa: S314 our own output
    return {
        str(node.findtext(f"{SPACE}loc")).removeprefix(f"{BASE}/"): node.findtext(f"{SPACE}lastmod")
        for node in root
    }


def numbers_of(folder, section):
    """Return the numbers of a section's pages in the index."""
    prefix = f"sitemap-{section}-"
    names = (name for name in entries(folder) if name.startswith(prefix))
    return [int(name.removeprefix(prefix).split(".")[0]) for name in names]


def known(folder, root=ROOT):
    state = LocalStore(folder / STATE, 0o600, own="")
    found = manifest.read_root(state, root)
    assert found is not None
    sections = {name: manifest.read_section(state, file) for name, file in found.files.items()}
    return replace(found, sections=sections)


def after_two_runs(folder):
    """Pages 1, 3 and 4 of one section, page 2 a tombstone in both manifests; two pages of another one."""
    write_articles(*range(1, 7))
    sitemaps = {"articles": articles(), "numbers": Numbers(3)}
    export(output=folder, sitemaps=sitemaps)
    assert numbers_of(folder, "articles") == [1, 2, 3]
    Article.objects.filter(pk__in=(3, 4)).delete()
    write_articles(7)
    export(output=folder, sitemaps=sitemaps)
    Article.objects.filter(pk=7).update(slug="changed")
    export(output=folder, sitemaps=sitemaps)
    assert set(known(folder).removed) == set(known(folder, BACKUP).removed) == {"sitemap-articles-2.xml.gz"}
    return sitemaps


#: The pages of the articles after these two runs.
THERE = [*slugs(1, 2, 5, 6), "/articles/changed/", *(f"/numbers/{number}/" for number in range(3))]
