"""Tests of invariants: they hold for any crash, any error and any declaration."""
