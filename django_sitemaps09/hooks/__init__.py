"""Hooks of a sitemap, and the conversion of their results to text."""
