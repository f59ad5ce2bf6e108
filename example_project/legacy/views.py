"""Page of an event."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from legacy.models import Event


def event(request: HttpRequest, pk: int) -> HttpResponse:
    return render(request, "legacy/event.html", {"event": get_object_or_404(Event, pk=pk)})
