"""One headless Chromium for all tests, and what they ask it."""
import functools
import json
import pathlib
import shutil
import tempfile
import time

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.utils import is_connectable
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import make_page
import pipelines

FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
         "--disable-background-networking --disable-component-update --disable-sync "
         "--remote-debugging-pipe").split()  # not every root file system knows the name localhost
WIDE, NARROW, HIGH = 1280, 390, 900
MOST_WAIT_S = 30


class LocalService(Service):
    """chromedriver by its address: not every root file system knows the name localhost."""

    @property
    def service_url(self):
        return f"http://127.0.0.1:{self.port}"

    def is_connectable(self):
        return is_connectable(self.port, "127.0.0.1")


class Browser:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardsim-pages-"))
        options = Options()
        options.binary_location = shutil.which("chromium")
        for flag in [*FLAGS, f"--user-data-dir={self.folder / 'profile'}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=LocalService(shutil.which("chromedriver")))
        self.driver.set_script_timeout(MOST_WAIT_S)
        self.size(WIDE)
        self.theme("light")

    def close(self):
        self.driver.quit()
        shutil.rmtree(self.folder, ignore_errors=True)

    def size(self, width, height=HIGH, touch=False):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=touch)
        self.command("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=2 if touch else 1)

    def theme(self, name):
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": name}])

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, path):
        """Opens a page and waits until it says that it is ready; returns what it says."""
        self.driver.get_log("browser")
        self.driver.get(pathlib.Path(path).resolve().as_uri())
        return self.wait("return document.documentElement.dataset.ready")

    def wait(self, script, *arguments):
        """The first value of the script that is true."""
        end = time.monotonic() + MOST_WAIT_S
        while time.monotonic() < end:
            value = self.js(script, *arguments)
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"never true: {script}")

    def settle(self):
        """Waits until what was asked for is painted."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def make(self, name, page, runs, title="a run", static=""):
        path = self.folder / f"{name}.html"
        if not path.exists():
            data = make_page.page_data(page, [run.data() if hasattr(run, "data") else run for run in runs], title)
            path.write_text(make_page.page_html(page, data, title, static), encoding="utf-8")
        return path

    # What the page says of itself (reports/template/probe.js).
    def probe(self, name):
        self.settle()
        return self.js(f"return shardsim.{name}")

    def place(self, kind, index, run=0):
        box = self.js("return shardsim.placeOf(...arguments)", kind, index, run)
        return box and (box["x"] + min(box["width"], 400) / 2, box["y"] + box["height"] / 2, box)

    def pixel(self, x, y):
        """Colour of the rows at a point of the window: #rrggbb."""
        self.settle()
        return self.js("""
            const canvas = document.querySelector('.surface canvas');
            const box = canvas.getBoundingClientRect();
            const data = canvas.getContext('2d').getImageData(
                Math.round(arguments[0] - box.left), Math.round(arguments[1] - box.top), 1, 1).data;
            return '#' + [...data.slice(0, 3)].map((c) => c.toString(16).padStart(2, '0')).join('');
            """, x, y)

    # What a user does.
    def control(self, name):
        return self.driver.find_element(By.CSS_SELECTOR, f"[data-control='{name}']")

    def move(self, x, y):
        actions = ActionChains(self.driver, duration=0)
        actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
        actions.perform()
        self.settle()

    def click(self, x, y, times=1):
        actions = ActionChains(self.driver, duration=0)
        actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
        for _ in range(times):
            actions.w3c_actions.pointer_action.click()
        actions.perform()
        self.settle()

    def drag(self, x, y, dx, dy=0):
        actions = ActionChains(self.driver, duration=0)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(round(x), round(y)).pointer_down()
        for part in (1, 2, 3, 4):
            pointer.move_to_location(round(x + dx * part / 4), round(y + dy * part / 4))
        pointer.pointer_up()
        actions.perform()
        self.settle()

    def wheel(self, x, y, delta_y=0, delta_x=0):
        origin = ScrollOrigin.from_viewport(round(x), round(y))
        ActionChains(self.driver).scroll_from_origin(origin, delta_x, delta_y).perform()
        self.settle()

    def keys(self, *keys):
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()
        self.settle()

    def shift_tab(self):
        ActionChains(self.driver, duration=0).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(
            Keys.SHIFT).perform()
        self.settle()

    def touch(self, *steps):
        """Steps: lists of (x, y), one for each finger; the last is let go."""
        for kind, points in zip(["touchStart"] + ["touchMove"] * (len(steps) - 1), steps):
            self.command("Input.dispatchTouchEvent", type=kind,
                         touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])
        self.command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self.settle()


@functools.cache
def pipeline_page(browser):
    """The page most tests look at, and the run that was put into it."""
    run = pipelines.pipeline_run("1f1b", pipelines.one_f_one_b(4, 8))
    run.summary = summary_of(run)
    end = run.end()
    run.memory = [make_page.memory_of(rank, end, 4 << 30) for rank in range(4)]
    run.links = [make_page.link_of(f"ib up of device {i}", end) for i in range(6)]
    return run, browser.make("pipeline", "timeline", [run])


def summary_of(run, scale=1.0):
    step = run.end() * run.tick_s
    return {"name": run.name, "step_time_s": step, "compute_s": 0.01234567 * scale,
            "exposed_comm_s": 0.0017 * scale, "bubble_s": 0.25 * step, "bubble_fraction": 0.2561,
            "mfu": 0.40712 / scale, "hfu": None, "peak_memory_bytes": 2620000000 * scale,
            "tokens_per_s": 733612.4 / scale, "devices": 16}


def read_data(path):
    """The data block of a page."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    start = text.index(">", text.index('id="data"')) + 1
    return json.loads(text[start:text.index("</script>", start)])
