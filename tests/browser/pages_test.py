"""Every kind and size of page opens, says no error, and shows the numbers that were put in."""
import math
import unittest

import browser as b
import palette_test
from make_page import HOSTILE, RunBuilder, bulk_run, page_data, page_html
import pipelines

# Names of what the pages must show, from the smallest unit to the largest.
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "B": 1, "KiB": 2**10, "MiB": 2**20,
         "GiB": 2**30, "TiB": 2**40, "%": 1e-2}


def rgb(text):
    return [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]


def empty_run():
    run = RunBuilder("nothing")
    run.ranks = [{"label": "all devices", "devices": 8}]
    return run


def one_slice():
    run = empty_run()
    run.tracks = [{"rank": 0, "label": "all devices", "stream": "compute"}]
    run.slice(track=0, begin=0, length=5, origin=run.origin("Q = In * Wq", 0))
    return run


def hostile_run():
    run = one_slice()
    run.ranks[0]["label"] = HOSTILE[0]
    run.tracks[0] |= {"label": HOSTILE[1], "stream": HOSTILE[2]}
    for i, name in enumerate(HOSTILE):
        run.slice(track=0, begin=10 + 10 * i, length=8, origin=run.origin(name, i, links=HOSTILE[0]))
    return run


def schedules():
    made = [pipelines.pipeline_run(name, orders, "schedule") for name, orders in (
        ("gpipe", pipelines.gpipe(4, 8)), ("1f1b", pipelines.one_f_one_b(4, 8)),
        ("zb-h1", pipelines.zero_bubble(4, 8)), ("two chunks", pipelines.two_chunks(4, 8)))]
    for i, run in enumerate(made):
        run.summary = {"makespan_s": run.end() * run.tick_s, "makespan_bubble": 0.1 + 0.01 * i,
                       "span_bubble": 0.05, "p2p_transfers": 48 + 2 * i}
    return made


def all_pages(browser):
    """[(path, slices)]"""
    pipeline, path = b.pipeline_page(browser)
    return [
        (browser.make("empty", "timeline", [empty_run()]), 0),
        (browser.make("one", "timeline", [one_slice()]), 1),
        (browser.make("hostile", "timeline", [hostile_run()], title=HOSTILE[0]), 6),
        (path, len(pipeline.slices)),
        (browser.make("schedule", "timeline", schedules()[3:]), None),
        (browser.make("compare", "compare", schedules()), None),
        (browser.make("compare-mixed", "compare", [pipelines.pipeline_run(
            "run", pipelines.one_f_one_b(2, 2)), one_slice()]), None),
        (browser.make("200k", "timeline", [bulk_run(200_000)]), 200_000),
        (browser.make("index", "index", [], static="<h1>index</h1><p>tables</p>"), None),
    ]


