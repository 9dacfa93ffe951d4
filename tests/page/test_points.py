"""Points of plots that hold several steps: which of them the cursor says, and what a zoom between two of them shows. Steps,
points and figures are those of the JSON report."""

import unittest

import pages
import words


def setUpModule():
    pages.need_browser()


class Points(pages.OnePage):
    """Steps one by one, phases four by four, a value every fifty steps."""

    NAME = "long"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        details = cls.report["detailed_metrics"]
        [cls.steps], [cls.phases], [cls.values] = details["series"], details["phase_series"], details["values"]

    def tearDown(self):
        self.assertEqual(self.browser.messages(), [])

    def said(self, plot):
        return self.browser.run("return document.querySelector('#' + arguments[0] + ' .said').textContent", plot)

    def look(self, step):
        """Moves the cursor as the slider does."""
        self.browser.run("const slider = document.querySelectorAll('#plot-steps input[type=range]')[2];"
                         "slider.value = arguments[0]; slider.dispatchEvent(new Event('input'))", step)

    def ticks(self, plot):
        return self.browser.run("return [...document.querySelectorAll('#' + arguments[0] + ' .tick:not(.x):not(.change)')].map(one => one.textContent)", plot)

    def test_the_cursor_says_the_point_that_holds_its_step(self):
        self.assertEqual((self.steps["shift"], self.phases["shift"], self.values["shift"]), (0, 2, 0))
        self.browser.open(self.page)
        for step in (0, 1_499, 1_502, 1_503, 2_199):
            self.look(step)
            self.assertTrue(self.said("plot-steps").startswith(f"Step {step:,}: "), self.said("plot-steps"))
            first = step // 4 * 4
            text = self.said("plot-phases")
            which, figures = text.split(": ", 1)
            self.assertEqual(which, f"Steps {first:,}–{first + 3:,}, mean")
            [point] = [one for one in self.phases["points"] if one["step"] == first]
            told = {phase: f"{number} {unit}" for phase, number, unit in (figure.rsplit(" ", 2) for figure in figures.split(", "))}
            for phase in point["exposed"]:
                self.assertTrue(words.says(told[phase["phase"]], phase["exposed_ns"] / point["steps"]), (phase, told))
            # The last value before it, and of which step that is.
            self.assertTrue(self.said("plot-value-0").startswith(f"Step {step // 50 * 50:,}: "), self.said("plot-value-0"))
            # All cursors are at the same place where a point of the plot holds the step.
            places = self.browser.run("return ['plot-steps', 'plot-phases', 'plot-waiting'].map(plot => parseFloat(document.querySelector('#' + plot + ' .hair').getAttribute('x1')))")
            self.assertEqual({round(place, 3) for place in places}, {round(100 * step / 2_199, 3)})

    def test_keys_move_the_cursor_by_one_step(self):
        self.browser.open(self.page)
        self.look(1_500)
        self.browser.run("document.querySelectorAll('#plot-steps input[type=range]')[2].focus()")
        for step in range(1_501, 1_506):
            self.browser.press("Right")
            self.assertTrue(self.said("plot-steps").startswith(f"Step {step:,}: "))
            self.assertTrue(self.said("plot-phases").startswith(f"Steps {step // 4 * 4:,}–"))

    def test_a_zoom_between_two_points_shows_what_lies_there(self):
        shape = ("return [...document.querySelectorAll('#' + arguments[0] + ' .in :is(polygon, polyline)')].map(one => "
                 "one.getAttribute('points').split(' ').map(point => point.split(',').map(Number)))")
        for steps in ((1_501, 1_503), (1_501, 1_507), (1_505, 1_507), (7, 9)):
            self.browser.open(self.page, "#steps={}-{}".format(*steps))
            for plot in ("plot-steps", "plot-phases", "plot-waiting", "plot-value-0"):
                shapes = self.browser.run(shape, plot)
                self.assertGreater(len(shapes), 0, (steps, plot))
                for points in shapes:
                    self.assertLessEqual(min(x for x, _ in points), 0, (steps, plot, points))
                    self.assertGreaterEqual(max(x for x, _ in points), 999.9, (steps, plot, points))
                ticks = self.ticks(plot)
                self.assertGreater(len(ticks), 1, (steps, plot))
                self.assertEqual(len(set(ticks)), len(ticks), (steps, plot, ticks))
            # The four steps of the long one take 17.5 ms in the mean.
            self.assertEqual(self.ticks("plot-phases")[-1], "20 ms" if 1_500 <= steps[0] < 1_504 else "10 ms", steps)
            rows = self.browser.run("""
                const details = document.querySelector('#plot-phases details');
                details.open = true;
                details.dispatchEvent(new Event('toggle'));
                return [...details.querySelectorAll('tbody th')].map(one => one.textContent)""")
            self.assertEqual(rows, [f"{first:,}–{first + 3:,}" for first in range(steps[0] // 4 * 4, steps[1] + 1, 4)])

    def test_no_two_ticks_of_an_axis_read_the_same(self):
        self.browser.open(self.page)
        for base, most in ((1_000, (0, 0.4, 1, 2, 3, 7, 999, 1_400, 3e9, 9e14)), (1_024, (0, 1, 3, 1_023, 1_500, 9e9))):
            for high in most:
                ticks = self.browser.run("const [most, base] = arguments; return base === 1000 ? axisOfTime(most).ticks.map(duration) : axisTo(most, base).ticks.map(byteSize)", high, base)
                self.assertEqual(len(set(ticks)), len(ticks), (base, high, ticks))
        for low, high in ((1.2e6, 1.24e6), (5, 5), (2e-5, 6e-5), (0.1, 0.100001)):
            ticks = self.browser.run("const axis = axisAround(...arguments); return axis.ticks.map(tick => plainTick(axis, tick))", low, high)
            self.assertEqual(len(set(ticks)), len(ticks), ticks)


if __name__ == "__main__":
    unittest.main(verbosity=2)
