"""What must be true of the answers of a site. Each function raises `Broken` with what is not."""

from __future__ import annotations

from itertools import pairwise

from tests.invariants.fuzz_live import caches
from tests.invariants.fuzz_live.rows import Entry, Rows
from tests.invariants.fuzz_live.site import Answer, Crawl, Site

#: Least share of the limit on a new page, least share of two neighbours, and most pages per full page.
FRESH, NEIGHBOURS, PAGES = 0.42, 0.85, 2.4


class Broken(Exception):
    """An invariant that does not hold. The arguments are the name of its function, and the reason."""


def few(entries: object) -> str:
    found = sorted(entries)  # type: ignore[call-overload, var-annotated]
    return f"{len(found)} rows, such as {found[:3]}" if len(found) > 3 else f"the rows {found}"


def is_of_a_moment(entries: list[Entry], rows: Rows) -> bool:
    """Return whether a page lists all of the rows from its first one to its last one."""
    if not entries:
        return True
    first, last = entries[0][0], entries[-1][0]
    return entries == sorted((n, version) for n, version in rows.items() if first <= n <= last)


def no_answer_is_an_error(site: Site, answer: Answer) -> None:
    allowed = (200, 304, 404) if not (answer.is_database_failing or site.is_section_failing) else None
    if allowed and answer.status not in allowed:
        raise Broken("no_answer_is_an_error", str(answer))


def no_page_is_over_the_limit(site: Site, answer: Answer) -> None:
    if answer.is_rows and len(answer.urls) > site.case.limit:
        raise Broken("no_page_is_over_the_limit", f"{answer} lists {len(answer.urls)} URLs")
    if len({*answer.urls}) < len(answer.urls):
        raise Broken("no_page_is_over_the_limit", f"{answer} lists a URL twice")


def pages_are_of_one_recent_moment(site: Site, answer: Answer) -> None:
    """No page lists a row that is gone for longer than 2 * `LIVE_SECONDS`, or lacks one in between."""
    if not answer.is_rows or answer.status != 200:
        return
    if answer.is_database_failing and not answer.is_stored:
        # The page as it was before is better than none.
        return
    snapshots = site.table.at_any_time_since(answer.at - site.staleness)
    if not any(is_of_a_moment(answer.entries, snapshot.rows) for snapshot in snapshots):
        raise Broken(
            "pages_are_of_one_recent_moment",
            f"{answer} lists {_wrong(answer.entries, snapshots[0].rows)} (the ETag is {answer.etag})",
        )


def _wrong(entries: list[Entry], rows: Rows) -> str:
    gone = [found for found in entries if rows.get(found[0]) != found[1]]
    between = {(n, version) for n, version in rows.items() if entries[0][0] <= n <= entries[-1][0]}
    return f"of rows that do not exist {few(gone)}, and lacks {few(between.difference(entries))}"


def an_etag_is_of_one_body(site: Site, answer: Answer) -> None:
    if answer.status != 200 or answer.etag is None or answer.method != "GET":
        return
    if site.bodies.get((answer.address, answer.etag), answer.content) != answer.content:
        raise Broken("an_etag_is_of_one_body", f"{answer} has another body than before with {answer.etag}")


def not_modified_is_of_the_body_now(site: Site, answer: Answer, etag: str, body: Answer) -> None:
    """`body` is what was answered with the ETag before, as if it were answered now."""
    if answer.status != 304:
        return
    if answer.content:
        raise Broken("not_modified_is_of_the_body_now", f"{answer} has a body")
    try:
        pages_are_of_one_recent_moment(site, body)
    except Broken as error:
        raise Broken("not_modified_is_of_the_body_now", f"304 for {etag}: {error.args[1]}") from None
    if not site.is_settled():
        # A request without a condition may read newer rows.
        return
    if _is_outdated(site, answer, body):
        # The bounds of a page, too, may be those of the last response.
        site.clock.seconds += site.staleness + 0.001
        again = site.request(answer.process, answer.address, etag)
        if again.status == 304 and _is_outdated(site, again, body):
            raise Broken("not_modified_is_of_the_body_now", f"{answer} for {etag}, but the body is another")


