"""Search, filters, switches, hovering and clicking do what they say."""
import unittest

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import browser as b
import pipelines
from make_page import KINDS


class Controls(unittest.TestCase):
    def setUp(self):
        self.browser.size(b.WIDE)
        self.data, path = b.pipeline_page(self.browser)
        self.browser.open(path)

    def name(self, one):
        return self.data.texts.list[self.data.origins[one["origin"]]["name"]]

    def kind(self, one):
        return KINDS[self.data.origins[one["origin"]]["kind"]][0]

    def count(self, wanted):
        return sum(1 for one in self.data.slices if wanted(one))

    def choose(self, name, value):
        Select(self.browser.control(name)).select_by_value(value)

    def card(self):
        return self.browser.js("""const card = document.querySelector('.card');
            return card.hidden ? null : [card.querySelector('strong').textContent, Object.fromEntries(
                [...card.querySelectorAll('dt')].map((dt) => [dt.textContent, dt.nextSibling.textContent]))]""")

    def hover(self, kind, index):
        x, y, _ = self.browser.place(kind, index)
        self.browser.move(x, y)
        return self.card()

    def slice_named(self, name):
        return next(i for i, one in enumerate(self.data.slices) if self.name(one) == name)

    def test_search_counts_and_goes_from_hit_to_hit(self):
        self.browser.control("search").send_keys("b3 OF")
        expected = [i for i, one in enumerate(self.data.slices) if "b3 of" in self.name(one).lower()]
        self.assertEqual(self.browser.probe("hits"), len(expected))
        self.assertEqual(self.browser.control("hits").text, f"{len(expected)} slices")
        for index in expected:
            self.browser.keys(Keys.ENTER)
            self.assertEqual(self.browser.probe("focused")["index"], index)
            box = self.browser.place("slice", index)[2]
            self.assertGreaterEqual(box["width"], 24 - 1e-6)
        self.browser.keys(Keys.ESCAPE)
        self.assertEqual(self.browser.probe("choice")["search"], "")
        self.assertEqual(self.browser.probe("hits"), len(self.data.slices))

    def test_a_search_without_a_hit_says_so(self):
        self.browser.control("search").send_keys("zzz", Keys.ENTER)
        self.assertEqual(self.browser.control("hits").text, "0 slices")
        self.assertEqual(self.browser.js("return document.querySelector('.live').textContent"), "no hit")

    def test_what_is_not_searched_for_is_set_back(self):
        x, y, box = self.browser.place("slice", self.slice_named("B3 of stage 1"))
        hit = (box["x"] + 2, y)
        x, y, box = self.browser.place("slice", self.slice_named("B4 of stage 1"))
        other = (box["x"] + 2, y)
        self.assertEqual(self.browser.pixel(*hit), self.browser.pixel(*other))
        self.browser.control("search").send_keys("B3")
        self.assertEqual(self.browser.pixel(*hit), "#ad570c")
        self.assertNotEqual(self.browser.pixel(*other), "#ad570c")

    def test_filters(self):
        self.choose("stage", "2")
        self.assertEqual(self.browser.probe("hits"), self.count(lambda one: one["stage"] == 2))
        self.choose("microbatch", "5")
        self.assertEqual(self.browser.probe("hits"),
                         self.count(lambda one: one["stage"] == 2 and one["microbatch"] == 6))
        self.choose("stage", "all")
        self.choose("microbatch", "all")
        self.browser.js("document.querySelector('[data-kind=forward]').click()")
        self.assertEqual(self.browser.probe("hits"), self.count(lambda one: self.kind(one) != "forward"))
        self.assertEqual(self.browser.js("return document.activeElement.dataset.kind"), "forward")
        self.browser.js("document.querySelector('[data-kind=forward]').click()")
        self.assertEqual(self.browser.probe("hits"), len(self.data.slices))

    def test_the_critical_path(self):
        self.browser.control("critical").click()
        self.assertEqual(self.browser.probe("hits"), self.count(lambda one: one["critical"]))

    def test_colours_by_kind_and_by_microbatch(self):
        x, y, box = self.browser.place("slice", self.slice_named("B3 of stage 0"))
        self.assertEqual(self.browser.pixel(box["x"] + 2, y), "#ad570c")
        self.choose("colour", "microbatch")
        x, y, box = self.browser.place("slice", self.slice_named("B3 of stage 0"))
        self.assertEqual(self.browser.pixel(box["x"] + 2, y), "#cc79a7")  # the fourth of the colours

    def test_slices_lie_where_their_times_say(self):
        begin, end = (self.browser.probe("view")[key] for key in ("from_s", "to_s"))
        first = self.browser.place("slice", 0)[2]["x"]
        right = self.browser.js("return document.querySelector('.surface').getBoundingClientRect().right")
        index = self.slice_named("B5 of stage 1")
        one, box = self.data.slices[index], self.browser.place("slice", index)[2]
        scale = (right - first) / (end - begin) * self.data.tick_s
        self.assertAlmostEqual(box["x"], first + one["begin"] * scale, delta=0.5)
        self.assertAlmostEqual(box["width"], one["length"] * scale, delta=0.5)
        y = box["y"] + 2
        self.assertEqual(self.browser.pixel(box["x"] + 1, y), "#ad570c")
        self.assertEqual(self.browser.pixel(box["x"] + box["width"] - 3, y), "#ad570c")
        self.assertNotEqual(self.browser.pixel(box["x"] - 2, y), "#ad570c")

    def test_the_hover_card_of_a_slice(self):
        index = self.slice_named("F0 of stage 1")
        title, lines = self.hover("slice", index)
        one = self.data.slices[index]
        self.assertEqual(title, "F0 of stage 1")
        self.assertEqual(lines["kind"], "forward")
        self.assertEqual(lines["on"], "rank 1, compute")
        self.assertEqual(lines["duration"], "1 ms")
        self.assertEqual(lines["start"], f"{one['begin'] / 1000:g} ms")
        self.assertEqual((lines["micro-batch"], lines["stage"], lines["layer"]), ("0", "1", "1"))
        cause = self.data.slices[one["cause"] - 1]
        end = (cause["begin"] + cause["length"]) / 1000
        self.assertEqual(lines["waited for"], f"{self.name(cause)} (rank {cause['track'] // 2}), which ended at {end:g} ms")
        self.browser.move(5, 5)
        self.assertIsNone(self.card())

    def test_the_hover_card_of_a_transfer(self):
        index = next(i for i, one in enumerate(self.data.slices) if self.kind(one) == "pipeline transfer")
        _, lines = self.hover("slice", index)
        self.assertEqual((lines["bytes"], lines["links"]), ("1 MiB", "pp+, 50 GB/s"))

    def test_bubbles_say_why(self):
        for index, bubble in enumerate(self.data.bubbles):
            if bubble["rank"] == 1:
                title, lines = self.hover("bubble", index)
                self.assertEqual((title, lines["why"]), ("bubble", self.data.texts.list[bubble["text"]]))
        self.assertIn("where that does not fit, point at it", self.browser.js(
            "return document.getElementById('keys').innerText"))

    def row(self, kind, number=0):
        rows = [one for one in self.browser.probe("rows") if one["type"] == kind]
        return rows[number]["top"] + rows[number]["height"] / 2

    def test_memory_and_links_are_told_at_the_pointer(self):
        x = self.browser.place("slice", self.slice_named("B0 of stage 0"))[0]
        self.browser.move(x, self.row("memory"))
        title, lines = self.card()
        self.assertRegex(title, r"^memory of rank 0: [\d.]+ GiB$")
        self.assertEqual((lines["weights"], lines["gradients"], lines["limit"]), ("1 GiB", "512 MiB", "4 GiB"))
        self.browser.js("document.querySelector('.scroller').scrollTop = 1e6")
        self.browser.move(x, self.row("link", 2))
        title, lines = self.card()
        self.assertEqual((title, lines["bandwidth"]), ("ib up of device 2", "50 GB/s"))

    def test_strips_come_and_go(self):
        for name, kind, count in (("memory", "memory", 4), ("links", "link", 6)):
            for expected in (0, count):
                self.browser.control(name).click()
                kinds = [row["type"] for row in self.browser.probe("rows")]
                self.assertEqual(kinds.count(kind), expected)

    def test_a_click_shows_the_arrows_in_and_out(self):
        index = self.slice_named("B0 of stage 1")
        x, y, _ = self.browser.place("slice", index)
        self.browser.click(x, y)
        self.assertEqual(self.browser.probe("selected"), {"type": "slice", "index": index, "name": "B0 of stage 1"})
        pairs = [(self.data.slices.index(a), self.data.slices.index(c)) for a, c in self.data.arrows]
        expected = {pair for pair in pairs if index in pair}
        self.assertGreater(self.data.slices[index]["cause"], 0)
        expected.add((self.data.slices[index]["cause"] - 1, index))
        self.assertEqual({tuple(pair) for pair in self.browser.probe("arrows")}, expected)
        self.assertGreater(len(expected), 2)
        shown = self.browser.js("return document.querySelector('.details h2').textContent")
        self.assertEqual(shown, "B0 of stage 1")

    def test_the_details_lead_to_neighbours(self):
        index = self.slice_named("B0 of stage 1")
        x, y, _ = self.browser.place("slice", index)
        self.browser.click(x, y)
        self.browser.js("document.querySelector('.details li button').click()")
        self.assertIn([self.browser.probe("selected")["index"], index], self.browser.probe("arrows"))

    def test_a_drag_selects_nothing(self):
        x, y, _ = self.browser.place("slice", 5)
        self.browser.drag(x, y, 60)
        self.assertIsNone(self.browser.probe("selected"))


