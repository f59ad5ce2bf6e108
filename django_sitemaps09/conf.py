"""Typed access to the settings in the dict `SITEMAPS09`. Each access reads the current value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any, TypeVar, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
from django.utils import timezone, translation

from django_sitemaps09 import protocol
from django_sitemaps09.entries import typed_repr
from django_sitemaps09.protocol import Base, Limits

ArgumentT = TypeVar("ArgumentT")
# A scheme with at least two letters: `C:/` is a path. Path("https://a") is written as `https:/a`.
_URL = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]+:/|[A-Za-z][A-Za-z0-9+.-]+://")
ValueT = TypeVar("ValueT")

# A Cache-Control directive, with underscores instead of hyphens.
_DIRECTIVE = re.compile(r"[a-z]+(_[a-z]+)*")


class Conf:
    """The settings as typed properties. Most properties have the name of the key in lower case."""

    @property
    def settings_dict(self) -> Mapping[str, Any]:
        """The dict `SITEMAPS09` of the project. Default: empty."""
        settings_dict = getattr(settings, "SITEMAPS09", {})
        if not isinstance(settings_dict, Mapping):
            raise ImproperlyConfigured(
                "SITEMAPS09 must be a dict, such as {'BASE_URL': 'https://www.example.com'}, not "
                f"{type(settings_dict).__name__}."
            )
        return settings_dict

    @property
    def sitemaps(self) -> str | None:
        """Dotted path to a dict of sections. Default `None`: the registered sections."""
        return self._text("SITEMAPS")

    @property
    def base_url(self) -> Base | None:
        """Scheme and host of all locations, such as `https://www.example.com`. Default `None`.

        By default, views use the site of the request, and an export uses the current `Site`.
        """
        url = self._text("BASE_URL")
        return None if url is None else _checked("BASE_URL", protocol.parse_base, url)

    @property
    def storage(self) -> str | None:
        """Alias in `STORAGES` of the storage for exported files. Default: `sitemaps` if it exists."""
        alias = self._text("STORAGE")
        return alias or ("sitemaps" if "sitemaps" in settings.STORAGES else None)

    @property
    def root(self) -> Path | None:
        """Directory for exported files if `storage` is `None`. Default `None`."""
        return self._path("ROOT")

    @property
    def has_target(self) -> bool:
        """Whether the settings name a target for exports."""
        return bool(self.storage or self.root)

    @property
    def state(self) -> str | None:
        """Alias in `STORAGES` of the storage for export state. Default: `.sitemaps09/` in the target."""
        return self._text("STATE")

    @property
    def files_url(self) -> str | None:
        """URL of the folder with the exported files, with a slash at the end. Default: `BASE_URL + "/"`."""
        url = self._text("FILES_URL")
        with suppress(ValueError):
            if url is None or (url[:1] != "/" and url.endswith("/") and protocol.uri(url) == url):
                return url
        raise _invalid("FILES_URL", "an absolute, percent-encoded URL that ends in a slash", url)

    @property
    def robots_txt(self) -> Path | None:
        """Path of the robots.txt that exports update. Default `None`: no file is updated."""
        return self._path("ROBOTS_TXT")

    @property
    def gzip(self) -> bool:
        """Whether exports and the live index use `.xml.gz` pages. Default `True`."""
        return self._flag("GZIP", default=True)

    @property
    def gzip_level(self) -> int | None:
        """Compression level of zlib, from 1 to 9.

        Default `None`: isal if the extra `fast` is installed, else level 6, or level 3 for entries with
        many alternates.
        """
        level = self.settings_dict.get("GZIP_LEVEL")
        return level if level is None else self._number("GZIP_LEVEL", level, 9)

    @property
    def stylesheet(self) -> bool:
        """Whether XML pages and indexes refer to the stylesheet `sitemap.css`. Default `False`."""
        return self._flag("STYLESHEET", default=False)

    @property
    def limits(self) -> Limits:
        """Limits of an uncompressed page: `MAX_URLS` (default 50,000), `MAX_BYTES` (default 10 MiB)."""
        return Limits(
            self._number("MAX_URLS", protocol.MAX_URLS, protocol.MAX_URLS),
            self._number("MAX_BYTES", protocol.STRICTEST_MAX_BYTES, protocol.MAX_BYTES),
        )

    @property
    def max_shrink(self) -> float:
        """Maximum share of the URLs that a section may lose within a week. Default 0.5.

        If it loses more, and at least 100 URLs, its published files are kept. 1.0 allows any loss.
        """
        value = self.settings_dict.get("MAX_SHRINK", 0.5)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise _invalid("MAX_SHRINK", "a number from 0 to 1", value)
        return float(value)

    @property
    def keep_removed(self) -> float:
        """Seconds to keep a file that indexes no longer list. Default: 24 hours."""
        return self._seconds("KEEP_REMOVED", timedelta(hours=24))

    @property
    def engine(self) -> str:
        """Engine that renders pages: `"processes"` (default), `"serial"`, `"celery"`, `"tasks"`, or a path.

        The path is the dotted path of a class.
        """
        return self._text("ENGINE") or "processes"

    @property
    def cascade(self) -> bool:
        """Whether `sitemap.xml` may be an index of several indexes. Default `False`."""
        return self._flag("CASCADE", default=False)

    @property
    def serve_exported(self) -> bool:
        """Whether native views serve the exported files that exist. Default `False`."""
        return self._flag("SERVE_EXPORTED", default=False)

    @property
    def live_seconds(self) -> float:
        """Seconds for which native views assume that a page is unchanged. Default: 60."""
        return self._seconds("LIVE_SECONDS", 60)

    @property
    def live_cache(self) -> str | None:
        """Alias in `CACHES` of the cache for pages of the native views. Default `None`: no cache."""
        return self._text("LIVE_CACHE")

    @property
    def cache_control(self) -> Mapping[str, Any]:
        """Directives for the `Cache-Control` header of native views. Default: no directives.

        The keys are arguments of Django's `patch_cache_control()`.
        """
        directives = self.settings_dict.get("CACHE_CONTROL", {})
        if isinstance(directives, Mapping) and all(
            isinstance(name, str) and _DIRECTIVE.fullmatch(name) and (value is True or type(value) is int)
            for name, value in directives.items()
        ):
            return directives
        expected = (
            "a dict of directives with True or a whole number of seconds, such as "
            "{'public': True, 'max_age': 3600}"
        )
        raise _invalid("CACHE_CONTROL", expected, directives)

    @property
    def submit(self) -> bool:
        """Whether each export submits its changes to search engines. Default `False`."""
        return self._flag("SUBMIT", default=False)

    @property
    def indexnow_key(self) -> str | Mapping[str, str] | None:
        """Key for IndexNow, or a dict of keys by host. Default `None`: no URLs are submitted."""
        value = self.settings_dict.get("INDEXNOW_KEY")
        return None if value is None else _checked("INDEXNOW_KEY", protocol.check_keys, value)

    @property
    def indexnow_urls(self) -> tuple[str, ...]:
        """Endpoints of IndexNow. Default: the shared one, since search engines share submissions."""
        return self._endpoints("INDEXNOW_URLS", protocol.INDEXNOW_ENDPOINT)

    @property
    def indexnow_max_urls(self) -> int:
        """Maximum number of URLs that one export may submit, and of pending URLs. Default 10,000."""
        return self._number("INDEXNOW_MAX_URLS", protocol.MAX_MESSAGE_URLS, 10_000_000)

    @property
    def ping_urls(self) -> tuple[str, ...]:
        """URLs that are requested with `?sitemap=` after a change. Default: none."""
        return self._endpoints("PING_URLS")

    @property
    def submit_timeout(self) -> float:
        """Maximum number of seconds for one request of a submission. Default 10."""
        return self._seconds("SUBMIT_TIMEOUT", 10)

    @property
    def submit_deadline(self) -> float:
        """Maximum number of seconds for all requests of a submission, including pauses. Default 60."""
        return self._seconds("SUBMIT_DEADLINE", 60)

    @property
    def zone(self) -> tzinfo:
        """Time zone for naive datetimes: `TIME_ZONE`, regardless of `timezone.activate()`."""
        return timezone.get_default_timezone()

    @property
    def language(self) -> str:
        """Language in which sections without `i18n` are rendered: `LANGUAGE_CODE`."""
        return settings.LANGUAGE_CODE

    @property
    def urlconf(self) -> str:
        """Module of the project's URLs: `ROOT_URLCONF`."""
        return settings.ROOT_URLCONF

    @property
    def script_prefix(self) -> str:
        """Script prefix of management commands: `FORCE_SCRIPT_NAME`. Some servers let clients change it."""
        return settings.FORCE_SCRIPT_NAME or "/"

    @property
    def secret_keys(self) -> list[str | bytes]:
        """Keys for signatures: `SECRET_KEY` to sign, and also `SECRET_KEY_FALLBACKS` to verify."""
        return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]

    @property
    def media_url(self) -> str:
        """Base URL of uploaded files: `MEDIA_URL`."""
        return settings.MEDIA_URL

    def _endpoints(self, key: str, *default: str) -> tuple[str, ...]:
        return _checked(key, protocol.check_endpoints, self.settings_dict.get(key, default))

    def _text(self, key: str) -> str | None:
        value = self.settings_dict.get(key)
        if not isinstance(value, str | None):
            raise _invalid(key, "a string", value)
        return value

    def _flag(self, key: str, *, default: bool) -> bool:
        value = self.settings_dict.get(key, default)
        if not isinstance(value, bool):
            # Not bool(value): the string "false" from an environment variable would be true.
            raise _invalid(key, "True or False", value)
        return value

    def _path(self, key: str) -> Path | None:
        return local_path(self.settings_dict.get(key), f"SITEMAPS09[{key!r}]")

    def _seconds(self, key: str, default: timedelta | float) -> float:
        value = self.settings_dict.get(key, default)
        seconds = value.total_seconds() if isinstance(value, timedelta) else value
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
            raise _invalid(key, "a timedelta or a number of seconds", value)
        return float(seconds)

    def _number(self, key: str, default: int, highest: int) -> int:
        value = self.settings_dict.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= highest:
            raise _invalid(key, f"a whole number from 1 to {highest:,}", value)
        return value


