#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""How does the site look in a browser: on a phone, in the dark, to somebody who searches it?

Runs on the machine that builds, in a headless Chromium, on what make html has left in build/html.
It leaves pictures of pages in build/site.shots. setup.sh installs what it takes as browser.
"""

import functools
import http.server
import pathlib
import re
import shutil
import sys
import tempfile
import threading

try:
    from selenium import webdriver
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None

TOP = pathlib.Path(__file__).resolve().parents[2]
HTML = TOP / "build/html"
SHOTS = TOP / "build/site.shots"
# A desk's window, and a phone's: the height of each width
WINDOWS = {1280: 900, 400: 800}
# How many seconds to wait for what a page does by itself: on a busy machine that is slow
PATIENCE = 120
# A page of each kind
KINDS = ("index.html", "README.html", "Documentation/benchmarks.html", "man/index.html",
         "man/twheel_open.3.html", "man/twheel.4.html", "api/uapi.html", "api/libtwheel.html",
         "examples/index.html", "examples/apps/cron.html", "search.html?q=twheel_open")

# What reaches beyond the window: the page itself, or something that has no box that scrolls. One
# around all of the page's text is none.
WIDE = """
const width = arguments[0], root = document.scrollingElement, wide = [];
const scrolls = e => ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
if (root.scrollWidth > width)
	wide.push(`the page, which is ${root.scrollWidth} wide`);
