"""The pages that the tests look at, each made once with the JSON report of the same input, and what several tests ask of
a page. What a page must show is in the tests.

`STEPSCOPE_BIN` names the program, `STEPSCOPE_GENERATE_RUN` the generator of runs, `STEPSCOPE_AXE` the accessibility
checker's `axe.min.js`, `STEPSCOPE_PAGE_INPUTS` a folder in which inputs are kept from one run of the tests to the next. What is missing is said and skipped; where `STEPSCOPE_BROWSER_NEEDED` or `STEPSCOPE_AXE_NEEDED`
is set, it fails."""

import fcntl
import functools
import json
import multiprocessing.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import browser
import planted

PROGRAM = os.environ.get("STEPSCOPE_BIN", "stepscope")
GENERATOR = os.environ.get("STEPSCOPE_GENERATE_RUN")
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="stepscope-page-"))
multiprocessing.util.Finalize(None, shutil.rmtree, (FOLDER, True), exitpriority=0)


def skipped(because):
    """Skips what follows, and says so where nobody overlooks it."""
    print(f"\nSKIPPED: {because}", file=sys.stderr, flush=True)
    raise unittest.SkipTest(f"SKIPPED: {because}")


def need_browser():
    """Skips the tests of a module where there is no browser; fails where it is said to be needed."""
    if browser.programs():
        return
    if "STEPSCOPE_BROWSER_NEEDED" in os.environ:
        raise AssertionError("STEPSCOPE_BROWSER_NEEDED is set, and there is no browser or no driver of it")
    skipped("no browser and driver (Debian: `apt-get install chromium chromium-driver`), so the page is not tested")


def checker():
    """The source of the accessibility checker."""
    path = os.environ.get("STEPSCOPE_AXE")
    if path:
        return pathlib.Path(path).read_text()
    if "STEPSCOPE_AXE_NEEDED" in os.environ:
        raise AssertionError("STEPSCOPE_AXE_NEEDED is set, and STEPSCOPE_AXE names no axe.min.js")
    return skipped("STEPSCOPE_AXE names no axe.min.js, so accessibility is not checked")


def stepscope(*arguments):
    return subprocess.run([PROGRAM, "--quiet", *arguments], check=True, capture_output=True, text=True).stdout


def demo(*faults):
    """A real run with faults of the program's own demonstration."""
    def write(run):
        stepscope("demo", *faults, "--out", str(run))
    return write


def generated(*arguments):
    def write(run):
        if not GENERATOR:
            skipped("STEPSCOPE_GENERATE_RUN names no generator")
        subprocess.run([GENERATOR, "--out", str(run), *arguments], check=True)
    return write


# Every page, by its name: the input's own name, and what writes it. Tests that hold for any page go through all of them.
INPUTS = {
    # A real run with a slow loader and a leak, so that there are findings of all kinds.
    "demo": ("demo", demo("--slow", "loader", "--leak", "--steps", "400")),
    "short": ("short", demo("--slow", "loader", "--steps", "60")),
    # The same with evaluation: its steps have figures of their own, and numbers beyond those of training.
    "evaluated": ("evaluated", demo("--slow", "loader", "--leak", "--steps", "300")),
    "marked": ("marked.json", planted.marked),
    "leveled": ("leveled.json", planted.leveled),
    "outlier": ("outlier.json", planted.outlier),
    "long": ("long.json", planted.long),
    "many": ("many.json", planted.many),
    "stepless": ("stepless.json", planted.stepless),
    "named": ("named.json", planted.named),
    "strange": ("strange.json", planted.strange),
    "evaluating": ("evaluating.json", planted.evaluating),
    "ranked": ("ranked.json", planted.ranked),
    "staged": ("staged.json", planted.staged),
    "epochs": ("epochs.json", planted.epochs),
    # Steps of more spans than are kept of one, in hundreds of sections on many threads.
    "wide": ("wide.otlp", generated("--steps", "10", "--spans-per-step", "520", "--depth", "6")),
    # A hundred thousand steps in five hundred sections.
    "large": ("large.otlp", generated("--steps", "100000", "--spans-per-step", "10")),
}
# Names the folder of what the program made of the inputs, which `run.py` has for one run of the tests.
OUTPUTS = "STEPSCOPE_PAGE_OUTPUTS"
# Of those, pages of thousands of rows or boxes, each like those of the others: what goes through all there is does so once.
VAST = {"many", "wide", "large"}
GIVEN = {"demo": "STEPSCOPE_PROFILE", "large": "STEPSCOPE_LARGE"}


