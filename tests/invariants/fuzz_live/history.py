"""Do the steps of a case one after the other, and check each answer."""

from __future__ import annotations

import gzip
import random
from unittest import mock

from django.conf import settings

from django_sitemaps09.export import export
from tests.invariants.fuzz_live import caches, invariants
from tests.invariants.fuzz_live.connections import failing_database, interrupted, killed
from tests.invariants.fuzz_live.processes import Killed
from tests.invariants.fuzz_live.rows import entry, extended, inserted
from tests.invariants.fuzz_live.site import INDEX, Crawl, urls_of


def run(site):
    """Do all steps. Raise `Broken` at the first answer that breaks an invariant."""
    site.table.write(extended({}, site.case.rows))
    for step in site.case.steps:
        site.steps += 1
        rng = random.Random(step.seed)  # noqa: S311 random steps are not secret
        if step.name in _WRITES:
            site.table.write(_WRITES[step.name](site, step, rng), atomic=step.name != "replace")
        else:
            _OTHERS[step.name](site, step, rng)
        site.clock.seconds += 0.001


def checked(site, answer):
    """Note and check an answer that is not part of a crawl, too."""
    invariants.no_answer_is_an_error(site, answer)
    invariants.no_page_is_over_the_limit(site, answer)
    invariants.an_etag_is_of_one_body(site, answer)
    invariants.pages_are_of_one_recent_moment(site, answer)
    invariants.addresses_answer(site, answer)
    invariants.numbers_list_what_was_exported(site, answer)
    invariants.indexes_list_all_sections(site, answer)
    invariants.failures_are_temporary(site, answer)
    if answer.status == 200 and answer.etag:
        site.bodies.setdefault((answer.address, answer.etag), answer.content)
    if answer.is_index and answer.status == 200:
        invariants.ranges_are_adjacent(site, answer)
        site.known_names.update(answer.pages)
        if not site.is_section_failing:
            site.fixed_at = answer.at
    return answer


def get(site, process, address):
    return checked(site, site.request(process, address))


def get_again(site, process, address, etag):
    """Request a page with the ETag of a body, and return the page, or the body if that is still right."""
    body = site.bodies[address, etag]
    answer = checked(site, site.request(process, address, etag))
    if answer.status != 304:
        return answer
    kept = _with_body(answer, body)
    invariants.not_modified_is_of_the_body_now(site, answer, etag, kept)
    return kept


def _with_body(answer, body):
    return answer._replace(status=200, content=body, urls=urls_of(body))


def crawl(site, process, *, with_etags, page_process=None):
    """Read the index and its pages, as one that knows some bodies does, or one that knows none.

    `page_process` returns the process that answers for the next page, by default that of the index.
    """
    latest = dict(site.bodies.keys()) if with_etags else {}

    def read(address, process):
        if address in latest:
            return get_again(site, process, address, latest[address])
        return get(site, process, address)

    index = read(INDEX, process)
    if index.status != 200:
        return None
    pages = [read(address, page_process() if page_process else process) for address in index.pages]
    if any(page.status == 404 for page in pages):
        # An export has just added a number, or removed it long ago.
        return None
    found = Crawl(index, pages)
    invariants.crawls_list_all_rows(site, found)
    invariants.no_row_is_listed_twice(site, found)
    return found


def _wait(site, step, rng):
    site.clock.seconds += step.amount


def _index(site, step, rng):
    get(site, step.process, INDEX)


def _crawl(site, step, rng):
    crawl(site, step.process, with_etags=step.amount < 0.5)


def _mixed_crawl(site, step, rng):
    """Crawl as behind a load balancer: any process answers for a page."""
    crawl(site, step.process, with_etags=True, page_process=lambda: rng.randrange(2))


def _settle(site, step, rng):
    """Wait until the index looks at all pages, and look at their shape."""
    site.clock.seconds += site.grace + 2
    found = crawl(site, step.process, with_etags=False)
    if found is not None:
        invariants.pages_are_full_and_few(site, found)


