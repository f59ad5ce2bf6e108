"""Documents that people really publish: valid ones get no error, and each fault is named by its rule.

`corpus/README.md` describes the form of the data files, and where the documents are from.
"""

from __future__ import annotations

import codecs
import gzip
import http
import re
from contextlib import contextmanager
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.contrib import sitemaps
from django.http import HttpResponse
from django.template import Context, Engine
from django.urls import re_path

from django_sitemaps09.tools.audit import RULES, audit
from tests.support.configuration import BASE
from tests.support.services import serve
from tests.support.site_files import ALL, HEAD, PAGE, SPACE, sound, write

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09, pytest.mark.urls(__name__)]

CORPUS = Path(__file__).parent / "corpus"
#: Agents whose rules in robots.txt are checked beside those for all.
AGENTS = ["Newsbot"]
_ROBOTS = f"User-agent: *\nDisallow:\n\nSitemap: {BASE}/sitemap.xml\n"
_XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
_ROOTS = {
    "url": f"{HEAD}<urlset {ALL} {_XSI}>\n%s</urlset>\n",
    "sitemap": f"{HEAD}<sitemapindex {SPACE}>\n%s</sitemapindex>\n",
}
#: What can be done to the bytes of a document. Any other step is the name of an encoding.
_STEPS = {
    "gzip": lambda content: gzip.compress(content, mtime=0),
    "bom": lambda content: codecs.BOM_UTF8 + content,
    "zeros": lambda content: content + bytes(512),
    "nul": lambda content: content.replace(b"{nul}", b"\0"),
    "junk": lambda content: content + b"<!-- cached -->",
    "cut": lambda content: content[:-12],
    "flip": lambda content: content[:20] + bytes([content[20] ^ 0xFF]) + content[21:],
    "checksum": lambda content: content[:-8] + bytes(4) + content[-4:],
    "no-newline": lambda content: content.rstrip(b"\n"),
    "crlf": lambda content: content.replace(b"\n", b"\r\n"),
    "members": lambda content: gzip.compress(content[:50]) + gzip.compress(content[50:]),
}


class File(NamedTuple):
    text: str
    steps: Any = ()
    status: int = 200
    headers: Any = ()

    def content(self, base=BASE):
        text, steps = self.text.replace(BASE, base), self.steps
        if steps and steps[0].startswith("repeat "):
            count, steps = int(steps[0].removeprefix("repeat ")), steps[1:]
            text = "".join(text.replace("{n}", str(number)) for number in range(count))
        text = re.sub(r"\{(\d+) x ([^{}]*)\}", lambda match: int(match[1]) * match[2], text)
        text = re.sub(r"\{now(?:([+-]\d+)d)?\}", _moment, text)
        if entry := re.match(r"<(url|sitemap)[ >]", text):
            text = _ROOTS[entry[1]].replace("%s", text)
        content = text.encode()
        for step in steps:
            content = _STEPS[step](content) if step in _STEPS else content.decode().encode(step)
        return content


class Case(NamedTuple):
    """A site, and its rules: those of its fault, or the warnings that a valid site may get.

    A finding of the first rule must contain the words that follow its id.
    """

    name: str
    rules: Any
    files: Any


def _moment(match):
    return (datetime.now(timezone.utc) + timedelta(days=int(match[1] or 0))).isoformat(timespec="seconds")


def _cases(name):
    for block in (CORPUS / name).read_text("utf-8").split("\n=== ")[1:]:
        head, *parts = block.split("\n--- ")
        title, _, rules = head.partition(" | ")
        files, named = dict(map(_file, parts)), (rule.split() for rule in rules.split(",") if rule.strip())
        words = {rule: texts for rule, *texts in named}
        yield Case(title.strip(), words, {"robots.txt": File(_ROBOTS), **files})


def _file(part):
    first, _, text = part.partition("\n")
    name, *steps = first.split(" | ")
    status, headers = 200, []
    while text.startswith("> "):
        line, _, text = text[2:].partition("\n")
        if line.isdecimal():
            status = int(line)
        else:
            header, _, value = line.partition(": ")
            headers.append((header, value))
    return name.removeprefix("/"), File(f"{text}\n" if text else "", steps, status, headers)


