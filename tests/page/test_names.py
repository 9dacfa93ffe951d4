"""Names that are hard to show: empty ones, letters from right to left, letters of several characters. And steps of several
modes, and of hours."""

import unittest

import browser
import pages
import planted
import words


def setUpModule():
    pages.need_browser()


class Strange(unittest.TestCase):
    def test_empty_names_are_seen(self):
        page, report = pages.of("strange")
        self.assertIn("step/", [section["path"] for section in report["sections"]])
        with browser.Browser() as window, browser.Browser(scripts=False) as bare:
            window.open(page)
            bare.open(page, ready=False)
            for one in (window, bare):
                paths = one.run("return [...document.querySelectorAll('#section-table tbody th')].map(one => one.textContent)")
                self.assertIn("step/(no name)", paths)
                self.assertEqual([path for path in paths if not path or path.endswith("/")], [])
                links = one.run("return [...document.querySelectorAll('.finding a[data-section]')].map(one => [one.dataset.section, one.textContent])")
                self.assertIn(["step/", "step/(no name)"], links)
                self.assertIn("goes into step/(no name) itself", one.run("return document.querySelector('#findings').textContent"))
            boxes = window.run("return [...document.querySelectorAll('#flame-graph .box')].map(one => [one.title.split(', ')[0], one.textContent])")
            self.assertIn(["(no name)", "(no name)"], boxes)
            # Nothing on the page that takes a click is without words.
            self.assertEqual(window.run("return [...document.querySelectorAll('a, button, summary')].filter(one => !(one.getAttribute('aria-label') ?? one.textContent).trim()).length"), 0)

    def test_letters_of_several_characters_stay_whole(self):
        page, report = pages.of("strange")
        # The first 48 letters, and the last 23.
        cut = planted.WORKER + 47 * planted.ACCENT + "…" + 23 * planted.ACCENT
        with browser.Browser() as window, browser.Browser(scripts=False) as bare:
            window.open(page)
            bare.open(page, ready=False)
            for one in (window, bare):
                paths = one.run("return [...document.querySelectorAll('#section-table tbody th code')].map(one => [one.textContent, one.title])")
                self.assertIn([f"step/{planted.WORKER}.load", ""], paths)
                self.assertIn([f"step/{cut}", f"step/{planted.LONG}"], paths)
            # The same by the script's own rules.
            self.assertEqual(window.run("return shortened(arguments[0])", planted.LONG), cut)
            self.assertEqual(window.run("return namedPath(arguments[0])", r"/a\//b//"), r"(no name)/a\//b/(no name)/(no name)")

    def test_a_name_reads_the_same_everywhere(self):
        page, report = pages.of("strange")
        self.assertIn("step/tab\there\nline", [section["path"] for section in report["sections"]])
        told = "tab\ufffdhere\ufffdline"
        with browser.Browser() as window:
            window.open(page)
            self.assertIn(f"step/{told}", window.run("return [...document.querySelectorAll('#section-table tbody th')].map(one => one.textContent)"))
            for graph in ("flame", "waterfall"):
                self.assertIn(told, window.run("return [...document.querySelectorAll(`#${arguments[0]}-graph .box`)].map(one => one.title.split(', ')[0])", graph))

    def test_letters_from_right_to_left_turn_nothing_else(self):
        page, _ = pages.of("strange")
        with browser.Browser() as window:
            window.open(page)
            window.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            # Characters that turn what follows are not there; where such a name stands, the words around keep their sides.
            self.assertNotIn("\u202e", window.run("return document.body.textContent"))
            sides = window.run("""
                const seen = [];
                for (const code of document.querySelectorAll('code')) {
                    if (!/[\\u0590-\\u05ff]/.test(code.textContent)) continue;
                    seen.push(getComputedStyle(code).unicodeBidi);
                    const line = document.createElement('p');
                    line.append('12 ', code.cloneNode(true), ' 34');
                    document.body.append(line);
                    const at = node => { const range = document.createRange(); range.selectNodeContents(node); return range.getBoundingClientRect(); };
                    const [before, name, after] = [...line.childNodes].map(at);
                    seen.push(before.left < name.left && name.left < after.left);
                    line.remove();
                }
                return seen;""")
            self.assertGreater(len(sides), 4)
            self.assertEqual(set(sides), {"isolate", True})
            # So they do beside the mouse, where marks keep such a name apart.
            for graph in ("flame", "waterfall"):
                titles = window.run("return [...document.querySelectorAll(`#${arguments[0]}-graph .box`)].map(one => one.title).filter(one => /[\\u0590-\\u05ff]/.test(one))", graph)
                self.assertEqual([title.split(", ")[0] for title in titles], [f"\u2068{planted.HEBREW}\u2069"], graph)
            for width in (1280, 360):
                window.resize(width, 800)
                window.open(page)
                window.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
                self.assertLessEqual(window.run("return document.documentElement.scrollWidth"), width)
            self.assertEqual(window.messages(), [])


