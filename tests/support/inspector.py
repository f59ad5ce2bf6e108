"""Use `site` for a site with the inspector, in Django's admin or without it, and `client_of` for its users.

This module is the URLconf of the site without Django's admin.
"""

from __future__ import annotations

from contextlib import contextmanager
from types import ModuleType

from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib.auth.models import Permission, User
from django.test import Client, override_settings
from django.urls import include, path

from django_sitemaps09.export import export
from tests import urls
from tests.support.sections import Numbers

INSPECTOR = include("django_sitemaps09.tools.inspector.urls")
urlpatterns = [
    path("sitemaps/", INSPECTOR, {"permission": "shop.view_product"}),
    *urls.urlpatterns,
    *i18n_patterns(path("seen/<slug:slug>/", urls.nothing, name="seen"), prefix_default_language=False),
]


def sends_policy(get_response):
    """Middleware with a Content Security Policy that forbids inline scripts and styles, and other hosts."""

    def respond(request):
        response = get_response(request)
        response["Content-Security-Policy"] = "default-src 'self'"
        return response

    return respond


@contextmanager
def site(*, admin):
    admin_apps = ["admin", "messages", "staticfiles"] if admin else []
    middleware = ["django.contrib.messages.middleware.MessageMiddleware"] if admin else []
    rooms = {"request": "template", "auth": "contrib.auth", "messages": "contrib.messages"}
    processors = [f"django.{room}.context_processors.{name}" for name, room in rooms.items()]
    options = {"context_processors": processors} if admin else {}
    with override_settings(
        INSTALLED_APPS=[*(f"django.contrib.{name}" for name in admin_apps), *settings.INSTALLED_APPS],
        MIDDLEWARE=[f"{__name__}.sends_policy", *settings.MIDDLEWARE, *middleware],
        TEMPLATES=[{**settings.TEMPLATES[0], "OPTIONS": options}],
        ROOT_URLCONF=__name__,
        STATIC_URL="/static/",
        LOGIN_URL="/log-in/",
    ):
        if not admin:
            yield
            return
        from django.contrib.admin import site as django_admin  # installed only now

        urlconf = ModuleType("urls with Django's admin")
        ours, theirs = path("admin/sitemaps/", INSPECTOR), path("admin/", django_admin.urls)
        urlconf.urlpatterns = [ours, theirs, *urls.urlpatterns]
        with override_settings(ROOT_URLCONF=urlconf):
            yield


def client_of(name="", *permissions, **attributes):
    """Return a client in which a new user is logged in, or nobody without a name."""
    client = Client()
    if name:
        user = User.objects.create_user(name, **attributes)
        for permission in permissions:
            app, _, name = permission.partition(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=name))
        client.force_login(user)
    return client


def superuser():
    return client_of("root", is_staff=True, is_superuser=True)


def export_full_sections(count, register):
    """Export and return so many sections, named `part-0` and so on, whose pages are filled to 95%."""
    sections = {f"part-{number}": Numbers(19) for number in range(count)}
    for section in sections.values():
        section.limit = 20
    register(**sections)
    export()
    return sections
