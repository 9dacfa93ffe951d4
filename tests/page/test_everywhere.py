"""What holds for every page that the tests make, whatever is in it: the accessibility checker finds nothing, the keyboard
reaches every control and sees where it is, the first view needs no script, all plots are drawn, phases have one colour. And what a page costs a browser."""

import unittest

import browser
import colors
import pages

LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "narrow": ("light", 360)}


def setUpModule():
    pages.need_browser()


# What a keyboard must reach, in its order: everything that takes the focus and is seen.
CONTROLS = """
    window.controlsOf = () => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
        .filter(one => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }) && !one.closest('[inert]')
            && !(one.closest('details:not([open])') && !one.matches('details:not([open]) > summary')));
    window.nameOf = one => !one ? 'nothing' : [one.tagName.toLowerCase(), one.id && '#' + one.id, one.title || one.getAttribute('aria-label') || one.textContent.trim()].join(' ').slice(0, 80);
    window.reached = [];
    document.addEventListener('focusin', ({ target }) => {
        const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(target);
        const box = target.getBoundingClientRect();
        const seen = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth && box.width > 0 && box.height > 0;
        window.reached.push([target, outlineStyle, parseFloat(outlineWidth), outlineColor, seen]);
    });
"""


class Keyboard(unittest.TestCase):
    """Tab goes through all controls in their order, and out at the end; each is seen to have the focus."""

    def tabbed(self, window, context):
        window.run(CONTROLS + "document.activeElement?.blur(); scrollTo(0, 0); window.wanted = window.controlsOf();")
        count = window.run("return window.wanted.length")
        self.assertGreater(count, 10, context)
        # One more leaves the page.
        window.press(*["Tab"] * (count + 1))
        reached = window.run("return window.reached.map(([one]) => window.nameOf(one))")
        wanted = window.run("return window.wanted.map(window.nameOf)")
        self.assertEqual(reached[:count], wanted, context)
        self.assertTrue(window.run("return window.wanted.every((one, at) => window.reached[at][0] === one)"), context)
        # What was seen when the focus came is still all that there is.
        self.assertEqual(window.run("return window.controlsOf().length"), count, context)
        paper = window.run("return getComputedStyle(document.body).backgroundColor")
        looks = window.run("return window.reached.map(([one, ...looks]) => [window.nameOf(one), ...looks])")
        for name, style, width, color, seen in looks[:count]:
            self.assertTrue(seen, (*context, name))
            self.assertIn(style, ("solid", "auto"), (*context, name))
            self.assertGreaterEqual(width, 2, (*context, name))
            self.assertGreaterEqual(colors.contrast(color, paper), 3, (*context, name))
        # Nothing holds the focus: behind the last control it is outside of the page, or begins anew.
        self.assertIn(reached[count:], ([], wanted[:1]), context)
        # And back.
        window.run("window.wanted[window.wanted.length - 1].focus(); window.reached.length = 0;")
        window.press_with("Shift", *["Tab"] * (count - 1))
        back = window.run("return window.reached.map(([one]) => window.nameOf(one))")
        # Where the focus had left the page, the event of the last control's focus comes with the first key only.
        if len(back) == count and back[0] == wanted[-1]:
            del back[0]
        self.assertEqual(back, wanted[-2::-1], context)

    def test_every_control_is_reached_in_order_and_seen(self):
        for name in pages.INPUTS:
            page, _ = pages.of(name)
            with browser.Browser() as window:
                for scheme, width in (("light", 1280), ("dark", 360)):
                    window.media(prefers_color_scheme=scheme)
                    window.resize(width, 900)
                    for unfolded in (width < 1000,) if name in pages.VAST else (False, True):
                        window.open(page)
                        window.run("document.querySelectorAll('details').forEach(one => { one.open = arguments[0]; })", unfolded)
                        self.tabbed(window, (name, scheme, width, unfolded))
                self.assertEqual(window.messages(), [], name)

    def test_without_scripts_everything_is_reached(self):
        page, _ = pages.of("evaluated")
        with browser.Browser(scripts=False) as bare:
            bare.open(page, ready=False)
            wanted = bare.run(CONTROLS + "return window.controlsOf().map(window.nameOf)")
            self.assertGreater(len(wanted), 20)
            # Nothing listens here, so that one looks after every key.
            reached = []
            for _ in wanted:
                bare.press("Tab")
                name, style, width = bare.run("const one = document.activeElement; const { outlineStyle, outlineWidth } = getComputedStyle(one);"
                                              "return [window.nameOf(one), outlineStyle, parseFloat(outlineWidth)]")
                self.assertTrue(style in ("solid", "auto") and width >= 2, (name, style, width))
                reached.append(name)
            self.assertEqual(reached, wanted)

    def test_arrow_keys_reach_every_box(self):
        for name in ("evaluated", "marked", "many", "stepless"):
            page, _ = pages.of(name)
            with browser.Browser() as window:
                window.open(page)
                for graph in ("flame-graph", "waterfall-graph"):
                    every, reached = window.run("""
                        const place = document.getElementById(arguments[0]);
                        if (!place || !place.querySelector('.box')) return [0, 0];
                        const first = place.querySelector('.box[tabindex="0"]');
                        const [seen, open] = [new Set([first]), [first]];
                        while (open.length) {
                            const here = open.pop();
                            for (const key of ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']) {
                                here.focus();
                                here.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
                                if (!seen.has(document.activeElement)) { seen.add(document.activeElement); open.push(document.activeElement); }
                            }
                        }
                        return [place.querySelectorAll('.box').length, seen.size];""", graph)
                    self.assertEqual(reached, every, (name, graph))


