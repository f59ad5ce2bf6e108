"""Typed access to the settings in the dict `SITEMAPS09`. Each access reads the current value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone, translation
from django.utils.timezone import get_default_timezone

from django_sitemaps09 import protocol
from django_sitemaps09.protocol import Base, Limits

ValueT = TypeVar("ValueT")

# A Cache-Control directive, with underscores instead of hyphens.
_DIRECTIVE = re.compile(r"[a-z]+(_[a-z]+)*")


def _invalid(key: str, expected: str, value: object) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"SITEMAPS09[{key!r}] must be {expected}, not {value!r}.")


def _text(key: str, value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise _invalid(key, "a string", value)
    return value


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        # Not bool(value): the string "false" from an environment variable would be true.
        raise _invalid(key, "True or False", value)
    return value


def _path(key: str, value: Any) -> Path | None:
    # Path("") would be the current directory.
    if not isinstance(value, str | Path | None) or value == "":
        raise _invalid(key, "a path", value)
    return None if value is None else Path(value)


def _seconds(key: str, value: Any) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise _invalid(key, "a timedelta or a number of seconds", value)
    return float(seconds)


def _number(highest: int, key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= highest:
        raise _invalid(key, f"a whole number from 1 to {highest:,}", value)
    return value


def _share(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise _invalid(key, "a number from 0 to 1", value)
    return float(value)


def _base(key: str, value: Any) -> Base | None:
    url = _text(key, value)
    try:
        return None if url is None else protocol.parse_base(url)
    except ValueError as error:
        raise ImproperlyConfigured(f"SITEMAPS09[{key!r}]: {error}.") from error


def _folder_url(key: str, value: Any) -> str | None:
    url = _text(key, value)
    with suppress(ValueError):
        if url is None or (url[:1] != "/" and url.endswith("/") and protocol.uri(url) == url):
            return url
    raise _invalid(key, "an absolute, percent-encoded URL that ends in a slash", url)


def _directives(key: str, value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and all(
        isinstance(name, str) and _DIRECTIVE.fullmatch(name) and (setting is True or type(setting) is int)
        for name, setting in value.items()
    ):
        return value
    expected = (
        "a dict of directives with True or a whole number of seconds, such as "
        "{'public': True, 'max_age': 3600}"
    )
    raise _invalid(key, expected, value)


def _endpoints(key: str, value: Any) -> tuple[str, ...]:
    return _checked(protocol.check_endpoints, key, value)


def _keys(key: str, value: Any) -> str | Mapping[str, str] | None:
    return None if value is None else _checked(protocol.check_keys, key, value)


def _checked(check: Callable[[object], ValueT], key: str, value: Any) -> ValueT:
    """Return a checked value. The error does not contain the value, which can be a secret."""
    try:
        return check(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"SITEMAPS09[{key!r}]: {error}.") from None


class Setting(Generic[ValueT]):
    """A key of `SITEMAPS09`, as an attribute with its name in lower case.

    `read` converts the value of a key. It raises `ImproperlyConfigured` for an invalid value.
    """

    def __init__(self, read: Callable[[str, Any], ValueT], default: object = None) -> None:
        self.read = read
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = name.upper()

    def __get__(self, conf: Conf, owner: type) -> ValueT:
        return self.read(self.key, conf.settings_dict.get(self.key, self.default))


class Conf:
    """The settings as typed attributes."""

    @property
    def settings_dict(self) -> Mapping[str, Any]:
        """The dict `SITEMAPS09` of the project. Default: empty."""
        settings_dict = getattr(settings, "SITEMAPS09", {})
        if not isinstance(settings_dict, Mapping):
            raise ImproperlyConfigured(
                "SITEMAPS09 must be a dict, such as {'BASE_URL': 'https://www.example.com'}."
            )
        return settings_dict

    #: Dotted path to a dict of sections. Default `None`: the registered sections.
    sitemaps = Setting(_text)
    #: Scheme and host of all locations, such as `https://www.example.com`. Default `None`.
    #: By default, views use the site of the request, and an export uses the current `Site`.
    base_url = Setting(_base)
    #: Alias in `STORAGES` of the storage for exported files. Default: `sitemaps` if it exists.
    storage = Setting(
        lambda key, value: _text(key, value) or ("sitemaps" if "sitemaps" in settings.STORAGES else None)
    )
    #: Directory for exported files if `storage` is `None`. Default `None`.
    root = Setting(_path)
    #: Alias in `STORAGES` of the storage for export state. Default: `.sitemaps09/` in the target.
    state = Setting(_text)
    #: URL of the folder with the exported files, with a slash at the end. Default: `BASE_URL + "/"`.
    files_url = Setting(_folder_url)
    #: Path of the robots.txt that exports update. Default `None`: no file is updated.
    robots_txt = Setting(_path)
    #: Whether exports and the live index use `.xml.gz` pages. Default `True`.
    gzip = Setting(_flag, True)
    #: Compression level of zlib, from 1 to 9. Default `None`: isal if the extra `fast` is installed, else
    #: level 6, or level 3 for entries with many alternates.
    gzip_level = Setting(lambda key, value: None if value is None else _number(9, key, value))
    #: Maximum number of URLs in a page. Default 50,000.
    max_urls = Setting(partial(_number, protocol.MAX_URLS), protocol.MAX_URLS)
    #: Maximum size of an uncompressed page. Default 10 MiB.
    max_bytes = Setting(partial(_number, protocol.MAX_BYTES), protocol.STRICTEST_MAX_BYTES)
    #: Maximum share of the URLs that a section may lose within a week. Default 0.5.
    #: If it loses more, and at least 100 URLs, its published files are kept. 1.0 allows any loss.
    max_shrink = Setting(_share, 0.5)
    #: Seconds to keep a file that indexes no longer list. Default: 24 hours.
    keep_removed = Setting(_seconds, timedelta(hours=24))
    #: Engine that renders pages: `"processes"` (default), `"serial"`, `"celery"`, `"tasks"`, or the dotted
    #: path of a class.
    engine = Setting(lambda key, value: _text(key, value) or "processes")
    #: Whether `sitemap.xml` may be an index of several indexes. Default `False`.
    cascade = Setting(_flag, False)
    #: Whether XML pages and indexes refer to the stylesheet `sitemap.css`. Default `False`.
    stylesheet = Setting(_flag, False)
    #: Whether native views serve the exported files that exist. Default `False`.
    serve_exported = Setting(_flag, False)
    #: Seconds for which native views assume that a page is unchanged. Default: 60.
    live_seconds = Setting(_seconds, 60)
    #: Alias in `CACHES` of the cache for pages of the native views. Default `None`: no cache.
    live_cache = Setting(_text)
    #: Directives for the `Cache-Control` header of native views. Default: no directives.
    #: The keys are arguments of Django's `patch_cache_control()`.
    cache_control = Setting(_directives, {})
    #: Whether each export submits its changes to search engines. Default `False`.
    submit = Setting(_flag, False)
    #: Key for IndexNow, or a dict of keys by host. Default `None`: no URLs are submitted.
    indexnow_key = Setting(_keys)
    #: Endpoints of IndexNow. Default: the shared one, since search engines share submissions.
    indexnow_urls = Setting(_endpoints, (protocol.INDEXNOW_ENDPOINT,))
    #: Maximum number of URLs that one export may submit, and of pending URLs. Default 10,000.
    indexnow_max_urls = Setting(partial(_number, 10_000_000), protocol.MAX_MESSAGE_URLS)
    #: URLs that are requested with `?sitemap=` after a change. Default: none.
    ping_urls = Setting(_endpoints, ())
    #: Maximum number of seconds for one request of a submission. Default 10.
    submit_timeout = Setting(_seconds, 10)
    #: Maximum number of seconds for all requests of a submission, including pauses. Default 60.
    submit_deadline = Setting(_seconds, 60)

    @property
    def limits(self) -> Limits:
        """Limits of an uncompressed page: `max_urls` and `max_bytes`."""
        return Limits(self.max_urls, self.max_bytes)

    @property
    def zone(self) -> tzinfo:
        """Time zone for naive datetimes: `TIME_ZONE`, regardless of `timezone.activate()`."""
        return get_default_timezone()

    @property
    def language(self) -> str:
        """Language in which sections without `i18n` are rendered: `LANGUAGE_CODE`."""
        return settings.LANGUAGE_CODE

    @property
    def urlconf(self) -> str:
        """Module of the project's URLs: `ROOT_URLCONF`."""
        return settings.ROOT_URLCONF

    @property
    def secret_keys(self) -> list[str | bytes]:
        """Keys for signatures: `SECRET_KEY` to sign, and also `SECRET_KEY_FALLBACKS` to verify."""
        return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]

    @property
    def media_url(self) -> str:
        """Base URL of uploaded files: `MEDIA_URL`."""
        return settings.MEDIA_URL


conf = Conf()


@contextmanager
def site_locale() -> Iterator[None]:
    """Activate `LANGUAGE_CODE` and `TIME_ZONE` inside the block."""
    with translation.override(conf.language), timezone.override(conf.zone):
        yield


#: Every key of `SITEMAPS09`, with the attribute that reads and validates its value.
KEYS = {setting.key: name for name, setting in vars(Conf).items() if isinstance(setting, Setting)}
