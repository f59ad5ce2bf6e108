"""robots.txt as parsers read it, and addresses to list in it."""

from __future__ import annotations

URL = "https://www.example.com/sitemap.xml"
OTHER = "https://www.example.com/sitemap-2.xml"
OWNER = b"User-agent: *\nDisallow: /private/\nAllow: /private/open\n\nUser-agent: bad\nDisallow: /\n"