class Modes(unittest.TestCase):
    """Steps of evaluation beside those of training."""

    COLUMNS = (("steady/count", int), ("steady/p50", int), ("steady/p95", int), ("steady/mean", float), ("steady/max", int), ("steady_ns", int))

    def rows(self, name):
        page, report = pages.of(name)
        with browser.Browser(scripts=False) as bare:
            bare.open(page, ready=False)
            rows = bare.run(pages.PLACE_OF + """return [...document.querySelectorAll('#run table tbody tr')].map(row => [...row.cells].map(cell =>
                [cell.textContent, placeOf(cell.querySelector('data')), cell.querySelector('data')?.value ?? null]))""")
        return report, rows

    def test_all_modes_have_their_figures(self):
        for name in ("evaluating", "evaluated"):
            report, rows = self.rows(name)
            modes = report["detailed_metrics"]["modes"]
            self.assertEqual({mode["mode"] for mode in modes}, {"train", "eval"}, name)
            self.assertEqual([row[0][0] for row in rows], [mode["mode"] for mode in modes])
            whole = sum(mode["steady_ns"] for mode in modes)
            for number, (row, mode) in enumerate(zip(rows, modes)):
                for (place, _), (text, at_, value) in zip(self.COLUMNS, row[1:]):
                    expected = pages.at(mode, place)
                    self.assertEqual(at_, f"detailed_metrics/modes/{number}/{place}")
                    self.assertEqual(float(value), float(expected))
                    self.assertTrue(words.says(text, expected), (at_, text, expected))
                self.assertTrue(words.says(row[-1][0], mode["steady_ns"] / whole), row)
            # Markdown says the same.
            text = pages.rendered(name, "md")
            table = [line.split(" | ") for line in text[text.index("\n| Mode |"):].strip().split("\n\n")[0].splitlines()[2:]]
            self.assertEqual([[cell.strip(" |`") for cell in line] for line in table], [[text for text, *_ in row] for row in rows])

    def test_one_mode_has_no_table(self):
        report, rows = self.rows("marked")
        self.assertEqual((len(report["detailed_metrics"]["modes"]), rows), (1, []))

    def test_steps_of_hours_have_a_rate_that_says_something(self):
        page, report = pages.of("evaluating")
        self.assertLess(report["summary"]["throughput"]["steps_per_second"], 1e-3)
        with browser.Browser() as window:
            window.open(page)
            [text] = window.run("return [...document.querySelectorAll('#run data[data-at=\"summary/throughput/steps_per_second\"]')].map(one => one.textContent)")
        self.assertRegex(text, r"^1[12]\.\d steps/d$")
        for kind in ("md", "text"):
            self.assertIn(text, pages.rendered("evaluating", kind))


if __name__ == "__main__":
    unittest.main(verbosity=2)
