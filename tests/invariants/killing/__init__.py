"""Exports that are killed or disturbed, in processes of their own."""