def _is_outdated(site: Site, answer: Answer, body: Answer) -> bool:
    """Return whether another request gets another body, unless a process has just lost the shared cache."""
    now = site.request(answer.process, answer.address)
    return answer.losses == caches.faults.losses and now.status == 200 and now.content != body.content


def crawls_list_all_rows(site: Site, crawl: Crawl) -> None:
    """A crawl lists each row that was there for long, unless rows before it have just filled its page."""
    due = set(site.table.always_since(crawl.index.at - site.grace - 1).items())
    missing = due - crawl.entries
    if site.table.changed_at >= crawl.index.at - site.grace - 1:
        missing = {row for row in missing if not _may_be_cut(site, crawl, row)}
    if missing:
        raise Broken(
            "crawls_list_all_rows",
            f"a crawl of {len(crawl.pages)} pages that began {site.grace} s after the last write of them "
            f"lacks {few(missing)} of {len(due)}: {_statuses(crawl)}",
        )


def appended_rows_are_listed_at_once(site: Site, crawl: Crawl) -> None:
    """A crawl lists appended rows at once; if they do not fit on the last page, the next crawl does."""
    if not crawl.is_undisturbed or not crawl.pages:
        return
    known = site.table.always_since(
        crawl.index.at - site.staleness - 1 if site.staleness else crawl.index.at
    )
    appended = {row for row in known.items() if row[0] in site.table.appended} - crawl.entries
    appended = {row for row in appended if site.table.appended[row[0]] <= crawl.index.at - site.staleness}
    missing = {row for row in appended if not _may_be_cut(site, crawl, row)}
    if missing:
        reason = f"a crawl lacks {few(missing)} that were appended: {_statuses(crawl)}"
        raise Broken("appended_rows_are_listed_at_once", reason)


def divided_pages_are_whole_at_once(site: Site, crawl: Crawl, previous: Crawl | None) -> None:
    """If a crawl cannot list all rows of a page, the page is divided, and the next crawl lists them."""
    if previous is None or site.case.cache == "failing":
        return
    began = previous.index.at
    is_quiet = site.table.changed_at <= began - site.staleness and crawl.index.at > began + site.staleness
    if not is_quiet or all(page.etag for page in previous.pages):
        return
    missing = site.table.rows.items() - crawl.entries
    if missing:
        reason = (
            f"the crawl after one with an incomplete page still lacks {few(missing)}: {_statuses(crawl)}"
        )
        raise Broken("divided_pages_are_whole_at_once", reason)


def _may_be_cut(site: Site, crawl: Crawl, row: Entry) -> bool:
    """Return whether the page that would list a row is full, so that it can lack rows."""
    if crawl.is_undisturbed:
        page = _page_before(crawl, row)
        return page is not None and len(page.urls) >= site.case.limit
    return any(page.entries[:1] <= [row] and len(page.urls) >= site.case.limit for page in crawl.pages)


def _page_before(crawl: Crawl, row: Entry) -> Answer | None:
    """Return the page whose range has a row, if it has a row before this one."""
    pages = (page for page in reversed(crawl.pages) if page.address not in crawl.index.still_listed)
    return next((page for page in pages if page.entries and page.entries[0] <= row), None)


def _statuses(crawl: Crawl) -> str:
    pages = [
        f"{page.address[len('/sitemap-rows-') :]}: {page.status}, {len(page.urls)}" for page in crawl.pages
    ]
    return "; ".join(pages[:12]) + (" ..." if len(pages) > 12 else "")


def incomplete_pages_are_not_stored(site: Site, crawl: Crawl) -> None:
    """A page that lacks rows of its range is `no-store` and has no ETag."""
    if not crawl.is_undisturbed or not site.is_settled() or not crawl.pages:
        return
    for row in sorted(site.table.rows.items() - crawl.entries):
        page = _page_before(crawl, row)
        if page is None or (page.status == 200 and page.is_stored):
            where = page or crawl.pages[0]
            headers = {name: where.headers.get(name) for name in ("ETag", "Cache-Control")}
            reason = f"{where} lists {len(where.urls)} URLs and lacks the row {row}, with {headers}"
            raise Broken("incomplete_pages_are_not_stored", reason)


