"""The management command `export_sitemaps`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from django.contrib import sitemaps as contrib
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.template import Context, TemplateSyntaxError
from django.template.backends.django import Template
from django.template.loader_tags import ExtendsNode
from django.template.response import SimpleTemplateResponse

import django_sitemaps09
from django_sitemaps09.declare import sections
from django_sitemaps09.exceptions import ExportRunningError
from django_sitemaps09.export import Report, SectionReport, Verification, verify, verify_hosts
from django_sitemaps09.export.exports import EXPORT_ERRORS, export, export_hosts
from django_sitemaps09.export.interrupts import Interrupted, interruptible
from django_sitemaps09.export.options import ExportOptions, VerifyOptions, documented_options
from django_sitemaps09.export.report import exit_status
from django_sitemaps09.management import lines, streams
from django_sitemaps09.protocol.fields import pluralize, reason_of
from django_sitemaps09.rows.hints import has_suggestible
from django_sitemaps09.tools import urlconf
from django_sitemaps09.tools.suggestions import suggest

#: Options that are passed to `export()` and to `verify()` under the same names, with their types and texts.
_EXPORTED, _VERIFIED = (
    {
        name: (types, text)
        for name, (types, text) in documented_options(options_type).items()
        if types & {bool, int, str, Collection} and name not in ("base_url", "gzip")
    }
    for options_type in (ExportOptions, VerifyOptions)
)
# Number of rows on which a suggestion is compared. `suggest_sitemaps` compares all rows.
_COMPARED = 1_000
# The default templates of the views of `django.contrib.sitemaps` and of the compatibility views.
_DEFAULTS = ("sitemap.xml", "sitemap_index.xml")
_STOCK = tuple(Path(str(package.__file__)).parent for package in (contrib, django_sitemaps09))
_STOCK_FILES = [folder / "templates" / name for folder in _STOCK for name in _DEFAULTS]
ResultT = TypeVar("ResultT", Report, Verification)


class Command(BaseCommand):
    help = "Exports the sitemaps and their index to files, and updates robots.txt."

    def add_arguments(self, parser: CommandParser) -> None:
        texts = {name: text for name, (_, text) in documented_options(ExportOptions).items()}
        parser.add_argument("sections", nargs="*", help=texts["names"])
        lines.add_host_options(parser, texts["base_url"])
        add, flag = parser.add_argument, "store_true"
        add("--no-gzip", action=flag, help="write .xml files instead of .xml.gz")
        add("--verify", action=flag, help="read the published files back instead of exporting")
        for name, (types, text) in {**_EXPORTED, **_VERIFIED}.items():
            is_url = name == "moved_from"
            settings: dict[str, Any] = {"metavar": "PATH" if Path in types else "URL" if is_url else "NAME"}
            if bool in types:
                settings = {"action": flag, "default": None if type(None) in types else False}
            elif int in types:
                settings = {"type": int, "metavar": "N"}
            elif Collection in types:
                settings |= {"action": "append", "default": []}
            add(f"--{name.replace('_', '-')}", help=text, **settings)

    def __init__(self, stdout: Any = None, stderr: Any = None, **options: Any) -> None:
        out: Any = streams.LenientStream(sys.stdout if stdout is None else stdout, "standard output")
        err: Any = streams.LenientStream(sys.stderr if stderr is None else stderr, "standard error")
        super().__init__(out, err, **options)

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except Interrupted as error:
            # A second signal, for example from a process manager, must not change the exit status.
            signal.signal(error.number, signal.SIG_IGN)
            self.stderr.write(f"{CommandError.__name__}: {error}")
            sys.exit(error.returncode)
        finally:
            streams.flush_or_discard()

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run with streams that can fail. A signal raises `Interrupted`, which is a `KeyboardInterrupt`."""
        for name in ("stdout", "stderr"):
            if options.get(name) is not None:
                options[name] = streams.LenientStream(options[name], name)
        with interruptible():
            return super().execute(*args, **options)

    def check(self, *args: Any, **kwargs: Any) -> None:
        """Discover registered sections first, so that they are checked even without export settings."""
        # The export itself reports an error in the mapping.
        with suppress(Exception):
            sections.mapping()
        super().check(*args, **kwargs)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["repair"] and not options["verify"]:
            raise CommandError("--repair is only valid with --verify.")
        for name in _EXPORTED.keys() - _VERIFIED.keys():
            if options["verify"] and options[name]:
                raise CommandError(f"--verify cannot be combined with --{name.replace('_', '-')}.")
        run = self._print_verification if options["verify"] else self._print_export
        try:
            with streams.hidden_item_warnings() if options["verbosity"] == 0 else nullcontext():
                failures, status = run(options)
        except EXPORT_ERRORS as error:
            raise CommandError(str(error), returncode=getattr(error, "exit_status", 1)) from error
        if failures:
            raise CommandError("\n".join(dict.fromkeys(failures)), returncode=status)

    def _print_export(self, options: dict[str, Any]) -> tuple[list[str], int]:
        """Export, print the reports and the warnings, and return the failures and the exit status."""
        reports, verbosity = self._export(options), options["verbosity"]
        self._write(options, reports, lambda report: lines.export_lines(report, hints=verbosity > 1))
        sections = [section for report in reports.values() for section in report.sections]
        if verbosity > 1 and options["format"] == "table":
            self._print_suggestions(sections, next(iter(reports), None))
        warnings = [warning for report in reports.values() for warning in report.warnings]
        if verbosity == 0:
            # Neither the table nor the warnings of single items are printed.
            warnings += [lines.skipped_line(section) for section in sections if section.errors]
        if (options["base_url"] or options["all_sites"]) and (problem := urlconf.other_urlconf()):
            warnings.append(" ".join(problem))
        for warning in dict.fromkeys([*warnings, *ignored_templates()]):
            self.stderr.write(self.style.WARNING(warning))
        failures = [failure for report in reports.values() for failure in report.failures]
        return failures, exit_status(reports.values())

    def _print_suggestions(self, sections: Iterable[SectionReport], base_url: str | None) -> None:
        """Print the suggestions for sections whose hints name `suggest_sitemaps`, if there are any."""
        names = [*dict.fromkeys(each.section for each in sections if has_suggestible(each.hints))]
        try:
            suggestions = suggest(names, rows=_COMPARED, base_url=base_url) if names else []
        except Exception as error:  # noqa: BLE001 the export has succeeded, whatever the project's code does
            self.stderr.write(self.style.WARNING(f"There are no suggestions: {reason_of(error)}"))
            return
        for suggestion in suggestions:
            for line in lines.suggestion_lines(suggestion) if suggestion.code is not None else ():
                self.stdout.write(line)

    def _print_verification(self, options: dict[str, Any]) -> tuple[list[str], int]:
        """Verify files, print the results and the warnings, and return the failures and the exit status."""
        results = _for_hosts(verify, verify_hosts, options, **{name: options[name] for name in _VERIFIED})
        self._write(options, results, lines.verification_lines)
        reports = [result.repair for result in results.values() if result.repair is not None]
        for warning in dict.fromkeys(warning for report in reports for warning in report.warnings):
            self.stderr.write(self.style.WARNING(warning))
        failures = [failure for result in results.values() for failure in result.failures]
        if failures and not options["repair"]:
            failures.append("To render and publish these files again, add --repair.")
        # As for one host: the status is that of the lock if nothing but the lock prevented a repair.
        failed = [result for result in results.values() if result.failures]
        is_busy = all(result.repair is not None and result.repair.is_busy for result in failed)
        return failures, ExportRunningError.exit_status if is_busy else 1

    def _write(
        self, options: dict[str, Any], results: Mapping[Any, Any], to_lines: Callable[[Any], Iterable[str]]
    ) -> None:
        lines.write_results(self.stdout, options, results, to_lines, by_host=lines.has_several(options))
        # Flush here, so that a failure of the stream is reported before the end of the process.
        self.stdout.flush()

    def _export(self, options: dict[str, Any]) -> Mapping[Any, Report]:
        shows_table = options["format"] == "table" and options["verbosity"] > 0
        arguments = {name: options[name] for name in _EXPORTED}
        with streams.progress_line(self.stderr, wanted=shows_table) as line:
            if line is not None:
                progress = streams.Progress(line)
                arguments["on_plan"], arguments["on_page"] = progress.plan, progress.page
                arguments["progress"] = progress.section
            elif shows_table:
                arguments["progress"] = self._line
            return _for_hosts(export, export_hosts, options, **arguments)

    def _line(self, section: SectionReport) -> None:
        self.stdout.write(f"{section.section}: {section.failure or pluralize(section.urls, 'URL')}")
        self.stdout.flush()


