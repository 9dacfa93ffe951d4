"""The report page of unusual runs in a real browser: changes, marks, an outlier, hundreds of sections, no steps, nothing at all, long
names, many spans, a hundred thousand steps. What it needs is in `pages.py`."""

import pathlib
import subprocess
import tempfile
import unittest

import browser
import pages
import words
from pages import at


def setUpModule():
    pages.need_browser()


class Leveled(pages.OnePage):
    """Steps that change four times, where the words of all have no room above the plot."""

    NAME = "leveled"

    def test_words_of_changes_do_not_lie_over_each_other(self):
        steps = [change["step"] for change in self.report["detailed_metrics"]["changes"]]
        self.assertEqual(len(steps), 4)
        drawn = ("const plot = document.querySelector('#plot-steps .drawing'), box = one => (({left, right, top}) => [left, right, top])(one.getBoundingClientRect()); "
                 "return [plot.querySelectorAll('.mark').length, [...plot.querySelectorAll('.mark title')].map(one => one.textContent), "
                 "[...plot.querySelectorAll('.change')].map(box), box(plot)]")
        shown = {}
        for width in (1280, 700, 360):
            self.browser.resize(width, 900)
            self.browser.open(self.page)
            lines, titles, words_, (left, right, _) = self.browser.run(drawn)
            shown[width] = len(words_)
            self.assertEqual(lines, 4)
            self.assertTrue(all("slower" in title or "faster" in title for title in titles), titles)
            # Not beyond the page, and not over each other.
            self.assertTrue(all(begin >= left and end <= right + 1 for begin, end, _ in words_), (width, words_, left, right))
            for at, (begin, end, top) in enumerate(words_):
                for other, until, row in words_[:at]:
                    self.assertTrue(row != top or end <= other or until <= begin, (width, words_))
        # Where there is room, all of them stand there.
        self.assertEqual(shown[1280], 4)
        self.assertLess(shown[360], 4)
        self.assertEqual(self.browser.messages(), [])


class Marked(pages.OnePage):
    """Steps with a warm-up, a period and a change, on two ranks: all of it stands in the plot of the steps."""

    NAME = "marked"

    def setUp(self):
        self.browser.media()
        self.browser.resize(1280, 900)
        self.browser.open(self.page)

    def test_it_marks_what_is_known_of_the_steps(self):
        [change] = self.report["detailed_metrics"]["changes"]
        [periodic] = self.report["detailed_metrics"]["periodic"]
        [period] = periodic["periods"]
        self.assertEqual((change["step"], period["every"], period["first_step"]), (180, 25, 24))
        marks = ("return [...document.querySelectorAll('#plot-steps .drawing ' + arguments[0])].map(one => "
                 "[parseFloat(one.getAttribute('x1') ?? one.getAttribute('x')), one.textContent, one.getAttribute('width')])")
        [[place, *_]] = self.browser.run(marks, ".mark")
        self.assertAlmostEqual(place, 100 * 180 / 299, places=1)
        [[_, words_, _]] = self.browser.run(marks, ".change")
        self.assertRegex(words_, r"^\d+ % slower$")
        beats = self.browser.run(marks, ".beat")
        self.assertEqual([round(place * 2.99) for place, *_ in beats], list(range(24, 300, 25)))
        self.assertEqual({words_ for _, words_, _ in beats}, {"every 25th step"})
        # Warm-up ends where the fourth step begins.
        [mode] = self.report["detailed_metrics"]["modes"]
        self.assertEqual(mode["warmup"]["steady_step"], 3)
        [[_, words_, wide]] = self.browser.run(marks, ".warm")
        self.assertEqual((words_, round(float(wide.rstrip("%")), 1)), ("warm-up", round(300 / 299, 1)))
        # They go along with the zoom.
        self.browser.open(self.page, "#steps=170-190")
        [[place, *_]] = self.browser.run(marks, ".mark")
        self.assertAlmostEqual(place, 50, places=1)
        self.assertEqual([place for place, *_ in self.browser.run(marks, ".beat")], [20])
        self.browser.open(self.page, "#steps=100-120")
        self.assertEqual(self.browser.run(marks, ".mark"), [])
        self.assertEqual(self.browser.messages(), [])

    def test_a_change_is_seen_among_the_steps(self):
        at_ = next(number for number, one in enumerate(self.report["findings"]) if one["rule"] == "slower_since")
        link = self.browser.run("return document.querySelector('#finding-' + arguments[0] + ' .see').getAttribute('href')", at_)
        self.assertEqual(link, "#plot-steps")

    def test_nothing_is_scrolled_away_on_a_wide_screen(self):
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth)"
                                          ".map(one => one.getAttribute('aria-label'))"), [])

    def test_ticks_are_round(self):
        ticks = self.browser.run("return [...document.querySelectorAll('svg.plot:not(.waterfall) .tick:not(.change):not(.percentile)')].map(t => t.textContent)")
        self.assertGreater(len(ticks), 15)
        for tick in ticks:
            self.assertRegex(tick.replace(",", ""), r"^(step )?([1-9]\d?0*|0|0\.\d*[1-9]|\d\.5)( [a-zµA-Z]+)?$")

    def test_every_plot_has_a_heading(self):
        named = self.browser.run("return [...document.querySelectorAll('figure.plot')].map(one => one.querySelector('h3')?.textContent"
                                 " ?? (one.closest('section').querySelector('figure') === one))")
        self.assertTrue(all(named), named)

    def test_it_fits_a_narrow_screen_and_has_the_same_colors(self):
        self.browser.resize(360, 740)
        self.browser.open(self.page)
        self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)
        self.assertEqual(self.browser.run(pages.LOST), [])
        seen = self.browser.run(pages.COLORS)
        self.assertEqual({phase: found for phase, found in seen.items() if len({color for _, color in found}) != 1}, {})
        self.assertIn("my own phase", seen)
        self.assertEqual({color for _, color in seen["forward"]}, {"rgb(86, 180, 233)"})


