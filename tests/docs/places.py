"""The fenced blocks of the documentation: the test module that runs each, or why none does."""

from __future__ import annotations

from collections.abc import Mapping

from tests.docs.pages import Place

QUICK_START = ("README.md", "Quick start")
LANGUAGES = ("docs/howto/languages.md", "Languages")
MEDIA = ("docs/howto/media.md", "Images and videos")

#: The number of blocks at each place, by the test module that runs them or compares what they show. Modules
#: of `features` record the Python that they run: see `features.project.snippet_of`.
RUN: Mapping[str, Mapping[Place, int]] = {
    "features": {
        Place(*QUICK_START, "xml"): 2,
        Place(*LANGUAGES, "xml"): 1,
        Place(*MEDIA, "xml"): 1,
        Place("docs/howto/hosts.md", "Export for several hosts", "sh"): 1,
        Place("docs/howto/hosts.md", "A site that moves to another host", "sh"): 1,
        Place("docs/howto/readable-in-a-browser.md", "Readable in a browser", "xml"): 1,
        Place("docs/howto/audit.md", "Validate a sitemap", "text"): 1,
        Place("docs/howto/from-contrib.md", "Replace methods with columns", "text"): 1,
        Place("docs/howto/inspector.md", "Link to it from the admin", "django"): 1,
    },
    "test_recipes": {
        Place("docs/howto/serve.md", "nginx", "nginx"): 1,
        Place("docs/howto/serve.md", "Several web servers", "sh"): 1,
        Place("docs/howto/serve.md", "Object storage", "sh"): 1,
    },
    "test_cache_recipes": {
        Place("docs/howto/cache.md", "nginx", "nginx"): 1,
        Place("docs/howto/cache.md", "CDN", "python"): 1,
    },
    "test_first_steps": {
        Place("docs/howto/serve.md", "Django", "python"): 1,
        Place("docs/reference/settings.md", "`CACHE_CONTROL: dict[str, bool | int] = {}`", "python"): 1,
    },
    "test_tutorial": {
        Place("docs/tutorial.md", "Create a project", "sh"): 1,
        Place("docs/tutorial.md", "Create a project", "python"): 1,
        Place("docs/tutorial.md", "Add a model and its page", "python"): 2,
        Place("docs/tutorial.md", "Declare the section", "python"): 1,
        Place("docs/tutorial.md", "Add the URLs", "python"): 1,
        Place("docs/tutorial.md", "Add a row and view the sitemap", "sh"): 1,
        Place("docs/tutorial.md", "Add a row and view the sitemap", "xml"): 1,
        Place("docs/tutorial.md", "Export to files", "sh"): 1,
    },
    "test_commands": {
        Place("docs/howto/schedule.md", "From cron", "text"): 1,
        Place("docs/howto/schedule.md", "Alerts", "sh"): 1,
        Place("docs/howto/hosts.md", "Export for all sites", "sh"): 1,
        Place("docs/howto/django-cms.md", "Several sites", "sh"): 1,
        Place("docs/howto/wagtail.md", "Several sites", "sh"): 1,
        Place("docs/howto/schedule.md", "From a deployment", "sh"): 2,
        Place("docs/howto/verify.md", "Verify exported files", "sh"): 1,
        Place("docs/howto/large-sites.md", "What makes a section fast", "sh"): 1,
        Place("docs/howto/ci.md", "Continuous integration", "sh"): 1,
        Place("docs/howto/audit.md", "Request pages, too", "sh"): 1,
        Place("docs/howto/audit.md", "Find lastmods that are not true", "sh"): 1,
        Place("docs/howto/audit.md", "In CI", "sh"): 2,
        Place("docs/reference/commands.md", "`manage.py audit_sitemaps`", "sh"): 1,
        Place("docs/explanation/changed-only.md", "What `--changed-only` can miss", "sh"): 1,
        Place("docs/reference/commands.md", "`manage.py export_sitemaps [section ...]`", "sh"): 1,
        Place("docs/howto/search-engines.md", "Set it up", "sh"): 2,
        Place("docs/howto/search-engines.md", "What is submitted", "sh"): 1,
        Place("docs/howto/search-engines.md", "If a submission fails", "sh"): 1,
        Place("docs/howto/search-engines.md", "Several hosts", "sh"): 1,
        Place("docs/reference/commands.md", "`manage.py submit_sitemaps`", "sh"): 1,
        Place("docs/reference/commands.md", "`manage.py sitemaps_status [section ...]`", "sh"): 1,
        Place("docs/reference/commands.md", "`manage.py suggest_sitemaps [section ...]`", "sh"): 2,
        Place("docs/howto/from-contrib.md", "Replace methods with columns", "sh"): 1,
        Place("docs/reference/checks.md", "Checks by id", "sh"): 1,
    },
    "test_reference": {Place("docs/howto/robots.md", "robots.txt", "text"): 1},
    # These tests have environments of their own: see `howtos` in tox.ini.
    "../neighbours/cms": {
        Place("docs/howto/django-cms.md", "django CMS", "python"): 3,
        Place("docs/howto/django-cms.md", "The sitemap of django CMS", "python"): 1,
    },
    "../neighbours/flatpages": {
        Place("docs/howto/flatpages.md", "Flatpages", "python"): 3,
        Place("docs/howto/flatpages.md", "With the middleware", "python"): 1,
    },
    "../neighbours/oscar": {Place("docs/howto/oscar.md", "Oscar", "python"): 3},
    "../neighbours/translated": {
        Place("docs/howto/translated-models.md", "Translated models", "python"): 2,
        Place("docs/howto/translated-models.md", "django-modeltranslation", "python"): 1,
        Place("docs/howto/translated-models.md", "django-parler", "python"): 1,
    },
    "../neighbours/wagtail": {
        Place("docs/howto/wagtail.md", "Wagtail", "python"): 3,
        Place("docs/howto/wagtail.md", "Page classes with their own URLs", "python"): 1,
        Place("docs/howto/wagtail.md", "Wagtail's own sitemap", "python"): 1,
    },
}

