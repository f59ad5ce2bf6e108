"""The pages of the inspector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from importlib.resources import files
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from django_sitemaps09.inspector import tables
from django_sitemaps09.inspector.access import for_staff, page_context
from django_sitemaps09.inspector.freshness import plot
from django_sitemaps09.inspector.lookup import look_up
from django_sitemaps09.inspector.overview import overview
from django_sitemaps09.inspector.problems import problems
from django_sitemaps09.management.status import ExportState
from django_sitemaps09.views.responses import current_base

# Maximum length of a URL that is looked up. A longer URL is truncated, and still invalid.
_MAX_QUERY = 5_000


def _with_errors(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Decorate a view: if a declaration or a setting is invalid, show a page with the message."""

    @wraps(view)
    def respond(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except ImproperlyConfigured as error:
            response = _page(request, "error", {"title": "Sitemaps", "error": str(error)})
            response.status_code = 500
            return response

    return respond


@for_staff
@_with_errors
def index(request: HttpRequest) -> HttpResponse:
    """Return the overview: sections, freshness, exports, skipped items and the last audit."""
    base = current_base(request)
    state = overview(base, ExportState.from_base(base))
    page_counts: Counter[str] = Counter()
    for section in state.sections:
        page_counts.update(section.freshness.pages if section.freshness is not None else {})
    context = {
        "title": "Sitemaps",
        "overview": state,
        "problems": problems(state),
        "sections": tables.sections_table(state),
        "plot": plot(page_counts) if page_counts else None,
        "freshness": tables.freshness_table(state),
        "runs": tables.runs_table(state.runs),
        "skipped": tables.skipped_table(state.skipped),
        "audit": None if state.audit is None else tables.audit_table(state.audit),
    }
    return _page(request, "index", context)


@for_staff
@_with_errors
def url(request: HttpRequest) -> HttpResponse:
    """Return the page that answers whether the URL in the parameter `url` is in the sitemap."""
    text = request.GET.get("url", "")[:_MAX_QUERY]
    base = current_base(request)
    answer = look_up(text, base, ExportState.from_base(base)) if text.strip() else None
    has_entry = answer is not None and bool(answer.published or answer.live)
    context = {
        "title": "Find a URL",
        "query": text,
        "answer": answer,
        "entry": tables.entry_table(answer) if answer is not None and has_entry else None,
    }
    return _page(request, "url", context)


@for_staff
def stylesheet(request: HttpRequest) -> HttpResponse:
    """Return the stylesheet. It is not a static file, so it needs no `collectstatic`."""
    content = files("django_sitemaps09.inspector").joinpath("inspector.css").read_bytes()
    return HttpResponse(content, content_type="text/css; charset=utf-8")


def _page(request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    template = f"django_sitemaps09/inspector/{name}.html"
    return TemplateResponse(request, template, {**page_context(request), **context})
