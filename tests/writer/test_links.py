"""Links between the languages of an item, and locations joined to their base."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps09.entries import Batch, Localization, SafeColumn, TemplateColumn
from django_sitemaps09.writer import TEXT, URLSET, elements
from tests.support.writing import LINKS, read, write


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(
    ("locations", "joined"),
    [
        (["/a", "b:/c"], ["x:/a", "b:/c"]),
        (["/a", None], ["x:/a", None]),
        ([None, "b:/c"], [None, "b:/c"]),
        (SafeColumn(["/a", "b:/c"]), ["x:/a", "b:/c"]),
        (TemplateColumn(["/", ""], [["a", "/"]]), ["x:/a", "x://"]),
        (TemplateColumn(["b:/", ""], [["/a", "c"]]), ["b://a", "b:/c"]),
        (TemplateColumn(["/&", "/", ""], [["a", "b"], ["/", ""]]), ["x:/&a//", "x:/&b/"]),
    ],
    ids=str,
)
def test_a_base_stands_before_what_begins_with_a_slash_in_loc_and_in_href(
    locations: Any, joined: list[str | None], listed: bool
) -> None:
    localizations = [Localization("en", ["c:/1", "c:/2"]), Localization("de", locations, listed)]
    found = read(write([Batch([1, 2], localizations)], base="x:", namespaces=LINKS)[0])
    expected = []
    for first, location in zip(["c:/1", "c:/2"], joined, strict=True):
        links = (("en", first), *(() if location is None else (("de", location),)))
        expected.append((first, links))
        expected += [(location, links)] if location is not None and listed else []
    assert [(entry.loc, entry.alternates) for entry in found] == expected


def test_a_template_column_is_a_path_only_if_its_first_literal_is() -> None:
    batch = Batch([1], [Localization("de", TemplateColumn(["", ""], [["/a"]]))])
    text, _ = write([batch], kind=TEXT, base="https://example.com")
    assert text == b"/a\n"
    [entry] = read(write([batch], base="https://example.com", namespaces=LINKS)[0])
    assert (entry.loc, entry.alternates) == ("/a", (("de", "/a"),))


def test_a_column_that_is_too_short_is_an_error_and_no_loss() -> None:
    for kind in (URLSET, TEXT):
        with pytest.raises(ValueError, match="2"):
            write([Batch([1, 2, 3], [Localization("", ["a", "b"])])], kind=kind)
    with pytest.raises(ValueError, match="argument"):
        write([Batch([1, 2, 3], [Localization("", ["a", None, "c"])], lastmods=["x", "y"])])


def test_elements_in_other_namespaces_follow_the_links_in_each_entry_of_an_item() -> None:
    localizations = [
        Localization("en", ["a", "b"]),
        Localization("de", [None, "c"]),
        Localization("fr", ["d", None], False),
    ]
    batch = Batch([1, 2], localizations, priorities=["0.1", None], foreign=["<x:y>1</x:y>", ""])
    link = '<xhtml:link rel="alternate" hreflang="{}" href="{}"/>'.format
    assert elements(URLSET, batch, "") == [
        f"<url><loc>a</loc><priority>0.1</priority>{link('en', 'a')}{link('fr', 'd')}<x:y>1</x:y></url>\n",
        "".join(f"<url><loc>{loc}</loc>{link('en', 'b')}{link('de', 'c')}</url>\n" for loc in "bc"),
    ]
