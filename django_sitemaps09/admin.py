"""A link to the inspector among the apps of Django's admin, whose autodiscovery imports this module."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse

from django_sitemaps09.inspector import PERMISSION

_original = admin.site.get_app_list


def get_app_list(request: HttpRequest, app_label: str | None = None) -> list[Any]:
    """Return the apps that the user may see in the admin, and the inspector."""
    if app_label:
        return _original(request, app_label)
    apps = _original(request)
    try:
        url = reverse("sitemaps09_inspector:index")
        match = resolve(f"/{url.removeprefix(get_script_prefix())}")
    except (NoReverseMatch, Resolver404):
        return apps
    if not request.user.has_perm(match.kwargs.get("permission", PERMISSION)):
        return apps
    page = {"name": "Inspector", "object_name": "Inspector", "admin_url": url, "add_url": None}
    model = {**page, "view_only": True, "perms": {"view": True}}
    app = {"name": "Sitemaps", "app_label": "sitemaps09_inspector", "app_url": url}
    return [*apps, {**app, "has_module_perms": True, "models": [model]}]


admin.site.get_app_list = get_app_list  # type: ignore[method-assign]
