"""Exceptions of this package. Incorrect declarations and settings raise `ImproperlyConfigured` instead."""

from __future__ import annotations


class SitemapError(Exception):
    """Base class of all exceptions of this package."""

    #: Exit status of a command that the exception ends.
    exit_status = 1


class UnknownSectionError(SitemapError):
    """No section has the requested name."""


class TextError(SitemapError, ValueError):
    """A string contains a character that is invalid in XML. The message identifies the item."""


class KeyOrderError(SitemapError):
    """The keys of a section's rows are not strictly increasing, so pages would repeat URLs."""


class RobotsError(SitemapError):
    """A robots.txt cannot be parsed or must not be written. The file was not changed."""


class ExportError(SitemapError):
    """An export cannot start or continue. Files that are already published are kept."""


class ExportRunningError(ExportError):
    """Another export is writing to the same target. This one has changed nothing."""

    #: EX_TEMPFAIL of sysexits.h: try again later.
    exit_status = 75


class ManifestError(ExportError):
    """The manifest of an earlier export cannot be used."""


class UnreadableError(ManifestError):
    """A file that belongs to the manifest is missing or damaged, so the published state is unknown."""


class AuditError(SitemapError):
    """An audit cannot start: a library is missing, or an argument or a baseline is invalid."""


class DocumentError(SitemapError):
    """An audit cannot read a document. The report lists the problem under the rule `rule`."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(detail)
        self.rule = rule
