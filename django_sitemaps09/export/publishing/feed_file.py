"""The feed of an export: its entries of the run before, and the URLs that this run has changed."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256

from django_sitemaps09.conf import conf
from django_sitemaps09.export.publishing.changes import Spool
from django_sitemaps09.export.run import Run
from django_sitemaps09.protocol.feed import Feed, FeedEntry, feed_document, read_feed
from django_sitemaps09.protocol.filenames import FEED
from django_sitemaps09.target.local import DamagedError

# Maximum number of bytes: 1,000 entries with a URL of 2,048 characters three times, each escaped.
_MAX_BYTES = 40_000_000


def next_feed(run: Run, spool: Spool | None, warnings: list[str]) -> dict[str, bytes]:
    """Return the feed that a run publishes, by its file name; nothing if `FEED` is not set.

    The URLs that the run has added or changed come first. If its changes are unknown, or are too many, only
    URLs that are known to be removed leave the feed.
    """
    if conf.feed is None:
        return {}
    now = f"{run.started:%Y-%m-%dT%H:%M:%SZ}"
    feed = _published(run, warnings) or Feed(now)
    if spool is not None and spool.is_filled:
        changed: list[FeedEntry] = []
        kinds = spool.kinds({entry.url for entry in feed.entries})
        if spool.exceeds_limit:
            warnings.append(
                f"This run changed or moved more URLs than INDEXNOW_MAX_URLS ({spool.limit:,}), so {FEED} "
                "has none of them."
            )
            kinds = {url: kind for url, kind in kinds.items() if kind == "removed"}
        else:
            changed = spool.newest(conf.feed, now)
        kept = [entry for entry in feed.entries if entry.url not in kinds]
        feed = feed._replace(entries=(*changed, *kept))
    feed = feed._replace(entries=feed.entries[: conf.feed])
    host = run.host
    return {FEED: feed_document(f"{host.url}{FEED}", host.base.domain, feed, conf.websub_hub)}


def _published(run: Run, warnings: list[str]) -> Feed | None:
    """Return the feed of the previous run, if it is exactly what that run has published."""
    digest, store = run.previous.manifest.feeds.get(FEED), run.host.store
    if digest is None and FEED not in run.previous.names:
        return None
    with suppress(DamagedError, ValueError):
        content = store.read(FEED, _MAX_BYTES) or b""
        if sha256(content).hexdigest() == digest:
            return read_feed(content)
    warnings.append(
        f"{store.label}: {FEED} is not what the last run has written, so it begins again without entries."
    )
    return None
