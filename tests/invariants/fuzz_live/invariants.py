"""What must be true of the answers of a site. Each function raises `Broken` with what is not."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from tests.invariants.fuzz_live.faults import faults
from tests.invariants.fuzz_live.rows import NUMBERS

#: Least share of the limit on two neighbours, and most pages per full page.
NEIGHBOURS, PAGES = 0.85, 2.4
# Seconds until another process renews a listing instead of a killed one, for which a process reads no new
# manifest, and until another process renders a page instead of a killed one.
_LEASE, _MANIFEST, _RENDERING = 11, 11, 61


class Broken(Exception):
    """An invariant that does not hold. The arguments are the name of its function, and the reason."""


def few(entries):
    found = sorted(entries)
    return f"{len(found)} rows, such as {found[:3]}" if len(found) > 3 else f"the rows {found}"


def no_answer_is_an_error(site, answer):
    """No answer is an error; an index may be one for seconds after a process was killed that counted."""
    if answer.is_database_failing or site.is_section_failing or answer.status in (200, 304, 404):
        return
    is_busy = answer.is_index and answer.status == 503 and "Retry-After" in answer.headers
    if not is_busy or not site.may_be_locked(answer.at, _LEASE):
        raise Broken("no_answer_is_an_error", str(answer))


def no_page_is_over_the_limit(site, answer):
    if answer.is_rows and len(answer.urls) > site.most_urls:
        raise Broken("no_page_is_over_the_limit", f"{answer} lists {len(answer.urls)} URLs")
    if len({*answer.urls}) < len(answer.urls):
        raise Broken("no_page_is_over_the_limit", f"{answer} lists a URL twice")


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
    if not any(_is_of(site, answer, rows) for rows in moments):
        raise Broken(
            "pages_are_of_one_recent_moment",
            f"{answer} lists {_wrong(site, answer, moments[0])} (the ETag is {answer.etag})",
        )


def _is_of(site, answer, rows):
    due = _due(site, answer, rows)
    return answer.entries == due[: site.most_urls] and (len(due) <= site.most_urls or not answer.is_stored)


def _due(site, answer, rows):
    """Return the rows in the range of a page. For a number, the range is that of the rows that it lists."""
    numbers = [number for number, _ in answer.entries]
    start, end = site.table.range_of(answer.address) or (
        min(numbers, default=0),
        max(numbers, default=-1) + 1,
    )
    return sorted((n, version) for n, version in rows.items() if start <= n < end)


def _wrong(site, answer, rows):
    found, due = {*answer.entries}, {*_due(site, answer, rows)}
    return f"{few(found - due)} that are not in its range, and lacks {few(due - found)} of {len(due)}"


def an_etag_is_of_one_body(site, answer):
    """An ETag has one body. A body of a range has one ETag, on any replica, with any unused columns."""
    if answer.status != 200 or answer.etag is None or answer.method != "GET":
        return
    if site.bodies.get((answer.address, answer.etag), answer.content) != answer.content:
        raise Broken("an_etag_is_of_one_body", f"{answer} has another body than before with {answer.etag}")
    if site.table.range_of(answer.address) is None or answer.at <= site.failed_at + site.staleness:
        # A number can get another range, and a fingerprint that could not be read is not read again.
        return
    version = site.version(answer.process)._replace(has_all_columns=False)
    etag = site.etags.setdefault((answer.address, version, answer.content), answer.etag)
    if etag != answer.etag:
        raise Broken("an_etag_is_of_one_body", f"{answer} has the ETag {answer.etag}, but had {etag}")


def not_modified_is_of_the_body_now(site, answer, etag, body):
    """`body` is what was answered with the ETag before, as if it were answered now."""
    if answer.status != 304:
        return
    if answer.content:
        raise Broken("not_modified_is_of_the_body_now", f"{answer} has a body")
    pages_are_of_one_recent_moment(site, body)
    if not site.is_settled():
        # A request without a condition may read newer rows.
        return
    if _is_outdated(site, answer, body):
        # The range of a number, too, may be that of the last response.
        site.clock.seconds += site.staleness + 0.001
        again = site.request(answer.process, answer.address, etag)
        if again.status == 304 and _is_outdated(site, again, body):
            raise Broken("not_modified_is_of_the_body_now", f"{answer} for {etag}, but the body is another")


def _is_outdated(site, answer, body):
    """Return whether another request gets another body, unless a process has just lost the shared cache."""
    now = site.request(answer.process, answer.address)
    return answer.losses == faults.losses and now.status == 200 and now.content != body.content


def crawls_list_all_rows(site, crawl):
    """A crawl lists each row that was there all the time, unless its range has outgrown the protocol."""
    due = set(site.table.always_since(crawl.index.at - site.staleness - 0.0005).items())
    missing = {row for row in due - crawl.entries if not _may_be_cut(site, crawl, row)}
    is_busy = not crawl.index.is_stored and site.may_be_locked(crawl.index.at, _LEASE)
    # Number 1, if it was the only page, has all keys until the first export, or for one export after that.
    later = [time for time in site.exports if crawl.index.at < time + _MANIFEST]
    is_divided = len(crawl.pages) == 1 and (later == site.exports != [] or len(later) > 1)
    if missing and not (is_busy and not crawl.pages) and not is_divided:
        reason = f"a crawl of {len(crawl.pages)} pages lacks {few(missing)} of {len(due)}"
        raise Broken("crawls_list_all_rows", f"{reason}: {_statuses(crawl)}")


def _may_be_cut(site, crawl, row):
    """Return whether a page that could list a row is not stored, and full, or as it was before a kill."""
    for page in crawl.pages:
        start, end = site.table.range_of(page.address) or (0, NUMBERS)
        is_former = len(page.urls) >= site.most_urls or site.may_be_locked(page.at, _RENDERING)
        if start <= row[0] < end and not page.is_stored and is_former:
            return True
    return False


def _statuses(crawl):
    pages = [f"{page.address[len('/sitemap-') :]}: {page.status}, {len(page.urls)}" for page in crawl.pages]
    return "; ".join(pages[:12]) + (" ..." if len(pages) > 12 else "")


def no_row_is_listed_twice(site, crawl):
    """No row stands on two pages of an index, if all processes have read the last manifest."""
    if any(crawl.index.at < time + _MANIFEST for time in site.exports):
        return
    counts = Counter(number for page in crawl.pages for number, _ in page.entries)
    twice = [number for number, count in counts.items() if count > 1]
    if twice:
        raise Broken("no_row_is_listed_twice", f"an index lists {few(twice)} twice: {_statuses(crawl)}")


def ranges_are_adjacent(site, index):
    """The ranges of an index cover all keys once."""
    ranges = [site.table.range_of(address) for address in index.pages]
    for before, after in pairwise([(0, 0), *ranges, (NUMBERS, NUMBERS)] if ranges else []):
        if before is not None and after is not None and before[1] != after[0]:
            raise Broken("ranges_are_adjacent", f"{index} lists {index.pages}")


def pages_are_full_and_few(site, crawl):
    """After the index has looked at all rows: no page is empty or too full, and no two fit on one."""
    if not crawl.index.is_stored:
        # The first listing was begun long ago, by a process that was killed.
        return
    limit, rows = site.version(crawl.index.process).limit, len(site.table.rows)
    counts = [len(page.urls) for page in crawl.pages]
    sizes = f"limit {limit}, {rows} rows, pages of {counts}"
    if len(counts) > PAGES * -(-rows // limit) + 2:
        raise Broken("pages_are_full_and_few", f"too many pages: {sizes}")
    if 0 in counts or max(counts, default=0) > limit:
        raise Broken("pages_are_full_and_few", f"an empty page, or one that is too full: {sizes}")
    # 95 % of the limit is what a new page has at most.
    least = int(NEIGHBOURS * (limit - limit // 20))
    small = [pair for pair in pairwise(counts) if sum(pair) <= least]
    if small:
        raise Broken("pages_are_full_and_few", f"neighbours that fit on one page {small}: {sizes}")


def addresses_answer(site, answer):
    """A range answers for ever. A number answers until `KEEP_REMOVED` after an export removed it.

    A process reads the manifest at most once a second.
    """
    is_new = site.table.range_of(answer.address) is None and answer.at < max([0, *site.exports]) + 1
    if answer.status == 404 and not (is_new or _is_forgotten(site, answer)):
        raise Broken("addresses_answer", str(answer))


def numbers_list_what_was_exported(site, answer):
    """The page with a number has the rows that the last export with this number put there."""
    published_at, entries = site.exported.get(answer.address, (0.0, frozenset()))
    is_known = entries and answer.at > site.exports[-1] + _MANIFEST + site.staleness
    if answer.status != 200 or not is_known or _is_forgotten(site, answer) or site.is_racing:
        return
    missing = entries & site.table.always_since(published_at).items() - {*answer.entries}
    if missing and (answer.is_stored or len(answer.urls) < site.most_urls):
        reason = f"{answer} lists {len(answer.urls)} URLs, but not {few(missing)}"
        raise Broken("numbers_list_what_was_exported", reason)


def _is_forgotten(site, answer):
    return answer.at > site.removed.get(answer.address, answer.at) + site.case.keep_removed - 1


def indexes_list_all_sections(site, answer):
    """An index has each section, or no client keeps it; a failing database removes none."""
    if not answer.is_index or answer.status != 200:
        return
    due = site.table.always_since(answer.at - site.grace - 1)
    is_busy = not answer.is_stored and site.may_be_locked(answer.at, _LEASE)
    if due and not answer.pages and not is_busy:
        how = "while the database fails" if answer.is_database_failing else "without a failure"
        raise Broken("indexes_list_all_sections", f"an index lost a section with {len(due)} rows {how}")
    if any("-fixed-" in url for url in answer.urls):
        return
    if site.is_durable and site.fixed_at and answer.at < site.fixed_at + site.case.keep_removed - 10:
        raise Broken("indexes_list_all_sections", "an index lost the pages of a section that failed")
    if answer.is_stored:
        headers = {name: answer.headers.get(name) for name in ("ETag", "Cache-Control")}
        raise Broken("indexes_list_all_sections", f"an index without a section that failed has {headers}")


def failures_are_temporary(site, answer):
    """An index that cannot be made because of the database is 503, with the time to try again."""
    if not answer.is_database_failing or not answer.is_index or answer.status in (200, 304):
        return
    if answer.status != 503 or "Retry-After" not in answer.headers:
        raise Broken("failures_are_temporary", f"{answer} while the database fails")


def head_is_as_get(site, head, get):
    if head.content:
        raise Broken("head_is_as_get", f"{head} has a body")
    if not site.is_settled() or site.may_be_locked(get.at, 61):
        # Other rows, or an outdated page while a killed process holds the lock for rendering it.
        return
    # HEAD may lack the length.
    first = {"Content-Length": get.headers.get("Content-Length"), **head.headers}
    second = {"Content-Length": None, **get.headers}
    if (head.status, first) != (get.status, second):
        raise Broken("head_is_as_get", f"{head} has {first}; GET is {get.status} and has {second}")


#: What is checked of each answer, in order.
OF_ANSWERS = (
    *(no_answer_is_an_error, no_page_is_over_the_limit, an_etag_is_of_one_body),
    *(pages_are_of_one_recent_moment, addresses_answer, numbers_list_what_was_exported),
    *(indexes_list_all_sections, failures_are_temporary),
)
