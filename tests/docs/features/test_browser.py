"""The documentation of the stylesheet: each snippet runs as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django_sitemaps09 import writer
from django_sitemaps09.export import export
from tests.docs.features.project import checked, documents, live, snippet_of
from tests.docs.pages import PAGES, Snippet, blocks
from tests.docs.places import QUICK_START
from tests.shop.models import Product
from tests.support.configuration import UseUrls

PAGE = "docs/howto/readable-in-a-browser.md"
BROWSER = (PAGE, "Readable in a browser")
OWN = (PAGE, "Use a stylesheet of your own")


@snippet_of(BROWSER)
def test_the_document_shown_is_what_is_served_and_exported_beside_the_stylesheet(
    snippet: Snippet, settings: Any, can: Product, tmp_path: Path
) -> None:
    settings.SITEMAPS09 = snippet.run("shop_settings").SITEMAPS09
    assert checked() == []
    sitemap = Snippet(blocks("python", *QUICK_START)[1])
    sitemap.run("shop.sitemaps")
    [document] = documents(BROWSER)
    assert live("/sitemap-products-1.xml") == document
    assert export(output=tmp_path).failures == []
    assert (tmp_path / "sitemap-products-1.xml").read_bytes() == document
    assert (tmp_path / "sitemap.css").read_bytes() == live("/sitemap.css") == writer.stylesheet()
    sitemap.forget()


@snippet_of(OWN)
def test_a_view_in_front_of_the_include_serves_another_stylesheet(
    snippet: Snippet, settings: Any, use_urls: UseUrls, tmp_path: Path
) -> None:
    (tmp_path / "sitemap.css").write_text("url { display: block; }")
    [engine] = settings.TEMPLATES[:1]
    settings.TEMPLATES = [{**engine, "DIRS": [tmp_path]}]
    use_urls(*snippet.run("shop_urls").urlpatterns)
    assert live("/sitemap.css") == b"url { display: block; }"


def test_the_documented_cost_is_the_length_of_the_instruction() -> None:
    [plain, styled] = [len(writer.index_document([], styled=styled)) for styled in (False, True)]
    assert f"{styled - plain} bytes to each document" in PAGES[PAGE]
    assert f"{styled - plain} bytes" in PAGES["docs/reference/settings.md"]
