"""The documentation of the inspector: both URLconfs work as shown, and the tables name what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import override_settings

from django_sitemaps09.inspector import PERMISSION
from django_sitemaps09.inspector.lookup import HEADINGS
from django_sitemaps09.inspector.published_entries import MAX_FILES
from django_sitemaps09.state.history import MAX_RUNS
from tests.docs.features.project import BASE, snippet_of
from tests.docs.pages import PAGES, Snippet, blocks
from tests.support.inspector import client_of, site, superuser

PAGE = "docs/howto/inspector.md"
INCLUDE = (PAGE, "Inspect sitemaps in the admin")
PERMISSIONS = (PAGE, "Who may use it")
LOG = (
    *("id", "action_time", "user_id", "content_type_id"),
    *("object_id", "object_repr", "action_flag", "change_message"),
)


@pytest.mark.django_db
@snippet_of(INCLUDE)
def test_the_include_shows_the_inspector_in_the_admin(snippet: Snippet, settings: Any) -> None:
    settings.SITEMAPS09 = {"BASE_URL": BASE}
    with site(admin=True), override_settings(ROOT_URLCONF=snippet.run("shop_urls").__name__):
        response = superuser().get("/admin/sitemaps/")
        assert response.status_code == 200
        assert b"Django administration" in response.content


@pytest.mark.django_db
def test_the_template_links_to_the_inspector_for_those_who_may_use_it(tmp_path: Path) -> None:
    [block] = blocks("django", PAGE, "Link to it from the admin")
    template = tmp_path / "admin" / "index.html"
    template.parent.mkdir()
    template.write_text(block.text)
    with connection.cursor() as cursor:
        # The admin's index reads its log, which the project of the tests does not have.
        cursor.execute(f"CREATE TABLE django_admin_log ({', '.join(map('{} integer'.format, LOG))})")
    with site(admin=True):
        templates = [{**django_settings.TEMPLATES[0], "DIRS": [tmp_path]}]
        with override_settings(TEMPLATES=templates):
            linked, other = (
                client.get("/admin/").content.decode()
                for client in (superuser(), client_of("ann", is_staff=True))
            )
    link = '<a href="/admin/sitemaps/">Sitemaps</a>'
    assert (link in linked, link in other) == (True, False)
    assert "Recent actions" in linked
    assert "Recent actions" in other


@pytest.mark.django_db
@snippet_of(PERMISSIONS)
def test_a_permission_of_the_project_lets_staff_in(snippet: Snippet, settings: Any) -> None:
    settings.SITEMAPS09 = {"BASE_URL": BASE}
    with site(admin=False), override_settings(ROOT_URLCONF=snippet.run("shop_urls").__name__):
        client = client_of("ann", "shop.view_product", is_staff=True)
        assert client.get("/sitemaps/").status_code == 200
        assert client_of("bob", is_staff=True).get("/sitemaps/").status_code == 403


def test_every_answer_and_every_bound_is_described() -> None:
    page = PAGES[PAGE]
    assert [heading for heading in HEADINGS.values() if f"\n| {heading} |" not in page] == []
    assert f"`{PERMISSION}`" in page
    assert f"last {MAX_RUNS} runs" in page
    assert f"at most {MAX_FILES};" in page
