"""The strictest third-party sitemap reader, and its results for documents with extensions.

It is sitemap.js (by npm), of which three parts are used: its parser, with all errors; `validateSMIOptions`
on what was parsed; and the protocol's schema that it ships, which is lax here on extensions, whose schemas
would have to be fetched.

The parser drops without a word a `<changefreq>`, a yes or a no that is none, and of two values where it
takes one it keeps the last or joins them; so the values of a document are compared with those it gave.
What is never seen: namespaces and order of extensions (it goes by prefixes), a text that strayed into
another element, an alternate's language or any URL but `<loc>` that is none, a day that the calendar
lacks in an extension, a video with neither `content_loc` nor `player_loc`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from lxml import etree

PACKAGE = {"private": True, "dependencies": {"sitemap": ">=9.0.1"}}
# Without a network, npm must fail in seconds, not in minutes.
PATIENCE = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=20000"]
QUIET = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--prefer-offline"]
#: Reads the documents `0.xml` and so on of a folder. The script is beside the package, where node finds it.
SCRIPT = "read-strictly.mjs"
READ = """
import { createReadStream } from "node:fs";
import { XMLToSitemapItemStream, validateSMIOptions, ErrorLevel } from "sitemap";

async function read(path) {
  const items = [], complaints = [];
  const parser = new XMLToSitemapItemStream({ logger: false });
  try {
    for await (const item of createReadStream(path).pipe(parser)) items.push(item);
  } catch (error) {
    complaints.push(`${error.message}`);
  }
  complaints.unshift(...parser.errors.map((error) => error.message));
  if (parser.errorCount > parser.errors.length) complaints.push(`${parser.errorCount} errors`);
  for (const item of items) {
    try {
      validateSMIOptions(item, ErrorLevel.THROW);
    } catch (error) {
      complaints.push(`${error.name}: ${error.message}`);
    }
  }
  return { items, complaints };
}

const [folder, count] = process.argv.slice(2), readings = [];
for (let number = 0; number < count; number++) readings.push(await read(`${folder}/${number}.xml`));
process.stdout.write(JSON.stringify(readings));
"""
#: The part of the schema that requires the schemas of extensions.
STRICT, LAX = b'processContents="strict"', b'processContents="lax"'


def lacking(reason):
    """Skip a test that lacks a reader; fail it if `SITEMAPS09_REQUIRE_CLIENTS=1`."""
    if os.environ.get("SITEMAPS09_REQUIRE_CLIENTS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def require(package):
    if find_spec({"ultimate-sitemap-parser": "usp"}.get(package, package)) is None:
        lacking(f"{package} is not installed; it is in the extra `test-clients`")


@pytest.fixture(scope="session")
def sitemap_js(tmp_path_factory):
    """Install sitemap.js once for each process of a run, which takes about a second.

    A machine may lack npm, so that skips a test even where all readers are promised to be there; an npm
    that does not install or run it, for want of a network for instance, is a failure there.

    `read` returns the `items` and the `complaints` of each document; the items have the names of the
    options for writing: `url`, `links`, `img`, `video`, `news` and so on. `strictly` returns the items.
    """
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip("there is no npm here, by which sitemap.js is installed")
    home = tmp_path_factory.mktemp("sitemap-js")
    (home / "package.json").write_text(json.dumps(PACKAGE))
    (home / SCRIPT).write_text(READ)

    def run(command, *arguments):
        command = [shutil.which(command), *map(str, arguments)]
        options = {"capture_output": True, "encoding": "utf-8", "timeout": 90, "check": False}
        return subprocess.run(command, cwd=home, **options)  # noqa: S603 our own arguments

    def read(documents):
        """Parse all documents at once, since starting node takes longer than parsing one."""
        with TemporaryDirectory(dir=home) as folder:
            for number, document in enumerate(documents):
                Path(folder, f"{number}.xml").write_bytes(document)
            done = run("node", SCRIPT, folder, len(documents))
        assert done.returncode == 0, done.stderr
        lax = (home / "node_modules/sitemap/schema/sitemap.xsd").read_bytes()
        assert STRICT in lax
        schema = etree.XMLSchema(etree.fromstring(lax.replace(STRICT, LAX)))
        readings = [SimpleNamespace(**answer) for answer in json.loads(done.stdout)]
        for document, reading in zip(documents, readings, strict=True):
            reading.complaints += _faults(document, schema, reading.items)
        return readings

    def strictly(documents):
        readings = read(documents)
        complaints = {number: found.complaints for number, found in enumerate(readings) if found.complaints}
        assert not complaints, complaints
        return [found.items for found in readings]

    commands = {"npm does not install": ["npm", "install", *PATIENCE, *QUIET]}
    commands["node does not run"] = ["node", SCRIPT, home, 0]
    try:
        for deed, command in commands.items():
            done = run(*command)
            if done.returncode:
                lines = re.findall(r".*(?:\bERR|error).*", done.stderr) or [done.stderr]
                lacking(f"{deed} sitemap.js: {lines[0]}")
    except subprocess.TimeoutExpired as error:
        lacking(f"sitemap.js is not installed: {error}")
    return SimpleNamespace(read=read, strictly=strictly)


def _faults(document, schema, items):
    """Yield the errors of a document, and the parts that the parser dropped silently."""
    try:
        root = etree.fromstring(document, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        # The parser does not detect the end of a document, so it accepts a truncated one.
        yield f"XML: {error}"
        return
    if not schema.validate(root):
        yield from (f"schema: {error.message}" for error in schema.error_log)
    urls = list(root.iterchildren("*"))
    if len(urls) != len(items):
        yield f"{len(urls)} entries, {len(items)} items"
        return
    for url, item in zip(urls, items, strict=True):
        written, given = Counter(_values(url)), Counter(_leaves(item))
        if written != given:
            yield f"lost {sorted(written - given)}, made up {sorted(given - written)} in {item['url']!r}"


def _values(url):
    for element in url.iter("*"):
        texts = [element.text or "", *(value for name, value in element.items() if name != "rel")]
        yield from (_comparable(text) for text in texts if text.strip())


def _leaves(item):
    if isinstance(item, dict | list):
        for part in item.values() if isinstance(item, dict) else item:
            yield from _leaves(part)
    elif item != "":
        yield _comparable(item)


def _comparable(value):
    """Normalize numbers, and strip spaces around texts as the parser does."""
    text = str(value).strip()
    return str(float(text)) if re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text) else text
