"""The tables, rows and sections of exports that are killed, the exports, and what holds after any crash."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from hashlib import sha256

from tests.invariants.killing.scenarios import PAGE
from tests.support import published
from tests.support.configuration import BASE
from tests.support.sections import declare


def create_tables():
    """Create the tables, and let workers be forked."""
    from django.db import connection

    from tests.models import Article, Category, Child, Parent, Tag

    multiprocessing.set_start_method("fork", force=True)
    tables = connection.introspection.table_names()
    with connection.schema_editor() as editor:
        for model in (Parent, Child, Category, Tag, Article):
            if model._meta.db_table not in tables:
                editor.create_model(model)


def fill(rows):
    """Replace all rows. Each key is in two tables."""
    from django.db import connection, transaction

    from tests.models import Child, Parent

    with transaction.atomic(), connection.cursor() as cursor:
        for model in (Child, Parent):
            model.objects.all()._raw_delete("default")
        if rows:
            Parent.objects.bulk_create(Parent(pk=key, name=row.slug) for key, row in rows.items())
            children = ", ".join(f"({key})" for key in rows)
            cursor.execute(f"INSERT INTO tests_child (parent_ptr_id) VALUES {children}")  # noqa: S608


def section(letter, model="Parent", **attributes):
    """Return a factory of a section of either table, whose URLs begin with a letter."""

    def made():
        from django.db.models import F, Value
        from django.db.models.functions import Concat

        from tests import models

        rows = getattr(models, model).objects.filter(name__startswith=letter)
        return declare(queryset=rows, location=Concat(Value("/"), F("name"), Value("/")), **attributes)()

    return made


#: Workers import these by `SECTIONS_PATH`.
SECTIONS = {"a": section("a"), "b": section("b")}
SECTIONS_PATH = f"{__name__}.SECTIONS"


def use_settings(run, **more):
    from django.conf import settings

    settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": PAGE, **run.keys, **more}


def export(run, folder):
    from django_sitemaps09 import protocol
    from django_sitemaps09.export import export

    use_settings(run)
    sitemaps = {name: section(name, run.model, **run.attributes) for name in run.sections}
    limits = protocol.INDEX_LIMITS
    if run.keys.get("CASCADE"):
        # Only a few pages fit into an index.
        protocol.INDEX_LIMITS = limits._replace(urls=4)
    try:
        return export(output=folder, sitemaps=sitemaps, engine="serial", **run.options)
    finally:
        protocol.INDEX_LIMITS = limits


def cleanly(run, folder):
    """Export, and expect no failure."""
    from django_sitemaps09.exceptions import ExportError

    try:
        report = export(run, folder)
    except ExportError as error:
        # The killed run had already removed it.
        if "because it is not published" not in str(error):
            raise
        report = export(run._replace(options={}), folder)
    assert (report.failures, report.published) == ([], True), report.failures


def urls(folder, name):
    """Return the URLs of a file, which must be complete."""
    if not name.endswith(".txt"):
        return published.urls(folder, name)
    text = (folder / name).read_text()
    assert text.endswith("\n")
    return tuple(text.splitlines())


def assert_files_are_whole(folder, named):
    """Check that each listed file is complete, when no process is writing."""
    for name in named:
        urls(folder, name)


def assert_urls_are_kept(folder, must):
    """Check that an indexed page contains each of the URLs."""
    lost = must - {url for name in published.pages(folder) for url in urls(folder, name)}
    assert not lost, f"in no indexed page: {sorted(lost)[:5]} of {len(lost)}"


def hashed(folder, name):
    return sha256((folder / name).read_bytes()).hexdigest()


def assert_is_current(folder, run):
    """Check that the published URLs are those of the rows, and that the manifest lists every file."""
    from django_sitemaps09.state import manifest as manifests
    from django_sitemaps09.stores.local import LocalStore

    found = [url for name in published.pages(folder) for url in urls(folder, name)]
    assert len(found) == len(set(found)), "twice"
    assert set(found) == run.urls(), sorted(set(found) ^ run.urls())[:5]
    state = (folder / ".sitemaps09").iterdir()
    assert [entry.name for entry in state if entry.name.startswith(("journal", "run-", "tmp-"))] == []
    manifest, files = manifests.read(LocalStore(folder / ".sitemaps09", own="")), set()
    assert manifest is not None
    for name, record in manifest.sections.items():
        for page in record.pages:
            file = f"sitemap-{name}-{page.number}.{record.suffix}"
            digest = hashed(folder, file) if file.endswith(".txt") else published.digest(folder, file)
            assert (page.name, page.digest) == (file, digest)
            assert page.number <= record.highest
            files.add(file)
            after, until = (key and int(key[0]) for key in (page.after, page.until))
            there = {key for key in run.rows if after is None or key > after}
            keys = {key for key in there if until is None or key <= until}
            assert set(urls(folder, file)) == run._replace(sections=(name,)).urls(keys), file
        assert not record.pages or record.pages[-1].until is None
    assert files == set(published.pages(folder))
    style = {"sitemap.css"} if run.keys.get("STYLESHEET") else set()
    for name in {published.INDEX, *files} if style else ():
        assert b'href="sitemap.css"' in published.unpacked(folder)[name], name
    ours = {name for name in os.listdir(folder) if name.startswith("sitemap")}  # noqa: PTH208
    known = files | style | set(manifest.indexes) | manifest.removed.keys()
    assert ours == known, "files that nobody knows of"


@contextlib.contextmanager
def naming(what):
    """Name the scenario and the point where an assertion fails."""
    try:
        yield
    except BaseException:
        sys.stderr.write(f"{what}:\n")
        raise
