"""Submit changed URLs to an endpoint of IndexNow, and interpret its responses."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from django_sitemaps09.notify.messages import Message
from django_sitemaps09.notify.report import Outcome
from django_sitemaps09.notify.responses import Response

if TYPE_CHECKING:
    from django_sitemaps09.notify.client import Client

#: Seconds after which the same page may be submitted again, as IndexNow asks for.
PAUSE = 300.0

_REJECTED = {
    HTTPStatus.BAD_REQUEST: "the message was invalid, and is not sent again",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the message was too large, and is not sent again",
    HTTPStatus.UNPROCESSABLE_ENTITY: "URLs do not belong to the host or to the key, and are not sent again",
}
_KEY_STATUSES = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


def submit(client: Client, endpoint: str, key: str, message: Message) -> Response:
    """Send the URLs of one host with its key."""
    body = {"host": message.host, "key": key, "urlList": message.urls}
    return client.post_json(endpoint, json.dumps(body).encode())


def outcome(response: Response, host: str) -> Outcome:
    """Return the outcome of a message for the response to it. `host` is named in the problem."""
    status = response.status
    if response.is_success:
        # 202: received, but the key is not verified yet.
        return Outcome("accepted", None)
    if status in _REJECTED:
        return Outcome("rejected", f"{status}: {_REJECTED[HTTPStatus(status)]}")
    if status in _KEY_STATUSES:
        return Outcome(
            "pending", f"{status}: the key was not accepted. Check that its key file is served by {host}"
        )
    return Outcome("pending", response.failure)
