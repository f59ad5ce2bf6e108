"""The key file of IndexNow: a search engine reads it to verify that a submission is from the site."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import register_converter

from django_sitemaps09.notify.keys import all_keys, key_for
from django_sitemaps09.protocol import KEY
from django_sitemaps09.views.responses import native

#: The name of the path converter that matches configured keys.
CONVERTER = "sitemaps09_indexnow_key"


class KeyConverter:
    """Matches only configured keys, so that other text files of the project keep their URLs."""

    regex = KEY.pattern

    def to_python(self, value: str) -> str:
        try:
            if value in all_keys():
                return value
        except ImproperlyConfigured:
            # A system check reports the setting. It must not break the URLs of other files.
            pass
        raise ValueError(value)

    def to_url(self, value: str) -> str:
        return value


register_converter(KeyConverter, CONVERTER)


@native
def indexnow_key(request: HttpRequest, key: str) -> HttpResponse:
    """Return the key if it is that of the host, and 404 otherwise."""
    host = request.get_host().lower()
    if key not in (key_for(host), key_for(host.partition(":")[0])):
        raise Http404("This is not the key of this host.")
    return HttpResponse(key, content_type="text/plain; charset=utf-8")
