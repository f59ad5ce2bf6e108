"""Who may use the inspector, and that no cache keeps its pages."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpResponse
from django.test import Client, override_settings

from django_sitemaps09.inspector import PERMISSION
from django_sitemaps09.inspector.views import for_staff
from tests.support.inspector import client_of, superuser

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

PATHS = ["", "url/", "url/?url=/about/", "inspector.css"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.usefixtures("admin_site")
class TestWithTheAdmin:
    def test_visitors_are_redirected_to_the_login_of_the_admin(self, path):
        response = Client().get(f"/admin/sitemaps/{path}")
        assert response.status_code == 302
        assert response["Location"].startswith("/admin/login/?next=/admin/sitemaps/")
        assert response["Cache-Control"] == "private, no-store"

    @pytest.mark.parametrize(
        "attributes",
        [{}, {"is_staff": True}, {"is_superuser": True}],
        ids=["user", "staff without the permission", "superuser who is not staff"],
    )
    def test_other_users_get_403(self, path, attributes):
        response = client_of("ann", **attributes).get(f"/admin/sitemaps/{path}")
        assert response.status_code == 403
        assert b"articles" not in response.content

    def test_superusers_with_staff_status_have_access(self, path):
        client, url = superuser(), f"/admin/sitemaps/{path}"
        response = client.get(url)
        assert (response.status_code, response["Cache-Control"]) == (200, "private, no-store")
        assert (client.head(url).status_code, client.post(url).status_code) == (200, 405)


@pytest.mark.usefixtures("admin_site")
def test_the_login_of_the_admin_is_used_even_if_all_views_require_a_login(settings):
    settings.MIDDLEWARE += ["django.contrib.auth.middleware.LoginRequiredMiddleware"]
    response = Client().get("/admin/sitemaps/")
    assert response["Location"] == "/admin/login/?next=/admin/sitemaps/"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.usefixtures("plain_site")
class TestWithoutTheAdmin:
    def test_visitors_are_redirected_to_the_login_of_the_project(self, path):
        response = Client().get(f"/sitemaps/{path}")
        assert response.status_code == 302
        assert response["Location"].startswith("/log-in/?next=/sitemaps/")

    def test_the_permission_of_the_urlconf_is_needed(self, path):
        assert client_of("ann", is_staff=True).get(f"/sitemaps/{path}").status_code == 403
        assert client_of("bob", "shop.view_product").get(f"/sitemaps/{path}").status_code == 403
        client = client_of("cleo", "shop.view_product", is_staff=True)
        assert client.get(f"/sitemaps/{path}").status_code == 200


class Staff:
    """A user of a model without permissions."""

    is_authenticated = is_active = is_staff = True


class Inactive(Staff):
    is_active = False

    def has_perm(self, perm, obj=None):
        return perm == PERMISSION


@pytest.mark.parametrize("user", [type("Plain", (), {"is_authenticated": True})(), Staff(), Inactive()])
def test_users_without_permissions_or_who_are_inactive_get_403(rf, user):
    request = rf.get("/")
    request.user = user
    with pytest.raises(PermissionDenied):
        for_staff(lambda request: HttpResponse())(request)


def test_a_project_without_users_gets_a_helpful_error(rf):
    with pytest.raises(ImproperlyConfigured, match="AuthenticationMiddleware"):
        for_staff(lambda request: HttpResponse())(rf.get("/"))


@pytest.mark.usefixtures("admin_site")
def test_an_admin_that_is_not_included_is_not_used():
    with override_settings(ROOT_URLCONF="tests.support.inspector_plain_urls"):
        assert Client().get("/sitemaps/")["Location"].startswith("/log-in/")
        response = superuser().get("/sitemaps/")
    assert b"sitemaps09-standalone" in response.content
