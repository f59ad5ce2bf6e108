"""Invalid values are skipped, counted and reported, and the URL of the item stays."""

from __future__ import annotations

import gzip
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09 import Extension, Image, Sitemap, Video
from django_sitemaps09.export import export, export_hosts
from tests.support.documents import (
    ITSELF,
    KINDS,
    SHOP,
    SLUGS,
    Combination,
    Listed,
    compiled,
    entries,
    live,
    render_item,
    second,
    section,
    texts,
)

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09]


@pytest.mark.usefixtures("articles")
@pytest.mark.parametrize("kind", KINDS)
class TestAnInvalidValue:
    def test_is_skipped_counted_and_reported_and_its_url_stays(self, kind: str, tmp_path: Path) -> None:
        declared = section(Combination(), **KINDS[kind])
        [found] = export(output=tmp_path, sitemaps={"x": declared}).sections
        assert (found.skipped_items, found.skipped_elements, found.failure) == (0, 1, None)
        [error] = found.errors
        assert (error.key, error.field) == ("2", kind)
        assert "a bad one" in error.reason
        document = gzip.decompress((tmp_path / "sitemap-x-1.xml.gz").read_bytes())
        assert len(set(texts(document, "loc"))) == len(SLUGS)

    def test_is_logged_by_a_live_page(
        self, kind: str, serve: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        serve(section(Combination(), **KINDS[kind]))
        with caplog.at_level(logging.WARNING):
            assert len(set(texts(live(), "loc"))) == len(SLUGS)
        [record] = [record for record in caplog.records if "skipped" in record.getMessage()]
        assert f"item 2, {kind}: " in record.getMessage()
        assert "a bad one" in record.getMessage()


# What others found out


@pytest.mark.parametrize("prefix", ["alternates", "images", "videos"])
def test_an_extension_may_have_the_name_of_a_hook_for_a_prefix(prefix: str) -> None:
    own = Extension(prefix, SHOP, lambda item: f"<{prefix}:a/>")
    document, written = compiled(
        type("Declared", (Listed,), {"one": Listed.plain("b"), "extensions": [own]})
    )
    assert texts(document, "shop:a") == [""] * 3
    assert written.errors == ()


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("there are no words for it")


def test_an_error_without_message_affects_only_its_item() -> None:
    def failing() -> None:
        raise Unspeakable

    _, errors = render_item(images=failing)
    assert [(error.key, error.field) for error in errors] == [("2", "images")]


@pytest.mark.parametrize(
    "given_url", ["/terms ä", "https://example.org/terms ä", "nowhere at all", "ftp://a/b"]
)
def test_every_url_of_an_extension_is_made_a_uri_or_refused(given_url: str) -> None:
    document, errors = render_item(
        images=lambda: [Image("/a.png", license=given_url)],
        videos=lambda: [Video("/t.png", "T", "D", player_loc="/p", uploader="U", uploader_info=given_url)],
    )
    found = texts(document, "image:license")
    found += [dict(some)["info"] for name, _, some in second(document) if name == "video:uploader"]
    assert len(found) + len(errors) == 2
    assert all(re.fullmatch(r"https?://[!-~]+", url) for url in found)


@pytest.mark.parametrize(
    "url", ["ftp://a.example/a.png", "data:image/png;base64,AA==", "http://", "https:///a.png"]
)
def test_an_image_that_no_crawler_can_request_is_refused(url: str) -> None:
    document, errors = render_item(images=lambda: [Image(url)])
    assert texts(document, "image:loc") == []
    assert [(error.key, error.field) for error in errors] == [("2", "images")]


@pytest.mark.parametrize("space", [" ", "\u3000", "\u2028"])
def test_space_around_the_url_of_an_image_does_not_change_it(space: str) -> None:
    document, errors = render_item(images=lambda: [Image(f"{space}https://cdn.example.net/a.png")])
    assert texts(document, "image:loc") in ([], ["https://cdn.example.net/a.png"])
    assert len(texts(document, "image:loc")) + len(errors) == 1


def test_a_url_without_a_scheme_is_on_its_host_anywhere() -> None:
    document, _ = render_item(
        videos=lambda: [Video("//cdn.example.net/t", "T", "D", player_loc="//player.example.net/")],
        alternates=lambda: [ITSELF, ("de", "//www.example.de/")],
    )
    assert texts(document, "video:player_loc") == ["https://player.example.net/"]
    links = [dict(some)["href"] for name, _, some in second(document) if name == "xhtml:link"]
    assert links[1] == "https://www.example.de/"


@pytest.mark.parametrize(
    "declared",
    [
        {
            "alternates": lambda self, item: [
                ("en", "https://a.example/1/"),
                ("de", "https://www.example.de/"),
            ]
        },
        {"videos": lambda self, item: [Video("/t", "T", "D", content_loc="https://b.example/1/")]},
    ],
    ids=["links that do not name the item", "the video of the page itself"],
)
def test_the_page_itself_is_that_of_its_host(schema: Any, tmp_path: Path, declared: dict[str, Any]) -> None:
    location = {"items": lambda self: [1], "location": lambda self, item: f"/{item}/"}
    sitemaps = {"x": type("Declared", (Sitemap,), {**location, **declared})}
    hosts = ["https://a.example", "https://b.example"]
    export_hosts(hosts, output=tmp_path, sitemaps=sitemaps)
    for host in ("a.example", "b.example"):
        [entry] = entries(gzip.decompress((tmp_path / host / "sitemap-x-1.xml.gz").read_bytes()))
        # Links and videos are skipped on the host where they are invalid, and on no other.
        assert (entry == [("loc", f"https://{host}/1/", ())]) == (host == "b.example")


@pytest.mark.usefixtures("articles")
def test_what_is_skipped_twice_for_the_same_reason_is_counted_once(tmp_path: Path) -> None:
    """If a page is cut, several rows are read twice."""
    declared = section(Combination(), images=lambda self, item: [None, None] if item.pk == 2 else [])
    [found] = export(output=tmp_path, sitemaps={"x": declared}).sections
    assert found.skipped_elements == 1


@pytest.mark.usefixtures("articles")
def test_a_text_file_is_complete_despite_elements_that_it_cannot_contain(tmp_path: Path) -> None:
    declared = section(Combination(), format="text", **KINDS["images"])
    report = export(output=tmp_path, sitemaps={"x": declared}, strict=True)
    assert (report.published, report.sections[0].errors) == (True, ())
