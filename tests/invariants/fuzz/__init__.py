"""An app for random querysets: a model for each kind of key, rows, querysets and lastmods by a seed."""
