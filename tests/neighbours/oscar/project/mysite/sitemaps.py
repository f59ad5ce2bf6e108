"""The sections of the how-to."""

from tests.neighbours.following import follow

follow("docs/howto/oscar.md", "mysite/sitemaps.py", globals())