class Outlier(unittest.TestCase):
    """One step takes six hundred times as long as the others."""

    def test_it_is_marked_and_the_others_are_seen(self):
        page, report = pages.of("outlier")
        [series] = report["detailed_metrics"]["series"]
        self.assertEqual(max(point["duration_max_ns"] for point in series["points"]), 6_000_000_000)
        axis = "return [...document.querySelectorAll('#' + arguments[0] + ' .tick:not(.x)')].map(t => t.textContent)"
        over = ("return [...document.querySelectorAll('#' + arguments[0] + ' .over:not(.words)')].map(one => "
                "[Math.round(parseFloat(one.getAttribute('x')) * 2.99), one.querySelector('title').textContent])")
        said = "return [...document.querySelectorAll('#' + arguments[0] + ' .over.words')].map(one => one.textContent)"
        with browser.Browser() as window:
            window.open(page)
            for plot, title in (("plot-steps", "step 200: 6.00 s"), ("plot-phases", None), ("plot-waiting", "step 200: 6.00 s")):
                # The others take up to 11 ms.
                self.assertEqual(window.run(axis, plot)[-1], "20 ms", plot)
                [(step, found)] = window.run(over, plot)
                self.assertLessEqual(abs(step - 200), 1, plot)
                self.assertTrue(title is None or found == title, found)
                [words_] = window.run(said, plot)
                self.assertRegex(words_, r"^▲ beyond the axis: up to [\d.]+ s$")
            window.open(page, "#steps=10-100")
            self.assertEqual(window.run(over, "plot-steps"), [])
            # A logarithmic axis has room for all.
            window.open(page, "#log=1")
            self.assertEqual(window.run(over, "plot-steps"), [])
            self.assertEqual(window.messages(), [])
            for width in (1280, 360):
                window.resize(width, 800)
                window.open(page)
                self.assertEqual(window.run(pages.LOST), [])