def once(variable, file, make):
    """The file of that name in the folder that a variable names, which tests in other processes share; made if it is not
    there."""
    folder = pathlib.Path(os.environ.get(variable, FOLDER))
    # Another process may be making it.
    with open(folder / f"{file}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / file).exists():
            made = folder / f"made-{file}"
            make(made)
            made.rename(folder / file)
    return folder / file


@functools.cache
def written(name):
    """The input of that name."""
    if given := os.environ.get(GIVEN.get(name, "")):
        return pathlib.Path(given)
    return once("STEPSCOPE_PAGE_INPUTS", *INPUTS[name])


def rendered(name, kind):
    """The report on an input in another format."""
    return stepscope("analyze", str(written(name)), "--format", kind)


@functools.cache
def of(name):
    """The page and the JSON report of an input."""
    def reported(kind):
        arguments = "analyze", str(written(name)), "--format", kind, "--output"
        return once(OUTPUTS, f"report-on-{name}.{kind}", lambda made: stepscope(*arguments, str(made)))
    return reported("html"), json.loads(reported("json").read_text())


def damaged(name):
    """The same page with a part of its data overwritten."""
    text = of(name)[0].read_text()
    start = text.index('"stream":"') + 10
    page = FOLDER / f"{name}-{os.getpid()}-damaged.html"
    page.write_text(text[:start + 20] + "AAAA" + text[start + 24:])
    return page


def at(report, place):
    """The value at a place of the JSON report."""
    for part in place.split("/"):
        report = report[int(part)] if isinstance(report, list) else report[part]
    return report


# Where a figure is in the JSON report: its own place, or that of its column, is below those of the elements around it.
PLACE_OF = """
    const placeOf = (figure) => {
        if (!figure) return null;
        const column = () => {
            const head = figure.closest('table').tHead.rows[0].cells[figure.closest('th, td').cellIndex];
            if (head.dataset.at === undefined) throw new Error(`no place for ${figure.outerHTML} below ${head.outerHTML}`);
            return head.dataset.at;
        };
        const places = [figure.dataset.at ?? column()];
        for (let one = figure.parentElement.closest('[data-at]'); one; one = one.parentElement.closest('[data-at]')) places.unshift(one.dataset.at);
        return places.join('/');
    };
"""

# Words of plots that are too small to be read, or outside of the screen.
LOST = """
    const wide = document.documentElement.clientWidth;
    return [...document.querySelectorAll('svg.plot text, #waterfall-graph .box, #waterfall-graph .lane')]
        .filter(one => one.getBoundingClientRect().width > 0)
        .map(one => [one.textContent, one.getBoundingClientRect(), parseFloat(getComputedStyle(one).fontSize) * (one.getScreenCTM?.().a ?? 1)])
        .filter(([, box, size]) => size < 10 || box.left < -1 || box.right > wide + 1)
        .map(([text, box, size]) => [text, box.left, box.right, size]);
"""

# Of each phase, where it is drawn, and in which colour.
COLORS = """
    const seen = {};
    const add = (phase, place, color) => { (seen[phase || '(no phase)'] ??= []).push([place, color]); };
    const fill = (svg) => getComputedStyle(svg.querySelector('rect')).fill;
    for (const cell of document.querySelectorAll('#phases tbody th')) {
        if (!cell.querySelector('.key')) continue;
        add(cell.textContent.trim(), 'table', fill(cell.querySelector('.key')));
        add(cell.textContent.trim(), 'table', fill(cell.nextElementSibling.querySelector('.bar')));
    }
    for (const part of document.querySelectorAll('#phases svg.stack rect')) {
        add(part.textContent.replace(/ [^ ]+ %$/, '').replace(/ <$/, ''), 'table', getComputedStyle(part).fill);
    }
    for (const word of document.querySelectorAll('#plot-phases figcaption .word')) add(word.textContent.trim(), 'plot', fill(word));
    const phases = {};
    for (const row of document.querySelectorAll('#section-table tbody tr')) (phases[row.dataset.path.split('/').pop()] ??= new Set()).add(row.dataset.phase);
    const graph = document.querySelector('#flame-graph');
    const boxes = () => {
        for (const box of graph.querySelectorAll('.box')) {
            const [phase, ...others] = phases[box.title.split(', ')[0]] ?? ['', ''];
            if (!others.length) add(phase, 'flame', getComputedStyle(box).backgroundColor);
        }
    };
    boxes();
    const home = graph.querySelector('.box').title.split(', ')[0];
    // Boxes that are too narrow are on pages of their own, below each section that has some.
    for (let from = 0; from < graph.querySelectorAll('.more').length; from += 1) {
        for (let more = graph.querySelectorAll('.more')[from], pages = 0; more && pages < 9; more = graph.querySelector('.more'), pages += 1) {
            more.click();
            boxes();
        }
        graph.querySelector('.box').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
        [...graph.querySelectorAll('.box')].find((box) => box.title.startsWith(`${home}, `)).click();
    }
    for (const box of document.querySelectorAll('#waterfall-graph .box')) {
        add(/, phase ([^,]*)/.exec(box.title)?.[1], 'waterfall', getComputedStyle(box).backgroundColor);
    }
    return seen;
"""


def without_data(page, report):
    """Bytes of the page that are not the run's own: its data, and the names of its sections wherever they stand."""
    text = page.read_text()
    start = text.index('id="data">')
    text = text[:start] + text[text.index("</script>", start):]
    names = {name for section in report["sections"] for name in section["path"].split("/") if len(name) > 8}
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    return len(text.encode())


def checked(window, source):
    """What the checker finds on the page that is open, all of it unfolded."""
    window.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    window.run(source)
    return window.run_async(
        "const [done] = arguments;"
        "const told = (v, nodes) => [v.id, nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + (n.any[0]?.message ?? ''))];"
        # Of contrast also what it cannot tell; of words in drawings it never can, nor of what is scrolled away.
        "const hidden = n => { const around = document.querySelector(n.target[0])?.closest('.scroll'); return around && around.scrollWidth > around.clientWidth; };"
        "const unsure = v => v.nodes.filter(n => v.id === 'color-contrast' && innerWidth > 1000 && !n.html.startsWith('<text') && !hidden(n));"
        # Of what is right it need not say where.
        "axe.run(document, { resultTypes: ['violations', 'incomplete'] }).then(result => done([...result.violations.map(v => told(v, v.nodes)),"
        "...result.incomplete.filter(v => unsure(v).length).map(v => told(v, unsure(v)))]))")


class OnePage(unittest.TestCase):
    """Tests of one page and its report, in a browser of their own."""

    # The page, as `of` knows it.
    NAME = None

    @classmethod
    def setUpClass(cls):
        cls.page, cls.report = of(cls.NAME)
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