def _for_hosts(
    run: Callable[..., ResultT],
    run_hosts: Callable[..., Mapping[Any, ResultT]],
    options: Mapping[str, Any],
    **arguments: Any,
) -> Mapping[Any, ResultT]:
    """Call `run` for one host, or `run_hosts` for several."""
    arguments["gzip"] = False if options["no_gzip"] else None
    urls = lines.base_urls(options)
    if lines.has_several(options):
        return run_hosts(urls, options["sections"], **arguments)
    base_url = urls[0] if urls else None
    return {base_url: run(options["sections"], base_url=base_url, **arguments)}


def ignored_templates() -> list[str]:
    """Return a warning if the views use templates other than the stock templates."""
    templates = urlconf.templates()
    names = [name for name, sitemaps in templates if _is_exported(sitemaps)]
    # Without templates, no URL leads to these views, but a view of another package may call them.
    files = dict.fromkeys(file for name in (names if templates else _DEFAULTS) if (file := _own_file(name)))
    text = "If they add elements to entries, use hooks instead, such as images() or extensions."
    problem = f"Exports and native views do not use these templates: {', '.join(files)}. {text}"
    return [problem] if files else []


def _is_exported(sitemaps: Any) -> bool:
    """Return whether an export includes any of the `sitemaps` of a view."""
    site_sections = sections.mapping()
    if sitemaps is None or sitemaps is site_sections:
        return True
    try:
        return any(site_sections.get(name) is section for name, section in sitemaps.items())
    except Exception:  # noqa: BLE001 a project's mapping can raise anything
        return False


def _own_file(name: Any) -> str | None:
    """Return the file of a template, or `None` for a stock template or a missing template."""
    try:
        template: Any = SimpleTemplateResponse(name).resolve_template(name)
        if isinstance(template, Template):
            template = _resolve_extends(template.template)
            # Apart from whitespace.
            text = "".join(template.source.split())
            if any(text == "".join(file.read_text().split()) for file in _STOCK_FILES):
                return None
        file = str(template.origin.name)
    except Exception:  # noqa: BLE001 an export needs no template and no template engine
        return None
    return None if any(Path(file).is_relative_to(folder) for folder in _STOCK) else file


def _resolve_extends(template: Any) -> Any:
    """Return the base template of templates that only extend another template and define no blocks."""
    context = Context()
    with context.bind_template(template), suppress(TemplateSyntaxError):
        while isinstance(node := next(iter(template.nodelist), None), ExtendsNode) and not node.blocks:
            template = node.get_parent(context)
    return template