class Many(pages.OnePage):
    """Steps of hundreds of sections that take as long as each other."""

    NAME = "many"

    def setUp(self):
        self.browser.media()
        self.browser.resize(1280, 900)
        self.browser.open(self.page)

    def tearDown(self):
        self.assertEqual(self.browser.messages(), [])

    def boxes(self):
        return self.browser.run("return [...document.querySelectorAll('#flame-graph .box')].map(b => { const r = b.getBoundingClientRect();"
                                "return [b.title.split(', ')[0], r.left, r.right, r.top, b.classList.contains('more')]; })")

    def test_a_long_table_shows_its_first_rows(self):
        seen = "return [...document.querySelectorAll('#section-table tbody tr')].filter(row => row.checkVisibility()).map(row => row.dataset.path)"
        button = "#sections .scroll + .tools button"
        every = [section["path"] for section in self.report["sections"]]
        self.assertEqual(len(every), 601)
        self.assertEqual(len(self.browser.run(seen)), 50)
        self.assertLess(self.browser.run("return document.documentElement.scrollHeight"), 10_000)
        # The first ones in the order that is chosen, and of those that fit the filter.
        self.browser.click("#section-table th:nth-child(1) button")
        self.assertEqual(self.browser.run(seen), sorted(every)[:50])
        self.browser.write("#section-filter", "part_5")
        self.assertEqual(self.browser.run(seen), [f"step/part_5{number:02}" for number in range(50)])
        self.assertIn("100 of 601", self.browser.run("return document.querySelector('#section-said').textContent"))
        self.browser.write("#section-filter", "part_599")
        self.assertEqual(self.browser.run(seen), ["step/part_599"])
        self.assertFalse(self.browser.run("return document.querySelector(arguments[0]).checkVisibility()", button))
        self.browser.run("const words = document.querySelector('#section-filter'); words.value = ''; words.dispatchEvent(new Event('input'))")
        # Paper has all of them.
        self.browser.media("print")
        self.assertEqual(len(self.browser.run(seen)), 601)
        self.browser.media()
        self.assertIn("601", self.browser.run("return document.querySelector(arguments[0]).textContent", button))
        self.browser.click(button)
        self.assertEqual(len(self.browser.run(seen)), 601)
        self.assertIn("all=1", self.browser.run("return location.hash"))
        self.browser.open(self.page, "#all=1")
        self.assertEqual(len(self.browser.run(seen)), 601)
        self.browser.click(button)
        self.assertEqual(len(self.browser.run(seen)), 50)
        with browser.Browser(scripts=False) as bare:
            bare.open(self.page, ready=False)
            self.assertEqual(len(bare.run(seen)), 120)

    def test_boxes_of_the_flame_graph_are_told_apart(self):
        for width in (1280, 360):
            self.browser.resize(width, 900)
            self.browser.open(self.page)
            boxes = self.boxes()
            self.assertEqual([name for name, *_ in boxes], ["step", "part_000", "part_001", "part_002", "part_003", "596 more in step"])
            for _ in range(2):
                for name, left, right, top, _ in boxes:
                    self.assertGreaterEqual(right - left, 4, name)
                level = sorted((left, right) for _, left, right, top, _ in boxes if top != boxes[0][3])
                self.assertTrue(all(end <= begin + 0.5 for (_, end), (begin, _) in zip(level, level[1:])), level)
                self.browser.run("document.querySelector('#flame-graph .more').click()")
                boxes = self.boxes()
            # The second page: 24 others of the same, each as wide as its part of them.
            self.assertEqual([name for name, *_ in boxes[1:]], [f"part_{number:03}" for number in range(28, 52)] + ["548 more in step"])
            wide = {round(right - left) for _, left, right, _, is_more in boxes[1:] if not is_more}
            self.assertLessEqual(max(wide) - min(wide), 1)
            self.assertIn("children 29 to 52 of 600", self.browser.run("return document.querySelector('#flame-said').textContent"))
            address = self.browser.run("return location.hash")
            self.browser.open(self.page, address)
            self.assertEqual([name for name, *_ in self.boxes()], [name for name, *_ in boxes])
        for strange in ("#from=-3", "#from=x", "#from=9999", "#from=600"):
            self.browser.open(self.page, strange)
            self.assertGreater(len(self.boxes()), 1, strange)

    def test_what_is_folded_is_found(self):
        self.browser.write("#flame-search", "part_577")
        self.assertRegex(self.browser.run("return document.querySelector('#flame-said').textContent"), r"^1 found, 0\.10 % of step")
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#flame-graph .hit')].map(b => b.title.split(', ')[0])"), ["596 more in step"])

    def test_lists_that_say_nothing_are_left_out(self):
        self.assertEqual({section["count"] for section in self.report["sections"]}, {10})
        captions = self.browser.run("return [...document.querySelectorAll('#ranked caption')].map(one => one.textContent)")
        self.assertIn("Sections with most time of their own", captions)
        self.assertNotIn("Sections that are called most", captions)
        self.assertNotIn("frequent", self.browser.run("return document.querySelector('#ranked h2').textContent"))


