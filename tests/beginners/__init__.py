"""Mistakes that beginners make, and what they must be told."""
