"""Restrict the inspector to staff, and choose the base template of its pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from django.apps import apps
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

#: The permission that staff members need. Superusers have every permission.
PERMISSION = "django_sitemaps09.view_inspector"

View: TypeAlias = Callable[..., HttpResponseBase]


def for_staff(view: View) -> View:
    """Decorate a view: only staff with a permission may use it, and no cache may store its responses.

    Anonymous users are redirected to the login page of Django's admin, or else to `LOGIN_URL`. Users
    without the permission get the status 403. The URLconf can pass another `permission`.
    """

    @wraps(view)
    def respond(
        request: HttpRequest, *args: Any, permission: str = PERMISSION, **kwargs: Any
    ) -> HttpResponseBase:
        user: Any = getattr(request, "user", None)
        if user is None:
            raise ImproperlyConfigured(
                "The inspector needs users: add django.contrib.auth.middleware.AuthenticationMiddleware to "
                "MIDDLEWARE."
            )
        if not user.is_authenticated:
            return redirect_to_login(request.get_full_path(), _login_url())
        # A custom user model need not have these attributes.
        is_staff = getattr(user, "is_active", False) and getattr(user, "is_staff", False)
        if not (is_staff and hasattr(user, "has_perm") and user.has_perm(permission)):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    # `LoginRequiredMiddleware` would redirect to `LOGIN_URL`, even if the project has the admin.
    return login_not_required(require_safe(cache_control(private=True, no_store=True)(respond)))


def _login_url() -> str | None:
    """Return the path of the admin's login page; `None` for the setting `LOGIN_URL`."""
    return resolve_url("admin:login") if has_admin() else None


def has_admin() -> bool:
    """Return whether the project has Django's admin, and includes its URLs."""
    if not apps.is_installed("django.contrib.admin"):
        return False
    try:
        reverse("admin:index")
    except NoReverseMatch:
        return False
    return True


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Return the base template, and the variables that the admin's template needs."""
    if not has_admin():
        return {"base_template": "django_sitemaps09/inspector/standalone.html"}
    # Imported here, because the admin's modules need the apps of the admin.
    from django.contrib import admin

    return {**admin.site.each_context(request), "base_template": "admin/base_site.html"}