class Pages(unittest.TestCase):
    def setUp(self):
        self.browser.size(b.WIDE)

    def test_open_without_an_error_and_fit_the_width(self):
        for path, slices in all_pages(self.browser):
            for width in (b.WIDE, b.NARROW):
                with self.subTest(page=path.name, width=width):
                    self.browser.size(width)
                    self.assertEqual(self.browser.open(path), "1")
                    self.browser.settle()
                    self.assertEqual(self.browser.console(), [])
                    page = self.browser.js("return document.documentElement.scrollWidth")
                    self.assertLessEqual(page, width)
                    if slices is not None:
                        self.assertEqual(self.browser.probe("slices"), slices)

    def test_a_million_slices_open_and_are_all_there(self):
        path = self.browser.make("1m", "timeline", [bulk_run(1_000_000)])
        self.assertEqual(self.browser.open(path), "1")
        self.assertEqual(self.browser.probe("slices"), 1_000_000)
        self.assertEqual(self.browser.probe("hits"), 1_000_000)
        self.assertEqual(self.browser.console(), [])

    def test_slices_that_were_merged_are_said(self):
        run = one_slice()
        run.left_out = 1234
        self.browser.open(self.browser.make("left-out", "timeline", [run]))
        self.assertIn("1,234 slices shorter than", self.browser.js("return document.body.innerText"))

    def test_hostile_names_are_text(self):
        self.browser.open(self.browser.make("hostile", "timeline", [hostile_run()], title=HOSTILE[0]))
        self.assertEqual(self.browser.js("return document.scripts.length"), 2)
        self.assertEqual(self.browser.js("return document.images.length"), 0)
        self.assertEqual(self.browser.js("return document.querySelector('h1').textContent"), HOSTILE[0])
        for slice_index, name in enumerate(HOSTILE, start=1):
            x, y, _ = self.browser.place("slice", slice_index)
            self.browser.move(x, y)
            self.assertEqual(self.browser.js("return document.querySelector('.card strong').textContent"), name)

    def test_damaged_data_are_said_over_the_tables(self):
        data = page_data("timeline", [one_slice().data()], "damaged")
        data["runs"][0]["slices"]["length"] = "BQUF"
        path = self.browser.folder / "damaged.html"
        path.write_text(page_html("timeline", data, "damaged"))
        self.assertEqual(self.browser.open(path), "failed")
        alert = self.browser.js("return document.querySelector('[role=alert]').textContent")
        self.assertIn("cannot show its timeline: a column of 1 rows has 3 bytes, 1 were read", alert)
        self.assertIn("tables of the run", self.browser.js("return document.body.innerText"))

    def test_data_of_another_version_are_refused(self):
        data = page_data("timeline", [one_slice().data()], "old") | {"schema": "shardsim-page-0"}
        path = self.browser.folder / "old.html"
        path.write_text(page_html("timeline", data, "old"))
        self.assertEqual(self.browser.open(path), "failed")
        alert = self.browser.js("return document.querySelector('[role=alert]').textContent")
        self.assertIn("expected shardsim-page-1, found shardsim-page-0", alert)

    def test_one_hit_among_thousands_of_thin_slices_is_seen(self):
        run = one_slice()
        for i in range(20_000):
            name, kind = ("needle", 4) if i == 7_000 else ("hay", 0)
            run.slice(track=0, begin=10 + 10 * i, length=10, origin=run.origin(name, kind))
        self.browser.open(self.browser.make("needle", "timeline", [run]))
        x, y, box = self.browser.place("slice", 7_001)
        self.assertLess(box["width"], 1.01)
        column = int(box["x"])
        colours = {at: self.browser.pixel(column + at, y) for at in (-20, 0)}
        self.assertEqual(set(colours.values()), {"#136fec"})
        self.browser.control("search").send_keys("needle")
        self.assertEqual(self.browser.probe("hits"), 1)
        hit, other = (palette_test.lab(palette_test.linear(rgb(self.browser.pixel(column + at, y)))) for at in (0, -20))
        self.assertGreater(math.dist(hit, other), 20)

    def test_figures_equal_the_summary(self):
        run, path = b.pipeline_page(self.browser)
        self.browser.open(path)
        shown = self.browser.js("""return [...document.querySelectorAll('.figures [data-key]')].map(
            (one) => [one.dataset.key, Number(one.dataset.value), one.textContent])""")
        numbers = {key: v for key, v in run.summary.items() if isinstance(v, (int, float))}
        self.assertGreater(len(numbers), 7)
        self.assertEqual({key: value for key, value, _ in shown}, numbers)
        for key, value, text in shown:
            number, _, unit = text.replace(",", "").partition(" ")
            self.assertAlmostEqual(float(number) * UNITS.get(unit, 1), value,
                                   delta=6e-4 * abs(value) + (6e-4 if unit == "%" else 0), msg=key)

    def test_the_table_of_differences(self):
        runs = schedules()
        self.browser.open(self.browser.make("compare", "compare", runs))
        shown = self.browser.js("""return [...document.querySelectorAll('.differences tbody tr')].map(
            (row) => [...row.cells].slice(1).map((cell) => cell.textContent))""")
        keys = ["makespan_s", "makespan_bubble", "span_bubble", "p2p_transfers"]
        self.assertEqual(len(shown), len(keys))
        for key, row in zip(keys, shown):
            first = runs[0].summary[key]
            for i, run in enumerate(runs[1:]):
                change = run.summary[key] - first
                percent = f"{abs(change) * 100:.1f} points" if "bubble" in key else f"{abs(change) / first * 100:.1f} %"
                text = "=" if change == 0 else f"{'+' if change > 0 else '−'}{percent}"
                self.assertEqual(row[2 + 2 * i], text, f"{key} of {run.name}")

    def test_a_compare_page_has_all_runs_on_one_axis(self):
        runs = schedules()
        self.browser.open(self.browser.make("compare", "compare", runs))
        rows = self.browser.probe("rows")
        self.assertEqual([row["label"] for row in rows if row["type"] == "heading"], [run.name for run in runs])
        self.assertEqual(sum(row["type"] == "cells" for row in rows), 16)
        ends = []
        for i, run in enumerate(runs):
            last = max(range(len(run.cells)), key=lambda c: run.cells[c]["begin"] + run.cells[c]["length"])
            box = self.browser.place("cell", last, i)[2]
            ends.append((box["x"] + box["width"], run.end() * run.tick_s))
        x0 = self.browser.place("cell", 0, 0)[2]["x"]
        scale = (ends[0][0] - x0) / ends[0][1]
        for x, end in ends:
            self.assertAlmostEqual(x - x0, scale * end, delta=0.01)
