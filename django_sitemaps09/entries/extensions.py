"""Sitemap extensions that a project defines, and the reserved prefixes and namespaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django_sitemaps09.entries.fields import check_fields, text
from django_sitemaps09.entries.text import short_repr

#: The namespaces of the extensions that this package writes, by prefix.
NAMESPACES: Mapping[str, str] = MappingProxyType(
    {
        "xhtml": "http://www.w3.org/1999/xhtml",
        "image": "http://www.google.com/schemas/sitemap-image/1.1",
        "video": "http://www.google.com/schemas/sitemap-video/1.1",
        "news": "http://www.google.com/schemas/sitemap-news/0.9",
    }
)
_TAKEN = {
    *NAMESPACES.values(),
    "http://www.sitemaps.org/schemas/sitemap/0.9",
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
}
# An NCName in ASCII, https://www.w3.org/TR/xml-names/#NT-NCName
_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
# RFC 3986: a scheme, followed by the characters and escapes that a URI can contain.
_NAMESPACE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")


@dataclass(frozen=True, slots=True)
class Extension:
    """Elements in a namespace of the project. They are added to the end of each `<url>`.

    `xml` takes an item, and returns well-formed elements that use `prefix`, or an empty string.
    """

    prefix: str
    namespace: str
    xml: Callable[[Any], str]

    def __post_init__(self) -> None:
        check_fields(self, {"prefix": text, "namespace": text}, ("prefix", "namespace"))
        prefix, namespace = self.prefix, self.namespace
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(f"Extension.prefix must be an XML name in ASCII, not {short_repr(prefix)}")
        # "All other prefixes beginning with the three-letter sequence x, m, l, in any case
        # combination, are reserved", https://www.w3.org/TR/xml-names/#xmlReserved
        if prefix.lower().startswith("xml") or prefix in NAMESPACES:
            raise ValueError(f"Extension.prefix must not be {prefix}, which is reserved")
        if not _NAMESPACE.fullmatch(namespace):
            raise ValueError(f"Extension.namespace must be an absolute URI, not {short_repr(namespace)}")
        if namespace in _TAKEN:
            raise ValueError(f"Extension.namespace must not be {namespace}, which is reserved")
        if not callable(self.xml):
            raise ValueError(
                f"Extension.xml must be a function that takes an item, not {short_repr(self.xml)}"
            )
