"""Check the `format`, `hosts` and `extensions` of a section."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps09 import protocol
from django_sitemaps09.checks.messages import message
from django_sitemaps09.checks.subjects import COLLECTIONS, data, is_strict, name_of, raw, safe_repr
from django_sitemaps09.entries import Extension
from django_sitemaps09.hooks.extensions import EXTENDING
from django_sitemaps09.hooks.formats import FORMATS


def check_documents(subject: Any) -> Iterator[CheckMessage]:
    """Check `format`, `hosts` and `extensions` if they are constants."""
    yield from _check_format(subject)
    hosts = data(subject, "hosts")
    if hosts is not None and (problem := _hosts_problem(hosts)):
        code = "E050" if is_strict(subject) else "W050"
        hint = "Set a list of hosts, such as ['https://shop.example.com', 'blog.example.com']."
        yield message(code, f"{name_of(subject)}.hosts {problem}.", hint)
    extensions = data(subject, "extensions")
    if extensions is not None and (problem := _extensions_problem(extensions)):
        code = "E054" if is_strict(subject) else "W054"
        hint = "Set a list of Extension objects, each with its own prefix and namespace."
        yield message(code, f"{name_of(subject)}.extensions {problem}.", hint)


def _check_format(subject: Any) -> Iterator[CheckMessage]:
    value = data(subject, "format")
    if value is not None and not (isinstance(value, str) and value in FORMATS):
        code = "E051" if is_strict(subject) else "W051"
        text = f"{name_of(subject)}.format must be 'xml' or 'text', not {safe_repr(value)}."
        hint = "Set 'xml' or 'text', or rename the attribute if it means something else."
        yield message(code, text, hint)
    elif value == "text" and (xml_names := ", ".join(_xml_only_names(subject))):
        text = f"{name_of(subject)}.format is 'text', which does not include {xml_names}."
        hint = f"Text files contain only URLs. Set format = 'xml', or remove {xml_names}."
        yield message("W052", text, hint)


def _xml_only_names(subject: Any) -> list[str]:
    names: list[str] = [name for name in EXTENDING if callable(raw(subject, name))]
    extensions, alternates = data(subject, "extensions"), raw(subject, "alternates")
    if isinstance(extensions, (list, tuple)) and extensions:
        names.append("extensions")
    if callable(alternates) or (alternates is True and data(subject, "i18n") is True):
        names.append("alternates")
    return names


def _hosts_problem(hosts: object) -> str | None:
    if not isinstance(hosts, COLLECTIONS):
        return f"must be a list, not {safe_repr(hosts)}"
    for host in hosts:
        if not issubclass(type(host), str):
            return f"contains {safe_repr(host)}, which is not a string"
        try:
            protocol.parse_base(host if "://" in host else f"https://{host}")
        except ValueError as error:
            return f"contains {host!r}: {error}"
    return None


def _extensions_problem(extensions: object) -> str | None:
    if not isinstance(extensions, (list, tuple)):
        return f"must be a list, not {safe_repr(extensions)}"
    descriptions: set[str] = set()
    for extension in extensions:
        # Not isinstance(), which would evaluate a lazy object.
        if not issubclass(type(extension), Extension):
            return f"contains {safe_repr(extension)}, which is not an Extension"
        for description in (f"prefix {extension.prefix!r}", f"namespace {extension.namespace!r}"):
            if description in descriptions:
                return f"uses the {description} twice"
            descriptions.add(description)
    return None
