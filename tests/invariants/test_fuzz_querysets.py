"""Random sections, live, exported and on the compatibility views, compared with what Django lists.

`SITEMAPS09_FUZZ_CASES` is the number of cases on all databases together, `SITEMAPS09_FUZZ_SEED` what they
begin with. What is printed last is the case that failed, as a class that a test can contain;
`SITEMAPS09_FUZZ_CASE` runs that one alone.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from itertools import groupby, product

import pytest
from django.conf import settings as configured
from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db import transaction
from django.test import override_settings

from tests.invariants.fuzz.sections import KINDS, case_of, expected, write
from tests.support.databases import ALIASES, MYSQLS, parameter, require
from tests.support.internals import QuerySource, checks, compile_source, has_window_function, lastmod_text
from tests.support.sources import BASE, LIMITS, set_slices
from tests.support.ways import compatible, exported_pages, native_pages, url_dict_entries

# Django warns in the compatibility views, as with contrib. The content of pages is asserted.
pytestmark = pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning")

SEED = os.environ.get("SITEMAPS09_FUZZ_SEED", "1")
# A run with only SQLite, for example of a new contributor, uses fewer cases.
CASES = int(os.environ.get("SITEMAPS09_FUZZ_CASES") or 40 * len(configured.DATABASES))
ONE = os.environ.get("SITEMAPS09_FUZZ_CASE")
#: Number of cases in one test. They share their rows.
PART = 25


def difference(found, wanted):
    missing, wrong = [*wanted], []
    for entry in found:
        row = next((row for row in missing if row.allows(entry)), None)
        if row is None:
            wrong.append(entry)
        else:
            missing.remove(row)
    if not (missing or wrong):
        return ""
    return f"missing {[sorted(row.entries, key=str) for row in missing]}, wrong {wrong}"


def each_once(rows):
    groups = groupby(sorted(rows, key=repr), key=lambda row: (row.slug, row.own))
    return [next(found) for _, found in groups]


def assert_newest(newest, entries, what):
    """Check the lastmod of entries: the newest, or none if an entry has none."""
    lastmods = [lastmod for _, lastmod in entries]
    expected = None if None in lastmods else max(map(str, lastmods), default=None)
    assert newest == expected, f"{what}: {newest} of {lastmods}"


def other_rows(case, rows):
    """Yield what the compatibility views may list instead of repeated rows.

    Contrib counts rows without the joins of their order. An aggregate groups rows that joins repeat.
    """
    if len(each_once(rows)) == len(rows) or case.change:
        return
    items = case.rows()
    can_reorder = not (items.query.is_sliced or items.query.combinator or items.query.distinct_fields)
    unordered = expected(case, [*items.order_by()]) if can_reorder else rows
    if case.aggregates or case.depends_on_aggregates_of_annotations or len(unordered) != len(rows):
        yield each_once(rows)
        yield unordered


def check(case):
    """Return how a case is read. Fail if a reader lists other entries, with what is missing and wrong."""
    section, items = case.section, case.items()
    errors = [str(found.id)[-4:] for found in checks.check_declarations([section]) if found.level >= 40]
    try:
        source = compile_source("s", section, BASE, LIMITS)
    except (ImproperlyConfigured, FieldError) as error:
        assert errors or case.form != "queryset", f"no check for {error}"  # noqa: PT017
        return f"refused {error}"
    try:
        with transaction.atomic(case.using):
            native_pages(section)
    except (ImproperlyConfigured, FieldError) as error:
        # The rows of values() and of a method, and those that the project has read, are known only then.
        is_late = errors or case.chain.fields or case.change or case.form != "queryset"
        assert is_late, f"refused late: {error}"  # noqa: PT017
        return f"refused late: {error}"
    assert not (errors and items), f"{errors} are no errors"
    ranged, rows = isinstance(source, QuerySource), expected(case, items)
    for name, reader in {
        "native": native_pages, "exported": partial(exported_pages, again=case.limit == 2),
        "compatible": lambda section: [(None, compatible(section))],
        "get_urls": lambda section: [(None, [entry[:2] for entry in url_dict_entries(section)])],
    }.items():  # fmt: skip
        is_ours = name in ("native", "exported")
        with transaction.atomic(case.using):
            pages = reader(section)
        found = [entry for _, page in pages for entry in page]
        problem = difference(found, each_once(rows) if is_ours and ranged else rows)
        others = other_rows(case, rows) if problem and not is_ours else ()
        assert not problem or any(not difference(found, other) for other in others), f"{name}: {problem}"
        if is_ours:
            assert all(0 < len(page) <= case.limit for _, page in pages), name
        if is_ours and ranged and case.lastmod is not None:
            for newest, page in pages:
                assert_newest(newest, page, f"{name} index")
    if not case.chain.fields and case.lastmod is not None:
        with transaction.atomic(case.using):
            newest = lastmod_text(section().get_latest_lastmod())
        if found:
            assert_newest(newest, found, "get_latest_lastmod")
    return type(source).__name__


def admitted(case):
    """Return whether Django can read the queryset of a case, always with the same rows."""
    try:
        with transaction.atomic(case.using):
            rows = case.rows()
            query = rows.query
            list(rows)
            # The code of the project fails for a row of NULLs, which an aggregate without groups can be.
            case.items()
    except Exception:  # noqa: BLE001 Django has many ways to refuse what came by chance
        return False
    columns = [(part.deferred_loading, [*part.annotation_select]) for part in query.combined_queries]
    if any(selected != columns[0] for selected in columns):
        # A union puts the values of one column into another.
        return False
    if case.change and "Now()" in case.source and query.group_by is not None and not rows.ordered:
        # Django also groups by the time, so each query of the project can return another order.
        return False
    if query.is_sliced or query.distinct_fields:
        # Which of the rows that are alike in the order are in a slice is random.
        unsliced = case.rows()
        unsliced.query.clear_limits()
        unsliced.query.distinct_fields = ()
        slugs = [item.slug for item in unsliced if hasattr(item, "slug")]
        if len({*slugs}) < len(slugs):
            return False
    if query.group_by is None or not has_window_function(query):
        return True
    # MariaDB returns different rows for `SELECT id` than for all columns. No database groups by a function
    # of a window, as Django does for a column made of one.
    has_window_column = not case.by_method and any(name.startswith("w") for name in case.named)
    return not (case.using in MYSQLS or has_window_column)


def parts():
    each = -(-CASES // (2 * len(configured.DATABASES)))
    for alias, use_tz, part in product(ALIASES, (True, False), range(-(-each // PART))):
        mark = parameter(alias)
        name = f"{mark.id}-{'aware' if use_tz else 'naive'}-{part}"
        yield pytest.param(alias, use_tz, part, min(PART, each - part * PART), marks=mark.marks, id=name)


@pytest.mark.parametrize(("using", "use_tz", "part", "size"), list(parts()))
def test_pages_have_the_rows_of_any_queryset_and_their_dates(using, use_tz, part, size, monkeypatch):
    require(using)
    outcomes, options = Counter(), {"BASE_URL": str(BASE), "GZIP": False, "ENGINE": "serial"}
    with override_settings(USE_TZ=use_tz, SITEMAPS09=options):
        seed = f"{SEED}:{using}:{use_tz}:{part}"
        known = {kind: write(kind, seed, using) for kind in KINDS}
        for name in [ONE] if ONE else [f"{seed}:{number}" for number in range(size)]:
            if not name.startswith(f"{seed}:"):
                continue
            case = case_of(name, using, known)
            if not admitted(case):
                continue
            print(f"SITEMAPS09_FUZZ_CASE={name}: {using}\n{case.source}")  # noqa: T201
            # Slices may end within a page.
            set_slices(monkeypatch, 4 if len(name) % 2 == 0 else 1_500)
            with transaction.atomic(using):
                outcomes[check(case)] += 1
    # Of all cases, a third are read by ranges of the key, and four fifths are read at all.
    assert ONE or outcomes["QuerySource"] >= size // 20
    assert ONE or outcomes["QuerySource"] + outcomes["PositionSource"] >= size // 2