class Stepless(unittest.TestCase):
    """A trace of a service, without any step."""

    def test_it_has_no_empty_parts(self):
        page, report = pages.of("stepless")
        self.assertEqual((report["summary"]["mode"], len(report["sections"])), (None, 2))
        with browser.Browser() as window:
            window.open(page)
            parts = window.run("return [...document.querySelectorAll('main > section')].map(one => [one.id, one.innerText.trim().split('\\n').length])")
            named = [part for part, _ in parts]
            self.assertLess({"run", "critical", "waterfall", "flame", "sections", "recording"}, set(named))
            self.assertEqual({"phases", "timeline", "distribution", "waiting", "slowest", "memory"} & set(named), set())
            # Where steps would be, it says why there are none, and what to do.
            told = window.run("return document.querySelector('#waterfall p').textContent")
            self.assertTrue(told.startswith("No steps were found: mark their spans with the attribute stepscope.section.kind"), told)
            self.assertEqual([part for part, lines in parts if lines < 2], [])
            links = window.run("return [...document.querySelectorAll('nav a')].map(one => one.getAttribute('href').slice(1))")
            self.assertGreater(len(links), 3)
            self.assertLessEqual(set(links), set(named))
            self.assertEqual(window.messages(), [])


class Empty(unittest.TestCase):
    """An input that holds no run."""

    def test_it_has_no_empty_parts(self):
        with tempfile.TemporaryDirectory() as folder:
            run, page = pathlib.Path(folder, "empty.json"), pathlib.Path(folder, "empty.html")
            run.write_text('{"resourceSpans": []}')
            subprocess.run([pages.PROGRAM, "--quiet", "analyze", str(run), "--format", "html", "--output", str(page)], capture_output=True)
            with browser.Browser() as window:
                window.open(page)
                parts = window.run("return [...document.querySelectorAll('main > section')].map(one => [one.id, one.innerText.trim().split('\\n').length])")
                self.assertIn("recording", dict(parts))
                self.assertEqual([part for part, lines in parts if lines < 2], [])
                self.assertEqual({"sections", "ranks", "flame"} & set(dict(parts)), set())
                links = window.run("return [...document.querySelectorAll('nav a')].map(one => one.getAttribute('href').slice(1))")
                self.assertLessEqual(set(links), set(dict(parts)))
                self.assertEqual(window.messages(), [])


class Named(unittest.TestCase):
    """Long names: of the program, of a phase, of hundreds of sections."""

    def test_long_words_of_sentences_are_broken(self):
        page, report = pages.of("named")
        with browser.Browser() as window:
            window.resize(360, 740)
            window.open(page)
            place = max((section["path"] for section in report["sections"]), key=len) * 4
            for words_ in ("p", "li", "figcaption"):
                window.run("document.querySelector('#findings').append(element(arguments[0], {}, arguments[1]))", words_, place)
                self.assertLessEqual(window.run("return document.documentElement.scrollWidth"), 360, words_)

    def test_it_stays_small_and_narrow(self):
        page, report = pages.of("named")
        self.assertGreater(len(report["sections"]), 300)
        self.assertLess(pages.without_data(page, report), 400_000)
        with browser.Browser() as window:
            window.resize(360, 740)
            window.open(page)
            self.assertLessEqual(window.run("return document.documentElement.scrollWidth"), 360)
            self.assertGreater(window.run("return document.querySelector('#section-phase').getBoundingClientRect().width"), 60)
            # The name of the program is cut, and whole beside the mouse.
            [(height, title)] = window.run("return [...document.querySelectorAll('.facts span[title]')].filter(one => one.title.length > 1000).map("
                                           "one => [one.getBoundingClientRect().height, one.title])")
            self.assertLess(height, 370)
            self.assertEqual(title, report["run"]["service"])
            self.assertGreater(len(title), 1_000)
            self.assertEqual(window.messages(), [])


