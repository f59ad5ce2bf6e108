"""The tables, rows and sections of exports that are killed, and the exports themselves."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.invariants.killing.scenarios import PAGE, Rows, Run
from tests.support.configuration import BASE


def prepare() -> None:
    """Create the tables, and let workers be forked."""
    from django.db import connection

    from tests.models import Category, Child, Parent

    multiprocessing.set_start_method("fork")
    tables = connection.introspection.table_names()
    with connection.schema_editor() as editor:
        for model in (Parent, Child, Category):
            if model._meta.db_table not in tables:
                editor.create_model(model)


def fill(rows: Rows) -> None:
    """Replace all rows. Each key is in two tables."""
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        for table in ("tests_child", "tests_parent"):
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 no input
        if rows:
            parents = ", ".join(f"({key}, '{row.slug}')" for key, row in rows.items())
            cursor.execute(f"INSERT INTO tests_parent (id, name) VALUES {parents}")  # noqa: S608
            children = ", ".join(f"({key})" for key in rows)
            cursor.execute(f"INSERT INTO tests_child (parent_ptr_id) VALUES {children}")  # noqa: S608


def section(letter: str, model: str = "Parent", **attributes: Any) -> Callable[[], Any]:
    """Return a factory of a section of either table, whose URLs begin with a letter."""

    def made() -> Any:
        from django.db.models import F, Value
        from django.db.models.functions import Concat

        from django_sitemaps09 import ModelSitemap
        from tests import models

        declared = {
            "queryset": getattr(models, model).objects.filter(name__startswith=letter),
            "location": Concat(Value("/"), F("name"), Value("/")),
            **attributes,
        }
        return type("Rows", (ModelSitemap,), declared)()

    return made


#: Workers import these by `SECTIONS_PATH`.
SECTIONS = {"a": section("a"), "b": section("b")}


def settings(run: Run, **more: Any) -> None:
    from django.conf import settings as configured

    configured.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": PAGE, **run.keys, **more}


def export(run: Run, folder: Path, **more: Any) -> Any:
    from django_sitemaps09.export import export as run_it

    settings(run)
    sitemaps = {name: section(name, run.model) for name in run.sections}
    # Only a few pages fit into an index if there are several indexes.
    with _few_pages_an_index(4 if run.keys.get("CASCADE") else 50_000):
        return run_it(output=folder, sitemaps=sitemaps, engine="serial", **{**run.options, **more})


@contextlib.contextmanager
def _few_pages_an_index(pages: int) -> Any:
    from django_sitemaps09 import protocol

    before = protocol.INDEX_LIMITS
    protocol.INDEX_LIMITS = before._replace(urls=pages)
    try:
        yield
    finally:
        protocol.INDEX_LIMITS = before


def cleanly(run: Run, folder: Path) -> Any:
    """Export, and expect no failure."""
    from django_sitemaps09.exceptions import ExportError

    try:
        report = export(run, folder)
    except ExportError as error:
        # The killed run had already removed it.
        if "because it is not published" not in str(error):
            raise
        report = export(run._replace(options={}), folder)
    assert report.failures == [], report.failures
    assert report.published
    return report


#: Not `__main__`, which is another module in workers.
SECTIONS_PATH = "tests.invariants.killing.exports.SECTIONS"
