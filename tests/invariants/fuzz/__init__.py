"""An app for random querysets: a model for each kind of key, and seeded rows, querysets and lastmods."""