#: The number of blocks at each place, and why no test runs them.
NOT_RUN: Mapping[Place, tuple[int, str]] = {
    Place("README.md", "See it run", "sh"): (1, "`.ci/run` runs this line in a new clone"),
    Place("README.md", "Develop", "sh"): (1, "`.ci/run` runs this line in a new clone"),
    Place(*QUICK_START, "sh"): (1, "it installs the package; `.ci/packaging.py` installs the wheel"),
    Place("docs/howto/audit.md", "Validate a sitemap", "sh"): (1, "it installs the package"),
    Place("docs/howto/schedule.md", "From a systemd timer", "ini"): (2, "a container has no systemd"),
    Place("docs/explanation/requests.md", "Log lines", "text"): (
        1,
        "`tests/views/test_stopwatch.py` compares their form",
    ),
    Place("docs/benchmarks.md", "Exports and pages", "sh"): (1, "it takes minutes and installs packages"),
    Place("docs/benchmarks.md", "Querysets", "sh"): (1, "it takes minutes and needs three databases"),
    Place("docs/benchmarks.md", "Exporting again", "sh"): (1, "it takes minutes"),
    Place("docs/benchmarks.md", "Audits", "sh"): (1, "it takes minutes"),
    Place("docs/benchmarks.md", "Live requests", "sh"): (1, "it takes minutes and needs two servers"),
    Place("docs/contributing.md", "Contributing", "sh"): (1, "`.ci/run` runs the same line"),
    Place("docs/contributing.md", "Tests", "sh"): (1, "a test does not run the tests"),
    Place("docs/contributing.md", "Documentation", "sh"): (2, "`.ci/run` builds the documentation"),
}
