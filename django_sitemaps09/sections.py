"""Named sections: those that apps register, or those of a mapping."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from threading import RLock
from typing import Any, TypeAlias, TypeVar, overload

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import autodiscover_modules, import_string

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.sitemaps import ModelSitemap

#: A sitemap class, a factory without arguments, or an instance.
Section: TypeAlias = Any
SectionT = TypeVar("SectionT")

#: What stands in the URL of a page, and in the name of its file.
NAME = re.compile(r"[A-Za-z0-9_-]+")
RESERVED = frozenset({"index"})

_registered: dict[str, Section] = {}
_modules: dict[str, str] = {}
_lock = RLock()
# Not the same: who discovers waits for modules, and a module that another thread imports registers.
_discovery = RLock()
_discovered = False


class UnknownSectionError(SitemapError):
    """No section has that name."""


@overload
def register(name: str) -> Callable[[SectionT], SectionT]: ...
@overload
def register(name: str, sitemap: SectionT) -> SectionT: ...
def register(name: str, sitemap: Any = None) -> Any:
    """Adds a section: `@register("products")` on a class, or `register("products", sitemap)`.

    A class or a factory is called anew for every request and every export. `ImproperlyConfigured`
    for a name that cannot be in a URL, or that is taken, upper and lower case being the same.
    """
    if sitemap is None:
        return lambda decorated: register(name, decorated)
    if problem := name_problem(name):
        raise ImproperlyConfigured(f"register({name!r}): {problem}")
    module = _calling_module()
    with _lock:
        for taken in _registered:
            if taken.lower() == name.lower():
                raise ImproperlyConfigured(
                    f"register({name!r}) in {module}: the section {taken!r} is registered in "
                    f"{_modules.get(taken)} already. Give one of them another name."
                )
        _registered[name] = sitemap
        _modules[name] = module
    return sitemap


def _calling_module() -> str:
    """Where `register` was called: what is registered need not be made, or even known, there."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


class _Registry:
    """What Django sets back where a module fails after it has registered something."""

    @property
    def _registry(self) -> dict[str, Section]:
        return _registered

    @_registry.setter
    def _registry(self, before: dict[str, Section]) -> None:
        with _lock:
            for name in _registered.keys() - before.keys():
                # A module that failed is imported again at the next call, and registers again; what
                # others registered meanwhile, in another thread, is theirs.
                if _modules.get(name) not in sys.modules:
                    del _registered[name]


def registered() -> Mapping[str, Section]:
    """The registered sections. The first call imports the module `sitemaps` of each installed app."""
    global _discovered
    with _discovery:
        if not _discovered:
            autodiscover_modules("sitemaps", register_to=_Registry())
            _discovered = True
    with _lock:
        return dict(_registered)


def mapping(sitemaps: Mapping[str, Section] | None = None) -> Mapping[str, Section]:
    """The sections of a site: `sitemaps`, else those of the setting, else the registered ones."""
    if sitemaps is not None:
        return sitemaps
    if conf.sitemaps is None:
        return registered()
    try:
        found = import_string(conf.sitemaps)
    except ImportError as error:
        raise ImproperlyConfigured(f"SITEMAPS09['SITEMAPS']: {error}") from error
    if not isinstance(found, Mapping):
        raise ImproperlyConfigured(
            f"SITEMAPS09['SITEMAPS'] names {conf.sitemaps}, which is no dict of sections."
        )
    return found


def named(sitemaps: Mapping[str, Section] | None = None) -> Mapping[str, Section]:
    """The same for our own URLs, whose names are checked. `ImproperlyConfigured` names what to change."""
    found = mapping(sitemaps)
    lowered: dict[str, str] = {}
    for name in found:
        if problem := name_problem(name):
            raise ImproperlyConfigured(f"The section {name!r}: {problem}")
        other = lowered.setdefault(name.lower(), name)
        if other != name:
            raise ImproperlyConfigured(
                f"The sections {other!r} and {name!r} differ in upper and lower case only, which "
                "not every file system can tell apart. Rename one of them."
            )
    return found


def name_problem(name: object) -> str | None:
    """Why a section cannot have this name on our road, or `None`."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return "a section's name is made of the letters A to Z, digits, hyphens and underscores."
    if name.lower() in RESERVED:
        return f"{name!r} is reserved. Choose another name."
    return None


def instance(section: Section) -> Any:
    """The sitemap of a section: a class or a factory is called, as contrib does."""
    return section() if callable(section) else section


def bound(section: Section, domain: str) -> Any:
    """The same for a host: one of rows that belong to sites lists those of its site."""
    sitemap = instance(section)
    if isinstance(sitemap, ModelSitemap) and sitemap.site_field is not None:
        return sitemap.on_host(domain)
    return sitemap


def unknown(name: str, known: Mapping[str, Section]) -> UnknownSectionError:
    """The error for a name that no section has, with the nearest one that there is."""
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else f" There are: {', '.join(sorted(known)) or 'none'}."
    return UnknownSectionError(f"There is no section {name!r}.{hint}")