def local_path(value: object, name: str, instead: str = "") -> Path | None:
    """Return an option or a setting as a path with `~` expanded, and `None` unchanged.

    `name` is the option or setting in messages, and `instead` says where to pass a URL. Raise
    `ImproperlyConfigured` for any other type, an empty string, a URL and an unknown user.
    """
    if value is None:
        return None
    try:
        # A path can be a lazy object.
        text = str(value) if isinstance(value, str) else os.fspath(Path(cast("os.PathLike[str]", value)))
    except TypeError:
        text = ""
    # Path("") would be the current directory.
    if not text or "\0" in text:
        raise ImproperlyConfigured(f"{name} must be a path, not {typed_repr(value)}.")
    if _URL.search(text):
        instead = instead or "For a bucket such as S3, set SITEMAPS09['STORAGE'] to an alias in STORAGES."
        raise ImproperlyConfigured(
            f"{name} must be a path on this machine, not the URL {text!r}. {instead}"
        )
    # Not Path.expanduser(), because Path("./~a") is Path("~a").
    expanded = os.path.expanduser(text)  # noqa: PTH111
    if expanded.startswith("~"):
        user = Path(text).parts[0]
        raise ImproperlyConfigured(
            f"{name} is {text!r}, but {user} is not the home directory of a user. Set an absolute path, or "
            f"the string {f'./{text}'!r} for a directory with this name."
        )
    return Path(expanded)


