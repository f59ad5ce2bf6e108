"""Check constants, locations, methods that take the item, and the languages of a section."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from numbers import Number
from types import FunctionType, MethodType
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.db.models import Field
from django.utils.functional import Promise

from django_sitemaps09.declare.base import CONTRIB_INTERNALS, Sitemap, is_contribs
from django_sitemaps09.declare.calls import CONVERTERS
from django_sitemaps09.declare.expressions import EXTENDING, FIELDS, LocationTemplate, is_expression
from django_sitemaps09.declare.extensions import repeated_name
from django_sitemaps09.declare.locations import Route
from django_sitemaps09.declare.models import ModelSitemap, NewsSitemap, StaticViewSitemap
from django_sitemaps09.declare.sitemap_attributes import RULES, location_problem, page_size
from django_sitemaps09.protocol.fields import has_text
from django_sitemaps09.protocol.limits import MAX_URLS
from django_sitemaps09.protocol.media import Extension
from django_sitemaps09.protocol.values import CHANGEFREQS, hreflang, hreflang_warning
from django_sitemaps09.tools import urlconf
from django_sitemaps09.tools.checks import subjects
from django_sitemaps09.tools.checks.querysets import did_you_mean, names_in_rows
from django_sitemaps09.tools.checks.subjects import Subject, error_text, is_code, is_off, message, typed

_NUMBERS = (int, float, Decimal)
_CODES = {"lastmod": ("E010", "W010"), "changefreq": ("E011", "W011"), "priority": ("E012", "W012")}
#: Check codes of attributes that are booleans in `django.contrib.sitemaps`, but can be methods here.
_SWITCHES = {"alternates": "W047", "x_default": "W048"}
_TAKING_THE_ITEM = (*FIELDS, *EXTENDING, *_SWITCHES, "get_languages_for_item")


def check_constants(subject: Subject) -> Iterator[CheckMessage]:
    """Check `lastmod`, `changefreq`, `priority`, `protocol` and `limit` if they are constants."""
    for hook in FIELDS:
        descriptor = subject.raw(hook)
        field = inspect.getattr_static(descriptor, "field", None)
        # A descriptor of the project can have a field, too.
        if isinstance(field, Field) and type(descriptor).__module__.startswith("django.db.models."):
            text = f"{subject}.{hook} is {field}, which has no value without a row."
            yield message("E085", text, f"Declare the query expression F({field.name!r}).")
    for name, convert in CONVERTERS.items():
        value = subject.data(name)
        if not is_expression(value) and (problem := error_text(ValueError, convert, value)):
            words = CHANGEFREQS if name == "changefreq" else ()
            hint = "Change or remove it, or declare a query expression or a method that takes the item."
            hint = did_you_mean(value, words, names_in_rows(subject)) or hint
            yield subject.graded(*_CODES[name], f"{subject}.{name}: {problem}.", hint)
    scheme = subject.data("protocol")
    # Not the rule of `read()`, for which any false value is missing, and which asks a queryset for rows.
    if scheme not in (None, "http", "https"):
        text = f"{subject}.protocol must be 'http' or 'https', not {typed(scheme)}."
        yield message("W014", text, "Set 'http' or 'https': crawlers do not follow other schemes.")
    limit, most = subject.raw("limit"), f"{MAX_URLS:,}"
    # The project's code can compute the limit, __init__() can set it, and a paginator can ignore it.
    is_computed = is_code(limit) or (hasattr(type(limit), "__int__") and not isinstance(limit, _NUMBERS))
    can_be_ignored = subject.has_own_init or not is_contribs(subject.declaration, "paginator")
    if is_computed or (limit is None and can_be_ignored):
        return
    if problem := _problem(subject, "limit"):
        yield subject.graded("E013", "W013", problem, f"Set a whole number from 1 to {most}.")
    elif (size := page_size(limit)) > MAX_URLS:
        text = f"{subject}.limit is {size:,}, but a sitemap can contain at most {most} URLs."
        hint = f"Set {most} or less. Native views and exports never use a higher value, but contrib's "
        hint += "views serve pages that search engines reject."
        yield message("W015", text, hint)


def _problem(subject: Subject, name: str) -> str | None:
    """Return what is wrong with an attribute by the rules that reading a sitemap has, or `None`."""
    problem = error_text(ValueError, RULES[name], subject.data(name), typed)
    return problem and f"{subject}.{name} {problem}."


def check_documents(subject: Subject) -> Iterator[CheckMessage]:
    """Check `format`, `hosts` and `extensions` if they are constants."""
    value = subject.data("format")
    if value is not None and (problem := _problem(subject, "format")):
        hint = "Set 'xml' or 'text', or rename the attribute if it means something else."
        yield subject.graded("E051", "W051", problem, hint)
    extensions, alternates = subject.data("extensions"), subject.raw("alternates")
    xml_names: list[str] = [name for name in EXTENDING if callable(subject.raw(name))]
    if isinstance(extensions, (list, tuple)) and extensions:
        xml_names.append("extensions")
    if callable(alternates) or (alternates is True and subject.data("i18n") is True):
        xml_names.append("alternates")
    if value == "text" and xml_names:
        text = f"{subject}.format is 'text', which does not include {', '.join(xml_names)}."
        hint = f"Text files contain only URLs. Set format = 'xml', or remove {', '.join(xml_names)}."
        yield message("W052", text, hint)
    if problem := _problem(subject, "hosts"):
        hint = "Set a list of hosts, such as ['https://shop.example.com', 'blog.example.com']."
        yield subject.graded("E050", "W050", problem, hint)
    if extensions is not None and (problem := _extensions_problem(extensions)):
        hint = "Set a list of Extension objects, each with its own prefix and namespace."
        yield subject.graded("E054", "W054", f"{subject}.extensions {problem}.", hint)


def _extensions_problem(extensions: object) -> str | None:
    if not isinstance(extensions, (list, tuple)):
        return f"must be a list, not {typed(extensions)}"
    for extension in extensions:
        # Not isinstance(), which would evaluate a lazy object.
        if not issubclass(type(extension), Extension):
            return f"contains {subjects.safe_repr(extension)}, which is not an Extension"
    name = repeated_name(extensions)
    return name and f"uses the {name} twice"


def check_names(subject: Subject) -> Iterator[CheckMessage]:
    """Check for misspelled attributes: their names occur once, and the class lacks a similar one."""
    classes = subject.cls.__mro__
    base = next(cls for cls in classes if cls.__module__.startswith("django_sitemaps09."))
    names = {*dir(base), *FIELDS, *EXTENDING, "for_host"}
    missed_names = [name for name in names if not name.startswith("_") and subject.inherits(base, name)]
    own_classes = classes[: classes.index(base)]
    own_names = {name for cls in own_classes for name in vars(cls) if not name.startswith("_")}
    modules = [sys.modules.get(cls.__module__) for cls in own_classes]
    for name in sorted(own_names - names):
        match = "".join(get_close_matches(name, missed_names, n=1, cutoff=0.85))
        # A singular can have a meaning of its own, and a name that occurs twice is used.
        is_plural = name.removesuffix("s") == match.removesuffix("s")
        if match and not is_plural and not any(subjects.is_repeated(name, module) for module in modules):
            text = f"{subject}.{name} may be misspelled. Did you mean {match!r}?"
            yield message("W084", text, f"Rename it to {match!r}, or to a name that is less similar.")


def check_hooks(subject: Subject) -> Iterator[CheckMessage]:
    """Check hooks that must or may be methods, including those that Django's `Sitemap` lacks."""
    for name in EXTENDING:
        value = subject.data(name)
        if value is not None:
            text = f"{subject}.{name} must be a method, not {typed(value)}; it is ignored."
            hint = f"To add {name}, define `def {name}(self, item)`. Otherwise rename the attribute."
            yield message("W053", text, hint)
    for switch, code in _SWITCHES.items():
        value = subject.data(switch)
        if value is not None and not isinstance(value, bool):
            text = f"{subject}.{switch} must be True, False or a method, not {typed(value)}."
            yield message(code, text, f"Set {switch} = True, or define `def {switch}(self, item)`.")
    if not _takes_one(subject, "for_host"):
        text = f"{subject}.for_host cannot be called with a host as its only argument; it is ignored."
        yield message("W049", text, "Define it as `def for_host(self, domain)`. Otherwise rename it.")
    if not subject.inherits(Sitemap, *CONTRIB_INTERNALS):
        # An opaque sitemap may call its hooks with other arguments.
        return
    news_hooks = ("title",) if issubclass(subject.cls, NewsSitemap) else ()
    for hook in (*_TAKING_THE_ITEM, *news_hooks):
        if not _takes_one(subject, hook):
            is_extension = hook in (*EXTENDING, *_SWITCHES)
            code = "W056" if is_extension and not subject.is_strict else "E056"
            text = f"{subject}.{hook} cannot be called with the item as its only argument."
            yield message(code, text, f"Define it as `def {hook}(self, item)`.")


