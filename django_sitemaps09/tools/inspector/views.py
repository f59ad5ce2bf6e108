"""The pages of the inspector, which only staff may see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib.resources import files
from typing import Any, TypeAlias

from django.apps import apps
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import resolve_url
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from django_sitemaps09.declare.hosts import current_base
from django_sitemaps09.tools.inspector import PERMISSION, overview as overviews
from django_sitemaps09.tools.inspector.lookup import look_up

# Maximum length of a URL that is looked up, and of a filter. A longer URL is truncated, and still invalid.
_MAX_QUERY = 5_000

View: TypeAlias = Callable[..., HttpResponseBase]


def for_staff(view: View) -> View:
    """Decorate a view: only staff with a permission may use it, and no cache may store its responses.

    The URLconf can pass another `permission`. If a declaration or a setting is invalid, the response is a
    page with the message.
    """

    @wraps(view)
    def respond(
        request: HttpRequest, *args: Any, permission: str = PERMISSION, **kwargs: Any
    ) -> HttpResponseBase:
        user: Any = getattr(request, "user", None)
        if user is None:
            middleware = "django.contrib.auth.middleware.AuthenticationMiddleware"
            raise ImproperlyConfigured(f"The inspector needs users: add {middleware} to MIDDLEWARE.")
        if not user.is_authenticated:
            login_url = resolve_url("admin:login") if _has_admin() else None
            return redirect_to_login(request.get_full_path(), login_url)
        # A custom user model need not have these attributes.
        is_staff = getattr(user, "is_active", False) and getattr(user, "is_staff", False)
        if not (is_staff and hasattr(user, "has_perm") and user.has_perm(permission)):
            raise PermissionDenied
        try:
            return view(request, *args, **kwargs)
        except ImproperlyConfigured as error:
            response = _page(request, "error", {"title": "Sitemaps", "error": str(error)})
            response.status_code = 500
            return response

    # `LoginRequiredMiddleware` would redirect to `LOGIN_URL`, even if the project has the admin.
    return login_not_required(require_safe(cache_control(private=True, no_store=True)(respond)))


def _has_admin() -> bool:
    """Return whether the project has Django's admin, and includes its URLs."""
    with suppress(NoReverseMatch):
        return apps.is_installed("django.contrib.admin") and bool(reverse("admin:index"))
    return False


@for_staff
def index(request: HttpRequest) -> HttpResponse:
    """Return the overview: sections, freshness, exports, skipped items and the last audit."""
    state = overviews.overview(current_base(request))
    text = request.GET.get("section", "")[:_MAX_QUERY].strip()
    page_counts = sum(state.freshness.values(), Counter())
    context = {
        "title": "Sitemaps",
        "overview": state,
        "problems": list(overviews.problems(state)),
        "sections": overviews.sections_table(state, text),
        "filter": text,
        "plot": overviews.plot(page_counts) if page_counts else None,
        "freshness": overviews.freshness_table(state),
        "runs": overviews.runs_table(state.runs),
        "skipped": overviews.skipped_table(state.skipped),
        "audit": None if state.audit is None else overviews.audit_table(state.audit),
    }
    return _page(request, "index", context)


@for_staff
def url(request: HttpRequest) -> HttpResponse:
    """Return the page that answers whether the URL in the parameter `url` is in the sitemap."""
    text, base = request.GET.get("url", "")[:_MAX_QUERY], current_base(request)
    answer = look_up(text, base) if text.strip() else None
    answers = [] if answer is None else [answer, *answer.others]
    entries = [(each, overviews.entry_table(each)) for each in answers]
    context = {"title": "Find a URL", "query": text, "answer": answer, "entries": entries}
    return _page(request, "url", context)


@for_staff
def stylesheet(request: HttpRequest) -> HttpResponse:
    """Return the stylesheet. It is not a static file, so it needs no `collectstatic`."""
    content = files("django_sitemaps09.tools.inspector").joinpath("inspector.css").read_bytes()
    return HttpResponse(content, content_type="text/css; charset=utf-8")


def _page(request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    """Return a page that looks like the admin if the project has it, or else a page of its own."""
    base: dict[str, Any] = {"base_template": "django_sitemaps09/inspector/standalone.html"}
    if _has_admin():
        # Imported here, because the admin's modules need the apps of the admin.
        from django.contrib import admin

        base = {**admin.site.each_context(request), "base_template": "admin/base_site.html"}
    return TemplateResponse(request, f"django_sitemaps09/inspector/{name}.html", {**base, **context})
