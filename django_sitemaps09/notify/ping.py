"""Tell a service that a sitemap has changed: the `?sitemap=` request of the Sitemaps protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from django_sitemaps09.notify.messages import Message
from django_sitemaps09.notify.report import Outcome
from django_sitemaps09.notify.responses import Response

if TYPE_CHECKING:
    from django_sitemaps09.notify.client import Client


def submit(client: Client, endpoint: str, message: Message) -> Response:
    """Request an endpoint with the URL of the sitemap."""
    [url] = message.urls
    return client.get(f"{endpoint}{'&' if '?' in endpoint else '?'}sitemap={quote(url, safe='')}")


def outcome(response: Response) -> Outcome:
    """Return what a response means for the message. A temporary failure leaves it pending."""
    if response.is_success:
        return Outcome("accepted", None)
    return Outcome("pending" if response.is_temporary else "rejected", response.failure)
