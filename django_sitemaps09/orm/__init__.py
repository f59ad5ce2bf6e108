"""Properties of querysets, and Django's private API, which no other package uses."""