def pages_are_full_and_few(site: Site, crawl: Crawl, fresh: set[str]) -> None:
    """After the index has looked at all rows: no page is empty, few are small, and two do not fit on one.

    `fresh` are the addresses that this index named first, if no row was deleted since the index before.
    """
    limit, rows = site.case.limit, len(site.table.rows)
    owned = [len(entries) for entries in crawl.owned]
    sizes = f"limit {limit}, {rows} rows, pages of {owned}"
    if len(owned) > PAGES * rows / limit + 2 + site.exported_pages:
        raise Broken("pages_are_full_and_few", f"too many pages: {sizes}")
    if 0 in owned:
        raise Broken("pages_are_full_and_few", f"an empty page: {sizes}")
    if site.exported_pages:
        return
    # 95 % of the limit is what a new page has at most.
    least = int(NEIGHBOURS * (limit - limit // 20))
    small = [pair for pair in pairwise(owned) if sum(pair) <= least]
    if small:
        raise Broken("pages_are_full_and_few", f"neighbours that fit on one page {small}: {sizes}")
    small_ones = [
        size
        for page, size in zip(crawl.pages[:-1], owned[:-1], strict=True)
        if page.address in fresh and size < int(FRESH * limit)
    ]
    if small_ones:
        raise Broken("pages_are_full_and_few", f"new pages of {small_ones} rows: {sizes}")


def addresses_answer(site: Site, answer: Answer) -> None:
    """An address that an index named answers for `KEEP_REMOVED`, with the rows of its range."""
    if not site.is_durable or answer.is_database_failing or not answer.is_rows:
        return
    keep = site.case.keep_removed - site.staleness - 10
    named = site.named.get(answer.address)
    if answer.status not in (200, 304) and named is not None and answer.at < named + keep:
        reason = f"{answer}, {answer.at - named:.0f} s after an index named it"
        raise Broken("addresses_answer", reason)
    if answer.status != 200 or len(answer.urls) >= site.case.limit or site.is_racing:
        return
    for since, entries in site.promises.get(answer.address, ()):
        if answer.at < since + keep:
            missing = entries & set(site.table.always_since(since - site.staleness - 1).items())
            missing -= {*answer.entries}
            if missing:
                reason = f"{answer} lists {len(answer.urls)} URLs, but not {few(missing)} as it did"
                raise Broken("addresses_answer", f"{reason} {answer.at - since:.0f} s before")


def indexes_list_all_sections(site: Site, answer: Answer) -> None:
    """An index has each section, or no client keeps it; a failing database removes none."""
    if not answer.is_index or answer.status != 200:
        return
    due = site.table.always_since(answer.at - site.grace - 1)
    if due and not answer.pages:
        how = "while the database fails" if answer.is_database_failing else "without a failure"
        raise Broken("indexes_list_all_sections", f"an index lost a section with {len(due)} rows {how}")
    if any("-fixed-" in url for url in answer.urls):
        return
    if site.is_durable and site.fixed_at and answer.at < site.fixed_at + site.case.keep_removed - 10:
        raise Broken("indexes_list_all_sections", "an index lost the pages of a section that failed")
    if answer.is_stored:
        headers = {name: answer.headers.get(name) for name in ("ETag", "Cache-Control")}
        raise Broken("indexes_list_all_sections", f"an index without a section that failed has {headers}")


def failures_are_temporary(site: Site, answer: Answer) -> None:
    """An index that cannot be made because of the database is 503, with the time to try again."""
    if not answer.is_database_failing or not answer.is_index or answer.status in (200, 304):
        return
    if answer.status != 503 or "Retry-After" not in answer.headers:
        raise Broken("failures_are_temporary", f"{answer} while the database fails")


def head_is_as_get(site: Site, head: Answer, get: Answer) -> None:
    if head.content:
        raise Broken("head_is_as_get", f"{head} has a body")
    if not site.is_settled() or (head.etag is None and "no-store" in head.headers.get("Cache-Control", "")):
        # Other rows, or a page that HEAD has divided.
        return
    optional = {"Content-Length"}
    if "Content-Length" in head.headers and head.headers["Content-Length"] != get.headers.get(
        "Content-Length"
    ):
        optional = set()
    first, second = (
        {name: value for name, value in answer.headers.items() if name not in optional}
        for answer in (head, get)
    )
    if (head.status, first) != (get.status, second):
        raise Broken("head_is_as_get", f"{head} has {first}; GET is {get.status} and has {second}")