def _slow_crawl(site, step, rng):
    """Begin a crawl that other steps interrupt."""
    index = get(site, step.process, INDEX)
    site.slow = (index, []) if index.status == 200 and index.pages else None


def _read_on(site, step, rng):
    if site.slow is None:
        return
    index, pages = site.slow
    for address in index.pages[len(pages) :][: int(step.amount)]:
        pages.append(get(site, step.process, address))
    if any(page.status == 404 for page in pages):
        # As in a crawl that nothing disturbs.
        site.slow = None
    elif len(pages) == len(index.pages):
        site.slow = None
        invariants.crawls_list_all_rows(site, Crawl(index, pages))


def _any_page(site, step, rng):
    for _ in range(int(step.amount)):
        get(site, rng.randrange(2), rng.choice([INDEX, *sorted(site.known_names)]))


def _any_etag(site, step, rng):
    for _ in range(int(step.amount)):
        if site.bodies:
            get_again(site, rng.randrange(2), *rng.choice([*site.bodies]))


def _newcomer(site, step, rng):
    """Let a process answer that has never seen an index, with an empty cache, or with one that is down."""
    _deploy(site, step._replace(process=3), rng)
    addresses = rng.sample(sorted(site.known_names), min(len(site.known_names), int(step.amount)))
    faults = {"is_empty": True, "is_down": rng.random() < 0.5, "losses": caches.faults.losses}
    with mock.patch.multiple(caches.faults, **faults):
        for address in addresses:
            get(site, 3, address)


def _head(site, step, rng):
    for _ in range(int(step.amount)):
        process, address = rng.randrange(2), rng.choice([INDEX, *sorted(site.known_names)])
        head = site.request(process, address, method="HEAD")
        answer = get(site, process, address)
        if head.losses == caches.faults.losses:
            invariants.head_is_as_get(site, head, answer)


def _database_fails(site, step, rng):
    for address in (INDEX, rng.choice([INDEX, *sorted(site.known_names)])):
        with failing_database(site.aliases, int(step.amount), rng):
            answer = site.request(step.process, address, fails=True)
        site.failed_at = site.now
        checked(site, answer)


def _race(site, step, rng):
    """Request a page while rows vanish and come back."""
    if not site.known_names or not site.table.rows:
        return
    address = rng.choice(sorted(site.known_names))
    before = dict(site.table.rows)
    first = rng.choice([0, *before])
    kept = {n: version for n, version in before.items() if n < first or n % 4_000 == 0}
    due = int(step.amount)
    writes = {due: lambda: site.table.write(kept), due + 1: lambda: site.table.write(before)}
    site.is_racing = True
    with interrupted(site.aliases, writes):
        answer = site.request(step.process, address)
    site.failed_at = site.now
    checked(site, answer)
    site.is_racing = False
    if answer.status == 200 and answer.etag and rng.random() < 0.5:
        site.clock.seconds += site.staleness + 0.001
        get_again(site, step.process, address, answer.etag)


def _section_fails(site, step, rng):
    site.is_section_failing = True
    get(site, step.process, INDEX)
    site.is_section_failing = False


def _restart(site, step, rng):
    site.memories.restart(step.process)


def _killed(site, step, rng):
    """Kill a process between two queries of a request, which is mostly one that counts pages."""
    address = rng.choice([INDEX, INDEX, INDEX, *sorted(site.known_names)[:1]])
    site.clock.seconds += rng.choice([0, 301])
    site.failed_at = site.killed_at = site.now
    try:
        with killed(site.aliases, int(step.amount), rng.choice([0, 0.3, 1, 1])):
            answer = site.request(step.process, address)
    except Killed:
        site.killed_at = site.now
        site.memories.restart(step.process)
    else:
        checked(site, answer)


def _migrate(site, step, rng):
    """Add columns that the section does not use, or remove them."""
    site.deploy(step.process, has_all_columns=not site.version(step.process).has_all_columns)


