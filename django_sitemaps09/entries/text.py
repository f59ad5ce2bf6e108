"""What text an XML document can hold."""

from __future__ import annotations

import re

#: The complement of XML 1.0's Char, https://www.w3.org/TR/xml/#charsets.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
