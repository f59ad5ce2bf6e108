"""The documentation of engines, storages, signals and reports: each snippet runs as shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.urls import include, path

from django_sitemaps09 import register
from django_sitemaps09.conf import conf
from django_sitemaps09.export import Published, UrlChange, export
from django_sitemaps09.signals import published
from tests.docs.features.project import BASE, checked, declared, live, snippet_of
from tests.docs.pages import Snippet
from tests.shop.models import Product
from tests.support.configuration import UseUrls
from tests.support.services import require_packages

TASKS = ("docs/howto/workers.md", "With Django Tasks")
WORKER = ("docs/howto/schedule.md", "In a worker")
STORAGES = ("docs/howto/s3.md", "Export to S3 and other storages")
CACHE = ("docs/howto/s3.md", "Share a cache")
NOTIFY = ("docs/howto/notify.md", "After publishing")
SIGNAL = ("docs/reference/signals.md", "`django_sitemaps09.signals.published`")
REPORT = ("docs/reference/commands.md", "Report")
VERIFY = ("docs/howto/verify.md", "In Python")
TESTING = ("docs/howto/ci.md", "Continuous integration")
ROBOTS = ("docs/howto/robots.md", "Serve robots.txt live")


@pytest.fixture
def _celery() -> None:
    """Skip the test without Celery, before the snippet is requested and must be run."""
    require_packages("celery")


@pytest.fixture
def _tasks(settings: Any) -> None:
    """Skip the test without Django Tasks; otherwise, install the app of its database backend."""
    require_packages("django_tasks_db")
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django_tasks_db"]


@pytest.mark.django_db  # Django's own check of a JSONField asks SQLite once
@pytest.mark.services
@pytest.mark.usefixtures("_tasks")
@snippet_of(TASKS)
def test_the_settings_of_django_tasks_pass_the_checks(snippet: Snippet, settings: Any) -> None:
    module = snippet.run("shop_settings")
    settings.TASKS, settings.SITEMAPS09 = module.TASKS, module.SITEMAPS09
    assert checked() == []


@pytest.mark.services
@pytest.mark.usefixtures("_celery")
@snippet_of(WORKER)
def test_the_schedule_of_celery_beat_exports(
    snippet: Snippet, can: Product, tmp_path: Path, settings: Any
) -> None:
    from django_sitemaps09 import tasks

    register("products", declared("pass"))
    settings.SITEMAPS09 = {"BASE_URL": BASE, "ROOT": str(tmp_path)}
    entries = snippet.run("shop.schedule").CELERY_BEAT_SCHEDULE
    for entry in entries.values():
        assert entry["task"] == tasks.export.name
        assert tasks.export(*entry.get("args", ()), **entry.get("kwargs", {}))["status"] == 0
    assert (tmp_path / "sitemap.xml").exists()


@pytest.mark.services
@pytest.mark.usefixtures("_tasks")
@snippet_of(WORKER, 1)
def test_django_tasks_export(
    snippet: Snippet, can: Product, tmp_path: Path, settings: Any, backends: Callable[..., None]
) -> None:
    register("products", declared("pass"))
    settings.SITEMAPS09 = {"BASE_URL": BASE, "ROOT": str(tmp_path)}
    backends(default="Immediate")
    snippet.run("shop.exports")
    assert (tmp_path / "sitemap.xml").exists()


@snippet_of(STORAGES)
def test_the_settings_of_a_bucket_pass_the_checks(snippet: Snippet, settings: Any) -> None:
    module = snippet.run("shop_settings")
    settings.STORAGES = {**settings.STORAGES, **module.STORAGES}
    settings.SITEMAPS09 = module.SITEMAPS09
    assert checked() == []
    assert (str(conf.base_url), conf.state) == (BASE, "private")


@snippet_of(CACHE)
def test_the_settings_of_a_cache_pass_the_checks(snippet: Snippet, settings: Any) -> None:
    settings.CACHES = snippet.run("shop_settings").CACHES
    assert checked() == []


@snippet_of(NOTIFY)
def test_a_receiver_gets_the_files_that_were_written_and_removed(
    snippet: Snippet, can: Product, tmp_path: Path
) -> None:
    purged: list[list[str]] = []
    module = snippet.run("shop.receivers", {"purge": purged.append})
    register("products", declared("pass"))
    changed: list[UrlChange] = []

    def tell(event: Published) -> None:
        assert event.urls is not None
        changed.extend(event.urls())

    try:
        export(output=tmp_path, changes=True, on_published=tell)
        export(output=tmp_path)
    finally:
        published.disconnect(module.purge_changed_files)
    assert [sorted(urls) for urls in purged] == [
        [f"{BASE}/sitemap-products-1.xml.gz", f"{BASE}/sitemap.xml"]
    ]
    assert changed == [UrlChange("added", "products", f"{BASE}/garden/watering-can/")]


@snippet_of(SIGNAL)
def test_the_receiver_of_the_reference_is_sent_the_files(
    snippet: Snippet, can: Product, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = snippet.run("shop.receivers")
    register("products", declared("pass"))
    try:
        export(output=tmp_path)
    finally:
        published.disconnect(module.log_files)
    assert set(capsys.readouterr().out.split()) == {
        f"{BASE}/sitemap-products-1.xml.gz",
        f"{BASE}/sitemap.xml",
    }


@snippet_of(REPORT)
def test_an_export_is_called_from_python(
    snippet: Snippet, can: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("products", declared("pass"))
    monkeypatch.chdir(tmp_path)
    report = snippet.run("shop.exports").report
    assert (report.published, report.urls) == (True, 1)
    assert (tmp_path / "public" / "sitemap.xml").exists()


@snippet_of(VERIFY)
def test_an_export_is_verified_from_python(
    snippet: Snippet, can: Product, tmp_path: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    register("products", declared("pass"))
    settings.SITEMAPS09 = {"BASE_URL": BASE, "ROOT": str(tmp_path)}
    export()
    (tmp_path / "sitemap-products-1.xml.gz").unlink()
    result = snippet.run("shop.exports").result
    assert result.failures == []
    assert capsys.readouterr().out.startswith("sitemap-products-1.xml.gz it is missing")
    assert (tmp_path / "sitemap-products-1.xml.gz").exists()


@snippet_of(TESTING)
def test_a_project_can_test_its_export(snippet: Snippet, can: Product, tmp_path: Path) -> None:
    test = snippet.run("shop.tests").test_the_sitemap_is_complete
    register("products", declared("pass"))
    test(tmp_path)
    register("broken", declared("location = '/a#b'"))
    with pytest.raises(AssertionError):
        test(tmp_path)


@snippet_of(ROBOTS)
def test_a_robots_txt_is_served_with_rules(snippet: Snippet, db: None, use_urls: UseUrls) -> None:
    module = snippet.run("shop_urls")
    use_urls(path("", include("django_sitemaps09.urls")), *module.urlpatterns)
    lines = live("/robots.txt").decode().splitlines()
    assert lines[:2] == ["User-agent: *", "Disallow: /private/"]
    assert lines[-1] == f"Sitemap: {BASE}/sitemap.xml"
