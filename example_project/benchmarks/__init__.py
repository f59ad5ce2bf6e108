"""Benchmarks of exports and live pages; see `run.py`."""
