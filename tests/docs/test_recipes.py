"""The recipes for serving an export, run with real servers, before and after a change."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client

from tests.docs.pages import PAGES, blocks
from tests.support import crawling
from tests.support.crawling import (
    BASE,
    SECONDS,
    Answer,
    Fetch,
    change_rows,
    checked,
    crawl,
    expected,
    over_http,
    run_export,
    write_rows,
)
from tests.support.nginx import nginx, server
from tests.support.services import missing, require_packages
from tests.support.wsgi import serve, sharing_connection

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.services]

SERVING = "docs/howto/serve.md"


@pytest.fixture(autouse=True)
def _configured(settings: Any) -> None:
    settings.SITEMAPS09 = {"BASE_URL": BASE}
    write_rows()


def recipe(language: str, heading: str | None = None) -> str:
    [block] = blocks(language, SERVING, heading)
    return block.text


# nginx


def test_nginx_serves_every_kind_of_section(tmp_path: Path) -> None:
    public = tmp_path / "public"
    robots = public / "robots.txt"
    run_export(public, robots=robots)
    text = recipe("nginx").replace("/srv/shop/public", str(public))
    with nginx(server(text), tmp_path / "nginx") as address:
        assert crawl(over_http(address)) == expected()
        change_rows()
        run_export(public, robots=robots)
        assert crawl(over_http(address)) == expected()
        assert checked(over_http(address), "robots.txt") == robots.read_bytes()


def test_nginx_keeps_the_folder_of_the_export_from_the_web(tmp_path: Path) -> None:
    public = tmp_path / "public"
    run_export(public)
    assert (public / ".sitemaps09" / "manifest.json").exists()
    # The site serves everything else in this folder, too.
    text = recipe("nginx").replace("/srv/shop/public", str(public))
    text += f"location / {{ root {public}; }}\n"
    with nginx(server(text), tmp_path / "nginx") as address:
        for path in ("manifest.json", "lock", "", "../.sitemaps09/manifest.json"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                over_http(address)(f".sitemaps09/{path}")
            assert refused.value.code in (403, 404)
            refused.value.close()


def test_nginx_without_compressed_files(tmp_path: Path) -> None:
    public = tmp_path / "public"
    run_export(public, gzip=False)
    text = recipe("nginx").replace("/srv/shop/public", str(public))
    with nginx(server(text), tmp_path / "nginx") as address:
        assert crawl(over_http(address)) == expected()


def test_nginx_asks_django_for_what_was_not_exported(tmp_path: Path, settings: Any) -> None:
    public = tmp_path / "public"
    settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": f"{crawling.__name__}.SITEMAPS"}
    public.mkdir()
    with sharing_connection(WSGIHandler()) as shared, serve(shared) as application:
        text = recipe("nginx").replace("/srv/shop/public", str(public))
        text = text.replace("http://127.0.0.1:8000", application)
        with nginx(server(text), tmp_path / "nginx") as address:
            assert crawl(over_http(address)) == expected()
            run_export(public)
            (public / "sitemap-columns-1.xml.gz").write_bytes(b"from the folder")
            change_rows()
            assert over_http(address)("sitemap-columns-1.xml.gz").content == b"from the folder"
            assert over_http(address)("sitemap-columns-1.xml").content != b"from the folder"


def test_several_web_servers_change_to_a_complete_copy(tmp_path: Path) -> None:
    if shutil.which("rsync") is None:
        missing("rsync is not installed")
    public, servers = tmp_path / "public", [tmp_path / name for name in ("web1", "web2")]
    script = recipe("sh", "Several web servers")
    for there, here in (
        ("cd /srv/shop", f"cd {tmp_path}"),
        ("$server:/srv/sitemaps", "$server"),
        ('ssh $server "cd /srv/sitemaps', 'sh -c "cd $server'),
    ):
        assert there in script
        script = script.replace(there, here)
    exporting = '.venv/bin/python manage.py export_sitemaps --verbosity 0 "$@"'
    assert exporting in script

    def publish(release: int, status: int) -> int:
        copy = script.replace("$(date +%s)", str(release)).replace(exporting, f"(exit {status})")
        return subprocess.run(["sh", "-c", copy], timeout=SECONDS).returncode  # noqa: S603, S607

    for folder in servers:
        folder.mkdir()
    text = recipe("nginx").replace("/srv/shop/public", f"{servers[1]}/current")
    with nginx(server(text), tmp_path / "nginx") as address:
        run_export(public)
        assert publish(1, 0) == 0
        assert crawl(over_http(address)) == expected()
        before = expected()
        change_rows()
        run_export(public)
        assert publish(2, 75) == 75
        servers[1].rename(tmp_path / "away")
        assert publish(2, 0) != 0
        (tmp_path / "away").rename(servers[1])
        assert [(folder / "current").resolve().name for folder in servers] == ["1", "1"]
        assert crawl(over_http(address)) == before
        assert publish(2, 1) == 1
        assert crawl(over_http(address)) == expected() != before
    for folder in servers:
        first, second = (folder / release for release in ("1", "2"))
        assert (folder / "current").resolve() == second
        assert not list(second.glob(".*"))
        shared = {path.name for path in first.iterdir() if path.samefile(second / path.name)}
        assert shared == {"sitemap-views-1.xml.gz", "sitemap-listed-1.xml.gz"}
    for release in (3, 4, 5):
        assert publish(release, 0) == 0
    assert sorted(path.name for path in servers[0].iterdir()) == ["3", "4", "5", "current"]


# WhiteNoise


@pytest.fixture
def white_noise(settings: Any) -> None:
    """Set the middleware in the order of the documentation."""
    require_packages("whitenoise")
    settings.STATIC_URL = "/static/"
    text = PAGES[SERVING]
    order = re.search(r"In `MIDDLEWARE`, put `GZipMiddleware` below\s+`WhiteNoiseMiddleware`", text)
    assert order, "the page names the order of the middleware"
    settings.MIDDLEWARE = [
        "django.middleware.security.SecurityMiddleware",
        "whitenoise.middleware.WhiteNoiseMiddleware",
        "django.middleware.gzip.GZipMiddleware",
    ]


def copy_export(source: Path, target: Path) -> None:
    """Run the command of the page for a copy without the export's own folder."""
    [command] = re.findall(r"`(rsync [^`]+)`", PAGES[SERVING])
    if shutil.which("rsync") is None:
        missing("rsync is not installed")
    words = shlex.split(command)
    assert words[-2:] == ["export/", "releases/42/public/"]
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*words[:-2], f"{source}/", f"{target}/"], check=True, timeout=SECONDS)  # noqa: S603


