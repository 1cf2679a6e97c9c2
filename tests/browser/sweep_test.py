"""Pages of sweeps: they open, show the database's figures, and their parts answer."""
import csv
import html
import io
import re
import shutil
import sqlite3
import subprocess
import unittest

from selenium.webdriver.common.keys import Keys

import browser as b
import looks_test
import palette_test
import program

SWEEP = """\
name: "a </script><b>sweep</b><!--"
base:
  cluster: {chip: h100-sxm, topology: {kind: switch, axes: {n: 8}, link: {bandwidth: 450 GB/s, latency: 1 us}}}
  model: llama3-8b
  layers: 2
  batch: {global: 32, micro: 1, length: 2048}
axes: {parallel.tp: 1..8 step x2, parallel.dp: 1..8 step x2, batch.micro: [1, 2, 4], recompute: [none, full]}
where: tp * dp == 8
"""


DB = "it's <b>a</b>.db"
NAME = "a </script><b>sweep</b><!--"
MOST_POINTS = 5000  # kMostPagePoints
OBJECTIVE = "step_time_s"


def written(test):
    """The page and the database of the sweep."""
    folder = test.browser.folder
    page = folder / "sweep.html"
    if not page.exists():
        (folder / "s.yaml").write_text(SWEEP)
        program.call(test, "sweep", str(folder / "s.yaml"), "--db", str(folder / DB), "--quiet")
        program.call(test, "sweep", "report", str(folder / DB), "--html", str(page))
    return page, folder / DB


