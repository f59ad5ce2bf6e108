"""Tests of the documentation: its examples work, and it describes all public names."""