class Accessible(unittest.TestCase):
    """The accessibility checker, on every page, light and dark, wide and narrow; on the vastest ones light and wide."""

    def finds_nothing(self, look):
        source = pages.checker()
        scheme, width = LOOKS[look]
        with browser.Browser() as window:
            window.media(prefers_color_scheme=scheme)
            window.resize(width, 900)
            for name in pages.INPUTS:
                if name in pages.VAST and look != "light":
                    continue
                page, _ = pages.of(name)
                window.open(page)
                self.assertEqual(pages.checked(window, source), [], (name, look))

    def test_the_checker_finds_nothing(self):
        self.finds_nothing("light")

    def test_nor_in_the_dark(self):
        self.finds_nothing("dark")

    def test_nor_on_a_narrow_screen(self):
        self.finds_nothing("narrow")

    def test_nor_where_data_are_damaged(self):
        source = pages.checker()
        broken = pages.damaged("demo")
        with browser.Browser() as window:
            window.open(broken)
            self.assertEqual(pages.checked(window, source), [])


class Plots(unittest.TestCase):
    """All plots are drawn, and over the same steps."""

    def test_axes_reach_over_every_step_with_a_figure(self):
        ticks = "return [...document.querySelectorAll('figure[data-plot]')].map(one => [one.id, one.querySelectorAll('.tick').length])"
        for name in pages.INPUTS:
            page, report = pages.of(name)
            with browser.Browser() as window:
                window.open(page)
                drawn = window.run(ticks)
                self.assertEqual([plot for plot, words in drawn if not words], [], name)
                if not drawn:
                    continue
                # All of them, and the sliders, reach over every step that has a figure.
                details = report["detailed_metrics"]
                shown = [point["step"] for kind in ("series", "phase_series") for series in details[kind]
                         if series["mode"] == report["summary"]["mode"] for point in series["points"]]
                shown += [point["step"] for series in details["values"] for point in series["points"]]
                held = (report["memory"] or {}).get("by_section") or {"points": []}
                shown += [point["step"] for point in held["points"]]
                ends = window.run("const range = document.querySelector('#plot-steps input[type=range]'); return [Number(range.min), Number(range.max)]")
                self.assertEqual(ends, [min(shown), max(shown)], name)
        # Evaluation at the end has a step number of its own, so that the axes reach further than the steps of training.
        report = pages.of("evaluated")[1]
        [train] = [one["points"] for one in report["detailed_metrics"]["series"] if one["mode"] == "train"]
        self.assertGreater(max(point["step"] for one in report["detailed_metrics"]["values"] for point in one["points"]), train[-1]["step"])


