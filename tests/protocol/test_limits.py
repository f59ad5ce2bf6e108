"""Limits of the protocol, and the public names of the package."""

from __future__ import annotations

import pytest

from django_sitemaps09 import entries, protocol


def test_every_public_name_of_the_rooms_modules_is_one_of_the_room() -> None:
    public = {
        name
        for module in (protocol.limits, protocol.urls, protocol.values)
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not hasattr(entries, name)
        and (name.isupper() or getattr(value, "__module__", "") == module.__name__)
    }
    own = {name for name in vars(protocol) if not name.startswith("_")}
    assert own - {"annotations", "limits", "urls", "values"} == public | {"Changefreq"}


def test_limits_are_those_of_the_protocol() -> None:
    assert protocol.MAX_URLS == 50_000
    assert protocol.MAX_BYTES == 50 * 2**20
    assert protocol.STRICTEST_MAX_BYTES == 10 * 2**20
    assert protocol.INDEX_LIMITS == (50_000, 50 * 2**20)
    assert protocol.SITEMAP_NAMESPACE == "http://www.sitemaps.org/schemas/sitemap/0.9"


def test_a_set_of_links_of_any_length_is_checked_once() -> None:
    links = [(f"l{number}", f"/{number}/") for number in range(20_000)]
    protocol.check_links(links, [], ["/7/"])
    with pytest.raises(ValueError, match="more than once"):
        protocol.check_links([*links, links[0]], [], ["/7/"])
