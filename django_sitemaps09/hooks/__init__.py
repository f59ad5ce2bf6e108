"""The hooks of a sitemap: what they can declare, and how their results become text for entries."""
