"""The page of one short run: every figure on it is the JSON report's, its scripts draw, and it asks nothing of any network.
The other files of this folder look at everything else."""

import unittest

import pages
import words


def setUpModule():
    pages.need_browser()


class Smoke(pages.OnePage):
    NAME = "short"

    def setUp(self):
        self.browser.open(self.page)

    def test_every_figure_is_that_of_the_json_report(self):
        figures = self.browser.run(pages.PLACE_OF + "return [...document.querySelectorAll('data')].map("
                                   "one => [placeOf(one), one.value, one.textContent])")
        self.assertGreater(len(figures), 100)
        for place, value, text in figures:
            expected = pages.at(self.report, place)
            self.assertEqual(float(value), float(expected), place)
            self.assertTrue(words.says(text, expected), f"{place}: {text!r} for {expected}")

    def test_its_scripts_draw_and_complain_of_nothing(self):
        drawn = self.browser.run("return ['#plot-steps svg, #plot-steps canvas', '#waterfall-graph *', '#sections table tbody tr']"
                                 ".map(one => document.querySelectorAll(one).length)")
        self.assertTrue(all(drawn), drawn)
        self.assertEqual(self.browser.messages(), [])
        asked = [one for one in self.browser.requests() if not one.startswith(("file:", "about:", "blob:"))]
        self.assertEqual(asked, [])


if __name__ == "__main__":
    unittest.main()