def _takes_one(subject: Subject, name: str) -> bool:
    """Return whether a hook may be called with one argument, as far as its signature tells."""
    hook = subject.raw(name)
    kind = type(hook)
    if kind is staticmethod:
        hook = hook.__func__
    elif kind is classmethod:
        hook = MethodType(hook.__func__, subject.cls)
    elif kind is FunctionType:
        # Functions that are attributes of an instance are not bound.
        is_bound = subject.is_class or name not in getattr(subject.declaration, "__dict__", {})
        hook = MethodType(hook, subject.cls) if is_bound else hook
    # Binding others would run the project's code. Python 3.14 binds a partial. Earlier versions do not.
    elif not callable(hook) or kind is partial or hasattr(kind, "__get__"):
        return True
    try:
        # Do not follow wrapped functions: a decorator may pass other arguments to the function.
        signature = inspect.signature(hook, follow_wrapped=False)
    except (ValueError, TypeError):
        # Some builtins have no signature. A function without parameters has none as a method.
        return not isinstance(getattr(hook, "__func__", None), FunctionType)
    return error_text(TypeError, signature.bind, object()) is None


def check_languages(subject: Subject) -> Iterator[CheckMessage]:
    """Check `i18n`, `languages`, `alternates` and `x_default` if they are constants."""
    languages = subject.data("languages")
    if isinstance(languages, str | bytes) or (languages is not None and not hasattr(languages, "__iter__")):
        text = f"{subject}.languages must be a list of codes, not {typed(languages)}."
        yield subject.graded("E040", "W040", text, "Set a list of codes, such as ['en', 'de'].")
        languages = None
    i18n = subject.raw("i18n")
    if subject.has_own_init or is_code(i18n):
        # The project's code determines whether the other attributes have an effect.
        return
    if is_off(i18n):
        idle = ["languages"] if languages is not None else []
        idle += [name for name in ("alternates", "x_default") if subject.data(name) is True]
        if idle:
            text = f"{subject} sets attributes that have no effect without i18n: {', '.join(idle)}."
            hint = "Set i18n = True, or remove them. Without i18n, `alternates` must be a method that "
            hint += "takes the item."
            yield message("W044", text, hint)
        return
    location, name = subject.data("location"), "languages"
    if languages is None and isinstance(location, Mapping):
        languages, name = list(location), "location"
    for language in languages if isinstance(languages, subjects.COLLECTIONS) else ():
        yield from _check_language(subject, name, language)
    yield from _check_x_default(subject, languages)


