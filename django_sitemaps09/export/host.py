"""One host of an export or a verification: its sections, and where its files are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from django_sitemaps09.conf import conf, local_path
from django_sitemaps09.declare import hosts, sections
from django_sitemaps09.declare.sections import Section
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.notify.submission import check_configured
from django_sitemaps09.export.options import ExportOptions, SeveralHosts, TargetOptions
from django_sitemaps09.orm.reading import retry
from django_sitemaps09.protocol.filenames import INDEX
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.target.journal import Journal
from django_sitemaps09.target.local import LocalStore
from django_sitemaps09.target.manifest import Manifest
from django_sitemaps09.target.previous import PreviousState, load
from django_sitemaps09.target.store import Store, state_store, target_store

# Part of the path of a robots.txt that stands for the name of the host's folder.
_HOST = "{host}"


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
        is_whole, moved = self.is_whole, self.moved_from
        return load(self.store, self.state, self.site, journal, now, is_whole=is_whole, moved_from=moved)

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
