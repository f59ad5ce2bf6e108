"""What pages contained at the last audit, to compare their lastmods with their changes."""

from __future__ import annotations

import json
import logging
import os
from datetime import datetime, timezone
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import Any

from django_sitemaps09.exceptions import AuditError, ExportError
from django_sitemaps09.protocol import reason_of
from django_sitemaps09.target.local import create_whole, read_plain
from django_sitemaps09.target.manifest import PARSE_ERRORS
from django_sitemaps09.tools.audit.rules.values import parse_lastmod
from django_sitemaps09.tools.audit.scratch import SampledPage

logger = logging.getLogger(__name__)

_FORMAT = 1
_MAX_BYTES = 500_000_000
# Elements whose text changes without the page: https://html.spec.whatwg.org/#sections
_CHANGING = ("script", "style", "nav", "header", "footer", "noscript", "template")


class History:
    """The file of a history: a digest of the text, the lastmod, and the day of the audit for each page.

    `compared` counts the pages that were compared, and `varying` those whose text differs within seconds.
    Raise `AuditError` if the file exists and is not a history.
    """

    def __init__(self, path: Path) -> None:
        # The file that a symbolic link names is replaced, not the link.
        self._path, self._pages, self.compared, self.varying = path.resolve(), dict[str, list[str]](), 0, 0
        if not os.access(self._path.parent, os.W_OK):
            raise AuditError(f"A history cannot be written in {self._path.parent}.")
        try:
            if (content := read_plain(self._path, _MAX_BYTES)) is not None:
                values = json.loads(content)
                for url, (text, lastmod, day) in values["pages"].items():
                    self._pages[url] = [*map(str, (text, lastmod, day))]
                if values["format"] != _FORMAT:
                    raise ValueError("another version has written it")
        except (*PARSE_ERRORS, ExportError, OSError) as error:
            text = str(error).rstrip(".")
            raise AuditError(f"{path} is not a history of an audit: {text}. Name another file.") from error

    def compare(self, page: SampledPage, document: Any, again: Any) -> list[tuple[str, str]]:
        """Return the rules that the lastmod of a page breaks. `document` and `again` are two responses."""
        text, today = _digest(document), f"{datetime.now(timezone.utc):%Y-%m-%d}"
        if again is None or _digest(again) != text:
            self.varying += 1
            return []
        known_text, known_lastmod, known_day = self._pages.get(page.url, ("", None, ""))
        self._pages[page.url] = [text, page.lastmod or "", today]
        known, lastmod = parse_lastmod(known_lastmod).moment, parse_lastmod(page.lastmod).moment
        if known is None or lastmod is None:
            return []
        self.compared += 1
        is_newer = lastmod.at > known.at
        if known.is_date or lastmod.is_date:
            is_newer = lastmod.at.date() > known.at.date()
        if known_text == text:
            return (
                [("page-unchanged", f"lastmod {page.lastmod}, before {known_lastmod}")] if is_newer else []
            )
        # A date includes its whole day: the page can have changed again after the last audit.
        is_open = lastmod.is_date and f"{lastmod.at:%Y-%m-%d}" >= known_day
        return [] if is_newer or is_open else [("page-changed", f"lastmod {page.lastmod}")]

    def write(self) -> None:
        """Replace the file. Pages that were not compared are kept. A failure is only logged."""
        temporary = self._path.with_name(f"tmp-{token_hex(8)}")
        content = json.dumps({"format": _FORMAT, "pages": self._pages}).encode()
        try:
            create_whole(temporary, content, 0o600)
            temporary.replace(self._path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            logger.warning("The history of the audit cannot be written: %s", reason_of(error))


def _digest(document: Any) -> str:
    """Return a digest of the main text of a page, without differences in whitespace."""
    root = next(chain(document.iter("main"), document.iter("body"), [document]))
    for element in [*root.iter(*_CHANGING)]:
        element.clear(keep_tail=True)
    text = " ".join("".join(root.itertext()).split())
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
