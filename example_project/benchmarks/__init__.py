"""The benchmark: `run.py` says how to use it."""
