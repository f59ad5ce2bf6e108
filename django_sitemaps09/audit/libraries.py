"""The libraries of the extra `audit`. Each name is `None` if its library is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django_sitemaps09.exceptions import AuditError


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


etree: Any = _load("lxml.etree")
protego: Any = _load("protego")
urllib3: Any = _load("urllib3")


def require() -> None:
    """Raise `AuditError` if a library is missing."""
    libraries = {"lxml": etree, "protego": protego, "urllib3": urllib3}
    if missing := [name for name, library in libraries.items() if library is None]:
        raise AuditError(
            f"An audit needs {', '.join(missing)}. Install the extra `audit`: "
            'pip install "django-sitemaps09[audit]".'
        )