class PipelineView(unittest.TestCase):
    def setUp(self):
        self.browser.size(b.WIDE)
        self.data, path = b.pipeline_page(self.browser)
        self.browser.open(path)
        self.browser.control("view-pipeline").click()

    def left_of(self, cell):
        x, y, box = self.browser.place("cell", cell)
        return box["x"] + 2, box["y"] + 3

    def test_one_row_per_rank_with_its_cells(self):
        kinds = [row["type"] for row in self.browser.probe("rows")]
        self.assertEqual(kinds.count("cells"), 4)
        self.assertEqual(self.browser.probe("hits"), len(self.data.cells))

    def test_cells_have_the_colours_of_their_work(self):
        colours = {"F": "#136fec", "B": "#ad570c", "O": "#f0d32c"}
        for index, cell in enumerate(self.data.cells):
            self.assertEqual(self.browser.pixel(*self.left_of(index)), colours[self.data.texts.list[cell["code"]]])

    def test_filters_and_search_reach_cells(self):
        Select(self.browser.control("microbatch")).select_by_value("3")
        self.assertEqual(self.browser.probe("hits"), 8)
        Select(self.browser.control("stage")).select_by_value("0")
        self.assertEqual(self.browser.probe("hits"), 2)
        self.browser.control("search").send_keys("f3")
        self.assertEqual(self.browser.probe("hits"), 1)

    def test_a_click_shows_the_way_of_the_microbatch(self):
        cells = self.data.cells
        index = next(i for i, c in enumerate(cells) if c["rank"] == 2 and c["microbatch"] == 4)
        x, y, _ = self.browser.place("cell", index)
        self.browser.click(x, y)
        arrows = self.browser.probe("arrows")
        way = [arrows[0][0]] + [to for _, to in arrows]
        found = [(self.data.texts.list[cells[i]["code"]], cells[i]["rank"], cells[i]["microbatch"]) for i in way]
        self.assertEqual(found, [("F", r, 4) for r in range(4)] + [("B", r, 4) for r in (3, 2, 1, 0)])

    def test_the_critical_path_of_cells(self):
        self.browser.control("critical").click()
        expected = sum(1 for cell in self.data.cells if cell["rank"] == 0)  # as pipelines.py marks slices
        self.assertEqual(self.browser.probe("hits"), expected)

    def test_chunks_and_overlapped_pairs(self):
        run = pipelines.pipeline_run("pairs", pipelines.two_chunks(2, 2), "schedule")
        self.browser.open(self.browser.make("pairs", "timeline", [run]))
        self.assertEqual(self.browser.probe("view")["name"], "pipeline")
        pair = next(i for i, cell in enumerate(run.cells) if cell.get("second_code"))
        x, y, box = self.browser.place("cell", pair)
        self.assertEqual(self.browser.pixel(box["x"] + 5, box["y"] + 5), "#136fec")  # F of the first chunk
        second = self.browser.pixel(box["x"] + box["width"] * 2 / 3, box["y"] + 5)
        self.assertEqual(second, "#debc9e")  # B of the second, lighter
        frame = self.browser.pixel(box["x"] + box["width"] / 4, box["y"])
        self.assertEqual(frame, "#1b1f24")
        self.browser.move(x, y)
        title = self.browser.js("return document.querySelector('.card strong').textContent")
        self.assertEqual(title, "forward of micro-batch 1, overlapped with backward of micro-batch 0")
