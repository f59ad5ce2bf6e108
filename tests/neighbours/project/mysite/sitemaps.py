"""The sections of the how-to."""

from django.conf import settings

from tests.docs.pages import follow

follow(settings.PAGE, settings.CHAPTER, "mysite/sitemaps.py", globals())
