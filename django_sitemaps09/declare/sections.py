"""Sections by name. Apps register sections, or a project declares them in a mapping."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from difflib import get_close_matches
from importlib import import_module
from inspect import getattr_static, signature
from threading import RLock
from types import ModuleType
from typing import Any, TypeAlias, TypeVar, cast, overload

from django.apps import apps
from django.contrib.sitemaps import Sitemap
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import autodiscover_modules, import_string

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.models import ModelSitemap
from django_sitemaps09.declare.sitemap_attributes import read
from django_sitemaps09.exceptions import UnknownSectionError
from django_sitemaps09.protocol.fields import MAX_MESSAGE, excerpt, reason_of, short_repr, typed_repr
from django_sitemaps09.protocol.filenames import NAME
from django_sitemaps09.protocol.urls import Base

logger = logging.getLogger(__name__)

#: A sitemap class, a factory without arguments, or an instance.
Section: TypeAlias = Any
SectionT = TypeVar("SectionT")
#: Advice for a project without sections.
HOW_TO_DECLARE = (
    'Write @register("...") above sitemap classes in an app\'s sitemaps.py, or set '
    "SITEMAPS09['SITEMAPS'] to the dotted path of a dict of sitemaps."
)
_NOT_MAPPINGS = (str, bytes, list, tuple, set, frozenset, type, ModuleType, Sitemap)

_registered: dict[str, Section] = {}
_modules: dict[str, str] = {}
_lock = RLock()
# A separate lock, because discovery can wait for another thread whose imports call register().
_discovery = RLock()
_discovered = False


@overload
def register(name: str) -> Callable[[SectionT], SectionT]: ...
@overload
def register(name: str, sitemap: SectionT) -> SectionT: ...
def register(name: str, sitemap: Any = None) -> Any:
    """Register a section: `@register("products")` on a class, or `register("products", sitemap)`.

    A class or a factory is called for each request and each export. Raise `ImproperlyConfigured` for a name
    that is not valid in a URL, or that is already registered, regardless of case.
    """
    if callable(name):
        class_name = getattr(name, "__qualname__", repr(name))
        raise ImproperlyConfigured(
            "register() needs the name of a section as its first argument: write "
            f'@register("products") above {class_name}, or register("products", {class_name}).'
        )
    if problem := name_problem(name):
        raise ImproperlyConfigured(f"register({name!r}): {problem}")
    if sitemap is None:
        return lambda decorated: register(name, decorated)
    # The module that called this function. Another one may define the sitemap.
    modules = (str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_stack(sys._getframe()))
    module = next(module for module in modules if module != __name__)
    with _lock:
        for registered_name in _registered:
            if registered_name.lower() == name.lower():
                raise ImproperlyConfigured(
                    f"register({name!r}) in {module}: the section {registered_name!r} is already "
                    f"registered in {_modules.get(registered_name)}. Rename one of them."
                )
        _registered[name] = sitemap
        _modules[name] = module
    return sitemap


def registered(*, discover: bool = True) -> Mapping[str, Section]:
    """Return the registered sections. By default, the first call imports all modules `sitemaps`."""
    global _discovered
    with _discovery:
        if discover and not _discovered:
            previous = dict(_registered)
            try:
                with _located({f"{app.name}.sitemaps" for app in apps.get_app_configs()}):
                    autodiscover_modules("sitemaps")
            except BaseException:
                # The next call imports the module that failed again, so its sections must be new.
                with _lock:
                    for name in _registered.keys() - previous.keys():
                        # Another thread may have imported other modules in the meantime.
                        if _modules.get(name) not in sys.modules:
                            del _registered[name]
                raise
            _discovered = True
    with _lock:
        return dict(_registered)


@contextmanager
def _located(modules: Collection[str]) -> Iterator[None]:
    """Convert an error that is raised in `modules` to `ImproperlyConfigured` with the file and line."""
    try:
        yield
    # A SystemExit would end a management command without a message.
    except (Exception, SystemExit) as error:
        place = _place(error, modules)
        if place is None:
            raise
        if isinstance(error, ImproperlyConfigured):
            reason = excerpt(error, MAX_MESSAGE)
        elif isinstance(error, SyntaxError):
            reason = f"{type(error).__name__}: {error.msg}"
        else:
            reason = reason_of(error, MAX_MESSAGE)
        raise ImproperlyConfigured(f"{place}: {reason}") from error


def _place(error: BaseException, modules: Collection[str]) -> str | None:
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}"
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__"))
        # Include the packages that contain a module, since they are imported first.
        if any(f"{name}.".startswith(f"{m}.") or m.startswith(f"{name}.") for m in modules):
            place = f"{frame.f_code.co_filename}, line {line}"
    return place


def mapping(sitemaps: Mapping[str, Section] | None = None) -> Mapping[str, Section]:
    """Return `sitemaps`, or else the sections in the setting `SITEMAPS`, or the registered sections."""
    if sitemaps is not None:
        return _checked(sitemaps, "The argument `sitemaps` of a view")
    path = conf.sitemaps
    if path is None:
        return registered()
    module = path.rpartition(".")[0]
    try:
        with _located({module}):
            if module:
                # import_string() would report an AttributeError in the module as a missing name.
                import_module(module)
            declarations = import_string(path)
    except (ImportError, ImproperlyConfigured) as error:
        raise ImproperlyConfigured(f"SITEMAPS09['SITEMAPS']: {error}") from error
    return _checked(declarations, f"SITEMAPS09['SITEMAPS'] is {path}, which")


def _checked(sitemaps: object, subject: str) -> Mapping[str, Section]:
    # isinstance() would evaluate a lazy object, which could query the database. A proxy of any class can be
    # a mapping, so only certain mistakes are errors.
    kind = type(sitemaps)
    has_keys, is_proxy = hasattr(kind, "__getitem__"), hasattr(kind, "__getattr__")
    is_wrong = issubclass(kind, _NOT_MAPPINGS) or not (has_keys or is_proxy)
    if is_wrong and not (has_keys and hasattr(kind, "items")):
        raise ImproperlyConfigured(
            f"{subject} is not a dict of sections, such as {{'products': ProductSitemap}}, but of the type "
            f"{kind.__name__}."
        )
    return cast("Mapping[str, Section]", sitemaps)


def native_mapping(sitemaps: Mapping[str, Section] | None = None) -> Mapping[str, Section]:
    """Return `mapping(sitemaps)`. Raise `ImproperlyConfigured` for a name that is not valid in URLs."""
    declarations = mapping(sitemaps)
    names_by_lower: dict[str, str] = {}
    for name in declarations:
        if problem := invalid_name(name):
            raise ImproperlyConfigured(problem)
        other_name = names_by_lower.setdefault(name.lower(), name)
        if other_name != name:
            raise ImproperlyConfigured(
                f"The section names {other_name!r} and {name!r} differ only in case, but some file systems "
                "are case-insensitive. Rename one of them."
            )
    return declarations


def invalid_name(name: object) -> str | None:
    """Return a message for an invalid name of a section, or `None` for a valid one."""
    problem = name_problem(name)
    return problem and f"The section {short_repr(name)} has an invalid name: {problem}"


def name_problem(name: object) -> str | None:
    """Return why a name is invalid for a section of the native views, or `None` if it is valid."""
    if not isinstance(name, str):
        return f"a name must be a string, not {typed_repr(name)}."
    if not NAME.fullmatch(name):
        return "use only letters (a-z, A-Z), digits, hyphens and underscores."
    return f"{name!r} is reserved. Choose another name." if name.lower() == "index" else None


def instance(section: Section) -> Any:
    """Return the sitemap of a section. Call a class or a factory, as `django.contrib.sitemaps` does."""
    return section() if callable(section) else section


def bind(section: Section, domain: str) -> Any:
    """Return the sitemap of a section for a host.

    A class can choose rows and locations with a method `for_host(domain)`, and rows with a `site_field`.
    """
    sitemap, subject = instance(section), "A section must be"
    if has_host_hook(sitemap):
        subject = f"{type(sitemap).__qualname__}.for_host() must return"
        sitemap = sitemap.for_host(domain)
    if isinstance(sitemap, type) or not hasattr(sitemap, "get_urls"):
        kind = sitemap if isinstance(sitemap, type) else type(sitemap)
        raise ImproperlyConfigured(
            f"{subject} a sitemap, not {kind.__qualname__}. Subclass ModelSitemap, StaticViewSitemap or "
            "Sitemap."
        )
    # Not isinstance(), because a mock returns another class for `__class__`.
    if issubclass(type(sitemap), ModelSitemap) and sitemap.site_field is not None:
        if getattr_static(sitemap, "items") is not ModelSitemap.items:
            raise ImproperlyConfigured(
                f"{type(sitemap).__qualname__} has a site_field and overrides items(), which could list "
                "rows of other sites. Override get_queryset() instead of items()."
            )
        sitemap = copy(sitemap)
        sitemap._sitemaps09_domain = domain
    return sitemap


def has_host_hook(sitemap: object) -> bool:
    """Return whether the class of a sitemap has a method `for_host` that can be called with a host.

    A method with other arguments is unrelated, and must not break classes written for Django's package.
    """
    # Looked up on the class, because a mock has every attribute.
    if getattr_static(type(sitemap), "for_host", None) is not None:
        with suppress(TypeError, ValueError):
            signature(sitemap.for_host).bind("www.example.com")  # type: ignore[attr-defined]
            return True
    return False


def declared_hosts(declarations: Mapping[str, Section], base: Base) -> dict[str, tuple[Base, ...]]:
    """Return the further hosts that each section allows. A section that fails is logged, and has none."""
    hosts = {}
    for name, section in declarations.items():
        try:
            hosts[name] = read(bind(section, base.domain), base, conf.limits).hosts.others
        except Exception as error:  # noqa: BLE001 a project's section can raise anything
            logger.warning("Section %r cannot be inspected: %s", name, reason_of(error))
    return hosts


def check_known(names: Iterable[str], declarations: Mapping[str, Section]) -> None:
    """Raise `UnknownSectionError` for a name of no section. The message suggests the most similar name."""
    for name in names:
        if name not in declarations:
            similar = get_close_matches(name, declarations, n=1)
            # contrib never calls the `__len__()` of a project's mapping, but sorted() would.
            listing = ", ".join(sorted(iter(declarations))) or "none"
            hint = f" Did you mean {similar[0]!r}?" if similar else f" Valid names: {listing}."
            raise UnknownSectionError(f"There is no section {name!r}.{hint}")
