"""Signals that an export sends."""

from __future__ import annotations

from django.dispatch import Signal

#: Sent after an export has published something, with `published`, a `django_sitemaps09.export.Published`.
#: A receiver that fails is logged, and named in the report's warnings; the published files stay.
published = Signal()
