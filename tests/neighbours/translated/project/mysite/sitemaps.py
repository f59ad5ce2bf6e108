"""The sections of the how-to."""

from tests.neighbours.following import follow

follow("docs/howto/translated-models.md", "mysite/sitemaps.py", globals())
