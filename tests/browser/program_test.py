"""Pages that the program writes: they open, and what they show equals its other outputs."""
import json
import unittest

import browser as b
import program
from browser import read_data

SCHEDULES = ["schedule", "1f1b", "zb-h1", "dualpipe", "--stages", "4", "--microbatches", "8",
             "--forward", "1ms", "--backward-input", "1ms", "--backward-weight", "1ms",
             "--cost-per", "stage"]
SHOWN = """return [...document.querySelectorAll('.figures [data-key], .differences [data-key]')].map(
    (one) => [one.dataset.key, Number(one.dataset.value)])"""


class Program(unittest.TestCase):
    def setUp(self):
        self.browser.size(b.WIDE)

    def open(self, path):
        self.assertEqual(self.browser.open(path), "1")
        self.browser.settle()
        self.assertEqual(self.browser.console(), [])
        self.browser.size(b.NARROW)
        self.browser.settle()
        self.assertLessEqual(self.browser.js("return document.documentElement.scrollWidth"), b.NARROW)
        self.browser.size(b.WIDE)

    def test_figures_equal_summary_json(self):
        folder = program.run(self, *program.PIPELINE)
        summary = json.loads((folder / "summary.json").read_text())
        self.open(folder / "timeline.html")
        shown = dict(self.browser.js(SHOWN))
        self.assertGreaterEqual(len(shown), 9)
        for key, value in shown.items():
            self.assertEqual(value, summary[key], key)
        self.assertAlmostEqual(self.browser.probe("view")["to_s"], summary["step_time_s"],
                               delta=1e-9 * summary["step_time_s"])

    def test_what_takes_time_is_what_the_summary_says(self):
        """The compute of a rank's slices adds up to the rank's figure."""
        folder = program.run(self, *program.PIPELINE)
        summary = json.loads((folder / "summary.json").read_text())
        self.open(folder / "timeline.html")
        rows = [row["label"] for row in self.browser.probe("rows") if row["type"] == "slices"]
        self.assertEqual(rows.count("compute"), len(summary["stages"]))
        memory = [row for row in self.browser.probe("rows") if row["type"] == "memory"]
        for stage, row in zip(summary["stages"], memory):
            gib = stage["peak_memory_bytes"] / 2**30
            self.assertTrue(row["note"].startswith(f"{gib:.4g} of "), f"{row['note']}: {gib}")

    def test_the_index_page(self):
        folder = program.run(self, *program.PIPELINE)
        self.open(folder / "index.html")
        links = self.browser.js("return [...document.links].map((link) => link.getAttribute('href'))")
        self.assertIn("timeline.html", links)
        for link in links:
            self.assertTrue((folder / link).is_file(), link)
        self.browser.js("document.links[0].click()")
        self.browser.wait("return window.shardsim")

    def test_schedules_beside_each_other(self):
        path = program.written(self, "schedules.html", *SCHEDULES, "--html")
        self.open(path)
        runs = read_data(path)["runs"]
        shown = self.browser.js(SHOWN)
        for key in ("makespan_s", "makespan_bubble", "p2p_transfers"):
            expected = [run["summary"][key] for run in runs]
            self.assertEqual([value for name, value in shown if name == key], expected)
        cells = [row for row in self.browser.probe("rows") if row["type"] == "cells"]
        self.assertEqual(len(cells), 12)
        self.assertEqual(self.browser.probe("hits"), sum(run["cells"]["count"] for run in runs))

    def test_runs_beside_each_other(self):
        layers = "configs/runs/fsdp-prefetch-4-layers.yaml"
        folders = [program.run(self, layers), program.run(self, layers, "--set", "overlap.fsdp_prefetch=0")]
        path = program.written(self, "runs.html", "compare", *map(str, folders), "--out")
        self.open(path)
        steps = [json.loads((folder / "summary.json").read_text())["step_time_s"] for folder in folders]
        self.assertEqual([value for key, value in self.browser.js(SHOWN) if key == "step_time_s"], steps)
        self.assertLess(steps[0], steps[1])

    def test_a_hostile_name_is_text(self):
        name = "<script>alert(1)</script></script><!--"
        folder = program.run(self, *program.PIPELINE, "--set", f"name={json.dumps(name)}")
        for page in ("timeline.html", "index.html"):
            self.open(folder / page)
            self.assertEqual(self.browser.js("return document.querySelector('h1').textContent"), name)
            self.assertEqual(self.browser.js("return document.scripts.length"), 2)

    def test_every_bubble_says_why(self):
        folder = program.run(self, *program.PIPELINE)
        self.open(folder / "timeline.html")
        bubbles = read_data(folder / "timeline.html")["runs"][0]["bubbles"]["count"]
        self.assertGreater(bubbles, 5)
        for index in range(0, bubbles, 1 + bubbles // 10):
            box = self.browser.place("bubble", index)
            self.browser.js("document.querySelector('.surface').dispatchEvent("
                            "new KeyboardEvent('keydown', {key: 'f'}))")
            if box[2]["width"] < 4:
                continue
            self.browser.move(box[0], box[1])
            hovered = self.browser.js("""const card = document.querySelector('.card');
                return card.hidden ? '' : card.innerText""")
            self.assertRegex(hovered, "(?s)^bubble.*why.*(waits|no work|pauses)")
