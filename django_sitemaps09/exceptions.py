"""The exceptions of this package. Incorrect use raises Django's `ImproperlyConfigured` instead."""

from __future__ import annotations


class SitemapError(Exception):
    """The base of all errors of this package."""


class UnknownSectionError(SitemapError):
    """No section has the requested name."""


class TextError(SitemapError, ValueError):
    """A text contains a character that XML cannot contain; the message names the item."""


class KeyOrderError(SitemapError):
    """The keys of a section's rows are not strictly increasing, so that pages would repeat URLs."""


class RobotsError(SitemapError):
    """A robots.txt cannot be parsed or must not be written; it was not changed."""


class ExportError(SitemapError):
    """An export cannot start or continue; files that were published before remain."""


class ExportRunningError(ExportError):
    """Another export is writing to the same target; nothing was changed."""


class ManifestError(ExportError):
    """The manifest of earlier exports cannot be used."""


class UnreadableError(ManifestError):
    """A file of the manifest is damaged, so the published state must be determined in another way."""