VALID = [*_cases("generated.txt"), *_cases("valid.txt")]
FAULTY = [*_cases("faulty.txt")]


def _parameter(case):
    return pytest.param(case, marks=[pytest.mark.slow] * ("0,00" in case.name), id=case.name)


# No pattern matches `/unknown/`, and none a path in `/words/` without a slash at its end.
urlpatterns = [re_path(r"^(?!unknown/|words/[^/]+$)", lambda request: HttpResponse(), name="anything")]


@contextmanager
def _served(files):
    def application(environ, start_response):
        name, base = environ["PATH_INFO"].encode("latin-1").decode()[1:], f"http://{environ['HTTP_HOST']}"
        file = files.get(name, File("<!doctype html><title>Page</title>", (), 404 if "." in name else 200))
        types = {"gz": "application/gzip", "xml": "application/xml", name: "text/html; charset=utf-8"}
        default = types.get(name.rpartition(".")[2] if name[-1:] != "/" else name, "text/plain")
        headers = [(key, value.replace(BASE, base)) for key, value in file.headers]
        status = f"{file.status} {http.HTTPStatus(file.status).phrase}"
        start_response(status, headers or [("Content-Type", default)])
        return [file.content(base)]

    with serve(application) as base:
        yield base


def _findings(case, folder):
    files = case.files.items()
    if any(name.endswith("/") or file.status != 200 or file.headers for name, file in files):
        # Pages, or responses with headers
        with _served(case.files) as base:
            return audit(base, fetch="all", rate=0, agents=AGENTS).findings
    write(folder, {name: file.content() for name, file in files})
    return audit(directory=folder, agents=AGENTS).findings


@pytest.mark.parametrize("case", [*map(_parameter, VALID)])
def test_a_valid_document_gets_no_error_and_only_the_expected_warnings(case, tmp_path):
    findings = _findings(case, tmp_path)
    assert {finding.rule: finding.examples for finding in findings if finding.severity == "error"} == {}
    assert {finding.rule: finding.examples for finding in findings if finding.rule not in case.rules} == {}


@pytest.mark.parametrize("case", [*map(_parameter, FAULTY)])
def test_a_fault_is_named_by_its_rule_and_by_no_other(case, tmp_path):
    rule, words = next(iter(case.rules.items()))
    examples = {finding.rule: finding.examples for finding in _findings(case, tmp_path)}
    assert examples.keys() == case.rules.keys()
    assert [word for word in words if word.lower() not in " ".join(examples[rule]).lower()] == []


def test_the_templates_of_django_make_a_valid_index_and_documents(tmp_path):
    templates = Path(sitemaps.__file__).parent / "templates"

    def rendered(name, **values):
        return Engine().from_string((templates / name).read_text()).render(Context(values))

    moment = datetime(2026, 1, 31, 10, tzinfo=timezone.utc)
    locations = {"en": f"{BASE}/words/a/", "de": "https://example.de/"}
    links = [{"location": location, "lang_code": code} for code, location in locations.items()]
    first = {"location": f"{BASE}/words/a/", "alternates": links}
    values = {"lastmod": date(2026, 1, 31), "changefreq": "daily", "priority": "0.5"}
    second = {"location": f"{BASE}/words/b/", **values}
    third = {"location": f"{BASE}/words/c/", "lastmod": moment, "alternates": []}
    page = rendered("sitemap.xml", urlset=[first, second, third])
    pages = [{"location": f"{BASE}/{PAGE}", "last_mod": moment}]
    write(tmp_path, {**sound(), PAGE: page, "sitemap.xml": rendered("sitemap_index.xml", sitemaps=pages)})
    report = audit(directory=tmp_path)
    assert (report.findings, report.urls) == ((), 3)


def test_the_corpus_has_a_fault_of_each_rule_but_those_of_size_and_of_histories():
    others = {"document-too-large", "page-changed", "page-unchanged"}
    assert RULES.keys() - {rule for case in FAULTY for rule in case.rules} == others
    assert (len(FAULTY) >= 150, len(VALID) >= 80, len([*_cases("generated.txt")]) >= 40) == (True,) * 3
    assert {rule for case in VALID + FAULTY for rule in case.rules} <= RULES.keys()
    assert len({case.name for case in VALID + FAULTY}) == len(VALID + FAULTY)
