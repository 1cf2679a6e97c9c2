"""Large pages: how soon they are ready, and frames a second while zooming and panning.

Measured on a canvas that is painted by the processor. Of several tries the best counts: what else
runs on the machine makes a page slower, never faster.
"""
import unittest

import browser as b
from make_page import bulk_run

LEAST_FRAMES_PER_S = 30
MOST_READY_S = 2
TRIES = 5

# Frames per second of 60 frames, in each of which the wheel moves the view.
FRAMES = """
const [horizontal, done] = arguments;
const surface = document.querySelector('.surface');
const box = surface.getBoundingClientRect();
const painted = shardsim.frames;
const times = [];
function step(now) {
  times.push(now);
  if (times.length > 60) {
    done([60e3 / (times[60] - times[0]), shardsim.frames - painted]);
    return;
  }
  const by = times.length % 40 < 20 ? 30 : -30;
  surface.dispatchEvent(new WheelEvent('wheel', {
    deltaY: horizontal ? 0 : -by, deltaX: horizontal ? by : 0,
    clientX: box.left + box.width / 2, clientY: box.top + 200, bubbles: true, cancelable: true }));
  requestAnimationFrame(step);
}
requestAnimationFrame(step);"""


class Speed(unittest.TestCase):
    def setUp(self):
        self.browser.size(b.WIDE)

    def frames_per_s(self, horizontal):
        best = 0
        for _ in range(TRIES):
            rate, painted = self.browser.driver.execute_async_script(FRAMES, horizontal)
            self.assertGreaterEqual(painted, 55)
            best = max(best, rate)
            if best >= LEAST_FRAMES_PER_S:
                break
        return best

    def test_frames_a_second_of_200000_slices(self):
        self.browser.open(self.browser.make("200k", "timeline", [bulk_run(200_000)]))
        for horizontal in (False, True):
            rate = self.frames_per_s(horizontal)
            print(f"200,000 slices, {'panning' if horizontal else 'zooming'}: {rate:.0f} frames/s")
            self.assertGreaterEqual(rate, LEAST_FRAMES_PER_S)

    def test_a_page_of_14_mb_is_ready_in_time(self):
        path = self.browser.make("1m", "timeline", [bulk_run(1_000_000)])
        best = float("inf")
        for _ in range(TRIES):
            self.browser.open(path)
            best = min(best, self.browser.js("return shardsim.readyAfter_s"))
            if best <= MOST_READY_S:
                break
        print(f"{path.stat().st_size / 1e6:.1f} MB, 1,000,000 slices: ready after {best:.2f} s")
        self.assertLessEqual(best, MOST_READY_S)