@pytest.mark.usefixtures("white_noise")
def test_white_noise_serves_the_folder_of_a_release(tmp_path: Path, settings: Any) -> None:
    run_export(tmp_path / "export")
    first, second = (tmp_path / "releases" / name / "public" for name in ("1", "2"))
    copy_export(tmp_path / "export", first)
    settings.WHITENOISE_ROOT = first
    with serve(WSGIHandler()) as earlier:
        before = expected()
        assert crawl(over_http(earlier)) == before
        change_rows()
        run_export(tmp_path / "export")
        copy_export(tmp_path / "export", second)
        settings.WHITENOISE_ROOT = second
        with serve(WSGIHandler()) as later:
            assert crawl(over_http(later)) == expected() != before
            # Until they end, processes of the previous release serve the same complete files as before.
            assert crawl(over_http(earlier)) == before
    assert not list(second.glob(".*"))


@pytest.mark.usefixtures("white_noise")
def test_white_noise_with_autorefresh_serves_what_is_there(tmp_path: Path, settings: Any) -> None:
    assert "`WHITENOISE_AUTOREFRESH`" in PAGES[SERVING]
    settings.WHITENOISE_AUTOREFRESH = True
    settings.WHITENOISE_ROOT = tmp_path / "public"
    run_export(tmp_path / "export")
    copy_export(tmp_path / "export", tmp_path / "public")
    with serve(WSGIHandler()) as address:
        assert crawl(over_http(address)) == expected()
        change_rows()
        run_export(tmp_path / "export")
        copy_export(tmp_path / "export", tmp_path / "public")
        assert crawl(over_http(address)) == expected()


# Django's views


def test_the_views_serve_every_kind_of_section(tmp_path: Path, settings: Any, client: Client) -> None:
    def fetch(name: str) -> Answer:
        response = client.get(f"/{name}", headers={"Accept-Encoding": "gzip"})
        assert response.status_code == 200, name
        return Answer(response.content, response.headers)

    settings.SITEMAPS09 = {
        "BASE_URL": BASE,
        "ROOT": tmp_path / "export",
        "SITEMAPS": f"{crawling.__name__}.SITEMAPS",
    }
    assert crawl(fetch) == expected()
    run_export(None)
    assert crawl(fetch) == expected()
    change_rows()
    run_export(None)
    # Five minutes later, the views renew the bounds of pages.
    cache.clear()
    assert crawl(fetch) == expected()


# Object storage


@pytest.fixture
def aws(s3: str, bucket: Callable[..., Any], tmp_path: Path) -> Callable[[], Fetch]:
    """Run the commands of the recipe on a bucket, and return a function that fetches from it."""
    program = shutil.which("aws", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if program is None:
        missing(
            "the command line of AWS is not installed (pip install awscli, in an environment of its own)"
        )
    made = bucket()
    environment = {
        **os.environ,
        "PATH": f"{Path(str(program)).parent}:{os.environ.get('PATH', '')}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": s3,
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }

    def copy() -> Fetch:
        commands = recipe("sh", "Object storage").replace("s3://bucket/", f"s3://{made.name}/")
        subprocess.run(  # noqa: S603 our own commands
            ["/bin/sh", "-euc", commands],
            cwd=tmp_path,
            env=environment,
            check=True,
            timeout=100,
            stdout=subprocess.DEVNULL,
        )
        return from_bucket(made)

    return copy


def from_bucket(bucket: Any) -> Fetch:
    def fetch(name: str) -> Answer:
        found = bucket.Object(name).get()
        headers = {"Content-Type": found["ContentType"], "Content-Encoding": found.get("ContentEncoding")}
        return Answer(found["Body"].read(), headers)

    return fetch


@pytest.mark.parametrize("compressed", [True, False])
def test_the_command_line_of_aws_copies_every_kind_of_section(
    aws: Callable[[], Fetch], tmp_path: Path, compressed: bool
) -> None:
    run_export(tmp_path / "export", gzip=compressed)
    assert crawl(aws()) == expected()
    change_rows()
    run_export(tmp_path / "export", gzip=compressed)
    assert crawl(aws()) == expected()


@pytest.mark.usefixtures("shared_cache")
def test_an_export_to_s3_has_every_kind_of_section(bucket: Callable[..., Any]) -> None:
    made = bucket(querystring_auth=False)
    run_export(None)
    assert crawl(from_bucket(made)) == expected()
    change_rows()
    run_export(None)
    assert crawl(from_bucket(made)) == expected()
