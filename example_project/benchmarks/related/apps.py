"""App with a label that no other app has."""

from __future__ import annotations

from django.apps import AppConfig


class BenchmarkRelatedConfig(AppConfig):
    name = "benchmarks.related"
    label = "benchmark_related"
    default_auto_field = "django.db.models.BigAutoField"
