"""The Celery task that renders pages. Celery's `autodiscover_tasks()` imports this module."""

from __future__ import annotations

from django_sitemaps09.export.engines.celery import render

__all__ = ["render"]
