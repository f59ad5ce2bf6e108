"""Exports that are killed: `python -m tests.invariants.killing DATABASE FUNCTION ARGUMENTS`."""