def strings(value: object, name: str) -> list[str]:
    """Return an argument that is a list of strings, or any other iterable but a string, as a list.

    Raise `ImproperlyConfigured` for any other type. `name` is the name of the argument.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ImproperlyConfigured(f"{name} must be a list of strings, not {typed_repr(value)}.")
    items = list(value)
    for item in items:
        if not isinstance(item, str):
            raise ImproperlyConfigured(
                f"{name} must be a list of strings, but contains {typed_repr(item)}."
            )
    return items


def _checked(key: str, check: Callable[[ArgumentT], ValueT], value: ArgumentT) -> ValueT:
    """Return a checked value. The error does not contain the value, which can be a secret."""
    try:
        return check(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"SITEMAPS09[{key!r}]: {error}.") from None


def _invalid(key: str, expected: str, value: object) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"SITEMAPS09[{key!r}] must be {expected}, not {typed_repr(value)}.")


conf = Conf()


@contextmanager
def surroundings(script_prefix: str, urlconf: Any) -> Iterator[None]:
    """Use a script prefix, a URLconf, and the site's locale inside the block."""
    previous_prefix, previous_urlconf = get_script_prefix(), get_urlconf()
    set_script_prefix(script_prefix)
    set_urlconf(urlconf)
    try:
        with site_locale():
            yield
    finally:
        set_script_prefix(previous_prefix)
        set_urlconf(previous_urlconf)


@contextmanager
def site_locale() -> Iterator[None]:
    """Activate `LANGUAGE_CODE` and `TIME_ZONE` inside the block."""
    with translation.override(conf.language), timezone.override(conf.zone):
        yield


#: Every key of `SITEMAPS09`, with the property that reads and validates its value.
KEYS = {
    key: "limits" if key in ("MAX_URLS", "MAX_BYTES") else key.lower()
    for key in (
        *("SITEMAPS", "BASE_URL", "STORAGE", "ROOT", "STATE", "FILES_URL", "ROBOTS_TXT", "GZIP"),
        *("GZIP_LEVEL", "MAX_URLS", "MAX_BYTES", "MAX_SHRINK", "KEEP_REMOVED", "ENGINE", "CASCADE"),
        *("STYLESHEET", "SERVE_EXPORTED", "LIVE_SECONDS", "LIVE_CACHE", "CACHE_CONTROL"),
        *("SUBMIT", "INDEXNOW_KEY", "INDEXNOW_URLS", "INDEXNOW_MAX_URLS", "PING_URLS"),
        *("SUBMIT_TIMEOUT", "SUBMIT_DEADLINE"),
    )
}
