"""Files of a small site without faults, and the parts to change them: entries, documents and indexes."""

from __future__ import annotations

from tests.support.configuration import BASE

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
#: All namespaces that the audit knows.
ALL = (
    f'{SPACE} xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
)
PAGE, OTHER = "sitemap-a-1.xml", "sitemap-b-1.xml"


def url(location="/words/a/", rest="", *, base=BASE):
    """Return an entry. A location without a scheme is joined to the base."""
    start = base if location.startswith("/") and not location.startswith("//") else ""
    return f"<url><loc>{start}{location}</loc>{rest}</url>"


def urlset(*entries, root=SPACE):
    return f"{HEAD}<urlset {root}>\n" + "\n".join(entries) + "\n</urlset>"


def index(*names, base=BASE):
    entries = "".join(f"<sitemap><loc>{base}/{name}</loc></sitemap>\n" for name in names)
    return f"{HEAD}<sitemapindex {SPACE}>\n{entries}</sitemapindex>"


def sound(base=BASE):
    """Return the files of a site without faults, by name. Set one to `None` to omit it."""
    return {
        "robots.txt": f"User-agent: *\nDisallow: /private/\n\nSitemap: {base}/sitemap.xml\n",
        "sitemap.xml": index(PAGE, OTHER, base=base),
        PAGE: urlset(
            url("/words/a/", "<lastmod>2026-01-31</lastmod>", base=base),
            url("/words/b/", "<changefreq>daily</changefreq><priority>0.5</priority>", base=base),
        ),
        OTHER: urlset(url("/about/", "<lastmod>2026-01-31T10:30:00Z</lastmod>", base=base)),
    }


#: A fault of the site: the rule `url-duplicate`, once.
DUPLICATE = {PAGE: urlset(url(), url())}


def write(folder, files):
    """Write the files that are not `None`."""
    for name, content in files.items():
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
