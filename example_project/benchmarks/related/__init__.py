"""Models for querysets that join articles to many rows, and a model with a composite key."""