class Sweep(unittest.TestCase):
    def setUp(self):
        self.browser.theme("light")
        self.browser.size(b.WIDE)
        self.page, self.db = written(self)
        self.rows = list(csv.DictReader(io.StringIO(self.export("--csv"))))
        self.ok = [row for row in self.rows if row["status"] == "ok"]
        self.assertGreater(len(self.ok), 10)
        self.open(self.page)

    def open(self, page):
        self.assertEqual(self.browser.open(page), "1")
        self.assertEqual(self.browser.console(), [])

    def export(self, *words):
        done = subprocess.run([str(self.binary.resolve()), "sweep", "export", str(self.db), *words],
                              capture_output=True, text=True, check=True)
        return done.stdout

    def text(self, selector):
        return self.browser.js("return document.querySelector(arguments[0]).textContent", selector)

    def count(self, selector):
        return self.browser.js("return document.querySelectorAll(arguments[0]).length", selector)

    def best_first(self):
        return sorted(self.ok, key=lambda row: (float(row[OBJECTIVE]), int(row["point"])))

    def filter(self, text):
        control = self.browser.control("filter")
        control.clear()
        control.send_keys(text)
        self.browser.settle()

    def shown_point(self):
        """Number of the point that the dialog shows; none when it is shut."""
        shown = self.browser.js("return document.querySelector('dialog[open] h2')?.textContent")
        return shown and shown.removeprefix("Point ")

    def test_every_point_is_there_and_nothing_is_wider_than_a_phone(self):
        self.assertEqual(self.count("[data-view=table] tbody tr"), len(self.rows))
        self.assertEqual(self.count("[data-view=scatter] circle"), len(self.ok))
        self.assertEqual(self.count("[data-view=parallel] polyline"), len(self.ok))
        for width in (b.WIDE, b.NARROW):
            self.browser.size(width)
            self.browser.settle()
            self.assertLessEqual(self.browser.js("return document.documentElement.scrollWidth"), width)
            self.assertLessEqual(self.browser.js(
                "return document.querySelector('[data-view=scatter] svg').getBoundingClientRect().right"), width)

    def test_names_are_text(self):
        self.assertEqual(self.text("h1"), NAME)
        self.assertEqual(self.browser.js("return document.scripts.length"), 2)
        self.assertEqual(self.count("b"), 0)

    def test_the_policy_is_that_of_the_other_pages(self):
        policy = self.browser.js("return document.querySelector('meta[http-equiv]').content")
        self.assertRegex(policy, r"^default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'; "
                                 r"img-src data:; base-uri 'none'; form-action 'none'$")

    def test_the_same_bytes_twice(self):
        again = self.browser.folder / "again.html"
        program.call(self, "sweep", "report", str(self.db), "--html", str(again))
        self.assertEqual(again.read_bytes(), self.page.read_bytes())

    def test_without_javascript_the_best_are_a_table(self):
        text = self.page.read_text()
        static = text[text.index('<main id="static">'):text.index("</main>")]
        cells = [html.unescape(cell) for cell in re.findall(r"<tr><td>(.*?)</td>", static)]
        self.assertEqual(cells, [row["point"] for row in self.best_first()[:10]])
        self.assertIn(f"why: point {cells[0]} takes", static)
        self.assertNotIn("<b>", static)

    def test_the_table_is_sorted_by_what_is_asked(self):
        first = "return document.querySelector('[data-view=table] tbody tr').dataset.point"
        self.assertEqual(self.browser.js(first), self.best_first()[0]["point"])
        known = [row for row in self.rows if row["mfu"]]
        for sign, mark in ((-1, "mfu ▼"), (1, "mfu ▲")):  # more of it is better: the best first
            button = self.browser.driver.find_element("css selector", "[data-sort=mfu]")
            button.send_keys(Keys.ENTER)
            self.browser.settle()
            self.assertEqual(self.browser.js(first), min(
                known, key=lambda row, s=sign: (s * float(row["mfu"]), int(row["point"])))["point"])
            self.assertEqual(self.text(f"[aria-sort={'descending' if sign < 0 else 'ascending'}]"), mark)
            self.assertEqual(self.browser.js("return document.activeElement.dataset.sort"), "mfu")

    def test_the_filter_leaves_what_it_says(self):
        self.filter("tp=4 recompute=full")
        left = [row for row in self.rows if row["axis_tp"] == "4" and row["axis_recompute"] == "full"]
        self.assertEqual(self.count("[data-view=table] tbody tr"), len(left))
        self.assertIn(f"{len(left)} of {len(self.rows)}", self.browser.js(
            "return document.querySelector('[data-probe=count]').textContent"))
        self.filter("mfu>=0.5 micro!=2")
        left = [row for row in self.rows if row["mfu"] and float(row["mfu"]) >= 0.5 and row["axis_micro"] != "2"]
        self.assertLess(len(left), len(self.ok))
        self.assertEqual(self.count("[data-view=table] tbody tr"), len(left))
        self.assertEqual(self.count("[data-view=scatter] circle"), len(left))
        self.filter("nosuchword")
        self.assertEqual(self.count("[data-view=table] tbody tr"), 0)
        self.assertEqual(self.count("svg"), 0)

    def check_point(self, number):
        """What is shown is this point, its run, and a command that makes it again."""
        run = self.export("--point", number)
        self.assertEqual(self.shown_point(), number)
        self.assertEqual(self.text("[data-probe=run]"), run)
        link = self.browser.js("const a = document.querySelector('dialog a'); return [a.download, a.href]")
        self.assertEqual(link[0], f"point-{number}.yaml")
        self.assertEqual(self.browser.js("return decodeURIComponent(arguments[0].split(',').slice(1).join(','))",
                                         link[1]), run)
        made = self.text("[data-probe=command]").split(" > ")[0].replace("shardsim", str(self.binary.resolve()), 1)
        done = subprocess.run(["sh", "-c", made], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, run)

    def test_a_click_is_the_point(self):
        number = self.ok[3]["point"]
        self.browser.js("document.querySelector(`[data-view=table] tr[data-point='${arguments[0]}'] button`).click()",
                        number)
        self.check_point(number)
        self.browser.control("close").click()
        self.assertIsNone(self.shown_point())
        for view, mark in (("scatter", "circle.front"), ("heat", "rect.cell"),
                           ("parallel", "polyline.path:last-of-type")):
            number, x, y = self.browser.js("""
                const mark = document.querySelector(`[data-view=${arguments[0]}] ${arguments[1]}`);
                mark.ownerSVGElement.scrollIntoView();
                const box = mark.getBoundingClientRect();
                const isLine = mark.tagName === 'polyline';
                const frame = mark.ownerSVGElement.getBoundingClientRect();
                const [x, y] = isLine ? mark.getAttribute('points').split(' ')[1].split(',').map(Number) : [];
                return [mark.dataset.point, isLine ? frame.x + x - 1 : box.x + box.width / 2,
                        isLine ? frame.y + y : box.y + box.height / 2]""", view, mark)
            self.browser.click(x, y)
            if view == "parallel":  # lines may lie on each other: any of those there
                self.assertIsNotNone(self.shown_point())
                number = self.shown_point()
            self.check_point(number)
            self.browser.keys(Keys.ESCAPE)
            self.assertIsNone(self.shown_point())

    def test_keys_walk_from_point_to_point(self):
        for view in ("scatter", "heat", "parallel"):
            order = self.browser.js("""
                const view = document.querySelector(`[data-view=${arguments[0]}] svg[tabindex]`);
                view.focus();
                const across = (one) => Number(one.getAttribute('cx'));
                const down = (one) => Number(one.getAttribute('cy'));
                return [...view.querySelectorAll('[data-point]')]
                    .sort((a, b) => across(a) - across(b) || down(b) - down(a))  // of dots: they have these
                    .map((one) => one.dataset.point)""", view)
            if view == "parallel":
                order.reverse()  # the best is drawn last and comes first
                self.assertEqual(order, [row["point"] for row in self.best_first()])
            for keys, index in (((Keys.HOME,), 0), ((Keys.ARROW_RIGHT, Keys.ARROW_RIGHT), 2), ((Keys.ARROW_LEFT,), 1),
                                ((Keys.END,), len(order) - 1), ((Keys.ARROW_DOWN,), len(order) - 1)):
                self.browser.keys(*keys)
                said = self.text(f"[data-view={view}] [role=status]")
                self.assertRegex(said, rf"point {order[index]}\b", f"{view}: {keys}")
                marked = self.browser.js(
                    "return document.querySelector(`[data-view=${arguments[0]}] .at *`).dataset.point", view)
                self.assertEqual(marked, order[index])
            self.browser.keys(Keys.ENTER)
            self.check_point(order[-1])
            self.browser.keys(Keys.ESCAPE)
            self.assertEqual(self.browser.js("return document.activeElement.closest('section').dataset.view"), view)

    def test_contrast_of_texts_and_marks(self):
        for theme in ("light", "dark"):
            self.browser.theme(theme)
            self.open(self.page)
            self.browser.js("document.querySelector('[data-view=table] tbody button').click()")
            found = self.browser.js(looks_test.TEXTS) + self.browser.js("""
                return [...document.querySelectorAll('[data-view=heat] .cell')].map((cell) =>
                    [cell.nextSibling.textContent, getComputedStyle(cell.nextSibling).fill, getComputedStyle(cell).fill])
                """)
            self.assertGreater(len(found), 100)
            for text, colour, background in found:
                ratio = palette_test.contrast(looks_test.css_rgb(colour), looks_test.css_rgb(background))
                self.assertGreaterEqual(ratio, 4.5, f"{theme}: {text}: {colour} on {background}")
            paper = self.browser.js("return getComputedStyle(document.body).backgroundColor")
            for colour in self.browser.js("return [...document.querySelectorAll('circle.dot')].map("
                                          "(one) => getComputedStyle(one).fill)"):
                ratio = palette_test.contrast(looks_test.css_rgb(colour), looks_test.css_rgb(paper))
                self.assertGreaterEqual(ratio, 3, f"{theme}: {colour} on {paper}")

    def test_the_switch_of_themes_paints_anew(self):
        fill = "return document.querySelector('circle.front').getAttribute('fill')"
        light = self.browser.js(fill)
        self.browser.control("theme").click()
        self.browser.settle()
        self.assertNotEqual(self.browser.js(fill), light)

    def test_more_points_than_a_page_holds(self):
        db, page = self.browser.folder / "many.db", self.browser.folder / "many.html"
        shutil.copy(self.db, db)
        number = int(self.best_first()[0]["point"])
        with sqlite3.connect(db) as store:
            names = [row[1] for row in store.execute("PRAGMA table_info(points)")]
            values = ", ".join("point + ?" if name == "point" else name for name in names)
            for i in range(1, 6200):
                store.execute(f"INSERT INTO points SELECT {values} FROM points WHERE point = ?", (1000 * i, number))
            last = 1000 * 6199 + number
            store.execute(f"UPDATE points SET {OBJECTIVE} = {OBJECTIVE} / 2 WHERE point = ?", (last,))
        program.call(self, "sweep", "report", str(db), "--html", str(page))
        self.open(page)
        shown = [row[0] for row in b.read_data(page)["rows"]]
        self.assertEqual(len(shown), MOST_POINTS)
        self.assertIn(last, shown)
        self.assertIn(f"Of {len(self.rows) + 6199} points this page has {MOST_POINTS}", self.text("#static"))
        self.assertEqual(self.count("[data-view=table] tbody tr"), 500)
        self.assertEqual(self.count("[data-view=parallel] polyline"), 1000)
        self.assertIn("the best 1,000 of 5,000", self.text("[data-view=parallel]"))
        self.assertIn("The first 500 of 5,000 points", self.text("[data-view=table]"))
        taken = self.browser.js("""
            const begin = performance.now();
            const input = document.querySelector('[data-control=filter]');
            input.value = 'tp>=1';
            input.dispatchEvent(new Event('input'));
            document.body.offsetHeight;
            return performance.now() - begin""")
        print(f"\n{MOST_POINTS} points: {page.stat().st_size / 1e6:.1f} MB, filtered and drawn in {taken:.0f} ms")

    def test_main_effects_are_shares_of_the_variance(self):
        scores = [float(row["step_time_s"]) for row in self.ok]
        mean = sum(scores) / len(scores)
        total = sum((score - mean) ** 2 for score in scores)
        for axis in ("axis_tp", "axis_recompute"):
            groups = {}
            for row, score in zip(self.ok, scores):
                groups.setdefault(row[axis], []).append(score)
            between = sum(len(group) * (sum(group) / len(group) - mean) ** 2 for group in groups.values())
            shown = float(self.browser.js(
                "return document.querySelector(`[data-axis=${arguments[0]}] [data-value]`).dataset.value", axis))
            self.assertAlmostEqual(shown, between / total, delta=1e-9)

    def test_the_pareto_front_is_beaten_by_nobody(self):
        points = {row["point"]: (float(row["peak_memory_bytes"]), float(row["step_time_s"])) for row in self.ok}
        front = {p for p, (x, y) in points.items()
                 if not any(a <= x and c <= y and (a, c) != (x, y) for a, c in points.values())}
        shown = self.browser.js("return [...document.querySelectorAll('circle.front')].map((c) => c.dataset.point)")
        self.assertEqual({points[p] for p in shown}, {points[p] for p in front})

    def test_the_map_shows_the_best_of_every_pair(self):
        across, down = (self.browser.js("return document.querySelector(`[data-control=${arguments[0]}]`).value", name)
                        for name in ("across", "down"))
        self.assertNotEqual(across, down)
        best = {}
        for row in self.best_first():
            best.setdefault((row[f"axis_{across}"], row[f"axis_{down}"]), row["point"])
        shown = self.browser.js("return [...document.querySelectorAll('.cell')].map((c) => c.dataset.point)")
        self.assertEqual(sorted(shown), sorted(best.values()))
        self.browser.driver.find_element("css selector", "[data-control=across]").send_keys("recompute")
        self.browser.settle()
        self.assertEqual(self.count(".cell"), len({(row["axis_recompute"], row[f"axis_{down}"]) for row in self.ok}))