def _check_language(subject: Subject, name: str, code: object) -> Iterator[CheckMessage]:
    codes = [code for code, _ in settings.LANGUAGES]
    if code not in codes:
        text = f"{subject}.{name} contains {typed(code, str)}, which is not in LANGUAGES."
        yield message("W043", text, f"Use a code from LANGUAGES: {', '.join(codes)}.")
    if is_off(subject.raw("alternates")):
        # Language codes appear in the output only as the `hreflang` of links.
        return
    invalid: str | None = f"{subjects.safe_repr(code)} is not a string"
    if isinstance(code, str):
        invalid = error_text(ValueError, hreflang, code)
    if invalid:
        text = f"{subject}.{name} contains a code that is not valid in hreflang: {invalid}."
        hint = "Use an ISO 639-1 language, optionally followed by a script and a country, such as 'de', "
        hint += "'de-at' or 'zh-hant'."
        yield message("W041", text, hint)
    elif problem := hreflang_warning(hreflang(code)):
        text = f"{subject}.{name} contains {subjects.safe_repr(code)}: {problem}."
        hint = "Search engines ignore an unknown hreflang. Use a language, or a language and an ISO 3166-1 "
        hint += "country, such as 'es-mx' or 'en-gb'."
        yield message("W042", text, hint)


