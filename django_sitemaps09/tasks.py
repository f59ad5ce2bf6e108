"""The module in which Celery's `autodiscover_tasks()` looks for tasks."""

from __future__ import annotations

from django_sitemaps09.export.engines.celery import render

__all__ = ["render"]
