"""The feed of an export: its entries of the run before, and the URLs that this run has changed."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing.changes import Spool
from django_sitemaps09.export.run import Run
from django_sitemaps09.protocol.feed import Feed, feed_document, read_feed
from django_sitemaps09.protocol.filenames import FEED

# Maximum number of bytes of an entry: a URL of 2,048 characters three times, each escaped.
_MAX_ENTRY = 40_000


def next_feed(run: Run, spool: Spool | None, warnings: list[str]) -> dict[str, bytes]:
    """Return the feed that a run publishes, by its file name; nothing if `FEED` is not set.

    The URLs that the run has added or changed come first. If its changes are unknown, or are too many, the
    feed stays as it is.
    """
    if conf.feed is None:
        return {}
    now = f"{run.started:%Y-%m-%dT%H:%M:%SZ}"
    feed = _published(run, warnings) or Feed(now)
    if spool is not None and spool.exceeds_limit:
        warnings.append(
            f"This run changed or moved more URLs than INDEXNOW_MAX_URLS ({spool.limit:,}), so the feed "
            f"{FEED} has none of them."
        )
    elif spool is not None and spool.is_filled:
        changed = spool.newest(conf.feed, now)
        gone = spool.changed({entry.url for entry in feed.entries})
        kept = [entry for entry in feed.entries if entry.url not in gone]
        feed = feed._replace(entries=(*changed, *kept))
    feed = feed._replace(entries=feed.entries[: conf.feed])
    return {FEED: feed_document(f"{run.host.url}{FEED}", feed, conf.websub_hub)}


def _published(run: Run, warnings: list[str]) -> Feed | None:
    """Return the feed of the previous run, if it is exactly what that run has published."""
    digest = run.previous.manifest.feeds.get(FEED)
    if digest is None:
        return None
    store = run.host.store
    with suppress(ExportError, ValueError):
        content = store.read(FEED, _MAX_ENTRY * (conf.feed or 1)) or b""
        if sha256(content).hexdigest() == digest:
            return read_feed(content)
    warnings.append(f"{store.label}: {FEED} is missing or damaged, so it begins again without entries.")
    return None
