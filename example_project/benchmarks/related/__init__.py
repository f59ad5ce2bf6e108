"""Rows that articles are joined to, for querysets that repeat them; and rows of a composite key."""