for (const e of document.querySelectorAll("pre, table, img, p, dt, h1, h2, h3")) {
	const box = e.getBoundingClientRect();
	if (!box.width || box.left < 0)
		continue;
	let outer = e;
	while (outer && outer.tagName != "ARTICLE" && !scrolls(outer))
		outer = outer.parentElement;
	if ((!outer || outer.tagName == "ARTICLE") && Math.max(box.right, box.left + e.scrollWidth) > width + 1)
		wide.push(`${e.tagName} ${e.textContent.slice(0, 40)}`);
}
return wide;
"""

# What the page has behind it, how many texts were looked at, and those that are hard to tell from
# what is behind them: WCAG 2 asks for 4.5 to 1, and for 3 to 1 if they are large.
FAINT = """
const numbers = color => color.match(/[\\d.]+/g).map(Number);
const light = color => color.slice(0, 3).map(v => v / 255)
	.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
	.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const over = (top, under) => {
	const a = top.length > 3 ? top[3] : 1;
	return under.map((v, i) => top[i] * a + v * (1 - a));
};
const behind = e => {
	if (!e)
		return [255, 255, 255];
	const color = numbers(getComputedStyle(e).backgroundColor);
	return color.length == 3 ? color : over(color, behind(e.parentElement));
};
const faint = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let seen = 0;
while (walker.nextNode()) {
	const e = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
	if (!text || !e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}))
		continue;
	const style = getComputedStyle(e), back = behind(e);
	const both = [light(over(numbers(style.color), back)), light(back)].sort((a, b) => b - a);
	const ratio = (both[0] + 0.05) / (both[1] + 0.05);
	seen++;
	if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5))
		faint.set(`${style.color} on ${back.map(Math.round)}`,
			  `${ratio.toFixed(2)} to 1: ${text.slice(0, 40)}`);
}
return [light(behind(document.body)), seen, [...faint].map(pair => pair.join(", "))];
"""

# Scrolls to a picture. Where it is then, as far as that is in the window
PLACE = """
const [image] = arguments;
image.scrollIntoView({behavior: "instant"});
const box = image.getBoundingClientRect(), left = Math.max(0, box.left), top = Math.max(0, box.top);
return [left, top, Math.min(innerWidth, box.right) - left, Math.min(innerHeight, box.bottom) - top];
"""

# How light a part of a screenshot is, from 0 to 1
LIGHTNESS = """
const [data, [left, top, width, height], done] = arguments, image = new Image();
image.onload = () => {
	const canvas = new OffscreenCanvas(width, height).getContext("2d");
	canvas.drawImage(image, -left, -top);
	const pixels = canvas.getImageData(0, 0, width, height).data;
	let sum = 0;
	for (let i = 0; i < pixels.length; i += 4)
		sum += pixels[i] + pixels[i + 1] + pixels[i + 2];
	done(sum / (pixels.length / 4 * 3 * 255));
};
image.src = `data:image/png;base64,${data}`;
"""

# Is what the selector finds where it can be clicked?
SHOWN = """
const box = document.querySelector(arguments[0]).getBoundingClientRect();
return box.width > 0 && box.right > 0 && box.left < arguments[1];
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and keeps what was asked for and is not there."""

    missing = set()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        """Say nothing."""

    def send_error(self, code, message=None, explain=None):
        if self.path != "/favicon.ico":
            self.missing.add(f"{self.path}: {code}")
        super().send_error(code, message, explain)


class Browser:
    """A browser in which a folder is a site."""

    def __init__(self, folder):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
            options.add_argument(f"--{flag}")
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")),
                                       options=options)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()
        self.server.shutdown()

    def get(self, page):
        """Load a page."""
        self.driver.get(f"http://127.0.0.1:{self.server.server_port}/{page}")

    def window(self, width):
        """Have a window of this width; a narrow one is a phone's."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": WINDOWS[width], "deviceScaleFactor": 1,
            "mobile": width < 800})

    def scheme(self, name):
        """Prefer light colours or dark ones."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": name}]})

    def wide(self, page):
        """What of the page, which is loaded, reaches beyond which window."""
        found = []
        for width in WINDOWS:
            self.window(width)
            found += [f"{page} at {width}: {what}"
                      for what in self.driver.execute_script(WIDE, width)]
        return found

    def faint(self, page):
        """Which texts of it are hard to read, and whether the dark is dark."""
        found = []
        for scheme in ("light", "dark"):
            self.scheme(scheme)
            light, seen, faint = self.driver.execute_script(FAINT)
            found += [f"{page}, {scheme}: {what}" for what in faint]
            if not seen or (light < 0.1) != (scheme == "dark"):
                found.append(f"{page}, {scheme}: {seen} texts on {light:.2f} of white")
        return found

    def plots(self, page):
        """Which plots of it are not light or, in the dark, dark."""
        found = []
        self.window(1280)
        for plot in self.driver.find_elements(By.CSS_SELECTOR, "p > img"):
            for scheme, least, most in (("light", 0.7, 1), ("dark", 0, 0.4)):
                self.scheme(scheme)
                place = self.driver.execute_script(PLACE, plot)
                light = self.driver.execute_async_script(
                    LIGHTNESS, self.driver.get_screenshot_as_base64(), place)
                if not least <= light <= most:
                    found.append(f"{page}, {scheme}: {plot.get_attribute('src')} is {light:.2f} "
                                 "of white")
        return found

    def there(self, selector):
        """Whether the page has something."""
        return bool(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def await_(self, selector):
        """Whether the page has something, or soon has."""
        try:
            return WebDriverWait(self.driver, PATIENCE).until(lambda _: self.there(selector))
        except TimeoutException:
            return False

    def finds(self, name):
        """Whether a search finds a function."""
        self.get(f"search.html?q={name}")
        return self.await_(f"#search-results a[href$='/libtwheel.html#c.{name}']")

    def menu(self):
        """What is wrong with the menu: a desk shows it, a phone does so on a click at the top."""
        wrong = []
        menu, button = ".sidebar-tree a", "header label[for=__navigation]"
        self.get("index.html")
        for width in WINDOWS:
            self.window(width)
            shown = self.driver.execute_script(SHOWN, menu, width)
            if shown != (width >= 800):
                wrong.append(f"at {width} it is {'' if shown else 'not '}there")
        self.driver.find_element(By.CSS_SELECTOR, button).click()
        try:
            WebDriverWait(self.driver, PATIENCE).until(
                lambda driver: driver.execute_script(SHOWN, menu, width))
        except TimeoutException:
            wrong.append("no click opens it")
        return wrong

    def shoot(self):
        """Pictures of a page of each kind."""
        shutil.rmtree(SHOTS, ignore_errors=True)
        SHOTS.mkdir()
        for page in KINDS:
            self.get(page)
            if "?" in page:
                self.await_("#search-results li a")
            for width in WINDOWS:
                self.window(width)
                for scheme in ("light", "dark"):
                    self.scheme(scheme)
                    name = f"{re.sub('.html|[/?]', '-', page)}{width}-{scheme}.png"
                    self.driver.get_screenshot_as_file(str(SHOTS / name))


class Tap:
    """Prints the outcome of tests."""

    tests = failures = 0

    def result(self, name, wrong):
        """A test passes if nothing is wrong."""
        self.tests += 1
        self.failures += bool(wrong)
        for what in wrong:
            print("#", " ".join(what.split()))
        print(f"{'not ' * bool(wrong)}ok {self.tests} {name}", flush=True)


def functions():
    """The functions of the library."""
    names = re.findall(r"^\t(twheel_[a-z_]+);$",
                       (TOP / "userspace/lib/libtwheel.map").read_text("ascii"), re.M)
    assert len(names) > 40
    return names


def look_at_site(tap):
    """The tests of what make html has made."""
    wide, faint, plots, alone = [], [], [], {"prev": [], "next": []}
    with Browser(HTML) as browser:
        for file in sorted(HTML.rglob("*.html")):
            page = file.relative_to(HTML).as_posix()
            browser.get(page)
            wide += browser.wide(page)
            faint += browser.faint(page)
            plots += browser.plots(page)
            for way, pages in alone.items():
                if page != "search.html" and not browser.there(f".related-pages a.{way}-page"):
                    pages.append(page)
        tap.result("no page is wider than a desk's window, or a phone's", wide)
        tap.result("each text can be read, in the light and in the dark", faint)
        tap.result("plots are dark in the dark", plots)
        tap.result("a page follows on each but the last",
                   alone["next"] if len(alone["next"]) != 1 else [])
        tap.result("and comes before each but the first",
                   alone["prev"] if alone["prev"] != ["index.html"] else [])
        tap.result("the menu is at the side on a desk, and behind a button on a phone",
                   browser.menu())
        # To miss one takes long, so the first is enough.
        lost = next((name for name in functions() if not browser.finds(name)), None)
        tap.result("the search finds each function of the library",
                   [f"not found: {lost}"] if lost else [])
        browser.shoot()
    tap.result("all that a page loads is there", sorted(Handler.missing))


def look_at_bad_page(tap):
    """Would it be noticed?"""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "bad.html").write_text(
            "<body style='background: white'><p style='color: #888'>grey on white</p>"
            f"<pre>{'wide ' * 200}</pre><img src='missing.png'>"
            "<p><img src='data:image/svg+xml,<svg xmlns=\"http://www.w3.org/2000/svg\"/>'>",
            "ascii")
        with Browser(folder) as browser:
            browser.get("bad.html")
            told = "\n".join(browser.wide("") + browser.faint("") + browser.plots("") +
                             sorted(Handler.missing))
    tap.result("what is wrong with a page is noticed", [
        f"not told: {what}" for what in
        (" at 400: the page", " at 1280: PRE", "3.54 to 1: grey", "dark: 2 texts", "dark: data:",
         "/missing.png")
        if what not in told])


def main():
    """Run all tests; return whether one has failed."""
    missing = [what for what in ("chromium", "chromedriver") if not shutil.which(what)]
    print("TAP version 13")
    if missing or not webdriver:
        print(f"1..0 # SKIP not found: {' '.join(missing) or 'Selenium for Python'}")
        return 4
    tap = Tap()
    look_at_site(tap)
    look_at_bad_page(tap)
    print(f"1..{tap.tests}")
    return tap.failures != 0


if __name__ == "__main__":
    sys.exit(main())
