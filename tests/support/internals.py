"""Names of the package that are not public, and that tests of several rooms need.

Use this for what no command, request or file shows. If code moves, only these imports change. A name that
only the tests of its own room need is imported there.
"""

# ruff: noqa: F401 test modules import them from here

from django_sitemaps09.conf import conf
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.calls import lastmod_text
from django_sitemaps09.declare.expressions import alias
from django_sitemaps09.declare.sitemap_attributes import read
from django_sitemaps09.export import engines, host_export, page as sink
from django_sitemaps09.export.engines import messages, queues
from django_sitemaps09.export.notify.client import Client, Connections
from django_sitemaps09.export.notify.ledger import FOLDER, Ledger, Message
from django_sitemaps09.export.page import RenderedPage, Renderer, Task, render_page
from django_sitemaps09.export.publishing import changes, index_files, publication
from django_sitemaps09.management.commands import export_sitemaps
from django_sitemaps09.orm.facts import divides_groups, has_window_function
from django_sitemaps09.orm.reading import count_rows, in_page_order, in_total_order
from django_sitemaps09.protocol import compression, filenames, pages
from django_sitemaps09.protocol.documents import WriteResult, index_document, stylesheet, write_document
from django_sitemaps09.protocol.entries import SITEMAP_NAMESPACE, Batch, ItemError, Localization, SafeColumn
from django_sitemaps09.protocol.limits import (
    INDEX_LIMITS,
    MAX_BYTES,
    MAX_LOCATION,
    MAX_NEWS,
    MAX_URLS,
    Limits,
)
from django_sitemaps09.protocol.media import NAMESPACES
from django_sitemaps09.protocol.pages import HASHES, Fingerprint, Key, Page, fill
from django_sitemaps09.protocol.urls import Base, normalized, parse_base, uri
from django_sitemaps09.protocol.urlset import URLSET, page_format
from django_sitemaps09.protocol.values import CHANGEFREQS, w3c
from django_sitemaps09.rows import keys, members, slices, source_base as sources
from django_sitemaps09.rows.compile import compile_source
from django_sitemaps09.rows.positions import PositionSource
from django_sitemaps09.rows.queryset import QuerySource, read_page
from django_sitemaps09.target import manifest, published, store as stores
from django_sitemaps09.target.journal import EXPORTED, HISTORY, JOURNAL, MAX_RUNS, Journal, write_journal
from django_sitemaps09.target.local import STATE, LocalStore
from django_sitemaps09.target.manifest import BACKUP, ROOT, Manifest, PageFile, SectionRecord
from django_sitemaps09.target.remote import RemoteStore
from django_sitemaps09.target.store import exclusive_lock, state_store, target_store
from django_sitemaps09.tools.checks import configuration as conf_checks, registration as checks
from django_sitemaps09.tools.status import ExportState, SectionStatus, status
from django_sitemaps09.views import caching, compat, exported, indexes, known_pages, listing, live_pages
from django_sitemaps09.views.listing import ListedPage, Listing
