"""Everything can be reached and used without a mouse, and says what it is."""
import unittest

from selenium.webdriver.common.keys import Keys

import browser as b
from pages_test import schedules

# What has the focus: its name for those who hear it, and whether its outline is seen.
ACTIVE = """
const one = document.activeElement;
const label = one.getAttribute('aria-label') ?? one.closest('label')?.textContent ?? one.textContent;
const style = getComputedStyle(one);
return [one.dataset.control ?? one.dataset.kind ?? one.className ?? one.tagName, label.trim(),
        style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2, one === document.body]"""


class Keyboard(unittest.TestCase):
    def setUp(self):
        self.browser.size(b.WIDE)
        self.data, path = b.pipeline_page(self.browser)
        self.browser.open(path)

    def live(self):
        return self.browser.js("return document.querySelector('.live').textContent")

    def focused(self):
        focused = self.browser.probe("focused")
        return focused and focused["index"]

    def focus(self):
        self.browser.js("document.querySelector('.surface').focus()")

    def walk_controls(self):
        reached = []
        for _ in range(60):
            self.browser.keys(Keys.TAB)
            name, label, outlined, is_body = self.browser.js(ACTIVE)
            if is_body or (reached and name == reached[0]):
                break
            self.assertTrue(label, f"{name} has no name")
            self.assertTrue(outlined, f"the focus on {name} is not seen")
            reached.append(name)
        return reached

    def test_tab_reaches_every_control(self):
        reached = self.walk_controls()
        every = self.browser.js("""return [...document.querySelectorAll('button, input, select')]
            .filter((one) => one.offsetParent).map((one) => one.dataset.control ?? one.dataset.kind)""")
        self.assertEqual([name for name in reached if name != "surface"], every)
        self.assertIn("surface", reached)

    def test_tab_reaches_every_control_of_a_compare_page(self):
        self.browser.open(self.browser.make("compare", "compare", schedules()))
        reached = self.walk_controls()
        self.assertIn("surface", reached)
        self.assertIn("scroll", reached)

    def test_slash_goes_to_the_search(self):
        self.focus()
        self.browser.keys("/")
        self.assertEqual(self.browser.js(ACTIVE)[0], "search")
        self.assertEqual(self.browser.probe("choice")["search"], "")

    def test_walking_through_slices(self):
        self.focus()
        self.browser.keys(Keys.ENTER)
        self.assertEqual(self.focused(), 0)
        self.assertIn("F0 of stage 0; kind forward; on rank 0, compute; start 0 s; duration 1 ms", self.live())
        self.browser.keys(Keys.TAB, Keys.TAB)
        self.assertEqual(self.focused(), 2)
        self.browser.shift_tab()
        self.assertEqual(self.focused(), 1)
        self.browser.keys(Keys.ENTER)
        self.assertEqual(self.browser.probe("selected")["index"], 1)
        self.assertIn("selected F1 of stage 0", self.live())
        self.browser.keys(Keys.ESCAPE)
        self.assertIsNone(self.focused())
        self.assertIsNone(self.browser.probe("selected"))
        self.assertEqual(self.browser.js(ACTIVE)[0], "surface")
        self.browser.keys(Keys.TAB)
        self.assertNotEqual(self.browser.js(ACTIVE)[0], "surface")

    def test_walking_passes_what_is_set_back(self):
        self.browser.control("search").send_keys("B1 of")
        self.focus()
        self.browser.keys(Keys.ENTER)
        names = []
        while self.focused() is not None and len(names) < 9:
            names.append(self.browser.probe("focused")["name"])
            before = self.focused()
            self.browser.keys(Keys.TAB)
            if self.focused() == before:
                break
        self.assertEqual(names, [f"B1 of stage {stage}" for stage in range(4)])

    def test_walking_through_cells(self):
        self.browser.control("view-pipeline").click()
        self.focus()
        self.browser.keys(Keys.ENTER, Keys.TAB)
        self.assertEqual(self.browser.probe("focused")["name"], "forward of micro-batch 1")
        self.assertIn("forward of micro-batch 1; on rank 0; stage 0", self.live())

    def test_the_focused_slice_is_in_view(self):
        self.browser.size(b.WIDE, height=500)
        self.focus()
        self.browser.keys("+", "+", "+", Keys.ENTER)
        for _ in range(30):
            self.browser.keys(Keys.TAB)
            box = self.browser.place("slice", self.focused())[2]
            inside = self.browser.js("""const r = document.querySelector('.surface').getBoundingClientRect();
                return arguments[0].x >= r.left && arguments[0].x + arguments[0].width <= r.right + 1 &&
                       arguments[0].y >= r.top && arguments[0].y + arguments[0].height <= r.bottom""", box)
            self.assertTrue(inside, self.browser.probe("focused"))
