"""A real Chromium without a window, and servers of the documents that it shows."""

from __future__ import annotations

import re
import shutil
import subprocess
from base64 import b64decode
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.support.services import missing, require_packages

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
#: Timeout in seconds for a page. It is long enough for a busy machine, and not a measurement.
SECONDS = 90
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Handler(SimpleHTTPRequestHandler):
    """Serves files with the strictest headers that the documentation promises to work with."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'self'")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format, *arguments):
        """Print nothing."""


@contextmanager
def serving(folder):
    """Serve the files of a folder, and yield the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def luminance(color):
    """Return the relative luminance of `rgb(r, g, b)`, as WCAG 2 defines it."""
    parts = [int(number) / 255 for number in re.findall(r"\d+", color)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """Return the contrast of two colors, as WCAG 2 defines it."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


class Browser:
    """Chromium, driven by chromedriver."""

    def __init__(self, driver):
        self.driver = driver

    def size(self, width, *, phone=False):
        """Set the width of the window. A phone lays out a page without a viewport at 980 px."""
        metrics = {"width": width, "height": 800, "screenWidth": width, "screenHeight": 800}
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {**metrics, "deviceScaleFactor": 1, "mobile": phone}
        )

    def scheme(self, name):
        """Prefer light or dark."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, url):
        self.driver.get(url)

    def run(self, script):
        """Return what a script returns."""
        return self.driver.execute_script(script)

    def click(self, name):
        """Click on the first element of this name."""
        self.driver.find_element("tag name", name).click()

    def press(self, keys):
        """Type keys into the element that has the focus."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(keys).perform()

    def wait_for(self, script):
        """Wait until a script returns `True`, for example in a page that a key press requests."""
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, 20).until(lambda driver: driver.execute_script(script))

    def log_in(self, address, client):
        """Use the session of a test client on a site."""
        self.open(f"{address}/robots.txt")
        self.driver.delete_all_cookies()
        session = client.cookies.get("sessionid")
        if session is not None:
            self.driver.add_cookie({"name": "sessionid", "value": session.value})

    def errors(self):
        """Return the messages in the console since the last call, such as violations of a policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def violations(self, axe):
        """Return the violations that axe-core finds on the page, with the first element of each."""
        self.run(axe)
        script = """const done = arguments[0]; axe.run(".sitemaps09").then(result =>
          done(result.violations.map(each => `${each.id}: ${each.nodes[0].html}`)));"""
        return list(self.driver.execute_async_script(script))

    def full_screenshot(self):
        """Return an image of the whole page, also below the window."""
        options = {"captureBeyondViewport": True}
        image = self.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
        return b64decode(image)

    def screenshot(self):
        return self.driver.get_screenshot_as_png()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A Chromium with an empty profile."""
    require_packages("selenium")
    for program in (CHROMIUM, DRIVER):
        if shutil.which(program) is None:
            missing(f"{program} is not installed: apt-get install chromium chromium-driver")
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    driver = Chrome(options=options, service=ChromeService(DRIVER))
    try:
        driver.set_page_load_timeout(SECONDS)
        driver.set_script_timeout(SECONDS)
        yield Browser(driver)
    finally:
        driver.quit()


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """Return the script of axe-core, which npm installs. Without npm, its tests are skipped."""
    folder, npm = tmp_path_factory.mktemp("axe"), shutil.which("npm")
    if npm is None:
        pytest.skip("npm, which installs axe-core, is not installed")
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=20000"]
    command = [str(npm), "install", *options, "axe-core@4"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True)  # noqa: S603
    if done.returncode:
        missing(f"npm does not install axe-core: {done.stderr[-500:]}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text()
