"""The report page in a real browser: figures against the JSON report, every control with mouse and keyboard, narrow,
dark, on paper, without scripts. What it needs is in `pages.py`; `STEPSCOPE_PICTURES` names a folder for screenshots, where
they are wanted."""

import os
import re
import unittest

import browser
import colors
import pages
import words
from pages import at


def setUpModule():
    pages.need_browser()


class Page(pages.OnePage):
    NAME = "demo"

    def setUp(self):
        self.browser.media()
        self.browser.resize(1280, 900)
        self.open()

    def tearDown(self):
        self.assertEqual(self.browser.messages(), [])

    def open(self, fragment="", page=None):
        self.browser.open(page or self.page, fragment)

    def run_js(self, script, *arguments):
        return self.browser.run(script, *arguments)

    def picture(self, name):
        if folder := os.environ.get("STEPSCOPE_PICTURES"):
            os.makedirs(folder, exist_ok=True)
            self.browser.picture(os.path.join(folder, f"{name}.png"), ":root")

    def test_every_figure_is_that_of_the_json_report(self):
        figures = self.run_js(pages.PLACE_OF + "return [...document.querySelectorAll('data')].map("
                              "one => [placeOf(one), one.value, one.textContent])")
        self.assertGreater(len(figures), 100)
        for place, value, text in figures:
            expected = at(self.report, place)
            self.assertEqual(float(value), float(expected), place)
            self.assertTrue(words.says(text, expected), f"{place}: {text!r} for {expected}")
        places = {place for place, *_ in figures}
        for number, section in enumerate(self.report["sections"]):
            for name in ("count", "total", "self_ns", "p50", "p95", "max", "errors"):
                self.assertEqual(f"sections/{number}/{name}" in places, section[name] is not None, name)
        for number, phase in enumerate(self.report["summary"]["phases"]):
            self.assertIn(f"summary/phases/{number}/exposed_ns", places)
        for number, _ in enumerate(self.report["findings"]):
            self.assertIn(f"findings/{number}/severity", places)
        for number, example in enumerate(self.report["exemplars"]):
            self.assertIn(f"exemplars/{number}/duration_ns", places)
        verdict = self.report["summary"]["verdict"]
        self.assertEqual(self.run_js("return document.querySelector('h1').textContent").replace("\xa0", " "), verdict.replace("`", ""))
        # One sentence, no number of which loses its unit at the end of a line.
        self.assertEqual(re.findall(r"[.!?] ", verdict), [])
        self.assertNotRegex(self.run_js("return document.querySelector('h1').textContent"), r"\d (%|ms|s|KiB|MiB|GiB)\b")

    def test_all_phases_and_none_have_their_share(self):
        summary = self.report["summary"]
        cells = self.run_js("return [...document.querySelectorAll('#phases table')[0].tBodies[0].rows].map(row => [row.cells[0].textContent.trim(), row.cells[2].textContent])")
        self.assertEqual(len(cells), len(summary["phases"]) + 1)
        shares = [phase["exposed_ns"] / summary["whole"]["total_ns"] for phase in summary["phases"]]
        for (name, text), share in zip(cells, [*shares, summary["unattributed_ns"] / summary["whole"]["total_ns"]]):
            self.assertTrue(words.says(text, share), (name, text, share))
        self.assertEqual(cells[-1][0], "(no phase)")

    def test_the_rows_behind_the_plots_are_those_of_the_json_report(self):
        points = next(one for one in self.report["detailed_metrics"]["series"] if one["mode"] == "train")["points"]
        rows = self.run_js("""
            const details = document.querySelector('#plot-steps details');
            details.open = true;
            details.dispatchEvent(new Event('toggle'));
            return [...details.querySelectorAll('tbody tr')].map(row => [row.cells[0].textContent,
                ...[...row.querySelectorAll('data')].map(one => Number(one.value))])""")
        self.assertEqual(len(rows), min(50, len(points)))
        for row, point in zip(rows, points):
            names = ("count", "duration_sum_ns", "duration_min_ns", "duration_max_ns", "wait_ns")
            self.assertEqual(row, [f"{point['step']:,}", *(point[name] for name in names)])
        memory = self.browser.run_async("""
            const done = arguments[arguments.length - 1];
            readData().then(data => { const plot = plotsOf(data).get('memory');
                done(plot.rows.map(([label, values]) => [label, [...values].map(one => Number.isNaN(one) ? null : one)])); })""")
        columns = dict(memory)
        for label, name in (("Live", "live_bytes"), ("Resident", "rss_bytes")):
            for title, figure in (("least", "min"), ("mean", "mean"), ("most", "max")):
                expected = [point[name] and point[name][figure] for point in points]
                self.assertEqual(columns[f"{label}, {title}"], expected)

    def test_the_phases_over_the_steps_are_those_of_the_json_report(self):
        series = next(one for one in self.report["detailed_metrics"]["phase_series"] if one["mode"] == "train")
        rows = dict(self.browser.run_async("""
            const done = arguments[arguments.length - 1];
            readData().then(data => done(plotsOf(data).get('phases').rows.map(([label, values]) => [label, [...values]])))"""))
        self.assertEqual(rows["Whole steps"], [point["steps"] for point in series["points"]])
        self.assertEqual(rows["Time"], [point["total_ns"] for point in series["points"]])
        self.assertEqual(rows["(no phase)"], [point["unattributed_ns"] for point in series["points"]])
        exposed = [{one["phase"]: one["exposed_ns"] for one in point["exposed"]} for point in series["points"]]
        phases = set().union(*exposed)
        self.assertLess({"data_wait", "forward"}, phases)
        self.assertLessEqual(phases, set(rows))
        for phase in phases:
            self.assertEqual(rows[phase], [point.get(phase, 0) for point in exposed], phase)
        # One cursor moves through all plots.
        self.run_js("document.querySelectorAll('#plot-steps input[type=range]')[2].focus()")
        self.browser.press("Right")
        self.assertRegex(self.run_js("return document.querySelector('#plot-phases .said').textContent"), r"^Step \d.*forward \d")

    def test_what_sections_hold_is_that_of_the_json_report(self):
        held = self.report["memory"]["by_section"]
        rows = self.browser.run_async("""
            const done = arguments[arguments.length - 1];
            readData().then(data => { const plot = plotsOf(data).get('held');
                done([[...plot.steps], plot.rows.map(([label, values]) => [label, [...values]])]); })""")
        points = held["points"]
        self.assertEqual(rows[0], [point["step"] for point in points])
        expected = [(one["path"] + ", with all inside" * one["includes_nested"], [point["sections"][at] for point in points])
                    for at, one in enumerate(held["sections"])]
        expected += [("All others", [point["other_bytes"] for point in points]), ("All sections", [point["retained_bytes"] for point in points])]
        self.assertEqual([tuple(row) for row in rows[1]], expected)
        # The leak holds most, and its finding leads here.
        self.assertEqual(held["sections"][0]["path"], "step/metrics_history")
        self.assertIn("#plot-held", self.run_js("return [...document.querySelectorAll('.finding a.see')].map(one => one.getAttribute('href'))"))
        self.run_js("document.querySelectorAll('#plot-steps input[type=range]')[2].focus()")
        self.browser.press("Right")
        self.assertRegex(self.run_js("return document.querySelector('#plot-held .said').textContent"), r"^Step \d.*step/metrics_history [\d.]+ [KM]iB")
        ticks = self.run_js("return [...document.querySelectorAll('#plot-held .tick:not(.x)')].map(one => one.textContent)")
        self.assertIn("0", ticks)
        self.assertTrue(any(tick.startswith("−") for tick in ticks), ticks)
        self.assertEqual(self.run_js("return document.querySelectorAll('#memory [data-at^=\"memory/by_section/\"] data').length"), 4 * (len(held["sections"]) + 2))

    def test_lines_of_sections_are_told_apart(self):
        for scheme in ("light", "dark"):
            self.browser.media(prefers_color_scheme=scheme)
            self.open()
            looks = self.run_js("""
                return ['all', 'plain', ...Array.from({ length: 8 }, (_, n) => `m${n}`)].map(name => {
                    const line = drawn('line', { class: `line ${name}` });
                    document.querySelector('#plot-held svg').append(line);
                    const { stroke, strokeDasharray } = getComputedStyle(line);
                    line.remove();
                    return [stroke, strokeDasharray, getComputedStyle(document.body).backgroundColor];
                })""")
            for at_, (color, dash, paper) in enumerate(looks):
                if at_ != 1:
                    self.assertGreaterEqual(colors.contrast(color, paper), 3, (scheme, at_))
                for other, other_dash, _ in looks[:at_]:
                    self.assertTrue(dash != other_dash or colors.distance(color, other) > 0.07, (scheme, at_, color, other))

    def test_every_step_kept_is_shown_as_a_waterfall(self):
        examples = self.report["exemplars"]
        roles = {role for example in examples for role in example["roles"]}
        self.assertLessEqual({"first", "median", "slowest"}, roles)
        for number, example in enumerate(examples):
            self.run_js("document.querySelectorAll('#waterfall-tools .steps button')[arguments[0]].click()", number)
            self.assertIn(f"example={number}", self.run_js("return location.hash"))
            self.assertEqual(sum(piece["duration_ns"] for piece in example["critical_path"]), example["duration_ns"])
            boxes = self.run_js("return [...document.querySelectorAll('#waterfall-graph .box')].map(b => "
                                "[Number(b.dataset.span), parseFloat(b.style.left), parseFloat(b.style.width), b.title])")
            self.assertEqual([box[0] for box in boxes], list(range(len(example["spans"]))))
            for (_, left, width, title), span in zip(boxes, example["spans"]):
                begin = max(span["offset_ns"], 0)
                end = min(span["offset_ns"] + span["duration_ns"], example["duration_ns"])
                self.assertAlmostEqual(left, 100 * begin / example["duration_ns"], places=2)
                self.assertAlmostEqual(width, max(100 * (end - begin) / example["duration_ns"], 0.1), places=2)
                self.assertTrue(title.startswith(span["name"] + ", "), title)
                self.assertEqual("not on the critical path" in title, span["critical_ns"] == 0)
            marks = self.run_js("return [...document.querySelectorAll('#waterfall-graph .path')].map(m => parseFloat(m.style.left))")
            self.assertEqual(len(marks), len(example["critical_path"]))
            for mark, piece in zip(marks, example["critical_path"]):
                self.assertAlmostEqual(mark, 100 * piece["offset_ns"] / example["duration_ns"], places=2)
            figures = self.run_js(pages.PLACE_OF + "return [...document.querySelectorAll('#waterfall-rows data')].map(d => [placeOf(d), d.value, d.textContent])")
            self.assertGreaterEqual(len(figures), 3 * len(example["spans"]))
            for place, value, text in figures:
                self.assertEqual(float(value), float(at(self.report, place)), place)
                self.assertTrue(words.says(text, at(self.report, place)), f"{place}: {text!r}")
        waits = [span for example in examples for span in example["spans"] if span["batch"]]
        self.assertTrue(waits and all(span["batch"]["trace_id"] for span in waits), "waits link to their batches")

    def test_a_step_zooms_by_mouse_and_by_keys(self):
        self.run_js("document.querySelectorAll('#waterfall-tools .steps button')[0].click()")
        span = next(n for n, one in enumerate(self.report["exemplars"][0]["spans"]) if one["name"] == "forward")
        self.run_js(f"document.querySelector('#waterfall-graph [data-span=\"{span}\"]').focus()")
        self.browser.press("Enter")
        shown = self.report["exemplars"][0]["spans"][span]
        end = shown["offset_ns"] + shown["duration_ns"]
        self.assertIn(f"part={shown['offset_ns']}-{end}", self.run_js("return location.hash"))
        box = f"document.querySelector('#waterfall-graph [data-span=\"{span}\"]')"
        self.assertAlmostEqual(self.run_js(f"return parseFloat({box}.style.width)"), 100, places=3)
        self.browser.press("Up")
        self.assertTrue(self.run_js("return document.activeElement.title").startswith("train_step,") or
                        self.run_js("return document.activeElement.dataset.span") == "0")
        self.browser.press("Escape")
        self.assertNotIn("part=", self.run_js("return location.hash"))
        self.browser.drag("#waterfall-graph", 0.25, 0.5)
        low, high = map(int, self.run_js("return new URLSearchParams(location.hash.slice(1)).get('part').split('-')"))
        whole = self.report["exemplars"][0]["duration_ns"]
        self.assertAlmostEqual(low / whole, 0.25, delta=0.02)
        self.assertAlmostEqual(high / whole, 0.5, delta=0.02)
        # The address shows the same again.
        fragment = self.run_js("return location.hash")
        self.open(fragment)
        self.assertEqual(self.run_js("return document.querySelector('#waterfall-tools [aria-pressed=true]').textContent"),
                         self.run_js("return document.querySelector('#waterfall-tools .steps button').textContent"))
        self.assertEqual(self.run_js("return new URLSearchParams(location.hash.slice(1)).get('part')"), f"{low}-{high}")

    def test_the_table_sorts_by_any_column(self):
        values = "return [...document.querySelectorAll('#section-table tbody tr')].map(r => r.cells[%d].querySelector('data')?.value)"
        self.browser.click("#section-table th:nth-child(3) button")
        calls = [int(one) for one in self.run_js(values % 2)]
        self.assertEqual(calls, sorted((row["count"] for row in self.report["sections"]), reverse=True))
        self.browser.click("#section-table th:nth-child(3) button")
        self.assertEqual([int(one) for one in self.run_js(values % 2)], sorted(calls))
        self.assertEqual(self.run_js("return document.querySelector('#section-table [aria-sort]').ariaSort"), "ascending")
        # What is not known comes last, whatever the direction.
        for _ in range(2):
            self.browser.click("#section-table th:nth-child(10) button")
            known = [one is not None for one in self.run_js(values % 9)]
            self.assertEqual(known, sorted(known, reverse=True))

    def test_the_table_filters(self):
        shown = "return [...document.querySelectorAll('#section-table tbody tr')].filter(r => !r.hidden).map(r => r.dataset.path)"
        self.browser.write("#section-filter", "forward")
        expected = sorted(row["path"] for row in self.report["sections"] if "forward" in row["path"])
        self.assertEqual(sorted(self.run_js(shown)), expected)
        self.assertIn(f"{len(expected)} of", self.run_js("return document.querySelector('#section-said').textContent"))
        self.browser.write("#section-filter", "nothing is called so")
        self.assertEqual(self.run_js(shown), [])

    def test_findings_lead_to_their_plots(self):
        links = self.run_js("return [...document.querySelectorAll('.finding a.see')].map(one => one.getAttribute('href'))")
        self.assertEqual(len(links), len(self.report["findings"]))
        for link in links:
            self.assertTrue(self.run_js("return Boolean(document.querySelector(arguments[0]))", link), link)
        self.browser.click(".finding a.see")
        self.assertIn(f"at={links[0][1:]}", self.run_js("return location.hash"))
        section = self.run_js("const a = document.querySelector('.finding a[data-section]'); a.click(); return a.dataset.section")
        rows = self.run_js("return [...document.querySelectorAll('#section-table tbody tr')].filter(r => !r.hidden).map(r => r.dataset.path)")
        self.assertIn(section, rows)

    def test_steps_zoom_by_dragging_and_by_keys(self):
        last = self.run_js("return Number(document.querySelector('#plot-steps input[type=range]').max)")
        self.browser.drag("#plot-steps .drawing", 0.4, 0.7)
        steps = self.run_js("return new URLSearchParams(location.hash.slice(1)).get('steps').split('-').map(Number)")
        self.assertGreater(steps[0], last * 0.2)
        self.assertLess(steps[1], last * 0.9)
        # All plots show the same steps.
        ticks = "return [...document.querySelectorAll('#' + arguments[0] + ' .tick.x')].map(t => t.textContent)"
        expected = self.run_js(ticks, "plot-steps")
        numbers = [int(tick.removeprefix("step ").replace(",", "")) for tick in expected]
        self.assertGreater(len(numbers), 2)
        self.assertTrue(all(steps[0] <= number <= steps[1] for number in numbers), (numbers, steps))
        for plot in ("plot-waiting", "plot-memory", "plot-held", "plot-phases"):
            self.assertEqual(self.run_js(ticks, plot), expected, plot)
        # The tools of all plots stand at the first one; the others have a way back.
        for plot in ("plot-waiting", "plot-memory", "plot-held", "plot-phases"):
            self.assertEqual(self.run_js("return document.querySelectorAll('#' + arguments[0] + ' input').length", plot), 0)
            self.assertFalse(self.run_js("return document.querySelector('#' + arguments[0] + ' .tools button').hidden", plot))
        self.run_js("document.querySelector('#plot-steps input[type=range]').focus()")
        self.browser.press("Right", "Right")
        self.assertIn(f"steps={steps[0] + 2}-", self.run_js("return location.hash"))
        self.run_js("document.querySelectorAll('#plot-steps input[type=range]')[2].focus()")
        self.browser.press("Right")
        self.assertRegex(self.run_js("return document.querySelector('#plot-steps output').textContent"), r"^Step \d.*: Step time")
        self.run_js("document.querySelector('#plot-steps button').click()")
        self.assertNotIn("steps=", self.run_js("return location.hash"))

    def test_the_flame_graph_searches_zooms_and_turns(self):
        boxes = "return [...document.querySelectorAll('#flame-graph .box')].map(b => b.title)"
        all_boxes = self.run_js(boxes)
        # It begins with the steps; what else there is lies outside.
        self.assertTrue(all_boxes[0].startswith("step, "), all_boxes[0])
        self.assertRegex(all_boxes[1], r"% of step$")
        self.assertFalse(any(title.startswith("batch,") for title in all_boxes), all_boxes)
        self.assertTrue(any(title.startswith("forward") for title in all_boxes), all_boxes)
        # A box is as wide as its part of its parent.
        total = {row["path"]: row["total"] for row in self.report["sections"]}
        wide = self.run_js("const w = n => parseFloat([...document.querySelectorAll('#flame-graph .box')].find(b => b.title.startsWith(n + ',')).style.width);"
                           "return w('forward') / w('backward')")
        step = next(row["path"] for row in self.report["sections"] if row["kind"] == "step" and f"{row['path']}/forward" in total)
        self.assertAlmostEqual(wide, total[f"{step}/forward"] / total[f"{step}/backward"], places=3)
        self.browser.write("#flame-search", "forward")
        self.assertGreater(self.run_js("return document.querySelectorAll('#flame-graph .box.hit').length"), 0)
        self.assertRegex(self.run_js("return document.querySelector('#flame-said').textContent"), r"^\d+ found")
        self.run_js("[...document.querySelectorAll('#flame-graph .box')].find(b => b.title.startsWith('forward')).click()")
        self.assertIn("zoom=", self.run_js("return location.hash"))
        self.assertEqual(self.run_js("return parseFloat(document.querySelector('#flame-graph .box').style.width)"), 100)
        self.browser.press("Escape")
        everything = self.run_js(boxes)
        self.assertTrue(any(title.startswith("batch,") for title in everything), everything)
        self.assertGreater(len(everything), len(all_boxes))
        self.assertRegex(everything[1], r"% of all$")
        # That is kept in the address, and the steps are what an address without it shows.
        address = self.run_js("return location.hash")
        self.assertIn("zoom=", address)
        self.open(address)
        self.assertEqual(self.run_js(boxes)[0], everything[0])
        self.browser.click("#flame-tools label:nth-of-type(3) input")
        first = self.run_js("return [...document.querySelectorAll('#flame-graph .box')].slice(1, 2).map(b => b.title)")
        slowest = {}
        for row in self.report["sections"]:
            if row["kind"] not in ("run", "epoch"):
                slowest[row["name"]] = slowest.get(row["name"], 0) + (row["self_ns"] or row["self_busy_ns"] or 0)
        self.assertTrue(first[0].startswith(max(slowest, key=slowest.get) + ","), first)

    def test_it_goes_to_the_peak_of_the_memory(self):
        link = "#plot-memory a[data-look]"
        step = int(self.run_js("return document.querySelector(arguments[0]).dataset.look", link))
        [series] = [one for one in self.report["detailed_metrics"]["series"] if one["mode"] == self.report["summary"]["mode"]]
        most = max(point["live_bytes"]["max"] for point in series["points"] if point["live_bytes"])
        self.assertEqual(step, next(point["step"] for point in series["points"] if point["live_bytes"] and point["live_bytes"]["max"] == most))
        # Also out of a part of the steps that does not hold it; then all plots say what there was.
        self.open("#steps=1-2")
        self.browser.click(link)
        said = "return [...document.querySelectorAll('#' + arguments[0] + ' .said')].map(one => one.textContent)"
        for plot in ("plot-steps", "plot-memory", "plot-held"):
            [words_] = self.run_js(said, plot)
            self.assertTrue(words_.startswith(f"Step {step:,}: "), (plot, words_))

    def test_lists_of_sections_are_in_their_orders(self):
        lists = self.run_js("return [...document.querySelectorAll('#ranked table')].map(one => [...one.querySelectorAll('tbody tr')].map("
                            "row => [row.querySelector('code').textContent, ...[...row.querySelectorAll('data')].map(d => Number(d.value))]))")
        parts = [row for row in self.report["sections"] if row["kind"] in ("section", "micro_step")]
        most = sorted((row["count"] for row in parts), reverse=True)[:10]
        # A list of those that are called most says nothing where all are called alike.
        own, *calls, vary = lists
        self.assertEqual([[value for _, value, *_ in rows] for rows in calls], [most] if len(set(most)) > 1 else [])
        expected = sorted((row["self_ns"] or row["self_busy_ns"] or 0 for row in parts), reverse=True)[:10]
        self.assertEqual([value for _, value, _ in own], [value for value in expected if value > 0])
        self.assertEqual([path for path, *_ in vary], self.report["detailed_metrics"]["most_variable_sections"][:10])

    def test_the_address_holds_what_is_shown(self):
        self.open("#filter=forward&sort=2a&steps=10-60&search=back&inverted=1")
        self.assertEqual(self.run_js("return document.querySelector('#section-filter').value"), "forward")
        self.assertEqual(self.run_js("return document.querySelector('#section-table [aria-sort]').cellIndex"), 2)
        self.assertEqual(self.run_js("return Number(document.querySelector('#plot-steps input').value)"), 10)
        self.assertTrue(self.run_js("return document.querySelectorAll('#flame-graph .box.hit').length > 0"))

    def test_a_logarithmic_axis_is_in_the_address(self):
        ticks = "return [...document.querySelectorAll('#plot-steps .tick:not(.x)')].map(t => t.textContent)"
        linear = self.run_js(ticks)
        self.browser.click("#plot-steps input[type=checkbox]")
        self.assertIn("log=1", self.run_js("return location.hash"))
        logarithmic = self.run_js(ticks)
        self.assertNotEqual(logarithmic, linear)
        self.open("#log=1")
        self.assertEqual(self.run_js(ticks), logarithmic)
        self.browser.click("#plot-steps input[type=checkbox]")
        self.assertNotIn("log=", self.run_js("return location.hash"))
        self.assertEqual(self.run_js(ticks), linear)

    def test_strange_addresses_do_no_harm(self):
        for fragment in ("#steps=a-b", "#example=99&part=5-1", "#example=x&part=-", "#part=1-2", "#steps=99999999-5", "#sort=99d&zoom=no/such", "#at=nowhere", "#phase=none&own=1", "#%00=%ff"):
            self.open(fragment)
            self.assertGreater(self.run_js("return document.querySelectorAll('#flame-graph .box').length"), 1, fragment)

    def test_everything_is_reached_by_keyboard(self):
        reached = set()
        for _ in range(400):
            self.browser.press("Tab")
            reached.add(self.run_js("const e = document.activeElement; return e.id || e.className || e.textContent.slice(0, 20)"))
            if self.run_js("return document.activeElement === document.body"):
                break
        for wanted in ("section-filter", "flame-search", "skip", "scroll"):
            self.assertIn(wanted, reached)
        self.assertTrue(any("box" in one for one in reached), reached)
        self.run_js("document.querySelector('#flame-graph .box').focus()")
        self.browser.press("Down")
        inside = self.run_js("return document.activeElement.title")
        self.browser.press("Enter")
        self.assertEqual(self.run_js("return document.querySelector('#flame-graph .box').title"), inside)
        self.run_js("document.querySelector('#section-table th:nth-child(4) button').focus()")
        self.browser.press("Enter")
        self.assertTrue(self.run_js("return document.querySelector('#section-table th:nth-child(4)').hasAttribute('aria-sort')"))

    def test_it_fits_a_narrow_screen(self):
        for width in (360, 320):
            self.browser.resize(width, 740)
            self.open()
            self.run_js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            self.assertLessEqual(self.run_js("return document.documentElement.scrollWidth"), width)
            self.assertEqual(self.run_js(pages.LOST), [])
        self.picture("narrow")

    def test_nothing_is_scrolled_away_on_a_wide_screen(self):
        self.assertGreater(len(self.report["detailed_metrics"]["batches"]["loaders"]), 0)
        self.assertEqual(self.run_js("return [...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth)"
                                     ".map(one => [one.getAttribute('aria-label'), one.scrollWidth, one.clientWidth])"), [])

    def test_who_waited_for_which_loader_is_told(self):
        places = set(self.run_js(pages.PLACE_OF + "return [...document.querySelectorAll('#loaders data')].map(placeOf)"))
        for number, loader in enumerate(self.report["detailed_metrics"]["batches"]["loaders"]):
            self.assertGreater(len(loader["stalls"]), 0)
            self.assertEqual(f"detailed_metrics/batches/loaders/{number}/under_demand/utilisation" in places,
                             loader["under_demand"] is not None)
            for kind in ("stalls", "waited_by"):
                for row in range(len(loader[kind])):
                    for name in ("waits", "total_ns"):
                        self.assertIn(f"detailed_metrics/batches/loaders/{number}/{kind}/{row}/{name}", places)

    def test_rows_of_a_narrow_screen_are_few_lines(self):
        self.browser.resize(360, 740)
        self.open()
        self.run_js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        line = 1.5 * 0.9 * 16
        rows = self.run_js("return [...document.querySelectorAll('tbody tr')].filter(r => !r.hidden).map(r => [r.getBoundingClientRect().height, r.textContent])")
        self.assertGreater(len(rows), 50)
        for height, text in rows:
            self.assertLess(height, 8 * line, text)
        # No word of a table is broken but names of paths that are too long; what is too wide for the screen scrolls, and
        # says so.
        self.assertEqual(self.run_js("return [...document.querySelectorAll('td code, th code')].filter(c => {"
                                     "const style = getComputedStyle(c); return style.wordBreak !== 'normal' || (!c.classList.contains('path') &&"
                                     "(style.overflowWrap !== 'normal' || c.getClientRects().length > 1)); }).map(c => c.textContent)"), [])
        self.browser.wait("[...document.querySelectorAll('.scroll')].every(one => one.classList.contains('more') === (one.scrollWidth > one.clientWidth + 1))")
        self.assertGreater(self.run_js("return document.querySelectorAll('.scroll.more').length"), 0)
        # Beside the figures, not on them.
        self.assertEqual(self.run_js("return [...document.querySelectorAll('.scroll.more')].filter(one => /inset|none/.test(getComputedStyle(one).boxShadow)).length"), 0)

    def test_a_phase_has_one_color(self):
        for scheme in ("light", "dark"):
            self.browser.media(prefers_color_scheme=scheme)
            self.open()
            seen = {phase: {tuple(color) for color in found} for phase, found in self.run_js(pages.COLORS).items()}
            for phase in ("data_wait", "forward", "backward", "optimizer"):
                # In the table of phases, below the plot over steps, in the flame graph and in the waterfall.
                self.assertEqual({place for place, _ in seen[phase]}, {"table", "plot", "flame", "waterfall"}, phase)
            shown = {phase: {color for _, color in found} for phase, found in seen.items()}
            self.assertEqual({phase: found for phase, found in shown.items() if len(found) != 1}, {})
        everywhere = {phase: found.pop() for phase, found in shown.items()}
        for phase, color in everywhere.items():
            # Words on boxes are black.
            self.assertGreaterEqual(colors.contrast(color, "rgb(0, 0, 0)"), 4.5, phase)

    def test_colors_of_phases_are_told_apart(self):
        usual = ("c0", "c1", "c2", "c8", "c9", "c11", "c12", "c14", "c16", "plain")
        every = [f"c{number}" for number in range(19)] + [f"u{number}" for number in range(4)] + ["plain"]
        made = self.run_js("return arguments[0].map(name => { const box = element('i', { class: name }); document.body.append(box);"
                           "const color = getComputedStyle(box).fill; box.remove(); return color; })", every)
        color = dict(zip(every, made))
        for at_, one in enumerate(every):
            for other in every[:at_]:
                least = 0.07 if one in usual and other in usual else 0.03
                self.assertGreater(colors.distance(color[one], color[other]), least, (one, other))

    def test_it_is_light_and_dark_and_on_paper(self):
        self.picture("light")
        color = "return getComputedStyle(document.body).backgroundColor"
        light = self.run_js(color)
        self.browser.media(prefers_color_scheme="dark")
        self.assertNotEqual(self.run_js(color), light)
        self.picture("dark")
        evidence = "return [...document.querySelectorAll('.finding details dl, #distribution details table')].map(one => one.checkVisibility() && one.getBoundingClientRect().height > 10)"
        self.assertEqual(set(self.run_js(evidence)), {False})
        self.browser.media("print")
        self.assertEqual(self.run_js("return getComputedStyle(document.querySelector('.tools')).display"), "none")
        # What is folded on a screen is not on paper.
        self.assertEqual(set(self.run_js(evidence)), {True})
        self.assertGreater(len(self.browser.paper()), 20_000)
        # No word is cut, on A4 with margins of 1 cm.
        self.browser.resize(718, 1000)
        self.assertEqual(self.run_js("return [...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > 760).map(one => one.getAttribute('aria-label'))"), [])
        self.assertEqual(self.run_js("return [...document.querySelectorAll('section')].filter(one => getComputedStyle(one).breakInside === 'avoid').map(one => one.id)"), [])
        self.assertEqual(self.run_js("return [...document.querySelectorAll('.scroll')].map(one => { one.classList.add('more'); return getComputedStyle(one).boxShadow; })"
                                     ".filter(shadow => shadow !== 'none')"), [])
        # Heads with buttons are not repeated on the next page, and names of usual length are whole.
        self.assertEqual(self.run_js("return getComputedStyle(document.querySelector('thead button')).display"), "contents")
        self.assertEqual(self.run_js("return [...document.querySelectorAll('#waterfall tbody th code.path')].filter(one => one.textContent.length < 16"
                                     " && one.getBoundingClientRect().height > 20).map(one => one.textContent)"), [])
        self.picture("print")

    def test_nothing_is_asked_of_any_network(self):
        self.browser.requests()
        self.open()
        asked = [one for one in self.browser.requests() if not one.startswith(("file:", "about:", "blob:"))]
        self.assertEqual(asked, [])

    def test_without_scripts_words_and_tables_are_there(self):
        with browser.Browser(scripts=False) as bare:
            bare.open(self.page, ready=False)
            text = bare.run("return document.body.innerText")
            for finding in self.report["findings"]:
                self.assertIn(finding["title"].replace("`", ""), text.replace("\xa0", " "))
            for section in self.report["sections"]:
                self.assertIn(section["path"], text)
            # The spans of the median step are told; plots say what they need.
            median = next(one for one in self.report["exemplars"] if "median" in one["roles"])
            self.assertEqual(bare.run("return document.querySelectorAll('#waterfall-rows tbody tr').length"), min(len(median["spans"]), 40))
            self.assertEqual(set(bare.run("return [...document.querySelectorAll('figure .drawing')].map(one => one.innerText)")), {"Needs scripts to be drawn."})
            self.assertTrue(bare.run("return document.querySelector('#flame-tools').hidden"))
            self.assertFalse(bare.run("return document.documentElement.dataset.ready === 'yes'"))

    def test_the_accessibility_checker_finds_nothing(self):
        source = pages.checker()
        for scheme, width, forced in (("light", 1280, "none"), ("dark", 1280, "none"), ("light", 320, "none"), ("light", 1280, "active"), ("dark", 1280, "active")):
            self.browser.media(prefers_color_scheme=scheme, forced_colors=forced)
            self.browser.resize(width, 900)
            self.open()
            self.assertEqual(pages.checked(self.browser, source), [], (scheme, width, forced))
            for words_ in (".tick",):
                ink, paper = self.run_js("const words = document.querySelector('svg.plot ' + arguments[0]);"
                                         "return [getComputedStyle(words).fill, getComputedStyle(document.body).backgroundColor]", words_)
                self.assertGreaterEqual(colors.contrast(ink, paper), 4.5, (scheme, words_))

    def test_damaged_data_are_said(self):
        self.open(page=pages.damaged("demo"))
        self.assertIn("could not be read", self.run_js("return document.querySelector('.failed').textContent"))
        self.assertGreater(self.run_js("return document.querySelectorAll('#flame-graph .box').length"), 1)

    def test_its_size_is_bounded(self):
        self.assertLess(pages.without_data(self.page, self.report), 400_000)


class Evaluated(Page):
    """All of that of a run whose evaluation has steps of its own beyond those of training."""

    NAME = "evaluated"


if __name__ == "__main__":
    unittest.main(verbosity=2)
