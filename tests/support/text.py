"""Articles as text files, and readers of these files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.cache import cache
from django.test import Client

from django_sitemaps09 import Sitemap
from tests.models import Article
from tests.support import published as looked_at
from tests.support.articles import Articles
from tests.support.configuration import BASE


class TextArticles(Articles):
    format = "text"


class Paths(Sitemap[str]):
    """Section of arbitrary paths, read by position."""

    format = "text"
    paths: Sequence[str] = ()

    def items(self) -> Sequence[str]:
        return self.paths

    def location(self, item: str) -> str:
        return item


def of(*paths: str, **attributes: Any) -> type[Paths]:
    return type("OfPaths", (Paths,), {"paths": paths, **attributes})


def write(first: int, last: int) -> None:
    """Section of articles with odd keys, so that rows can be inserted between them."""
    Article.objects.bulk_create(Article(pk=2 * n + 1, slug=f"s{n}") for n in range(first, last))


def text_of(*slugs: object) -> bytes:
    return b"".join(f"{BASE}/articles/{slug}/\n".encode() for slug in slugs)


def get(name: str) -> Any:
    cache.clear()
    return Client().get(f"/{name}")


def lines(folder: Path, name: str) -> tuple[str, ...]:
    """Return the URLs of a text file, which must be complete."""
    data = (folder / name).read_bytes()
    assert data.endswith(b"\n")
    assert data.isascii()
    found = data.decode().split("\n")[:-1]
    assert found == [line.strip() for line in found]
    assert all(line.startswith(("https://", "http://")) for line in found)
    return tuple(found)


def urls(folder: Path, name: str) -> tuple[str, ...]:
    """Return the URLs of a file in any format, which must be complete."""
    return lines(folder, name) if name.endswith(".txt") else looked_at.urls(folder, name)


def names(folder: Path) -> list[str]:
    """Return the pages in the index, which must all be complete."""
    found = looked_at.pages(folder)
    for name in found:
        assert urls(folder, name)
    return found


def indexed(folder: Path) -> set[str]:
    return {url for name in names(folder) for url in urls(folder, name)}