def _deploy(site, step, rng):
    """Let a process have another declaration than others."""
    site.deploy(
        step.process,
        limit=rng.choice([site.case.limit, site.case.limit, site.case.limit // 2]),
        class_name=rng.choice(["Rows", "Others"]),
        is_dated=rng.random() < 0.8,
        frequency=rng.choice([None, "daily"]),
    )


def _new_secret(site, step, rng):
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    settings.SECRET_KEY = str(len(settings.SECRET_KEY_FALLBACKS))
    for process in range(4):
        site.memories.restart(process)


def _export(site, step, rng):
    """Export, as another process does. Other tests check what it publishes."""
    if step.amount:
        _mixed_crawl(site, step, rng)
    site.switch(2)
    export()
    site.exports.append(site.now)
    folder = site.folder / "public"
    names = [url.rpartition("/")[2] for url in urls_of((folder / "sitemap.xml").read_bytes())]
    published = {f"/{name}": (folder / name).read_bytes() for name in names if "-rows" in name}
    for address, content in published.items():
        document = gzip.decompress(content) if address.endswith(".gz") else content
        site.exported[address] = site.now, frozenset(map(entry, urls_of(document)))
        site.removed.pop(address, None)
    for address in {*site.exported, *site.known_names} - {*published}:
        if site.table.range_of(address) is None:
            site.removed.setdefault(address, site.now)
    if step.amount:
        site.clock.seconds += rng.choice([1, 5, 11])
        _mixed_crawl(site, step, rng)


def _cache_fails(site, step, rng):
    caches.faults.is_down = not caches.faults.is_down


def _evict(site, step, rng):
    caches.faults.evict(step.amount)


def _change(site, step, rng):
    rows = dict(site.table.rows)
    for number in rng.sample(sorted(rows), min(len(rows), int(step.amount))):
        rows[number] += 1
    return rows


def _delete(site, step, rng):
    return {n: version for n, version in site.table.rows.items() if rng.random() >= step.amount}


def _delete_range(site, step, rng):
    numbers = sorted(site.table.rows)
    count = int(len(numbers) * step.amount)
    start = rng.randint(0, len(numbers) - count)
    return {n: site.table.rows[n] for n in numbers[:start] + numbers[start + count :]}


def _replace(site, step, rng):
    """Return the same rows, or others instead of a share of them."""
    rows = {n: version for n, version in site.table.rows.items() if rng.random() >= step.amount}
    return inserted(rows, len(site.table.rows) - len(rows), rng, together=False)


def _bulk(site, step, rng):
    count = int(step.amount * site.case.limit)
    return inserted(site.table.rows, count, rng, together=step.name == "bulk_together")


_WRITES = {
    "insert": lambda site, step, rng: inserted(site.table.rows, int(step.amount), rng, together=False),
    "append": lambda site, step, rng: extended(site.table.rows, int(step.amount)),
    "append_many": lambda site, step, rng: extended(site.table.rows, int(step.amount * site.case.limit)),
    "bulk_together": _bulk,
    "bulk_everywhere": _bulk,
    "change": _change,
    "delete": _delete,
    "delete_range": _delete_range,
    "replace": _replace,
    "replace_atomic": _replace,
}
_OTHERS = {
    "wait": _wait,
    "index": _index,
    "crawl": _crawl,
    "mixed_crawl": _mixed_crawl,
    "settle": _settle,
    "slow_crawl": _slow_crawl,
    "read_on": _read_on,
    "any_page": _any_page,
    "any_etag": _any_etag,
    "head": _head,
    "database_fails": _database_fails,
    "race": _race,
    "killed": _killed,
    "section_fails": _section_fails,
    "restart": _restart,
    "newcomer": _newcomer,
    "migrate": _migrate,
    "deploy": _deploy,
    "new_secret": _new_secret,
    "export": _export,
    "cache_fails": _cache_fails,
    "evict": _evict,
}
