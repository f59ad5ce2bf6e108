"""Do the steps of a case one after the other, and check each answer."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from itertools import pairwise
from unittest import mock

from django.conf import settings

from django_sitemaps09.export import export
from tests.invariants.fuzz_live.cases import NUMBERS, entry, extended, inserted
from tests.invariants.fuzz_live.faults import (
    PROTOCOL,
    Killed,
    failing_database,
    faults,
    interrupted,
    killed,
)
from tests.invariants.fuzz_live.site import INDEX, Crawl, urls_of

#: Least share of the limit on two neighbours, and most pages per full page.
NEIGHBOURS, PAGES = 0.85, 2.4
# Seconds until another process renews a listing instead of a killed one, for which a process reads no new
# manifest, and until another process renders a page instead of a killed one.
_LEASE, _MANIFEST, _RENDERING = 11, 11, 61


def few(entries):
    found = sorted(entries)
    return f"{len(found)} rows, such as {found[:3]}" if len(found) > 3 else f"the rows {found}"


def no_answer_is_an_error(site, answer):
    """No answer is an error; an index may be one for seconds after a process was killed that counted."""
    if answer.is_database_failing or site.is_section_failing or answer.status in (200, 304, 404):
        return
    is_busy = answer.is_index and answer.status == 503 and "Retry-After" in answer.headers
    assert is_busy, str(answer)
    assert site.may_be_locked(answer.at, _LEASE), str(answer)


def no_page_is_over_the_limit(site, answer):
    assert not answer.is_rows or len(answer.urls) <= PROTOCOL["urls"], f"{answer}: {len(answer.urls)} URLs"
    assert len({*answer.urls}) == len(answer.urls), f"{answer} lists a URL twice"


def pages_are_of_one_recent_moment(site, answer):
    """Each page lists the rows of its range as they were at a moment of the last 2 * `LIVE_SECONDS`.

    Only a page that is not stored may lack the rows beyond the limit of the protocol.
    """
    if not answer.is_rows or answer.status != 200:
        return
    if not answer.is_stored and (answer.is_database_failing or site.may_be_locked(answer.at, _RENDERING)):
        # The page as it was before is better than none.
        return
    moments = site.table.at_any_time_since(answer.at - site.staleness)
    difference = {*answer.entries} ^ {*_due(site, answer, moments[0])}
    assert any(_is_of(site, answer, rows) for rows in moments), f"{answer}: {few(difference)} now"


def _is_of(site, answer, rows):
    due, most = _due(site, answer, rows), PROTOCOL["urls"]
    return answer.entries == due[:most] and (len(due) <= most or not answer.is_stored)


def _due(site, answer, rows):
    """Return the rows in the range of a page. For a number, the range is that of the rows that it lists."""
    numbers = [number for number, _ in answer.entries]
    listed = min(numbers, default=0), max(numbers, default=-1) + 1
    start, end = site.table.range_of(answer.address) or listed
    return sorted((n, version) for n, version in rows.items() if start <= n < end)


def an_etag_is_of_one_body(site, answer):
    """An ETag has one body. A body of a range has one ETag, on any replica, with any unused columns."""
    if answer.status != 200 or answer.etag is None or answer.method != "GET":
        return
    body = site.bodies.get((answer.address, answer.etag), answer.content)
    assert body == answer.content, f"{answer} has another body than before with {answer.etag}"
    if site.table.range_of(answer.address) is None or answer.at <= site.failed_at + site.staleness:
        # A number can get another range, and a fingerprint that could not be read is not read again.
        return
    version = site.version(answer.process)._replace(has_all_columns=False)
    etag = site.etags.setdefault((answer.address, version, answer.content), answer.etag)
    assert etag == answer.etag, f"{answer} has the ETag {answer.etag}, but had {etag}"


def not_modified_is_of_the_body_now(site, answer, etag, body):
    """`body` is what was answered with the ETag before, as if it were answered now."""
    if answer.status != 304:
        return
    assert not answer.content, f"{answer} has a body"
    pages_are_of_one_recent_moment(site, body)
    if not site.is_settled():
        # A request without a condition may read newer rows.
        return
    if _is_outdated(site, answer, body):
        # The range of a number, too, may be that of the last response.
        site.clock.seconds += site.staleness + 0.001
        again = site.request(answer.process, answer.address, etag)
        is_outdated = again.status == 304 and _is_outdated(site, again, body)
        assert not is_outdated, f"{answer} for {etag}, but the body is another"


def _is_outdated(site, answer, body):
    """Return whether another request gets another body, unless a process has just lost the shared cache."""
    now = site.request(answer.process, answer.address)
    return answer.losses == faults.losses and now.status == 200 and now.content != body.content


def crawls_list_all_rows(site, crawl):
    """A crawl lists each row that was there all the time, unless its range has outgrown the protocol."""
    due = set(site.table.always_since(crawl.index.at - site.staleness - 0.0005).items())
    listed = {found for page in crawl.pages for found in page.entries}
    missing = {row for row in due - listed if not _may_be_cut(site, crawl, row)}
    is_busy = not crawl.index.is_stored and site.may_be_locked(crawl.index.at, _LEASE)
    # Number 1, if it was the only page, has all keys until the first export, or for one export after that.
    later = [time for time in site.exports if crawl.index.at < time + _MANIFEST]
    is_divided = len(crawl.pages) == 1 and (later == site.exports != [] or len(later) > 1)
    is_complete = not missing or (is_busy and not crawl.pages) or is_divided
    assert is_complete, f"a crawl lacks {few(missing)} of {len(due)}: {_statuses(crawl)}"


def _may_be_cut(site, crawl, row):
    """Return whether a page that could list a row is not stored, and full, or as it was before a kill."""
    for page in crawl.pages:
        start, end = site.table.range_of(page.address) or (0, NUMBERS)
        is_former = len(page.urls) >= PROTOCOL["urls"] or site.may_be_locked(page.at, _RENDERING)
        if start <= row[0] < end and not page.is_stored and is_former:
            return True
    return False


def _statuses(crawl):
    return [(page.address, page.status, len(page.urls)) for page in crawl.pages]


def no_row_is_listed_twice(site, crawl):
    """No row stands on two pages of an index, if all processes have read the last manifest."""
    if any(crawl.index.at < time + _MANIFEST for time in site.exports):
        return
    counts = Counter(number for page in crawl.pages for number, _ in page.entries)
    twice = [number for number, count in counts.items() if count > 1]
    assert not twice, f"an index lists {few(twice)} twice: {_statuses(crawl)}"


def ranges_are_adjacent(site, index):
    """The ranges of an index cover all keys once."""
    ranges = [site.table.range_of(address) for address in index.pages]
    for before, after in pairwise([(0, 0), *ranges, (NUMBERS, NUMBERS)] if ranges else []):
        assert None in (before, after) or before[1] == after[0], f"{index} lists {index.pages}"


def pages_are_full_and_few(site, crawl):
    """After the index has looked at all rows: no page is empty or too full, and no two fit on one."""
    if not crawl.index.is_stored:
        # The first listing was begun long ago, by a process that was killed.
        return
    limit, rows = site.version(crawl.index.process).limit, len(site.table.rows)
    counts = [len(page.urls) for page in crawl.pages]
    sizes = f"limit {limit}, {rows} rows, pages of {counts}"
    assert len(counts) <= PAGES * -(-rows // limit) + 2, f"too many pages: {sizes}"
    assert all(0 < count <= limit for count in counts), f"an empty page, or one that is too full: {sizes}"
    # 95 % of the limit is what a new page has at most.
    least = int(NEIGHBOURS * (limit - limit // 20))
    assert all(sum(pair) > least for pair in pairwise(counts)), f"neighbours that fit on one page: {sizes}"


def addresses_answer(site, answer):
    """A range answers for ever. A number answers until `KEEP_REMOVED` after an export removed it.

    A process reads the manifest at most once a second.
    """
    is_new = site.table.range_of(answer.address) is None and answer.at < max([0, *site.exports]) + 1
    assert answer.status != 404 or is_new or _is_forgotten(site, answer), str(answer)


def numbers_list_what_was_exported(site, answer):
    """The page with a number has the rows that the last export with this number put there."""
    published_at, entries = site.exported.get(answer.address, (0.0, frozenset()))
    is_known = entries and answer.at > site.exports[-1] + _MANIFEST + site.staleness
    if answer.status != 200 or not is_known or _is_forgotten(site, answer) or site.is_racing:
        return
    missing = entries & site.table.always_since(published_at).items() - {*answer.entries}
    is_cut = not answer.is_stored and len(answer.urls) >= PROTOCOL["urls"]
    assert not missing or is_cut, f"{answer} lists {len(answer.urls)} URLs, but not {few(missing)}"


def _is_forgotten(site, answer):
    return answer.at > site.removed.get(answer.address, answer.at) + site.case.keep_removed - 1


def indexes_list_all_sections(site, answer):
    """An index has each section, or no client keeps it; a failing database removes none."""
    if not answer.is_index or answer.status != 200:
        return
    due = site.table.always_since(answer.at - site.grace - 1)
    is_busy = not answer.is_stored and site.may_be_locked(answer.at, _LEASE)
    assert not due or answer.pages or is_busy, f"{answer} lost a section with {len(due)} rows"
    if any("-fixed-" in url for url in answer.urls):
        return
    is_kept = site.is_durable and site.fixed_at and answer.at < site.fixed_at + site.case.keep_removed - 10
    assert not is_kept, f"{answer} lost the pages of a section that failed"
    assert not answer.is_stored, f"{answer} is stored without a section that failed: {answer.headers}"


def failures_are_temporary(site, answer):
    """An index that cannot be made because of the database is 503, with the time to try again."""
    if not answer.is_database_failing or not answer.is_index or answer.status in (200, 304):
        return
    assert (answer.status, "Retry-After" in answer.headers) == (503, True), str(answer)


def head_is_as_get(site, head, get):
    assert not head.content, f"{head} has a body"
    if not site.is_settled() or site.may_be_locked(get.at, 61):
        # Other rows, or an outdated page while a killed process holds the lock for rendering it.
        return
    # HEAD may lack the length.
    first = {"Content-Length": get.headers.get("Content-Length"), **head.headers}
    second = {"Content-Length": None, **get.headers}
    assert (head.status, first) == (get.status, second), f"{head} has {first}; {get} has {second}"


#: What is checked of each answer, in order.
OF_ANSWERS = (
    *(no_answer_is_an_error, no_page_is_over_the_limit, an_etag_is_of_one_body),
    *(pages_are_of_one_recent_moment, addresses_answer, numbers_list_what_was_exported),
    *(indexes_list_all_sections, failures_are_temporary),
)


class History:
    """Has a method for each step. A method that returns rows lets the table have these."""

    def __init__(self, site):
        self.site = site

    def run(self):
        """Do and print all steps, up to the first answer that breaks an invariant."""
        self.site.table.write(extended({}, self.site.case.rows))
        for step in self.site.case.steps:
            print(step)  # noqa: T201
            self.process, self.amount = step.process, step.amount
            self.rng = random.Random(step.seed)  # noqa: S311 random steps are not secret
            rows = getattr(self, step.name)()
            if rows is not None:
                self.site.table.write(rows, atomic=step.name != "replace")
            self.site.clock.seconds += 0.001

    def checked(self, answer):
        """Note and check an answer that is not part of a crawl, too."""
        site = self.site
        for check in OF_ANSWERS:
            check(site, answer)
        if answer.status == 200 and answer.etag:
            site.bodies.setdefault((answer.address, answer.etag), answer.content)
        if answer.is_index and answer.status == 200:
            ranges_are_adjacent(site, answer)
            site.known_names.update(answer.pages)
            if not site.is_section_failing:
                site.fixed_at = answer.at
        return answer

    def get(self, process, address):
        return self.checked(self.site.request(process, address))

    def get_again(self, process, address, etag):
        """Request a page with the ETag of a body; return the page, or the body if that is still right."""
        body = self.site.bodies[address, etag]
        answer = self.checked(self.site.request(process, address, etag))
        if answer.status != 304:
            return answer
        kept = answer._replace(status=200, content=body, urls=urls_of(body))
        not_modified_is_of_the_body_now(self.site, answer, etag, kept)
        return kept

    def read_all(self, *, with_etags, page_process=None):
        """Read the index and its pages, as one that knows some bodies does, or one that knows none.

        `page_process` returns the process that answers for the next page, by default that of the index.
        """
        latest = dict(self.site.bodies.keys()) if with_etags else {}

        def read(address, process):
            if address in latest:
                return self.get_again(process, address, latest[address])
            return self.get(process, address)

        index = read(INDEX, self.process)
        if index.status != 200:
            return None
        pages = [read(address, page_process() if page_process else self.process) for address in index.pages]
        if any(page.status == 404 for page in pages):
            # An export has just added a number, or removed it long ago.
            return None
        found = Crawl(index, pages)
        crawls_list_all_rows(self.site, found)
        no_row_is_listed_twice(self.site, found)
        return found

    def any_address(self):
        return self.rng.choice([INDEX, *sorted(self.site.known_names)])

    # Steps that request.

    def wait(self):
        self.site.clock.seconds += self.amount

    def index(self):
        self.get(self.process, INDEX)

    def crawl(self):
        self.read_all(with_etags=self.amount < 0.5)

    def mixed_crawl(self):
        """Crawl as behind a load balancer: any process answers for a page."""
        self.read_all(with_etags=True, page_process=lambda: self.rng.randrange(2))

    def settle(self):
        """Wait until the index looks at all pages, and look at their shape."""
        self.site.clock.seconds += self.site.grace + 2
        found = self.read_all(with_etags=False)
        if found is not None:
            pages_are_full_and_few(self.site, found)

    def slow_crawl(self):
        index = self.get(self.process, INDEX)
        self.site.slow = (index, []) if index.status == 200 and index.pages else None

    def read_on(self):
        if self.site.slow is None:
            return
        index, pages = self.site.slow
        for address in index.pages[len(pages) :][: int(self.amount)]:
            pages.append(self.get(self.process, address))
        is_lost = any(page.status == 404 for page in pages)
        if is_lost or len(pages) == len(index.pages):
            self.site.slow = None
        if not is_lost and len(pages) == len(index.pages):
            crawls_list_all_rows(self.site, Crawl(index, pages))

    def any_page(self):
        for _ in range(int(self.amount)):
            self.get(self.rng.randrange(2), self.any_address())

    def any_etag(self):
        for _ in range(int(self.amount)):
            if self.site.bodies:
                self.get_again(self.rng.randrange(2), *self.rng.choice([*self.site.bodies]))

    def head(self):
        for _ in range(int(self.amount)):
            process, address = self.rng.randrange(2), self.any_address()
            head, answer = self.site.request(process, address, method="HEAD"), self.get(process, address)
            if head.losses == faults.losses:
                head_is_as_get(self.site, head, answer)

    # Steps that fail.

    def newcomer(self):
        """Let a process answer that has never seen an index, with an empty cache, or one that is down."""
        self.process = 3
        self.deploy()
        names = sorted(self.site.known_names)
        addresses = self.rng.sample(names, min(len(names), int(self.amount)))
        failing = {"is_empty": True, "is_down": self.rng.random() < 0.5, "losses": faults.losses}
        with mock.patch.multiple(faults, **failing):
            for address in addresses:
                self.get(3, address)

    def database_fails(self):
        for address in (INDEX, self.any_address()):
            with failing_database(self.site.aliases, int(self.amount), self.rng):
                answer = self.site.request(self.process, address, fails=True)
            self.site.failed_at = self.site.now
            self.checked(answer)

    def race(self):
        site = self.site
        if not site.known_names or not site.table.rows:
            return
        address, before = self.rng.choice(sorted(site.known_names)), dict(site.table.rows)
        first = self.rng.choice([0, *before])
        kept = {n: version for n, version in before.items() if n < first or n % 4_000 == 0}
        due = int(self.amount)
        writes = {due: lambda: site.table.write(kept), due + 1: lambda: site.table.write(before)}
        site.is_racing = True
        with interrupted(site.aliases, writes):
            answer = site.request(self.process, address)
        site.failed_at = site.now
        self.checked(answer)
        site.is_racing = False
        if answer.status == 200 and answer.etag and self.rng.random() < 0.5:
            site.clock.seconds += site.staleness + 0.001
            self.get_again(self.process, address, answer.etag)

    def section_fails(self):
        self.site.is_section_failing = True
        self.get(self.process, INDEX)
        self.site.is_section_failing = False

    def restart(self):
        self.site.memories.restart(self.process)

    def killed(self):
        """Kill a process between two queries of a request, which is mostly one that counts pages."""
        site, rng = self.site, self.rng
        address = rng.choice([INDEX, INDEX, INDEX, *sorted(site.known_names)[:1]])
        site.clock.seconds += rng.choice([0, 301])
        site.failed_at = site.killed_at = site.now
        try:
            with killed(site.aliases, int(self.amount), rng.choice([0, 0.3, 1, 1])):
                answer = site.request(self.process, address)
        except Killed:
            site.killed_at = site.now
            site.memories.restart(self.process)
        else:
            self.checked(answer)

    def cache_fails(self):
        faults.is_down = not faults.is_down

    def evict(self):
        faults.evict(self.amount)

    # Steps that deploy and export.

    def migrate(self):
        """Add columns that the section does not use, or remove them."""
        has_all = self.site.version(self.process).has_all_columns
        self.site.deploy(self.process, has_all_columns=not has_all)

    def deploy(self):
        limit = self.site.case.limit
        self.site.deploy(self.process, limit=self.rng.choice([limit, limit, limit // 2]),
                         class_name=self.rng.choice(["Rows", "Others"]), is_dated=self.rng.random() < 0.8,
                         frequency=self.rng.choice([None, "daily"]))  # fmt: skip

    def new_secret(self):
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
        settings.SECRET_KEY = str(len(settings.SECRET_KEY_FALLBACKS))
        for process in range(4):
            self.site.memories.restart(process)

    def export(self):
        """Export, as another process does. Other tests check what it publishes."""
        site = self.site
        if self.amount:
            self.mixed_crawl()
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
        if self.amount:
            site.clock.seconds += self.rng.choice([1, 5, 11])
            self.mixed_crawl()

    # Steps that write.

    def insert(self):
        return inserted(self.site.table.rows, int(self.amount), self.rng, together=False)

    def bulk_everywhere(self, *, together=False):
        count = int(self.amount * self.site.case.limit)
        return inserted(self.site.table.rows, count, self.rng, together=together)

    def bulk_together(self):
        return self.bulk_everywhere(together=True)

    def append(self):
        return extended(self.site.table.rows, int(self.amount))

    def append_many(self):
        return extended(self.site.table.rows, int(self.amount * self.site.case.limit))

    def change(self):
        rows = dict(self.site.table.rows)
        for number in self.rng.sample(sorted(rows), min(len(rows), int(self.amount))):
            rows[number] += 1
        return rows

    def delete(self):
        rows = self.site.table.rows.items()
        return {number: version for number, version in rows if self.rng.random() >= self.amount}

    def delete_range(self):
        numbers = sorted(self.site.table.rows)
        count = int(len(numbers) * self.amount)
        start = self.rng.randint(0, len(numbers) - count)
        return {n: self.site.table.rows[n] for n in numbers[:start] + numbers[start + count :]}

    def replace(self):
        """Return the same rows, or others instead of a share of them."""
        rows = self.delete()
        return inserted(rows, len(self.site.table.rows) - len(rows), self.rng, together=False)

    replace_atomic = replace
