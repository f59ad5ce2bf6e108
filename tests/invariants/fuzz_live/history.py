"""Do the steps of a case one after the other, and check each answer."""

from __future__ import annotations

import gzip
import random
from unittest import mock

from django.conf import settings

from django_sitemaps09.export import export
from tests.invariants.fuzz_live import invariants
from tests.invariants.fuzz_live.faults import failing_database, faults, interrupted, killed
from tests.invariants.fuzz_live.processes import Killed
from tests.invariants.fuzz_live.rows import entry, extended, inserted
from tests.invariants.fuzz_live.site import INDEX, Crawl, urls_of


class History:
    """Has a method for each step. A method that returns rows lets the table have these."""

    def __init__(self, site):
        self.site = site

    def run(self):
        """Do all steps. Raise `Broken` at the first answer that breaks an invariant."""
        self.site.table.write(extended({}, self.site.case.rows))
        for step in self.site.case.steps:
            self.site.steps += 1
            self.process, self.amount = step.process, step.amount
            self.rng = random.Random(step.seed)  # noqa: S311 random steps are not secret
            rows = getattr(self, step.name)()
            if rows is not None:
                self.site.table.write(rows, atomic=step.name != "replace")
            self.site.clock.seconds += 0.001

    def checked(self, answer):
        """Note and check an answer that is not part of a crawl, too."""
        site = self.site
        for check in invariants.OF_ANSWERS:
            check(site, answer)
        if answer.status == 200 and answer.etag:
            site.bodies.setdefault((answer.address, answer.etag), answer.content)
        if answer.is_index and answer.status == 200:
            invariants.ranges_are_adjacent(site, answer)
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
        invariants.not_modified_is_of_the_body_now(self.site, answer, etag, kept)
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
        invariants.crawls_list_all_rows(self.site, found)
        invariants.no_row_is_listed_twice(self.site, found)
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
            invariants.pages_are_full_and_few(self.site, found)

    def slow_crawl(self):
        """Begin a crawl that other steps interrupt."""
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
            invariants.crawls_list_all_rows(self.site, Crawl(index, pages))

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
            head = self.site.request(process, address, method="HEAD")
            answer = self.get(process, address)
            if head.losses == faults.losses:
                invariants.head_is_as_get(self.site, head, answer)

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
        """Request a page while rows vanish and come back."""
        site = self.site
        if not site.known_names or not site.table.rows:
            return
        address = self.rng.choice(sorted(site.known_names))
        before = dict(site.table.rows)
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
        """Let a process have another declaration than others."""
        limit = self.site.case.limit
        self.site.deploy(
            self.process,
            limit=self.rng.choice([limit, limit, limit // 2]),
            class_name=self.rng.choice(["Rows", "Others"]),
            is_dated=self.rng.random() < 0.8,
            frequency=self.rng.choice([None, "daily"]),
        )

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
