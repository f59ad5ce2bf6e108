"""Helpers and fixtures of several test modules."""
