"""Signals that an export sends."""

from __future__ import annotations

from django.dispatch import Signal

#: Sent after an export has published something, with `published`, a `django_sitemaps09.export.Published`.
#: If a receiver fails, this is logged and added to the warnings of the report. Published files are kept.
published = Signal()
