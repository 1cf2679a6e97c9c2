"""Large pages: how soon they are ready, and frames a second while zooming and panning.

The canvas is painted by the processor. What else runs on the machine makes a page slower: a try
that the clock calls too slow passes by the processor time that all processes of the browser took.
"""
import pathlib
import unittest

import browser as b
import program
from make_page import bulk_run

LEAST_FRAMES_PER_S = 30
MOST_READY_S = 2
FRAMES = 60
TRIES = 3

# Seconds for that many frames, in each of which the wheel moves the view; how many were painted.
MOVE = """
const [frames, horizontal, done] = arguments;
const surface = document.querySelector('.surface');
const box = surface.getBoundingClientRect();
const painted = shardsim.frames;
const times = [];
function step(now) {
  times.push(now);
  if (times.length > frames) {
    done([(now - times[0]) / 1000, shardsim.frames - painted]);
    return;
  }
  const by = times.length % 40 < 20 ? 30 : -30;
  surface.dispatchEvent(new WheelEvent('wheel', {
    deltaY: horizontal ? 0 : -by, deltaX: horizontal ? by : 0,
    clientX: box.left + box.width / 2, clientY: box.top + 200, bubbles: true, cancelable: true }));
  requestAnimationFrame(step);
}
requestAnimationFrame(step);"""


def stat(pid):
    """(parent, processor time in ticks of 10 ms) of a process; None when it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[11]) + int(fields[12])


def processor_s(root):
    """Of a process and all below it."""
    stats = {int(path.name): found for path in pathlib.Path("/proc").iterdir()
             if path.name.isdigit() and (found := stat(path.name))}
    family, size = {root}, 0
    while len(family) > size:
        size = len(family)
        family |= {pid for pid, (parent, _) in stats.items() if parent in family}
    return sum(stats[pid][1] for pid in family if pid in stats) / 100


class Speed(unittest.TestCase):
    def setUp(self):
        self.browser.size(b.WIDE)
        self.root = self.browser.driver.service.process.pid

    def check(self, what, most_s, attempt):
        """`attempt()` returns its seconds; the best of some tries must stay below."""
        for _ in range(TRIES):
            before = processor_s(self.root)
            clock_s = attempt()
            used_s = processor_s(self.root) - before
            print(f"{what}: {clock_s:.2f} s, processor {used_s:.2f} s, at most {most_s:.2f} s")
            if min(clock_s, used_s) <= most_s:
                return
        self.fail(f"{what}: too slow")

    def test_frames_of_200000_slices(self):
        self.browser.open(self.browser.make("200k", "timeline", [bulk_run(200_000)]))
        for horizontal in (False, True):
            def move():
                seconds, painted = self.browser.driver.execute_async_script(MOVE, FRAMES, horizontal)
                self.assertGreaterEqual(painted, FRAMES - 5)
                return seconds
            what = f"200,000 slices, {FRAMES} frames of {'panning' if horizontal else 'zooming'}"
            self.check(what, FRAMES / LEAST_FRAMES_PER_S, move)

    def test_ready_in_time(self):
        path = self.browser.make("200k", "timeline", [bulk_run(200_000)])
        self.check_ready("200,000 slices", path)

    def test_the_largest_run_is_ready_in_time(self):
        """16,384 devices in 16 ranks."""
        folder = program.run(self, "configs/runs/llama3-405b-h100-16384.yaml")
        path = folder / "timeline.html"
        self.assertLessEqual(path.stat().st_size, 15e6)
        self.check_ready("Llama 3 405B", path)

    def check_ready(self, what, path):
        def load():
            self.assertEqual(self.browser.open(path), "1")
            return self.browser.js("return shardsim.readyAfter_s")
        self.check(f"{what}, {path.stat().st_size / 1e6:.1f} MB, ready", MOST_READY_S, load)
