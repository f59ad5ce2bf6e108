"""The options of exports and verifications, declared once for Python and for the commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, wraps
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.conf import strings
from django_sitemaps09.declare.sections import Section
from django_sitemaps09.export.report import Published, SectionReport
from django_sitemaps09.protocol.fields import typed_repr
from django_sitemaps09.target.manifest import PageFile

ArgumentsT = ParamSpec("ArgumentsT")
OptionsT = TypeVar("OptionsT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """Options that exports and verifications share. Each has a text for Python and for the command."""

    names: Annotated[Sequence[str], "sections; the others stay unchanged (default: all sections)"] = field(
        default=(), kw_only=False
    )
    output: Annotated[Path | str | None, "folder to export to (default: STORAGE or ROOT)"] = None
    robots: Annotated[Path | str | None, "robots.txt to update (default: ROBOTS_TXT)"] = None
    base_url: Annotated[str | None, "scheme and host of the URLs (default: BASE_URL)"] = None
    gzip: Annotated[bool | None, "write .xml.gz files instead of .xml (default: GZIP)"] = None
    force: Annotated[Collection[str], "publish these sections even if they shrink too much"] = ()
    engine: Annotated[
        str | None, "serial, processes, celery, tasks, or a dotted path (default: ENGINE)"
    ] = None
    workers: Annotated[int | None, "number of workers (default: chosen by the engine)"] = None
    sitemaps: Annotated[
        Mapping[str, Section] | None, "the sections, by name, for one worker (default: SITEMAPS)"
    ] = None

    def __post_init__(self) -> None:
        """Raise `ImproperlyConfigured` for a wrong type."""
        options_type: Any = type(self)
        for name, (types, _) in documented_options(options_type).items():
            value = getattr(self, name)
            if types & {Sequence, Collection}:
                values = [value] if str in types and isinstance(value, str) else strings(value, name)
                object.__setattr__(self, name, values)
            for kind, text in _KINDS.items() if value is not None else ():
                is_wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
                if types <= {kind, type(None)} and is_wrong:
                    raise ImproperlyConfigured(f"{name} must be {text}, not {typed_repr(value)}.")


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(TargetOptions):
    """Options of `verify()`."""

    repair: Annotated[bool, "with --verify, render damaged or missing files again"] = False


@dataclass(frozen=True, kw_only=True)
class ExportOptions(TargetOptions):
    """Options of `export()`."""

    strict: Annotated[bool, "publish nothing if a section fails or anything is skipped"] = False
    dry_run: Annotated[bool, "render all pages, but write nothing"] = False
    changed_only: Annotated[bool, "do not render pages whose rows have not changed"] = False
    rebalance: Annotated[bool, "rebuild all pages"] = False
    remove: Annotated[Collection[str], "remove these published sections, which are not declared now"] = ()
    moved_from: Annotated[
        Collection[str] | str, "base URL from which the site has moved: its pages are removed"
    ] = ()
    changes: Annotated[bool, "count the URLs that are added, removed and changed"] = False
    submit: Annotated[bool | None, "submit the changed URLs (default: SUBMIT)"] = None
    on_published: Annotated[
        Callable[[Published], object] | None, "called after publishing; an exception becomes a warning"
    ] = None
    progress: Annotated[Callable[[SectionReport], object], "called after each section"] = lambda each: None
    on_page: Annotated[
        Callable[[str, PageFile], object], "called with the section and the file of each rendered page"
    ] = lambda section, file: None
    on_plan: Annotated[
        Callable[[Mapping[str, int | None]], object],
        "called before the first page, and perhaps again, with the number of pages of each section",
    ] = lambda pages: None


@dataclass(frozen=True)
class SeveralHosts:
    """Option of exports and verifications for several hosts, in place of `base_url`."""

    base_urls: Annotated[Sequence[str], "base URL of each host, which has a folder with its name"]


@dataclass(frozen=True, kw_only=True)
class VerifyHostsOptions(VerifyOptions, SeveralHosts):
    """Options of `verify_hosts()`."""

    base_url: None = field(default=None, init=False)


@dataclass(frozen=True, kw_only=True)
class ExportHostsOptions(ExportOptions, SeveralHosts):
    """Options of `export_hosts()`."""

    base_url: None = field(default=None, init=False)


_KINDS = {bool: "True or False", str: "a string", int: "a whole number"}


@cache
def documented_options(options_type: Any) -> dict[str, tuple[set[Any], str]]:
    """Return the possible types of each option, without those of their items, and its text."""
    hints = get_type_hints(options_type, include_extras=True)
    documented = {}
    for name in (each.name for each in fields(options_type) if each.init):
        hint, text = get_args(hints[name])
        types = get_args(hint) if isinstance(hint, UnionType) else [hint]
        documented[name] = ({get_origin(each) or each for each in types}, text)
    return documented


def takes(
    options_type: Callable[ArgumentsT, OptionsT],
) -> Callable[[Callable[[OptionsT], ResultT]], Callable[ArgumentsT, ResultT]]:
    """Return a decorator that gives a function of options an argument and a text for each option."""

    def decorate(run: Callable[[OptionsT], ResultT]) -> Callable[ArgumentsT, ResultT]:
        @wraps(run)
        def call(*args: ArgumentsT.args, **kwargs: ArgumentsT.kwargs) -> ResultT:
            try:
                options = options_type(*args, **kwargs)
            except TypeError as error:
                # Of a wrong name, or too many arguments.
                raise TypeError(str(error).replace(init, run.__name__)) from None
            return run(options)

        documented: Any = call
        init = f"{getattr(options_type, '__name__', '')}.__init__"
        hints, signature = get_type_hints(options_type), inspect.signature(options_type)
        parameters = [each.replace(annotation=hints[each.name]) for each in signature.parameters.values()]
        result = inspect.signature(run).return_annotation
        documented.__signature__ = signature.replace(parameters=parameters, return_annotation=result)
        texts = documented_options(options_type).items()
        lines = "".join(f"\n* `{name}`: {text}." for name, (_, text) in texts)
        documented.__doc__ = f"{inspect.cleandoc(run.__doc__ or '')}\n\nOptions:\n{lines}\n"
        return call

    return decorate
