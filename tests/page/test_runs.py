"""Pages of runs of other shapes: several ranks, loaders that wait for each other, epochs without number, steps of hours."""

import unittest

import browser
import pages
import words


def setUpModule():
    pages.need_browser()


class Ranked(pages.OnePage):
    """Four ranks, one of which the others wait for."""

    NAME = "ranked"

    def test_a_slow_rank_is_seen_beside_the_others(self):
        [at_] = [number for number, one in enumerate(self.report["findings"]) if one["rule"] == "slow_rank"]
        evidence = self.report["findings"][at_]["evidence"]
        self.browser.open(self.page)
        self.browser.click(f"#finding-{at_} .see")
        self.assertIn("at=ranks", self.browser.run("return location.hash"))
        rows = self.browser.run(pages.PLACE_OF + """const rows = [...document.querySelectorAll('#ranks table')].pop().rows;
            return [...rows].map(row => [...row.cells].map(cell => [cell.textContent.trim(), placeOf(cell.querySelector('data')),
                cell.querySelector('data')?.value ?? null, [...cell.querySelectorAll('.bar rect')].map(part => parseFloat(part.getAttribute('width')))]))""")
        titles = [text for text, *_ in rows[0]]
        self.assertEqual(titles, ["Rank", "Exposed", "forward", "synchronization", "communication"])
        longest = max(sum(time["exposed_ns"] for time in rank["phases_per_step"]) for rank in self.report["ranks"])
        for number, (row, rank) in enumerate(zip(rows[1:], self.report["ranks"], strict=True)):
            times = {time["phase"]: time["exposed_ns"] for time in rank["phases_per_step"]}
            self.assertEqual(int(row[0][2]), rank["resource"]["rank"])
            for part, title in zip(row[1][3], [title for title in titles[2:] if title in times], strict=True):
                self.assertAlmostEqual(part, 100 * times[title] / longest, places=1)
            for title, (text, place, value, _) in zip(titles[2:], row[2:], strict=True):
                if title not in times:
                    self.assertEqual((text, place), ("–", None))
                    continue
                self.assertEqual(int(value), times[title])
                self.assertEqual(pages.at(self.report, place), times[title])
                self.assertTrue(words.says(text, times[title]), (text, times[title]))
            if title == "communication":
                self.assertEqual(row[-1][1], f"ranks/{number}/communication_per_step_ns")
        # The figures behind the finding are those of the table.
        forward = [int(row[2][2]) for row in rows[1:]]
        self.assertEqual(evidence["phase_per_step_ns"], forward[3])
        self.assertEqual(evidence["phase_on_others_ns"], sum(forward[:3]) // 3)
        self.assertEqual(self.browser.messages(), [])


class Staged(unittest.TestCase):
    """Steps wait for one loader, and that one for another."""

    def test_who_waits_for_which_loader_is_told(self):
        page, report = pages.of("staged")
        loaders = report["detailed_metrics"]["batches"]["loaders"]
        kinds = (("stalls", lambda row: f"steps ({row['mode']})"), ("waited_by", lambda row: f"batches of {row['loader']}"))
        expected = [(number, loader["name"], kind, at_, who(row), row) for number, loader in enumerate(loaders)
                    for kind, who in kinds for at_, row in enumerate(loader[kind])]
        self.assertEqual([(name, who) for _, name, _, _, who, _ in expected], [("decode", "steps (train)"), ("read", "batches of decode")])
        with browser.Browser() as window:
            window.open(page)
            rows = window.run("""return [...document.querySelectorAll('#loaders table')].find(one => one.caption.textContent.startsWith('Who waited'))
                .tBodies[0].innerText.trim().split('\\n').map(row => row.split('\\t').map(cell => cell.trim()))""")
            places = window.run(pages.PLACE_OF + "return [...document.querySelectorAll('#loaders data')].map(one => [placeOf(one), Number(one.value)])")
            self.assertEqual(window.messages(), [])
        for number, _, kind, at_, _, row in expected:
            for name in ("waits", "total_ns"):
                self.assertIn([f"detailed_metrics/batches/loaders/{number}/{kind}/{at_}/{name}", row[name]], places)
        lines = [line.strip("| ").replace("`", "").split(" | ") for line in pages.rendered("staged", "md").splitlines() if line.startswith("|")]
        start = next(number for number, line in enumerate(lines) if line[:2] == ["Waited for", "Who waited"])
        for shown in (rows, lines[start + 2:start + 2 + len(expected)]):
            for (name, who, waits, time), (_, loader, _, _, told, row) in zip(shown, expected, strict=True):
                self.assertEqual((name, who), (loader, told))
                self.assertTrue(words.says(waits, row["waits"]) and words.says(time, row["total_ns"]), (waits, time, row))


class Epochs(unittest.TestCase):
    """More epochs whose numbers begin anew than the plot of phases has points."""

    def test_epochs_that_go_together_are_said_to(self):
        page, report = pages.of("epochs")
        [series] = report["detailed_metrics"]["phase_series"]
        steps = [point["step"] for point in series["points"]]
        self.assertEqual((series["shift"], len(steps)), (63, 9_300 // 2))
        # Each point is where the first of its two epochs begins.
        self.assertEqual(steps, list(range(0, 2 * 9_300, 4)))
        caption = "return document.querySelector('#plot-phases figcaption').textContent"
        together = "There are more epochs than the plot has points: neighbouring ones go together in one."
        with browser.Browser() as window, browser.Browser(scripts=False) as bare:
            bare.open(page, ready=False)
            self.assertIn(together, bare.run(caption))
            window.open(page)
            self.assertIn(together, window.run(caption))
            self.assertNotIn(together, window.run(caption.replace("phases", "steps")))
            window.run("look(9001)")
            said = window.run("return document.querySelector('#plot-phases .said').textContent")
            self.assertTrue(said.startswith("Steps 9,000–9,003, mean: "), said)
            self.assertEqual(window.messages(), [])


class Hours(unittest.TestCase):
    """Steps of two hours."""

    def test_ticks_are_those_of_clocks(self):
        page, _ = pages.of("evaluating")
        ticks = "return [...document.querySelectorAll('#' + arguments[0] + ' .tick:not(.percentile):not(.change)')].map(one => one.textContent).filter(one => /h|min/.test(one))"
        with browser.Browser() as window:
            window.open(page)
            self.assertEqual(window.run(ticks, "plot-steps"), ["1 h", "2 h", "3 h"])
            self.assertEqual(window.run(ticks, "plot-phases"), ["1 h", "2 h", "3 h"])
            self.assertEqual(window.run(ticks, "plot-distribution"), ["1 h 40 min", "2 h", "2 h 20 min"])
            window.open(page, "#log=1")
            self.assertGreater(len(window.run(ticks, "plot-steps")), 1)
            self.assertEqual([tick for tick in window.run(ticks, "plot-steps") if not tick.endswith((" min", " h"))], [])


class Last(unittest.TestCase):
    """The last point of a plot holds several steps."""

    def test_it_is_drawn_over_all_of_them(self):
        shapes = ("return [...document.querySelectorAll('#plot-phases .in .area')].map(one => [one.getBBox(), one.ownerSVGElement.viewBox.baseVal])"
                  ".map(([box, whole]) => (box.x + box.width) / whole.width)")
        page, report = pages.of("long")
        [series] = report["detailed_metrics"]["phase_series"]
        self.assertLess(series["points"][-1]["step"], 2_199)
        with browser.Browser() as window:
            window.open(page)
            ends = window.run(shapes)
            self.assertGreater(len(ends), 1)
            self.assertEqual(set(ends), {1})


if __name__ == "__main__":
    unittest.main(verbosity=2)
