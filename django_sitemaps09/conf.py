"""Typed access to the settings in the dict `SITEMAPS09`. Each access reads the current value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
from django.utils import timezone, translation

from django_sitemaps09.protocol.fields import typed_repr
from django_sitemaps09.protocol.limits import MAX_BYTES, MAX_MESSAGE_URLS, MAX_URLS, OLD_MAX_BYTES, Limits
from django_sitemaps09.protocol.urls import is_local, origin, parse_base, uri

ValueT = TypeVar("ValueT")

#: Valid keys. The documentation of IndexNow says both "hexadecimal" and these characters.
KEY = re.compile(r"[A-Za-z0-9-]{8,128}")
# IndexNow shares what this endpoint receives with all search engines that take part.
_INDEXNOW_ENDPOINT = "https://api.indexnow.org/indexnow"
# A scheme with at least two letters: `C:/` is a path. Path("https://a") is written as `https:/a`.
_URL = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]+:/|[A-Za-z][A-Za-z0-9+.-]+://")
# A Cache-Control directive, with underscores instead of hyphens.
_DIRECTIVE = re.compile(r"[a-z]+(_[a-z]+)*")


class _UnexpectedError(ValueError):
    """A value of a setting is invalid. The message says what it must be."""


class Setting(Generic[ValueT]):
    """A setting: the value of the key with its name in upper case. Each access reads the current value.

    `parse` returns the value or the default in its type. It raises `_UnexpectedError`, or any other
    `ValueError` whose message does not contain the value, which can be a secret.
    """

    def __init__(self, parse: Callable[[object], ValueT], default: object = None) -> None:
        self._parse, self._default = parse, default

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = name.upper()

    def __get__(self, instance: Conf, owner: type) -> ValueT:
        value = instance.settings_dict.get(self.key, self._default)
        try:
            return self._parse(value)
        except _UnexpectedError as error:
            text = f"SITEMAPS09[{self.key!r}] must be {error}, not {typed_repr(value)}."
            raise ImproperlyConfigured(text) from None
        except ValueError as error:
            raise ImproperlyConfigured(f"SITEMAPS09[{self.key!r}]: {error}.") from None


def _optional(parse: Callable[[object], ValueT]) -> Callable[[object], ValueT | None]:
    return lambda value: None if value is None else parse(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _UnexpectedError("a string")
    return value


def _storage(value: object) -> str | None:
    return _optional(_text)(value) or ("sitemaps" if "sitemaps" in settings.STORAGES else None)


def _path(key: str) -> Callable[[object], Path | None]:
    return lambda value: local_path(value, f"SITEMAPS09[{key!r}]")


def _folder_url(value: object) -> str:
    url = _text(value)
    with suppress(ValueError):
        if url[:1] != "/" and url.endswith("/") and uri(url) == url:
            return url
    raise _UnexpectedError("an absolute, percent-encoded URL that ends in a slash")


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        # Not bool(value): the string "false" from an environment variable would be true.
        raise _UnexpectedError("True or False")
    return value


def _number(highest: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= highest:
            raise _UnexpectedError(f"a whole number from 1 to {highest:,}")
        return value

    return parse


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise _UnexpectedError("a number from 0 to 1")
    return float(value)


def _seconds(value: object) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise _UnexpectedError("a timedelta or a number of seconds")
    return float(seconds)


def _directives(value: object) -> Mapping[str, bool | int]:
    if isinstance(value, Mapping) and all(
        isinstance(name, str) and _DIRECTIVE.fullmatch(name) and (seconds is True or type(seconds) is int)
        for name, seconds in value.items()
    ):
        return value
    expected = "a dict of directives with True or a whole number of seconds"
    raise _UnexpectedError(f"{expected}, such as {{'public': True, 'max_age': 3600}}")


def check_keys(value: object) -> str | Mapping[str, str]:
    """Return a key, or a dict of keys by host, unchanged. Raise `ValueError` without the key itself."""
    keys = value if isinstance(value, Mapping) else {"localhost": value}
    for number, (host, key) in enumerate(keys.items(), 1):
        if not isinstance(key, str):
            raise ValueError(f"a key must be a string, not {type(key).__name__}")
        if KEY.fullmatch(key) is None:
            raise ValueError("a key must have 8 to 128 letters, digits or hyphens (a-z, A-Z, 0-9, -)")
        is_host = False
        with suppress(ValueError):
            is_host = parse_base(f"https://{host}").domain == host
        if not is_host:
            # It can be the key, if someone swaps the two.
            raise ValueError(f"host {number} must be a host name in lower case, such as 'www.example.com'")
    return cast("str | Mapping[str, str]", value)


def check_endpoints(value: object) -> tuple[str, ...]:
    """Return a list of endpoints as a tuple. Raise `ValueError` without the URLs: they can have secrets."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"it must be a list of URLs, not {type(value).__name__}")
    for number, url in enumerate(value, 1):
        if not isinstance(url, str):
            raise ValueError(f"URL {number} must be a string, not {type(url).__name__}")
        is_endpoint = False
        with suppress(ValueError):
            base = origin(url)
            is_safe = base.scheme == "https" or is_local(base.domain)
            is_endpoint = is_safe and uri(url) == url
        if not is_endpoint:
            raise ValueError(
                f"URL {number} must be an absolute, percent-encoded https URL without a user or a "
                "fragment; http is allowed only for this machine, such as http://127.0.0.1:8000/"
            )
    return tuple(value)