def _check_x_default(subject: Subject, languages: object) -> Iterator[CheckMessage]:
    alternates = subject.raw("alternates")
    if subject.data("x_default") is not True or is_code(alternates):
        return
    if is_off(alternates):
        text = f"{subject}.x_default has no effect without alternates."
        yield message("W045", text, "Set alternates = True, or remove x_default.")
        return
    is_default = languages is None and subject.raw("languages") is None
    codes = [code for code, _ in settings.LANGUAGES] if is_default else languages
    hooks, code = ("get_languages_for_item", "_languages"), settings.LANGUAGE_CODE
    is_original = all(is_contribs(subject.declaration, name) for name in hooks)
    if is_original and isinstance(codes, subjects.COLLECTIONS) and code not in codes:
        text = f"LANGUAGE_CODE ({code!r}) is not one of the sitemap's languages."
        hint = "Add LANGUAGE_CODE to the languages, remove x_default, or define it as a method that takes "
        hint += "the item."
        yield message("W046", f"{subject}.x_default adds no link: {text}", hint)


def check_locations(subject: Subject) -> Iterator[CheckMessage]:
    """Check `location` if it is a constant, and the `viewnames` of a `StaticViewSitemap`."""
    location, i18n, languages = subject.data("location"), subject.raw("i18n"), subject.data("languages")
    # Otherwise, the project's code determines whether there are languages.
    if not (subject.has_own_init or is_code(i18n)):
        codes = languages if isinstance(languages, subjects.COLLECTIONS) else ()
        if problem := location_problem(location, None if is_off(i18n) else codes):
            hint = "Set i18n = True, and give each language a Route, a PathTemplate or a query expression."
            yield message("E024", f"{subject}.location {problem}.", hint)
    # Other objects can have the text of a path, such as those of `pathlib`.
    is_path = has_text(location) and not isinstance(location, (Number, date))
    is_known = location is None or isinstance(location, (Mapping, LocationTemplate))
    if not (is_path or is_known or is_expression(location)):
        text = f"{subject}.location must be a path, a Route or an expression, not {typed(location)}."
        yield message("E098", text, "Define `def location(self, item)`, which returns a path.")
    for value in location.values() if isinstance(location, Mapping) else [location]:
        is_template = isinstance(value, LocationTemplate)
        is_constant = isinstance(value, str) or (is_template and not value.expressions)
        if issubclass(subject.cls, ModelSitemap) and is_constant:
            text = f"{subjects.safe_repr(value)}, which is the same URL for every row."
            hint = "Pass an argument as a query expression, such as slug=F('slug')."
            yield message("E020", f"{subject}.location is {text}", _route_hint(subject, value) or hint)
        if isinstance(value, Route) and (problem := urlconf.route_problem(value)):
            text = f"{subject}.location is {subjects.safe_repr(value)}, but {problem}."
            hint = "Pass the name of a URL pattern and its arguments to Route, as you would to reverse()."
            yield message("E021", text, hint)
    yield from _check_viewnames(subject)


def _route_hint(subject: Subject, value: Any) -> str | None:
    """Return the `Route` that a constant means if it names a URL pattern with named arguments."""
    name = value.pattern if isinstance(value, Route) else value
    known = names_in_rows(subject)
    for names in urlconf.signatures(name) if isinstance(name, str) else ():
        # Django calls arguments without a name `_0`, `_1`.
        if names and not names[0].startswith("_"):
            arguments = [f"{each}=F({each if each in known else '...'!r})" for each in names]
            return f"Did you mean Route({name!r}, {', '.join(arguments)})?"
    return None


def _check_viewnames(subject: Subject) -> Iterator[CheckMessage]:
    base, names = StaticViewSitemap, subject.raw("viewnames")
    if not subject.inherits(base, "items"):
        return
    if issubclass(type(names), (str, bytes)) or not (is_code(names) or hasattr(names, "__iter__")):
        text = f"{subject}.viewnames must be a list, not {typed(names)}."
        yield message("E022", text, "Set a list of the names of URL patterns, such as ['about'].")
        return
    is_reversed = subject.inherits(base, "location", "default_location")
    listed = names if is_reversed and isinstance(names, subjects.COLLECTIONS) else ()
    # Views are not looked up.
    for name in (name for name in listed if not is_code(name)):
        is_name = isinstance(name, (str, Promise))
        problem = urlconf.route_problem(Route(name)) if is_name else "this is not the name of a URL pattern"
        if problem:
            text = f"{subject}.viewnames contains {typed(name, str)}, but {problem}."
            yield message("E023", text, "Use only names of URL patterns that take no arguments.")
