"""The options of exports and verifications, and what they mean for each host."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, wraps
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.conf import conf, local_path, strings
from django_sitemaps09.declare import hosts, sections
from django_sitemaps09.declare.sections import Section
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.notify.submission import check_configured
from django_sitemaps09.export.report import Published, SectionReport
from django_sitemaps09.orm.reading import retry
from django_sitemaps09.protocol.fields import typed_repr
from django_sitemaps09.protocol.filenames import INDEX
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.target.journal import Journal
from django_sitemaps09.target.local import LocalStore
from django_sitemaps09.target.manifest import Manifest, PageFile
from django_sitemaps09.target.previous import PreviousState, load
from django_sitemaps09.target.store import Store, state_store, target_store

ArgumentsT = ParamSpec("ArgumentsT")
OptionsT = TypeVar("OptionsT")
ResultT = TypeVar("ResultT")

# Part of the path of a robots.txt that stands for the name of the host's folder.
_HOST = "{host}"


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
    progress: Annotated[Callable[[SectionReport], object], "called after each section"] = lambda report: (
        None
    )
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


@dataclass(frozen=True)
class Host:
    """One host of an export or a verification, with its sections and its files.

    `sections` are all declared sections, `chosen` those to export or to verify. `url` is the location of
    the files, with a slash at the end. `folder` is the host's folder below the target; it is empty unless
    there may be several hosts. `submit` says whether the changes are submitted to search engines.
    `moved_from` are base URLs from which a site has moved. `damaged` has the names of damaged files, and is
    `None` unless the run is to repair them.
    """

    base: Base
    url: str
    folder: str
    store: Store
    state: Store
    sections: Mapping[str, Section]
    chosen: Mapping[str, Section]
    robots: Path | None
    gzip: bool
    submit: bool = False
    moved_from: Collection[str] = ()
    damaged: Collection[str] | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether no sections were selected, even if those selected are all."""
        return self.chosen is self.sections

    @property
    def is_repair(self) -> bool:
        return self.damaged is not None

    @property
    def site(self) -> Manifest:
        """An empty manifest of the host."""
        return Manifest("", self.url, str(self.base))

    @property
    def prefix(self) -> str:
        """Text before each failure: the host, unless the export is for one host only."""
        return f"{self.base}: " if self.folder else ""

    @property
    def index_url(self) -> str:
        return f"{self.url}{INDEX}"

    @property
    def local_folder(self) -> Path | None:
        """Folder of the files, `None` for a storage without a path."""
        return self.store.folder if isinstance(self.store, LocalStore) else None

    def previous(self, journal: Journal | None, now: float) -> PreviousState:
        """Return the state before a run. `journal` is that of a killed run whose steps were not taken."""
        is_whole, moved_from = self.is_whole, self.moved_from
        return load(
            self.store, self.state, self.site, journal, now, is_whole=is_whole, moved_from=moved_from
        )

    @classmethod
    def resolve(cls, options: TargetOptions, base_url: str | None) -> Host:
        """Resolve the options for one host; raise the errors of `export()` if the export cannot start."""
        # Read the mapping once, without `bool()` and `len()`: `django.contrib.sitemaps` does not call them.
        all_sections = dict(sections.native_mapping(options.sitemaps).items())
        if not all_sections:
            raise ExportError(_NO_SECTION)
        sections.check_known((*options.names, *options.force), all_sections)
        submit = (
            isinstance(options, ExportOptions)
            and not options.dry_run
            and (conf.submit if options.submit is None else options.submit)
        )
        if submit:
            check_configured()
        base, several = hosts.export_base(base_url), isinstance(options, SeveralHosts)
        folder, site_problem = hosts.host_folder(base), hosts.example_site_problem(base_url, base)
        output = local_path(options.output, "--output")
        robots = local_path(options.robots, "--robots") or conf.robots_txt
        if several and robots is not None and _HOST not in str(robots):
            advice = f"Use {_HOST} in the path for the name of each host's folder"
            text = f"{advice}, such as public/{_HOST}/robots.txt."
            raise ExportError(f"{robots} cannot be the robots.txt of several hosts. {text}")
        url = conf.files_url or f"{base}/"
        if several and conf.files_url is not None:
            url += f"{folder}/"
        own_folder = folder if several else ""
        store = target_store(output, own_folder)
        moved_from = getattr(options, "moved_from", ())
        if moved_from and options.names:
            raise ExportError("--moved-from removes the pages of all sections, so export all of them.")
        return cls(
            base=base,
            url=url,
            folder=own_folder,
            store=store,
            state=state_store(store, own_folder),
            sections=all_sections,
            chosen={name: all_sections[name] for name in options.names} or all_sections,
            robots=None if robots is None else Path(str(robots).replace(_HOST, folder)),
            gzip=conf.gzip if options.gzip is None else options.gzip,
            submit=submit,
            moved_from=[str(hosts.parse_base(url, "--moved-from")) for url in moved_from],
            warnings=() if site_problem is None else (" ".join(site_problem),),
        )

    @classmethod
    def resolve_all(cls, options: TargetOptions) -> list[Host]:
        """Resolve the options for all hosts, before any file is touched."""
        urls = options.base_urls if isinstance(options, SeveralHosts) else [options.base_url]
        if not urls:
            raise ExportError("base_urls must be a list of at least one base URL.")
        label = "The site of the export"
        resolved = retry(lambda: [cls.resolve(options, url) for url in urls], label, lost_only=True)
        if len({host.folder for host in resolved}) < len(resolved):
            names = ", ".join(map(str, urls))
            raise ExportError(f"Two of the hosts {names} would share a folder. Export each host once.")
        return resolved


_NO_SECTION = (
    f"There is no section to export. {sections.HOW_TO_DECLARE} An export does not see a dict that is only "
    "passed to views in a URLconf."
)
