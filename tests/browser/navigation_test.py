"""Wheel, drag, keys and fingers move the stretch of time that is shown as they should."""
import time
import unittest

from selenium.webdriver.common.keys import Keys

import browser as b


class Navigation(unittest.TestCase):
    def setUp(self):
        self.browser.size(b.WIDE)
        self.run_data, path = b.pipeline_page(self.browser)
        self.browser.open(path)
        self.step = self.run_data.end() * self.run_data.tick_s
        box = self.browser.js("const r = document.querySelector('.surface').getBoundingClientRect();"
                              "return [r.left, r.top, r.width, r.height]")
        self.left, self.top, self.width, self.height = box
        self.axis = self.browser.js("return shardsim.placeOf('slice', 0)")["x"]
        self.right = self.left + self.width

    def view(self):
        view = self.browser.probe("view")
        return view["from_s"], view["to_s"]

    def time_at(self, x):
        begin, end = self.view()
        return begin + (x - self.axis) / (self.right - self.axis) * (end - begin)

    def assert_all_shown(self):
        begin, end = self.view()
        self.assertAlmostEqual(begin, 0, delta=1e-9 * self.step)
        self.assertAlmostEqual(end, self.step, delta=1e-9 * self.step)

    def focus(self):
        self.browser.js("document.querySelector('.surface').focus()")

    def test_the_whole_step_is_shown_first(self):
        self.assert_all_shown()

    def test_the_wheel_zooms_about_the_pointer(self):
        x, y = self.axis + 400, self.top + 120
        before = self.time_at(x)
        self.browser.wheel(x, y, delta_y=-400)
        begin, end = self.view()
        self.assertLess(end - begin, 0.7 * self.step)
        self.assertAlmostEqual(self.time_at(x), before, delta=1e-6 * self.step)
        self.browser.wheel(x, y, delta_y=4000)
        self.assert_all_shown()

    def test_a_drag_pans_by_its_length(self):
        self.browser.wheel(self.axis + 500, self.top + 120, delta_y=-800)
        begin, end = self.view()
        self.browser.drag(self.axis + 500, self.top + 120, -150)
        moved, _ = self.view()
        scale = (end - begin) / (self.right - self.axis)
        self.assertAlmostEqual(moved - begin, 150 * scale, delta=1e-6 * self.step)

    def test_a_sideways_wheel_pans(self):
        self.browser.wheel(self.axis + 500, self.top + 120, delta_y=-800)
        begin, end = self.view()
        self.browser.wheel(self.axis + 500, self.top + 120, delta_x=90)
        moved, moved_end = self.view()
        self.assertAlmostEqual(moved - begin, 90 * (end - begin) / (self.right - self.axis), delta=1e-6 * self.step)
        self.assertAlmostEqual(moved_end - moved, end - begin, delta=1e-9 * self.step)

    def test_the_wheel_over_the_names_scrolls_the_rows(self):
        self.browser.size(b.WIDE, height=500)
        self.browser.settle()
        first = self.browser.probe("rows")[0]["top"]
        self.browser.wheel(self.left + 40, self.top + 120, delta_y=50)
        self.browser.wait("return document.querySelector('.scroller').scrollTop > 10")
        self.assertLess(self.browser.probe("rows")[0]["top"], first)
        self.assert_all_shown()

    def test_keys_zoom_pan_and_fit(self):
        self.focus()
        self.browser.keys("+")
        begin, end = self.view()
        self.assertAlmostEqual(end - begin, self.step / 1.5, delta=1e-6 * self.step)
        self.assertAlmostEqual(begin + end, self.step, delta=1e-6 * self.step)
        self.browser.keys(Keys.ARROW_RIGHT)
        moved, _ = self.view()
        self.assertAlmostEqual(moved - begin, 0.15 * (end - begin), delta=1e-6 * self.step)
        self.browser.keys(Keys.ARROW_LEFT)
        self.assertAlmostEqual(self.view()[0], begin, delta=1e-6 * self.step)
        self.browser.keys("-")
        self.assert_all_shown()
        for key in "0f":
            self.browser.keys("+", "+")
            self.browser.keys(key)
            self.assert_all_shown()

    def test_arrow_down_scrolls_the_rows(self):
        self.browser.size(b.WIDE, height=500)
        self.focus()
        self.browser.settle()
        first = self.browser.probe("rows")[0]["top"]
        self.browser.keys(Keys.ARROW_DOWN)
        self.assertAlmostEqual(self.browser.probe("rows")[0]["top"], first - 60, delta=1)

    def test_buttons_zoom_and_fit(self):
        self.browser.control("in").click()
        begin, end = self.view()
        self.assertAlmostEqual(end - begin, self.step / 1.5, delta=1e-6 * self.step)
        self.browser.control("out").click()
        self.assert_all_shown()
        self.browser.control("in").click()
        self.browser.control("fit").click()
        self.assert_all_shown()

    def test_a_double_click_zooms_to_a_slice(self):
        x, y, _ = self.browser.place("slice", 3)
        self.browser.click(x, y, times=2)
        one = self.run_data.slices[3]
        tick = self.run_data.tick_s
        begin, end = self.view()
        self.assertAlmostEqual(begin, (one["begin"] - 2 * one["length"]) * tick, delta=1e-6 * self.step)
        self.assertAlmostEqual(end, (one["begin"] + 3 * one["length"]) * tick, delta=1e-6 * self.step)

    def test_the_view_stays_when_the_window_changes(self):
        self.browser.wheel(self.axis + 500, self.top + 120, delta_y=-800)
        before = self.view()
        self.browser.size(b.NARROW)
        self.browser.wait("return document.querySelector('.surface').clientWidth < 400")
        for was, now in zip(before, self.view()):
            self.assertAlmostEqual(was, now, delta=1e-6 * self.step)

    def test_fingers_pinch_and_drag(self):
        self.browser.size(b.NARROW, touch=True)
        self.browser.open(b.pipeline_page(self.browser)[1])
        self.browser.js("document.querySelector('.scroller').scrollIntoView()")
        self.axis = self.browser.js("return shardsim.placeOf('slice', 0)")["x"]
        self.top = self.browser.js("return document.querySelector('.surface').getBoundingClientRect().top")
        y = self.top + 60
        x = self.axis + 100
        self.browser.touch([(x, y), (x + 40, y)], [(x - 10, y), (x + 50, y)], [(x - 20, y), (x + 60, y)])
        begin, end = self.view()
        self.assertAlmostEqual(end - begin, self.step / 2, delta=0.02 * self.step)
        self.browser.touch([(x, y)], [(x - 20, y)], [(x - 40, y)])
        moved, moved_end = self.view()
        self.assertAlmostEqual(moved_end - moved, end - begin, delta=1e-6 * self.step)
        self.assertGreater(moved, begin + 0.02 * self.step)
        time.sleep(0.5)  # a tap while fingers still count as moving only stops them
        x, y, _ = self.browser.place("slice", self.slice_in_view())
        self.browser.touch([(x, y)])
        self.assertIsNotNone(self.browser.wait("return shardsim.selected"))
        self.browser.size(b.WIDE)

    def slice_in_view(self):
        begin, end = self.view()
        tick = self.run_data.tick_s
        return next(i for i, one in enumerate(self.run_data.slices)
                    if begin < one["begin"] * tick and (one["begin"] + one["length"]) * tick < end
                    and one["length"] > 500)
