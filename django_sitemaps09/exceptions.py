"""The few ways in which this package fails; misuse is Django's `ImproperlyConfigured`."""

from __future__ import annotations


class SitemapError(Exception):
    """The base of all errors of this package."""


class TextError(SitemapError, ValueError):
    """A text holds a character that no XML document can hold; the message names the item."""


class KeyOrderError(SitemapError):
    """The rows of a section do not come with strictly increasing keys, so pages would repeat URLs."""


class RobotsError(SitemapError):
    """A robots.txt cannot be understood or may not be written; it was left as it is."""


class ExportError(SitemapError):
    """An export cannot start or go on; what was published before is left as it is."""


class ExportRunningError(ExportError):
    """Another export works on the same target; nothing was touched."""


class ManifestError(ExportError):
    """What earlier exports noted of what is published cannot be used."""
