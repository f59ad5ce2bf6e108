"""The inspector: pages for staff that show the state of the sitemaps, and look up single URLs."""

from __future__ import annotations

#: The permission that staff members need. Superusers have every permission.
PERMISSION = "django_sitemaps09.view_inspector"
