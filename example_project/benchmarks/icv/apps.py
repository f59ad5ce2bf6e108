"""App with a label that no other app has."""

from __future__ import annotations

from django.apps import AppConfig


class BenchmarkIcvConfig(AppConfig):
    name = "benchmarks.icv"
    label = "benchmark_icv"
