"""Locations that are composed of columns: `Route`, `PathTemplate`, and the templates of `reverse()`."""
