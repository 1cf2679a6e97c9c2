"""Texts are readable: contrast of every text in both themes; the switch of themes; no scripts, no pictures."""
import unittest

import browser as b
import palette_test
import pages_test

# [[text, colour, background]] of every element with text of its own that is shown.
TEXTS = """
const opaque = (colour) => !/, 0\\)$|transparent/.test(colour);
function background(one) {
  for (; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if (opaque(colour)) return colour;
  }
  return 'none';
}
return [...document.querySelectorAll('body *')]
  .filter((one) => one.offsetParent && !/SCRIPT|OPTION|CANVAS/.test(one.tagName))
  .filter((one) => one.tagName === 'INPUT' || [...one.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
  .map((one) => [one.textContent.slice(0, 40), getComputedStyle(one).color, background(one)]);"""
PAIRS = """
const style = getComputedStyle(document.documentElement);
return arguments[0].map((pair) => pair.map((name) => style.getPropertyValue('--' + name).trim()))"""
# What the canvas writes on what.
ON_CANVAS = [("ink", "paper"), ("quiet", "paper"), ("quiet", "gap"), ("ink", "band"), ("ink", "line"),
             ("paper", "ink"), ("quiet", "band")]


def css_rgb(text):
    return [int(part) / 255 for part in text[text.index("(") + 1:-1].split(",")[:3]]


class Looks(unittest.TestCase):
    def tearDown(self):
        self.browser.theme("light")

    def test_contrast_of_every_text(self):
        pages = [b.pipeline_page(self.browser)[1], self.browser.make("compare", "compare", pages_test.schedules())]
        for theme in ("light", "dark"):
            self.browser.theme(theme)
            for path in pages:
                self.browser.open(path)
                place = self.browser.place("slice", 5) or self.browser.place("cell", 5)
                self.browser.click(*place[:2])
                found = self.browser.js(TEXTS)
                self.assertGreater(len(found), 25)
                for text, colour, background in found:
                    ratio = palette_test.contrast(css_rgb(colour), css_rgb(background))
                    self.assertGreaterEqual(ratio, 4.5, f"{theme}, {path.name}: {text}: {colour} on {background}")

    def test_contrast_on_the_canvas(self):
        for theme in ("light", "dark"):
            self.browser.theme(theme)
            self.browser.open(b.pipeline_page(self.browser)[1])
            for names, (colour, background) in zip(ON_CANVAS, self.browser.js(PAIRS, ON_CANVAS)):
                ratio = palette_test.contrast(pages_test.rgb(colour), pages_test.rgb(background))
                self.assertGreaterEqual(ratio, 4.5, f"{theme}: {names}")

    def test_the_switch_of_themes(self):
        self.browser.open(b.pipeline_page(self.browser)[1])
        body = "return getComputedStyle(document.body).backgroundColor"
        light, canvas = self.browser.js(body), self.browser.pixel(400, 300)
        self.browser.control("theme").click()
        self.assertNotEqual(self.browser.js(body), light)
        self.assertNotEqual(self.browser.pixel(400, 300), canvas)
        dark = self.browser.js(body)
        self.browser.theme("dark")
        self.browser.open(b.pipeline_page(self.browser)[1])
        self.assertEqual(self.browser.js(body), dark)
        self.browser.control("theme").click()
        self.assertEqual(self.browser.js(body), light)

    def test_without_javascript_the_tables_are_shown(self):
        self.browser.command("Emulation.setScriptExecutionDisabled", value=True)
        try:
            path = self.browser.make("pipeline", "timeline", [])
            self.browser.driver.get(path.resolve().as_uri())
            root = self.browser.command("DOM.getDocument", depth=-1)["root"]["nodeId"]
            node = self.browser.command("DOM.querySelector", nodeId=root, selector="#static")["nodeId"]
            html = self.browser.command("DOM.getOuterHTML", nodeId=node)["outerHTML"]
            none = self.browser.command("DOM.querySelector", nodeId=root, selector=".surface")["nodeId"]
        finally:
            self.browser.command("Emulation.setScriptExecutionDisabled", value=False)
        self.assertIn("The tables of the run stand here.", html)
        self.assertEqual(none, 0)

    def test_the_policy_allows_nothing_but_the_page(self):
        self.browser.open(b.pipeline_page(self.browser)[1])
        policy = self.browser.js("return document.querySelector('meta[http-equiv]').content")
        self.assertRegex(policy, r"^default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+';")
        self.assertEqual(self.browser.js("""
            window.hacked = 0;
            const script = document.createElement('script');
            script.textContent = 'window.hacked = 1';
            document.body.append(script);
            return window.hacked"""), 0)
        attributes = self.browser.js("""return [...document.querySelectorAll('*')].flatMap((one) =>
            one.getAttributeNames()).filter((name) => name.startsWith('on'))""")
        self.assertEqual(attributes, [])
