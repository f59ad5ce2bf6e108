"""Tests of the documentation: what it shows works, and what the package has is described."""
