"""The recorded state of a target: the manifest, the journal, and the history of runs."""
