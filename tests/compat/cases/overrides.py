"""Cases of classes that override contrib's internal methods."""

from __future__ import annotations

from typing import Any

from tests.compat.cases.parts import BARE, LATE, Bases, Leaf, Sections, case, localized, section


@case
def overridden_get(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        def _get(self, name: str, item: Any, default: Any = None) -> Any:
            if name == "changefreq":
                return "daily"
            if name == "lastmod":
                return LATE
            return super()._get(name, item, default)

    return {"one": Section}


@case
def overridden_items(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        def _items(self) -> Any:
            return [*reversed(self.items()), Leaf("added")]

    class Localized_(localized(bases)):
        def _items(self) -> Any:
            return [*super()._items()[1:], (Leaf("only"), "de")]

    return {"one": Section, "localized": Localized_}


@case
def overridden_location(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        def _location(self, item: Any, force_lang_code: str | None = None) -> str:
            return f"/mirror{super()._location(item, force_lang_code)}"

    location = lambda self, item, code=None: f"/{item[1]}/{code}/{item[0].slug}"  # noqa: E731
    return {"one": Section, "localized": localized(bases, alternates=True, _location=location)}


@case
def overridden_urls(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        limit = 1

        def _urls(self, page: Any, protocol: str, domain: str) -> Any:
            for url in super()._urls(page, protocol, domain):
                yield url
                yield {**url, "location": f"{url['location']}amp/", "priority": "0.1"}

    return {"one": Section}


@case
def overridden_languages(bases: Bases) -> Sections:
    return {"one": localized(bases, alternates=True, _languages=lambda self: ["de"])}


@case
def overridden_get_urls(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            urls = super().get_urls(page=page, site=site, protocol=protocol)
            return [{**url, "extra": str(site.domain)} for url in urls][1:]

    return {"one": Section}


@case
def overridden_get_protocol(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        def get_protocol(self, protocol: str | None = None) -> str:
            return f"x-{super().get_protocol(protocol)}"

    return {"one": Section}


@case
def overridden_get_domain(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        def get_domain(self, site: Any = None) -> str:
            return f"mirror.{super().get_domain(site).partition(':')[0]}:8080"

    return {"one": Section}


@case
def overridden_on_the_instance(bases: Bases) -> Sections:
    first, second = section(bases, BARE)(), section(bases, BARE)()
    first._location = lambda item, force_lang_code=None: f"/patched/{item.slug}"
    second.get_urls = lambda page=1, site=None, protocol=None: [{"location": f"{protocol}://x/"}]
    return {"location": first, "get-urls": second}
