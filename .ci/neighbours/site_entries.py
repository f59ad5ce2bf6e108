"""Create the rows of a site if it has none, and write the entries of its sitemaps as JSON.

The entries come from contrib's two views (or the compatibility views if the import lines are changed), the
native views, and an export.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import django

HOST = "www.example.com"
NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
#: The elements of each entry that are compared as text. Links, images and others follow them.
FIELDS = ("loc", "lastmod", "changefreq", "priority")


def entries(document: bytes) -> list[list[Any]]:
    """Return the entries of a urlset."""
    found = []
    for url in ElementTree.fromstring(document):  # noqa: S314 made by this process
        texts = [url.findtext(f"{NAMESPACE}{name}") or "" for name in FIELDS]
        others = [[part.tag, sorted(part.items())] for part in url if not part.tag.startswith(NAMESPACE)]
        found.append([*texts, others])
    return found


def locations(document: bytes) -> list[str]:
    """Return the URLs in an index."""
    return [loc.text or "" for loc in ElementTree.fromstring(document).iter(f"{NAMESPACE}loc")]  # noqa: S314


def written(value: object) -> str:
    """Return the text of a lastmod, as described by deviations 1 and 2 in docs/reference/deviations.md."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return aware.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value.isoformat() if isinstance(value, date) else ""


def of_views(get: Any, *, stock: bool) -> Iterator[tuple[str, list[Any]]]:
    """Yield the entries of each page in contrib's index. The `stock` views do not write times."""
    for url in locations(get("/old/sitemap.xml").content):
        section = urlsplit(url).path.removeprefix("/old/sitemap-").removesuffix(".xml")
        response = get(url)
        found = entries(response.content)
        if stock:
            for entry, info in zip(found, response.context_data["urlset"], strict=True):
                lastmod = written(info.get("lastmod"))
                assert lastmod.startswith(entry[1]), (lastmod, entry)  # noqa: S101
                entry[1] = lastmod
        yield section, found


def of_native_views(get: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the entries of each page in the native index."""
    for url in locations(get("/sitemap.xml").content):
        yield section(url), entries(gzip.decompress(get(url).content))


def of_export(folder: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield the entries of each file in the index of an export."""
    from django_sitemaps09.export import export

    report = export(output=folder, base_url=f"http://{HOST}")
    assert not report.failures, report.failures  # noqa: S101
    assert not any(section.errors for section in report.sections), report.sections  # noqa: S101
    for url in locations(Path(folder, "sitemap.xml").read_bytes()):
        yield section(url), entries(gzip.decompress(Path(folder, Path(url).name).read_bytes()))


def section(url: str) -> str:
    return Path(urlsplit(url).path).name.removeprefix("sitemap-").rpartition("-")[0]


def collected(pages: Iterator[tuple[str, list[Any]]]) -> Any:
    """Return the sorted entries of each section, or an error message."""
    found: dict[str, list[Any]] = {}
    try:
        for name, some in pages:
            found.setdefault(name, []).extend(some)
    except Exception as error:  # noqa: BLE001 the report names it
        import traceback

        traceback.print_exc()
        return f"{type(error).__name__}: {error}"
    return {name: sorted(some) for name, some in found.items()}


def main(outcome: Path) -> None:
    new = not Path(os.environ["NEIGHBOUR_DATABASE"]).exists()
    django.setup()
    from django.apps import apps
    from django.core.management import call_command
    from django.test import Client
    from site_urls import site, views

    if new:
        call_command("migrate", run_syncdb=True, verbosity=0)
        if apps.is_installed("django.contrib.sites"):
            apps.get_model("sites.Site").objects.update(domain=HOST, name=HOST)
        site.create()
    client = Client(SERVER_NAME=HOST)

    def get(url: str) -> Any:
        response = client.get(url.removeprefix(f"http://{HOST}").removeprefix(f"https://{HOST}"))
        assert response.status_code == 200, (url, response.status_code)  # noqa: S101
        return response

    stock = views.__name__.startswith("django.contrib.")
    found = {
        "views": collected(of_views(get, stock=stock)),
        "native views": collected(of_native_views(get)),
        "export": collected(of_export(str(outcome.with_suffix("")))),
    }
    outcome.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