class Conf:
    """The settings in `SITEMAPS09`, and those of Django that have a meaning for sitemaps."""

    @property
    def settings_dict(self) -> Mapping[str, object]:
        """The dict `SITEMAPS09` of the project. Default: empty."""
        settings_dict = getattr(settings, "SITEMAPS09", {})
        # `dict` first, because an abstract class takes longer, at each access to each setting.
        if not isinstance(settings_dict, (dict, Mapping)):
            raise ImproperlyConfigured(
                "SITEMAPS09 must be a dict, such as {'BASE_URL': 'https://www.example.com'}, not "
                f"{type(settings_dict).__name__}."
            )
        return settings_dict

    #: Dotted path to a dict of sections. Default `None`: the registered sections.
    sitemaps = Setting(_optional(_text))
    #: Scheme and host of all locations. Default `None`: the site of the request, in exports that of Django.
    base_url = Setting(_optional(lambda value: parse_base(_text(value))))
    #: Alias in `STORAGES` of the storage for exported files. Default: `sitemaps` if it exists.
    storage = Setting(_storage)
    #: Directory for exported files if `storage` is `None`. Default `None`.
    root = Setting(_path("ROOT"))
    #: Alias in `STORAGES` of the storage for export state. Default: `.sitemaps09/` in the target.
    state = Setting(_optional(_text))
    #: URL of the folder with the exported files, with a slash at the end. Default: `BASE_URL + "/"`.
    files_url = Setting(_optional(_folder_url))
    #: Path of the robots.txt that exports update. Default `None`: no file is updated.
    robots_txt = Setting(_path("ROBOTS_TXT"))
    #: Whether exports and the live index use `.xml.gz` pages.
    gzip = Setting(_flag, default=True)
    #: Level of zlib, from 1 to 9. Default `None`: isal with the extra `fast`, else 6, or 3 with alternates.
    gzip_level = Setting(_optional(_number(9)))
    #: Maximum number of URLs on a page.
    max_urls = Setting(_number(MAX_URLS), default=MAX_URLS)
    #: Maximum number of bytes of an uncompressed page. Default: 10 MiB.
    max_bytes = Setting(_number(MAX_BYTES), default=OLD_MAX_BYTES)
    #: Maximum share of the URLs that a section may lose within a week. If it loses more, and at least 100
    #: URLs, its published files are kept. 1.0 allows any loss.
    max_shrink = Setting(_share, default=0.5)
    #: Seconds to keep a file that indexes no longer list.
    keep_removed = Setting(_seconds, default=timedelta(hours=24))
    #: Engine that renders pages: `processes`, `serial`, `celery`, `tasks`, or the dotted path of a class.
    engine = Setting(lambda value: _optional(_text)(value) or "processes")
    #: Whether `sitemap.xml` may be an index of several indexes.
    cascade = Setting(_flag, default=False)
    #: Whether XML pages and indexes refer to the stylesheet `sitemap.css`.
    stylesheet = Setting(_flag, default=False)
    #: Whether native views serve the exported files that exist.
    serve_exported = Setting(_flag, default=False)
    #: Seconds for which native views assume that a page is unchanged.
    live_seconds = Setting(_seconds, default=60)
    #: Alias in `CACHES` of the cache for pages of the native views. Default `None`: no cache.
    live_cache = Setting(_optional(_text))
    #: Directives for the `Cache-Control` header of native views, as arguments of `patch_cache_control()`.
    cache_control = Setting(_directives, default={})
    #: Whether each export submits its changes to search engines.
    submit = Setting(_flag, default=False)
    #: Key for IndexNow, or a dict of keys by host. Default `None`: no URLs are submitted.
    indexnow_key = Setting(_optional(check_keys))
    #: Endpoints of IndexNow. Default: the shared one, since search engines share submissions.
    indexnow_urls = Setting(check_endpoints, default=(_INDEXNOW_ENDPOINT,))
    #: Maximum number of URLs that one export may submit, and of pending URLs.
    indexnow_max_urls = Setting(_number(10_000_000), default=MAX_MESSAGE_URLS)
    #: URLs that are requested with `?sitemap=` after a change.
    ping_urls = Setting(check_endpoints, default=())
    #: Maximum number of entries of the feed `sitemap-changes.atom`. Default `None`: there is no feed.
    feed = Setting(_optional(_number(1_000)))
    #: Whether robots.txt lists the feed, too.
    feed_in_robots = Setting(_flag, default=False)
    #: URL of a WebSub hub that is told when the feed has changed. Default `None`: none is.
    websub_hub = Setting(lambda value: check_endpoints([] if value is None else [value]))
    #: Maximum number of seconds for one request of a submission.
    submit_timeout = Setting(_seconds, default=10)
    #: Maximum number of seconds for all requests of a submission, including pauses.
    submit_deadline = Setting(_seconds, default=60)

    @property
    def indexnow_keys(self) -> Collection[str]:
        """Keys for IndexNow of all hosts."""
        keys = self.indexnow_key or {}
        return (keys,) if isinstance(keys, str) else keys.values()

    def indexnow_key_for(self, host: str) -> str | None:
        """Return the key for a host, such as `www.example.com`; `None` if the settings have none."""
        keys = self.indexnow_key or {}
        return keys if isinstance(keys, str) else keys.get(host)

    @property
    def limits(self) -> Limits:
        """Limits of an uncompressed page."""
        return Limits(self.max_urls, self.max_bytes)

    @property
    def has_target(self) -> bool:
        """Whether the settings name a target for exports."""
        return bool(self.storage or self.root)

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


#: Every key of `SITEMAPS09`, with the name of its setting.
KEYS = {setting.key: name for name, setting in vars(Conf).items() if isinstance(setting, Setting)}
conf = Conf()


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
        advice = instead or "For a bucket such as S3, set SITEMAPS09['STORAGE'] to an alias in STORAGES."
        raise ImproperlyConfigured(f"{name} must be a path on this machine, not the URL {text!r}. {advice}")
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
    if others := [typed_repr(item) for item in items if not isinstance(item, str)]:
        raise ImproperlyConfigured(f"{name} must be a list of strings, but contains {others[0]}.")
    return items


@contextmanager
def surroundings(script_prefix: str, urlconf: Any) -> Iterator[None]:
    """Use a script prefix, a URLconf, and the site's locale inside the block."""
    with ExitStack() as stack, site_locale():
        stack.callback(set_script_prefix, get_script_prefix())
        stack.callback(set_urlconf, get_urlconf())
        set_script_prefix(script_prefix)
        set_urlconf(urlconf)
        yield


@contextmanager
def site_locale() -> Iterator[None]:
    """Activate `LANGUAGE_CODE` and `TIME_ZONE` inside the block."""
    with translation.override(conf.language), timezone.override(conf.zone):
        yield
