"""Resolve the options of an export from its arguments and the settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from django_sitemaps09 import protocol, sections
from django_sitemaps09.conf import conf, local_path, strings
from django_sitemaps09.entries import typed_repr
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.report import PageFile, SectionReport
from django_sitemaps09.notify.submission import check_configured
from django_sitemaps09.protocol import Base
from django_sitemaps09.sections import Section
from django_sitemaps09.sources.retry import retry
from django_sitemaps09.state.manifest import Manifest
from django_sitemaps09.stores import host_folder


class ExportOptions(NamedTuple):
    """Arguments of `export()`, which documents them."""

    names: Sequence[str] = ()
    output: Path | str | None = None
    robots: Path | str | None = None
    gzip: bool | None = None
    strict: bool = False
    dry_run: bool = False
    changed_only: bool = False
    rebalance: bool = False
    force: Collection[str] = ()
    remove: Collection[str] = ()
    engine: str | None = None
    workers: int | None = None
    sitemaps: Mapping[str, Section] | None = None
    changes: bool = False
    submit: bool | None = None
    #: Names of damaged files by host folder. `None` unless this export is a repair.
    damaged: Mapping[str, Collection[str]] | None = None

    @property
    def is_repair(self) -> bool:
        return self.damaged is not None

    def checked(self) -> ExportOptions:
        """Return the options with lists of names. Raise `ImproperlyConfigured` for a wrong type."""
        names, force, remove = (strings(getattr(self, name), name) for name in ("names", "force", "remove"))
        for name, (kind, expected) in _TYPES.items():
            value = getattr(self, name)
            is_wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
            if value is not None and is_wrong:
                raise ImproperlyConfigured(f"{name} must be {expected}, not {typed_repr(value)}.")
        return self._replace(names=names, force=force, remove=remove)


_FLAGS = ("gzip", "strict", "dry_run", "changed_only", "rebalance", "changes", "submit")
# The types of options, and their names. Each option can also be None.
_TYPES: dict[str, tuple[type, str]] = {
    **dict.fromkeys(_FLAGS, (bool, "True or False")),
    "engine": (str, "a string"),
    "workers": (int, "a whole number"),
}


class Listeners(NamedTuple):
    """Callbacks for the expected numbers of pages, each rendered page, and each finished section."""

    plan: Callable[[Mapping[str, int | None]], object] = lambda pages: None
    page: Callable[[str, PageFile], object] = lambda section, file: None
    section: Callable[[SectionReport], object] = lambda section: None


class SharedOptions(TypedDict, total=False):
    """Keyword arguments that exports and verifications share."""

    output: Path | str | None
    robots: Path | str | None
    gzip: bool | None
    force: Collection[str]
    engine: str | None
    workers: int | None
    sitemaps: Mapping[str, Section] | None


class HostsOptions(SharedOptions, total=False):
    """Keyword arguments that `export_hosts()` shares with `export()`."""

    strict: bool
    dry_run: bool
    changed_only: bool
    rebalance: bool
    remove: Collection[str]
    changes: bool
    submit: bool | None


class HostOptions(NamedTuple):
    """Options of an export, resolved for one host.

    `chosen_sections` are the sections to export, `all_sections` all declared sections. `is_whole` is true
    if the caller selected no sections. `url` is the location of the files, with a slash at the end.
    `folder` is the host's folder below the target; it is empty in an export to one host. `submit` says
    whether the changes are submitted to search engines.
    """

    chosen_sections: Mapping[str, Section]
    all_sections: Mapping[str, Section]
    is_whole: bool
    base: Base
    url: str
    output: Path | None
    folder: str
    robots: Path | None
    gzip: bool
    submit: bool
    is_repair: bool
    warnings: tuple[str, ...]

    @property
    def site(self) -> Manifest:
        """An empty manifest of the host."""
        return Manifest("", self.url, str(self.base))

    @classmethod
    def resolve(cls, options: ExportOptions, base_url: str | None, *, several: bool) -> HostOptions:
        """Resolve the options for one host; raise the errors of `export()` if the export cannot start."""
        # Read the mapping once, without `bool()` and `len()`: `django.contrib.sitemaps` does not call them.
        all_sections = dict(sections.native_mapping(options.sitemaps).items())
        if not all_sections:
            raise ExportError(_NO_SECTION)
        names = options.names
        is_whole = not names and not options.is_repair
        sections.check_known((*names, *options.force), all_sections)
        submit = conf.submit if options.submit is None else options.submit
        # A repair compares no files. The manifest records that it has changed pages.
        submit = submit and not options.dry_run and not options.is_repair
        if submit:
            check_configured()
        base = export_base(base_url)
        folder = host_folder(base)
        output, robots = local_path(options.output, "--output"), local_path(options.robots, "--robots")
        robots = conf.robots_txt if robots is None else robots
        if several and robots is not None and _HOST not in str(robots):
            raise ExportError(
                f"{robots} cannot be the robots.txt of several hosts. Use {_HOST} in the path for the name "
                f"of each host's folder, such as public/{_HOST}/robots.txt."
            )
        url = conf.files_url or f"{base}/"
        if several and conf.files_url is not None:
            url += f"{folder}/"
        return cls(
            chosen_sections=all_sections if is_whole else {name: all_sections[name] for name in names},
            all_sections=all_sections,
            is_whole=is_whole,
            base=base,
            url=url,
            output=output,
            folder=folder if several else "",
            robots=None if robots is None else Path(str(robots).replace(_HOST, folder)),
            gzip=conf.gzip if options.gzip is None else options.gzip,
            submit=submit,
            is_repair=options.is_repair,
            warnings=(" ".join(EXAMPLE_SITE),) if is_example_site(base_url, base) else (),
        )


_HOST = "{host}"


def export_base(base_url: str | None) -> Base:
    """Return the base URL of locations: `base_url`, else the setting, else https and the current `Site`."""
    if base_url is not None:
        try:
            return protocol.parse_base(base_url)
        except ValueError as error:
            raise ImproperlyConfigured(f"--base-url: {error}.") from error
    if conf.base_url is not None:
        return conf.base_url
    if apps.is_installed("django.contrib.sites"):
        site = apps.get_model("sites", "Site")
        try:
            # In a worker, the cached site can be older than a change of its domain in another process.
            current = site.objects.get(pk=site.objects.get_current().pk)
            return protocol.parse_base(f"https://{current.domain}")
        except (site.DoesNotExist, ImproperlyConfigured, ValueError) as error:
            raise ImproperlyConfigured(f"{_NO_BASE} The sites framework reports: {error}") from error
    raise ImproperlyConfigured(_NO_BASE)


def site_urls() -> list[str]:
    """Return the base URL of each site of `django.contrib.sites`, by https, in the order of the IDs."""
    if not apps.is_installed("django.contrib.sites"):
        raise ImproperlyConfigured(
            "--all-sites needs 'django.contrib.sites' in INSTALLED_APPS. Without it, pass --base-url for "
            "each host."
        )
    sites = apps.get_model("sites", "Site").objects.order_by("pk").values_list("domain", flat=True)
    was_open = connections[sites.db].connection is not None
    urls = [f"https://{domain}" for domain in retry(lambda: list(sites), "The sites", lost_only=True)]
    if not was_open:
        # The choice of an engine depends on the open connections.
        connections[sites.db].close()
    for url in urls:
        try:
            protocol.parse_base(url)
        except ValueError as error:
            raise ImproperlyConfigured(f"The domain of a Site is invalid: {error}.") from error
    if not urls:
        raise ImproperlyConfigured("There is no Site. Add one in the admin, or pass --base-url.")
    return urls


def is_example_site(base_url: str | None, base: Base) -> bool:
    """Return whether `export_base(base_url)` is from a `Site` that still has Django's initial domain."""
    return base_url is None and conf.base_url is None and base.domain == "example.com"


#: What is wrong with an example site, and what to do.
EXAMPLE_SITE = (
    "The domain of the current Site is still 'example.com', so sitemaps have URLs on that host.",
    "Set its domain to that of your site, or set SITEMAPS09['BASE_URL'].",
)
_NO_SECTION = (
    f"There is no section to export. {sections.HOW_TO_DECLARE} An export does not see a dict that is only "
    "passed to views in a URLconf."
)
_NO_BASE = (
    "The host of the exported URLs is not known. Set SITEMAPS09['BASE_URL'] to a URL such as "
    "'https://www.example.com', pass --base-url, or use the sites framework."
)
