"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.utils import timezone, translation
from hypothesis import HealthCheck, settings

from tests.databases import using
from tests.services import bucket, declare, s3, shared_cache
from tests.strict import sitemap_js

__all__ = ["bucket", "declare", "s3", "shared_cache", "sitemap_js", "using"]

# A busy machine is no broken law: nothing here fails by the clock.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
# For runs that ask how a Python or a Django differs, not whether a law holds.
settings.register_profile("few", settings.get_profile("unhurried"), max_examples=15)
if os.environ.get("SITEMAPS09_FEW_EXAMPLES") == "1":
    settings.load_profile("few")
    # Laws of files and processes, which take their time: one run with all of them is enough.
    collect_ignore = [
        *("test_laws.py", "test_celery.py", "test_stable_pages.py", "test_changed_only.py"),
        *("test_stores.py", "test_exports_elsewhere.py", "test_indexes.py", "test_manifest.py"),
        *("test_strict_readers.py", "test_several_hosts.py", "test_languages.py", "test_news.py"),
        *("test_text.py", "test_documents.py"),
    ]
    if os.environ.get("SITEMAPS09_REQUIRE_SERVICES") != "1":
        collect_ignore.append("test_engines.py")


@pytest.fixture(autouse=True)
def no_page_map_of_another_test() -> None:
    """The live views keep page maps in Django's cache, which rolls nothing back."""
    cache.clear()


@pytest.fixture(autouse=True)
def no_language_of_another_test() -> Iterator[None]:
    """A request leaves active what it activated."""
    yield
    translation.deactivate()
    timezone.deactivate()
