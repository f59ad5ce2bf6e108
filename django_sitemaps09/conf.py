"""The settings of this package: the dict `SITEMAPS09`, which is read again at each use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone, translation
from django.utils.timezone import get_default_timezone

from django_sitemaps09 import protocol
from django_sitemaps09.protocol import Base, Limits


class Conf:
    """The settings, as a typed property for each key, named like the key in lower case."""

    @property
    def settings_dict(self) -> Mapping[str, Any]:
        """The dict that the project has set."""
        settings_dict = getattr(settings, "SITEMAPS09", {})
        if not isinstance(settings_dict, Mapping):
            raise ImproperlyConfigured(
                "SITEMAPS09 must be a dict, such as {'BASE_URL': 'https://www.example.com'}."
            )
        return settings_dict

    @property
    def sitemaps(self) -> str | None:
        """Dotted path to a dict of sections. Default `None`: the registered ones."""
        return self._text("SITEMAPS")

    @property
    def base_url(self) -> Base | None:
        """Scheme and host that locations are joined to. Default `None`.

        By default, views use the site of the request, and an export the current `Site`.
        """
        url = self._text("BASE_URL")
        try:
            return None if url is None else protocol.parse_base(url)
        except ValueError as error:
            raise ImproperlyConfigured(f"SITEMAPS09['BASE_URL']: {error}.") from error

    @property
    def storage(self) -> str | None:
        """Alias in `STORAGES` that an export writes to. Default: `sitemaps` if there is one."""
        alias = self._text("STORAGE")
        return alias or ("sitemaps" if "sitemaps" in settings.STORAGES else None)

    @property
    def root(self) -> Path | None:
        """Directory that an export writes to if there is no storage. Default `None`."""
        return self._path("ROOT")

    @property
    def state(self) -> str | None:
        """Alias in `STORAGES` for the state of exports. Default: `.sitemaps09/` in the target."""
        return self._text("STATE")

    @property
    def files_url(self) -> str | None:
        """URL of the exported files, which ends in a slash. Default `None`: `BASE_URL + "/"`."""
        url = self._text("FILES_URL")
        with suppress(ValueError):
            if url is None or (url[:1] != "/" and url.endswith("/") and protocol.uri(url) == url):
                return url
        raise ImproperlyConfigured(
            "SITEMAPS09['FILES_URL'] must be an absolute, percent-encoded URL that ends in a slash, not "
            f"{url!r}."
        )

    @property
    def robots_txt(self) -> Path | None:
        """Path of the robots.txt that an export keeps up to date. Default `None`."""
        return self._path("ROBOTS_TXT")

    @property
    def gzip(self) -> bool:
        """Return whether pages are exported, and listed in the live index, as `.xml.gz`. Default `True`."""
        return self._flag("GZIP", default=True)

    @property
    def gzip_level(self) -> int | None:
        """Level of zlib, from 1 to 9.

        Default `None`: isal if the extra `fast` is installed, else level 6, or 3 for entries with links.
        """
        level = self.settings_dict.get("GZIP_LEVEL")
        return level if level is None else self._number("GZIP_LEVEL", level, 9)

    @property
    def limits(self) -> Limits:
        """Limits of an uncompressed page: `MAX_URLS` (default 50,000), `MAX_BYTES` (default 10,485,760)."""
        return Limits(
            self._number("MAX_URLS", protocol.MAX_URLS, protocol.MAX_URLS),
            self._number("MAX_BYTES", protocol.STRICTEST_MAX_BYTES, protocol.MAX_BYTES),
        )

    @property
    def max_shrink(self) -> float:
        """The part of its URLs that a section may lose from one week to the next. Default 0.5.

        A section that loses more, and at least 100 URLs, keeps its published files. 1.0 allows any loss.
        """
        value = self.settings_dict.get("MAX_SHRINK", 0.5)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise ImproperlyConfigured(
                f"SITEMAPS09['MAX_SHRINK'] must be a number from 0 to 1, not {value!r}."
            )
        return float(value)

    @property
    def keep_removed(self) -> float:
        """Seconds for which a file is kept after no index names it any more. Default: 24 hours."""
        value = self.settings_dict.get("KEEP_REMOVED", timedelta(hours=24))
        seconds = value.total_seconds() if isinstance(value, timedelta) else value
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
            raise ImproperlyConfigured(
                f"SITEMAPS09['KEEP_REMOVED'] must be a timedelta or a number of seconds, not {value!r}."
            )
        return float(seconds)

    @property
    def engine(self) -> str:
        """Engine that renders pages: `"processes"` (default), `"serial"`, `"celery"`, or a dotted path."""
        return self._text("ENGINE") or "processes"

    @property
    def cascade(self) -> bool:
        """Return whether several indexes are listed in another index, `sitemap.xml`. Default `False`."""
        return self._flag("CASCADE", default=False)

    @property
    def zone(self) -> tzinfo:
        """The zone of naive times: `TIME_ZONE`, regardless of `timezone.activate()`."""
        return get_default_timezone()

    @property
    def language(self) -> str:
        """The language that sections without `i18n` are rendered in: `LANGUAGE_CODE`."""
        return settings.LANGUAGE_CODE

    @property
    def urlconf(self) -> str:
        """The module of the project's URLs: `ROOT_URLCONF`."""
        return settings.ROOT_URLCONF

    @property
    def secret_keys(self) -> list[str | bytes]:
        """The keys of signatures: `SECRET_KEY`, then `SECRET_KEY_FALLBACKS`, which are still valid."""
        return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]

    @property
    def media_url(self) -> str:
        """The URL that names of uploaded files are relative to: `MEDIA_URL`."""
        return settings.MEDIA_URL

    def _text(self, key: str) -> str | None:
        value = self.settings_dict.get(key)
        if value is not None and not isinstance(value, str):
            raise ImproperlyConfigured(f"SITEMAPS09[{key!r}] must be a string, not {value!r}.")
        return value

    def _flag(self, key: str, *, default: bool) -> bool:
        value = self.settings_dict.get(key, default)
        if not isinstance(value, bool):
            # For example, the string "false" from an environment variable would be true.
            raise ImproperlyConfigured(f"SITEMAPS09[{key!r}] must be True or False, not {value!r}.")
        return value

    def _path(self, key: str) -> Path | None:
        value = self.settings_dict.get(key)
        # An empty string would be the current directory.
        if value is not None and (not isinstance(value, (str, Path)) or value == ""):
            raise ImproperlyConfigured(f"SITEMAPS09[{key!r}] must be a path, not {value!r}.")
        return None if value is None else Path(value)

    def _number(self, key: str, default: int, highest: int) -> int:
        value = self.settings_dict.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= highest:
            raise ImproperlyConfigured(
                f"SITEMAPS09[{key!r}] must be a whole number from 1 to {highest:,}, not {value!r}."
            )
        return value


conf = Conf()


@contextmanager
def site_locale() -> Iterator[None]:
    """Activate the site's language and time zone in the block."""
    with translation.override(conf.language), timezone.override(conf.zone):
        yield


#: Every key of `SITEMAPS09`, with the property that reads and validates it.
KEYS = {
    "SITEMAPS": "sitemaps",
    "BASE_URL": "base_url",
    "STORAGE": "storage",
    "ROOT": "root",
    "STATE": "state",
    "FILES_URL": "files_url",
    "ROBOTS_TXT": "robots_txt",
    "GZIP": "gzip",
    "GZIP_LEVEL": "gzip_level",
    "MAX_URLS": "limits",
    "MAX_BYTES": "limits",
    "MAX_SHRINK": "max_shrink",
    "KEEP_REMOVED": "keep_removed",
    "ENGINE": "engine",
    "CASCADE": "cascade",
}
