"""A middleware that applies a test's change to responses before they are rendered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

PATH = f"{__name__}.Edit"

edit: Callable[[Any], Any] | None = None


class Edit:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_template_response(self, request: HttpRequest, response: Any) -> Any:
        return (edit and edit(response)) or response
