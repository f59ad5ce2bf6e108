"""Extensions of a project in complete documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from lxml import etree

from django_sitemaps09 import Extension, Sitemap
from django_sitemaps09.entries import ItemError
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.documents import (
    EVERYTHING,
    SHOP,
    SLUGS,
    anything,
    by_contrib,
    canonical,
    compiled,
    entries,
    exported,
    live,
    name_of,
    parsed,
    section,
    shop,
    texts,
)

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09]


def without(document: bytes, *spaces: str) -> Any:
    """Return the document without the elements that the schemas do not know."""
    root = parsed(document)
    for url in root:
        for child in url:
            if etree.QName(child).namespace in spaces:
                url.remove(child)
    return root


def with_extension(xml: Callable[[Any], Any], *others: Extension) -> tuple[bytes, list[ItemError]]:
    """Return a document of three items. Only the second item, which is `True`, has the extension."""
    declared = {
        "items": lambda self: [False, True, False],
        "location": lambda self, item: f"/{item}/",
        **shop(lambda item: xml(item), *others),
    }
    document, written = compiled(type("Declared", (Sitemap,), declared))
    return document, list(written.errors)


#: One of each kind; the tests of `extension_text()` have the reasons.
BAD_XML = {
    "not closed": "<shop:a>",
    "out of its entry": "</url><url><loc>https://evil.example/</loc></url>",
    "of the sitemap": "<loc>https://evil.example/</loc>",
    "a control character": "<shop:a>\x00</shop:a>",
    "a number": 5,
}


class TestAnExtension:
    @pytest.mark.parametrize("bad", BAD_XML)
    def test_that_is_bad_xml_is_skipped_and_reported(self, schema: Any, bad: str) -> None:
        document, errors = with_extension(lambda item: BAD_XML[bad] if item else "<shop:ok/>")
        assert [(error.key, error.field) for error in errors] == [("2", "shop")]
        assert texts(document, "loc") == [f"{BASE}/{item}/" for item in (False, True, False)]
        assert [len(entry) for entry in entries(document)] == [2, 1, 2]
        schema.assertValid(without(document, SHOP))

    @pytest.mark.parametrize("nothing", ["", " \n", "<!-- -->", None])
    def test_may_have_nothing_to_say_of_an_item(self, nothing: Any) -> None:
        document, errors = with_extension(lambda item: nothing if item else "<shop:ok/>")
        assert errors == []
        assert [len(entry) for entry in entries(document)] == [2, 1, 2]

    def test_declares_its_namespace_once_and_on_the_root(self) -> None:
        document, errors = with_extension(
            lambda item: f'<other:a xmlns:other="{SHOP}" other:b="c"/>' if item else '<shop:a shop:b="c"/>'
        )
        assert errors == []
        assert document.count(b"xmlns:") == document.count(SHOP.encode()) == 1
        assert parsed(document).nsmap == {None: SITEMAP_NAMESPACE, "shop": SHOP}
        assert document.count(b'<shop:a shop:b="c"/>') == 3

    def test_differs_between_items_and_can_follow_another_one(self, schema: Any) -> None:
        other = "https://example.org/other"
        document, errors = with_extension(
            lambda item: "<shop:price>1</shop:price>" if item else "<shop:gone/>",
            Extension("other", other, lambda item: "<other:a/>" if item else ""),
        )
        assert errors == []
        names = [[etree.QName(child).text for child in url][1:] for url in parsed(document)]
        gone = [f"{{{SHOP}}}gone"]
        assert names == [gone, [f"{{{SHOP}}}price", f"{{{other}}}a"], gone]
        schema.assertValid(without(document, SHOP, other))

    def test_that_fails_does_not_affect_another_one(self) -> None:
        other = Extension("other", "https://example.org/other", lambda item: "<other:a/>")
        document, errors = with_extension(lambda item: 1 / 0, other)
        assert [(error.key, error.field) for error in errors] == [(key, "shop") for key in "123"]
        assert document.count(b"<other:a/>") == 3

    def test_with_line_ends_stays_on_the_line_of_its_entry(self) -> None:
        document, errors = with_extension(
            lambda item: '\n<shop:a b="c\nd&#10;e">\r\nf\tg\n<!-- \n -->\n</shop:a\n>\n<shop:b/>\n'
        )
        assert errors == []
        assert len(document.split(b"\n")) == 2 + 3 + 1 + 1
        assert b"\r" not in document
        assert {element.text for element in parsed(document).iter(f"{{{SHOP}}}a")} == {"\nf\tg\n\n"}
        assert {element.get("b") for element in parsed(document).iter(f"{{{SHOP}}}a")} == {"c d\ne"}

    @given(
        st.lists(st.sampled_from(["<shop:a>", "</shop:a>", "<shop:b c='", "'/>", "</url>"]) | anything).map(
            "".join
        )
    )
    @example("<shop:a>]]&gt;&#13;</shop:a>")
    def test_of_any_text_breaks_nothing(self, schema: Any, text: str) -> None:
        document, errors = with_extension(lambda item: text if item else "<shop:ok/>")
        root = parsed(document)
        assert len(root) == 3
        assert root.nsmap == {None: SITEMAP_NAMESPACE, "shop": SHOP}
        assert len(document.split(b"\n")) == 7
        schema.assertValid(without(document, SHOP))
        assert {etree.QName(element).namespace for element in root.iter("*")} == {SITEMAP_NAMESPACE, SHOP}
        assert [(error.key, error.field) for error in errors] in ([], [("2", "shop")])
        if errors:
            assert len(root[1]) == 1

    @pytest.mark.usefixtures("articles")
    def test_is_the_last_element_in_every_output(self, schema: Any, serve: Any, tmp_path: Path) -> None:
        def price(item: Article) -> str:
            return f'<shop:price currency="CHF">{item.pk}\n</shop:price>'

        declared = section(EVERYTHING, **shop(price))
        serve(declared)
        document = live()
        schema.assertValid(without(document, SHOP))
        assert parsed(document).nsmap == EVERYTHING.namespaces | {"shop": SHOP}
        assert all(name_of(url[-1]) == "shop:price" for url in parsed(document))
        assert texts(document, "shop:price") == [f"{n}\n" for n in range(1, len(SLUGS) + 1) for _ in "123"]
        assert exported(declared, tmp_path) == document
        assert list(map(canonical, entries(by_contrib(declared)))) == list(
            map(canonical, entries(document))
        )
