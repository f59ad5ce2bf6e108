"""The how-to for containers: its image is installed, and its commands run as a user on a read-only root."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, take
from tests.docs.test_first_steps import STEPS, write
from tests.support.processes import ended, until
from tests.support.published import states
from tests.support.services import require_packages

PAGE = "docs/howto/containers.md"
SETTINGS = f"""{take(PAGE, "The image").text}SITEMAPS09["MAX_URLS"] = 10  # so that two workers start
DATABASES["default"] |= {{"NAME": BASE_DIR.parent / "rows" / "sqlite", "OPTIONS": {{"timeout": 60}}}}
"""
IMAGE = re.findall(r"^([A-Z]+) (.+)", take(PAGE, "The image", language="dockerfile").text, re.MULTILINE)
MANIFEST = take(PAGE, "The job", language="yaml").text  # `tox -e lint` has the schema of Kubernetes.
[WHEEL] = re.findall(r"`(pip wheel [^`]+)/path/to/django-sitemaps09`", PAGES[PAGE])
# Without this package itself: pip does not install a wheel of a version that is there.
PROJECT = f"""{sys.executable} -m venv --without-pip ../venv; mkdir ../venv/others
for path in $(printf '%s\\n' {" ".join(sys.path)} | grep site-packages); do
ln -sf $path/* ../venv/others; done
rm ../venv/others/*django_sitemaps09*
realpath ../venv/others > $(echo ../venv/lib/*/site-packages)/these.pth
cd ../project; {WHEEL} {ROOT}; mkdir books; python -m django startproject mysite .
printf 'django\\ngunicorn\\n' > requirements.txt"""
BUILD = [{"COPY": f"cp -r ../project/{text}", "RUN": text}.get(word, "") for word, text in IMAGE]
# The volume at /tmp must not hide the environment of the tests.
KEPT = f"tmp{sys.prefix.removeprefix('/tmp')}"  # noqa: S108
KEEP = f"mkdir -p {KEPT}; mount --bind {sys.prefix} {KEPT}; " if sys.prefix.startswith("/tmp/") else ""  # noqa: S108
#: Run a command as the user of the image. $1 is `rw` or `ro` for the volume, or `image` to build.
CONTAINER = f"""mkdir -p app project rows sitemaps tmp
export PYTHONPATH= TMPDIR= DJANGO_SETTINGS_MODULE=mysite.settings PIP_PYTHON="$PWD/venv/bin/python"
export PATH="$PWD/venv/bin:{Path(sys.executable).parent}:$PATH"
if [ "$1" = image ]; then cd app; shift; exec "$@"; fi
mount -t tmpfs none /srv; mkdir /srv/sitemaps; mount --bind sitemaps /srv/sitemaps
mount -o remount,bind,$1 /srv/sitemaps; {KEEP}mount --rbind tmp /tmp; mount --bind rows rows
mount -o remount,bind,ro /srv; mount -o remount,bind,ro /; cd app; shift
exec unshare --user --map-user=10001 --map-group=10001 "$@" """
INSERT = "INSERT INTO books_book (slug, title, updated_at) VALUES (?, '', '2026-11-19')"
FETCH = """import django, sys; django.setup()
from django.test import Client
print(b"".join(Client().get(f"/{sys.argv[1]}", headers={"host": "localhost"})).hex())"""
SHELL = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-euc"]


def start(site, *command, mode="rw"):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    return subprocess.Popen([*SHELL, CONTAINER, "sh", mode, *command], cwd=site, **pipes)  # noqa: S603 ours


def run(site, *command, mode="rw"):
    return ended(start(site, *command, mode=mode), 90)


@pytest.fixture
def site():
    """Build the project of the tutorial as the page does, on the packages of this environment."""
    # Not below /tmp, which is a volume of the container.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        site = Path(made)
        if (probe := run(site, "true"))[0]:
            pytest.skip(f"namespaces are not allowed, as in a container without privileges: {probe[2]}")
        assert run(site, "sh", "-euc", PROJECT, mode="image")[0] == 0
        for step in (step for step in STEPS if step.language == "python"):
            write(step, site / "project")
        with (site / "project" / "mysite" / "settings.py").open("a") as file:
            file.write(SETTINGS)
        assert run(site, "sh", "-euc", "\n".join(BUILD), mode="image")[0] == 0
        yield site


@pytest.mark.slow
@pytest.mark.services
def test_a_user_on_a_read_only_root_exports_and_serves_the_files(site, request):
    require_packages("yaml")
    from yaml import safe_load

    job = safe_load(MANIFEST)["spec"]["jobTemplate"]["spec"]
    pod, files, page = job["template"]["spec"], site / "sitemaps", "sitemap-books-3.xml.gz"
    changed, waits = (pod[kind][0]["command"] for kind in ("containers", "initContainers"))
    all_pages = [word for word in changed if word != "--changed-only"]
    assert dict(IMAGE)["USER"] == str(pod["securityContext"]["runAsUser"])
    assert "Read-only file system" in run(site, "touch", "file")[2]

    waiting = start(site, *waits)
    assert run(site, "python", "manage.py", "migrate", "--check")[0] == 1
    assert waiting.poll() is None
    assert run(site, "python", "manage.py", "migrate", "--run-syncdb")[0] == 0
    assert ended(waiting)[0] == 0

    # Without temporary files, only the first run succeeds.
    rows = sqlite3.connect(site / "rows" / "sqlite", isolation_level=None)
    request.addfinalizer(rows.close)
    books = [(f"book-{number}",) for number in range(35)]
    rows.executemany(INSERT, books[:25])
    (site / "tmp").chmod(0o555)
    assert run(site, *changed) == (0, "", "")
    assert "No usable temporary directory found" in run(site, *all_pages)[2]
    (site / "tmp").chmod(0o755)
    first = states(files)
    # What Kubernetes does for `fsGroup` is not a change.
    for path in (files, *files.rglob("*")):
        path.chmod(path.stat().st_mode | (0o2770 if path.is_dir() else 0o660))
    assert run(site, *all_pages) == (0, "", "")
    assert states(files) == first

    # Web pods cannot write the files, and serve what is exported instead of the rows.
    assert run(site, *safe_load(dict(IMAGE)["CMD"]), "--check-config", mode="ro") == (0, "", "")
    rows.executemany(INSERT, books[25:])
    assert run(site, "python", "-c", FETCH, page, mode="ro")[1] == f"{first[page][2].hex()}\n"
    assert run(site, *changed) == (0, "", "")
    second = states(files)
    new = {name for name in second if second[name] != first.get(name)}
    assert new == {"sitemap.xml", page, "sitemap-books-4.xml.gz"}
    assert run(site, "python", "-c", FETCH, page, mode="ro")[1] == f"{second[page][2].hex()}\n"

    # While the database is locked, one run waits for it, and the other one for nothing.
    rows.execute("BEGIN EXCLUSIVE")
    runs = [start(site, *changed), start(site, *changed)]
    until(lambda: any(each.poll() is not None for each in runs), "no run exits with 75")
    rows.rollback()
    assert sorted(ended(each)[0] for each in runs) == [0, 75]
    assert job["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [75]

    mount = "mount -t tmpfs none /srv/sitemaps/.sitemaps09; exec python manage.py export_sitemaps"
    assert "Invalid cross-device link" in run(site, *SHELL, mount)[2]
