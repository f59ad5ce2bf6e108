"""Sources read the rows of a section in key order, and convert them to batches of text."""