class Wide(unittest.TestCase):
    """Steps of more spans than are kept of one, in hundreds of sections on many threads."""

    def test_it_stays_small_and_exact(self):
        page, report = pages.of("wide")
        sections = report["sections"]
        self.assertGreater(len(sections), 500)
        self.assertLess(pages.without_data(page, report), 400_000)
        with browser.Browser() as window:
            window.open(page)
            figures = window.run(pages.PLACE_OF + "return [...document.querySelectorAll('data')].map("
                                 "one => [placeOf(one), one.value, one.textContent])")
            for place, value, words_ in figures:
                expected = at(report, place)
                self.assertEqual(float(value), float(expected), place)
                self.assertTrue(words.says(words_, expected), f"{place}: {words_!r} for {expected}")
            places = {place for place, *_ in figures}
            for number, section in enumerate(sections):
                for name in ("count", "total", "self_ns", "p50", "max", "cv", "errors"):
                    self.assertEqual(f"sections/{number}/{name}" in places, section[name] is not None, name)
            paths = window.run("return [...document.querySelectorAll('#section-table tbody tr')].map(row => row.dataset.path)")
            self.assertEqual(sorted(paths), sorted(section["path"] for section in sections))
            most = sorted((section["count"] for section in sections if section["kind"] in ("section", "micro_step")), reverse=True)[:10]
            self.assertGreater(len(set(most)), 1)
            calls = window.run("return [...document.querySelectorAll('#ranked table')].filter(one => one.caption.textContent === 'Sections that are called most')"
                               ".map(one => [...one.tBodies[0].rows].map(row => Number(row.cells[2].querySelector('data').value)))")
            self.assertEqual(calls, [most])
            shown = next(example for example in report["exemplars"] if "median" in example["roles"])
            self.assertEqual((len(shown["spans"]), shown["spans_in_step"]), (256, 520 + 1))
            self.assertEqual(window.run("return document.querySelectorAll('#waterfall-graph .box').length"), 256)
            window.resize(360, 740)
            window.open(page)
            self.assertLessEqual(window.run("return document.documentElement.scrollWidth"), 360)
            self.assertEqual(window.messages(), [])


class Large(unittest.TestCase):
    """A hundred thousand steps, and hundreds of sections."""

    def test_it_stays_small_and_zooms_exactly(self):
        page, report = pages.of("large")
        self.assertLess(page.stat().st_size, 3_000_000)
        # Rows and plots of 515 sections, that are called in thousands of ways.
        self.assertLess(pages.without_data(page, report), 400_000)
        with browser.Browser() as window:
            window.open(page)
            self.assertEqual(window.run("return document.querySelectorAll('#waterfall-graph .box').length"),
                             len(next(one for one in report["exemplars"] if "median" in one["roles"])["spans"]))
            window.drag("#plot-steps .drawing", 0.4, 0.6)
            self.assertIn("steps=", window.run("return location.hash"))
            # Points of several steps: figures are rebuilt from differences.
            points = next(one for one in report["detailed_metrics"]["series"] if one["mode"] == "train")["points"]
            rows = dict(window.run_async("""
                const done = arguments[arguments.length - 1];
                readData().then(data => { const plots = plotsOf(data);
                    done([...plots.get('steps').rows, ...plots.get('memory').rows].map(([label, values]) => [label, [...values]])); })"""))
            self.assertGreater(points[0]["count"], 1)
            for label, name in (("Steps", "count"), ("Sum", "duration_sum_ns"), ("Longest", "duration_max_ns"), ("Waiting", "wait_ns")):
                self.assertEqual(rows[label], [point[name] for point in points], label)
            for label, name in (("Live", "live_bytes"), ("Resident", "rss_bytes")):
                for title, figure in (("least", "min"), ("mean", "mean"), ("most", "max")):
                    self.assertEqual(rows[f"{label}, {title}"], [point[name][figure] for point in points], f"{label} {title}")
            self.assertEqual(window.messages(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