class FirstView(unittest.TestCase):
    """What one sees first is in the document: no script has to run for it, and none moves it."""

    SEEN = """return [...document.querySelectorAll('header *, #run *, #findings *')].filter(one => !one.childElementCount && one.textContent.trim() && one.checkVisibility())
        .map(one => [one.textContent, one.getBoundingClientRect()]).filter(([, box]) => box.bottom <= innerHeight)
        .map(([text, box]) => [text, Math.round(box.left), Math.round(box.top)])"""

    def test_it_is_there_without_scripts_and_stays_where_it_is(self):
        for name in pages.INPUTS:
            page, report = pages.of(name)
            with browser.Browser() as window, browser.Browser(scripts=False) as bare:
                for width in (1280, 360):
                    for one in (window, bare):
                        one.resize(width, 900)
                        one.open(page, ready=one is window)
                    seen = bare.run(self.SEEN)
                    self.assertGreater(len(seen), 8, name)
                    self.assertEqual(window.run(self.SEEN), seen, (name, width))
                    # The verdict is among it, in full.
                    bottom, verdict = bare.run("const one = document.querySelector('h1'); return [one.getBoundingClientRect().bottom, one.textContent]")
                    self.assertLess(bottom, 900, (name, width))
                    self.assertEqual(verdict.replace("\xa0", " "), report["summary"]["verdict"].replace("`", ""))

    def test_nothing_before_it_has_to_be_waited_for(self):
        for name in pages.INPUTS:
            with browser.Browser(scripts=False) as bare:
                bare.open(pages.of(name)[0], ready=False)
                # Data and script are the last two elements of the document; no style, font or picture is loaded.
                last = bare.run("return [...document.querySelectorAll('body > *')].slice(-2).map(one => one.localName + ' ' + one.id + (one.src ?? ''))")
                self.assertEqual(last, ["script data", "script "], name)
                self.assertEqual(bare.run("return document.scripts.length"), 2, name)
                self.assertEqual(bare.run("return document.querySelectorAll('link, img, iframe, object, embed, video, audio, [src]').length"), 0, name)


class Cost(unittest.TestCase):
    """What a page of a hundred thousand steps in five hundred sections costs a browser: elements, memory of its script, and
    how long it takes beside a small page. Seconds are not held: they are the machine's."""

    # Of elements, text and comments; of the script's heap, after what is no longer needed was freed.
    MOST_NODES = 60_000
    MOST_HEAP_BYTES = 40_000_000
    # Of the document, up to the end of the findings: what has to be read before one sees them.
    MOST_FIRST_BYTES = 64_000
    # The best of so many loads each, in turns and in one browser, so that a busy machine is busy for both; and how many
    # times what the small page takes the large one may. Until the first paint it is time (1.1 to 2.6 times on two busy
    # processors), until the page is ready time of a processor, which others do not lengthen (5.4 to 6.3).
    LOADS = 5
    MOST_TIMES_THE_PAINT = 6
    MOST_TIMES_THE_WORK = 12

    def test_it_is_bounded(self):
        page, report = pages.of("large")
        summary, sections = report["summary"], len(report["sections"])
        self.assertEqual(summary["steps"] + summary["warmup_steps"], 100_000)
        self.assertGreater(sections, 500)
        with browser.Browser() as window:
            window.open(page)
            window.cdp("HeapProfiler.collectGarbage")
            used = window.cdp("Runtime.getHeapUsage")
            # What is in arrays of numbers is beside the heap.
            heap = used["usedSize"] + used.get("backingStorageSize", 0) + used.get("embedderHeapUsedSize", 0)
            nodes = window.cdp("Memory.getDOMCounters")["nodes"]
            print(f"\n100,000 steps in {sections} sections: {page.stat().st_size:,} bytes, {nodes:,} nodes, {heap:,.0f} bytes of heap", flush=True)
            self.assertLess(nodes, self.MOST_NODES)
            self.assertLess(heap, self.MOST_HEAP_BYTES)

    def test_what_is_seen_first_is_at_the_beginning(self):
        for name in pages.INPUTS:
            page, _ = pages.of(name)
            document = page.read_bytes()
            end = document.index(b"</section>", document.index(b'id="findings"'))
            self.assertLess(end, self.MOST_FIRST_BYTES, name)

    def test_it_is_seen_and_ready_nearly_as_soon_as_a_small_one(self):
        small, large = pages.of("marked")[0], pages.of("large")[0]
        paints, works = {small: [], large: []}, {small: [], large: []}
        paint = "performance.getEntriesByName('first-contentful-paint')[0]"
        with browser.Browser() as window:
            window.cdp("Performance.enable", {"timeDomain": "threadTicks"})
            # The first load also starts the browser's own parts.
            window.open(small)
            for page in (small, large) * self.LOADS:
                window.open(page)
                metrics = {one["name"]: one["value"] for one in window.cdp("Performance.getMetrics")["metrics"]}
                works[page].append(metrics["TaskDuration"] * 1_000)
                window.wait(paint)
                paints[page].append(window.run(f"return {paint}.startTime"))
        for what, times, most in (("first paint", paints, self.MOST_TIMES_THE_PAINT), ("work until it is ready", works, self.MOST_TIMES_THE_WORK)):
            base, took = min(times[small]), min(times[large])
            print(f"\n100,000 steps: {what} {took:.0f} ms, {took / base:.1f} times the {base:.0f} ms of a small page", flush=True)
            self.assertLess(took, most * base, what)


if __name__ == "__main__":
    unittest.main(verbosity=2)
