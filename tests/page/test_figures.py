"""Figures that are drawn, or said in sentences, against the JSON report: bars and marks of the distribution, the waterfall
that is there without scripts, what stands behind findings, and any number that is not in an element with its place in the
JSON report. Places and words are worked out here by rules of the tests' own."""

import math
import re
import unittest

import browser
import pages
import words

# Words of durations on an axis.
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def setUpModule():
    pages.need_browser()


def duration(text):
    """Nanoseconds of `5 ms`."""
    number, unit = text.split(" ")
    return float(number) * UNITS[unit]


def plain(text):
    """Text as the JSON report has it: without the marks of code, and with usual blanks."""
    return re.sub(r"\s+", " ", text.replace("`", "").replace("\xa0", " ")).strip()


def straight(one, other):
    """The straight line through two points, as a function."""
    (x0, y0), (x1, y1) = one, other
    return lambda x: y0 + (x - x0) * (y1 - y0) / (x1 - x0)


class Distribution(unittest.TestCase):
    """Each bar is where its times are, and as high as there are steps."""

    def drawn(self, name):
        """The drawing: bars, marks, ticks below and beside."""
        page, report = pages.of(name)
        with browser.Browser() as window:
            window.open(page)
            # Pixels of the drawing, whose left end is where its axis begins.
            drawing = window.run("""
                const svg = document.querySelector('#plot-distribution svg');
                const { left, top } = svg.getBoundingClientRect();
                const place = (one) => { const box = one.getBoundingClientRect();
                    return [box.left - left, box.top - top, box.right - left, box.bottom - top]; };
                const share = (one, name) => parseFloat(one.getAttribute(name)) / 100;
                const height = (one, name) => parseFloat(one.getAttribute(name));
                return {
                    bars: [...svg.querySelectorAll('rect')].map(one => [share(one, 'x'), share(one, 'width'), height(one, 'y'), height(one, 'height'), one.textContent]),
                    seen: [...svg.querySelectorAll('rect')].map(place),
                    marks: [...svg.querySelectorAll('line.mark')].map(one => share(one, 'x1')),
                    names: [...svg.querySelectorAll('.percentile')].map(one => [one.textContent, share(one, 'x')]),
                    times: [...svg.querySelectorAll('.tick.x')].map(one => [one.textContent, share(one, 'x')]),
                    counts: [...svg.querySelectorAll('.tick:not(.x):not(.percentile)')].map(one => [one.textContent, height(one, 'y') - 4]),
                    table: [...document.querySelectorAll('#distribution tbody tr')].map(row => [...row.querySelectorAll('data')].map(one => Number(one.value))),
                };""")
        return report, drawing

    def test_bars_and_marks_are_where_the_json_report_has_them(self):
        for name in ("demo", "evaluated", "marked"):
            report, drawing = self.drawn(name)
            [mode] = [one for one in report["detailed_metrics"]["modes"] if one["mode"] == report["summary"]["mode"]]
            buckets = mode["distribution"]
            self.assertGreater(len(buckets), 3, name)
            # Deep steps are counted, and are no example of how long steps take.
            left_out = report["summary"]["steps"] - sum(bucket["count"] for bucket in buckets)
            self.assertIn(left_out, range(mode["deep_steps"] + 1))
            self.assertEqual(drawing["table"], [[one["from_ns"], one["to_ns"], one["count"]] for one in buckets])
            # The axes, as their own ticks tell them.
            times = [(math.log(duration(text)), share) for text, share in drawing["times"]]
            counts = [(float(text.replace(",", "")), y) for text, y in drawing["counts"]]
            across, up = straight(times[0], times[-1]), straight(counts[0], counts[-1])
            for time, share in times:
                self.assertAlmostEqual(across(time), share, delta=2e-4)
            for count, y in counts:
                self.assertAlmostEqual(up(count), y, delta=0.11)
            ground = up(0)
            self.assertEqual(len(drawing["bars"]), len(buckets))
            # Where the bars are on the screen, as shares of what they take there.
            ends = drawing["seen"][0][0], drawing["seen"][-1][2]
            on_screen = straight((ends[0], drawing["bars"][0][0]), (ends[1], sum(drawing["bars"][-1][:2])))
            for (left, width, top, height, title), seen, bucket in zip(drawing["bars"], drawing["seen"], buckets):
                first, end = across(math.log(max(bucket["from_ns"], 1))), across(math.log(bucket["to_ns"] + 1))
                self.assertAlmostEqual(left, first, delta=3e-4)
                self.assertAlmostEqual(left + width, end, delta=3e-4)
                # As high as there are steps, but never out of sight.
                self.assertAlmostEqual(top, min(up(bucket["count"]), ground - 2), delta=0.2)
                self.assertAlmostEqual(top + height, ground, delta=0.2)
                # And so it is on the screen.
                self.assertAlmostEqual(on_screen(seen[0]), left, delta=3e-3)
                self.assertAlmostEqual(seen[3] - seen[1], height, delta=1.1)
                from_, to, count = re.fullmatch(r"(.*) to (.*): ([\d,]+)", title).groups()
                self.assertTrue(words.says(from_, bucket["from_ns"]), title)
                self.assertTrue(words.says(to, bucket["to_ns"]), title)
                self.assertEqual(count, f"{bucket['count']:,}")
            marks = ("p50", "p95", "p99")
            self.assertEqual([text for text, _ in drawing["names"]], list(marks))
            for mark, at_, (_, beside) in zip(marks, drawing["marks"], drawing["names"]):
                self.assertAlmostEqual(at_, across(math.log(report["summary"]["step_time"][mark])), delta=3e-4)
                self.assertEqual(at_, beside)


def told(key, value):
    """What a figure of evidence is called, and whether words say it: by the end of its key. None where it says nothing."""
    if value in (None, [], {}) or (key.endswith("_share") and value == 0):
        return None
    label = re.sub(r"_(ns|bytes|share|ratio)$", "", key)
    label = {"p_value": "p", "bytes_per_s": "throughput"}.get(key, label).replace("_", " ")
    return label


def leaves(value, key=""):
    """The numbers and the words of a value, with the keys that they have."""
    if isinstance(value, dict):
        return [leaf for name, part in value.items() for leaf in leaves(part, name)]
    if isinstance(value, list):
        return [leaf for part in value for leaf in leaves(part, key)]
    return [(key, value)]


def says(text, key, value):
    """Whether words say a number of evidence."""
    if key.endswith("_ns") or key.endswith("_share"):
        kind = " " in text and (text.endswith("%") == key.endswith("_share"))
        return kind and words.says(text.removeprefix("−").removeprefix("+"), abs(value) if key.endswith("_ns") else value)
    if key.endswith("bytes"):
        return text.endswith("B") and words.says(text.removeprefix("+"), value)
    if key == "bytes_per_s":
        return text.endswith("B/s") and words.says(text, value)
    if isinstance(value, int):
        return text == f"{value:,}"
    return words.says(text, value)


# A number with what it is counted in.
NUMBER = re.compile(r"(?:< )?[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?: (?:min|h|d) \d\d (?:s|min|h)(?![a-z]))?"
                    r"(?: (?:%|ns|µs|ms|s|[KMGTPE]?i?B(?:/s)?)(?![A-Za-z]))?")


class Findings(unittest.TestCase):
    """Titles, advice and the figures behind findings."""

    NAMES = ("demo", "evaluated", "marked", "outlier", "many", "wide")

    def test_they_say_what_the_json_report_says(self):
        rules, keys = set(), 0
        for name in self.NAMES:
            page, report = pages.of(name)
            with browser.Browser() as window:
                window.open(page)
                shown = window.run(pages.PLACE_OF + """return [...document.querySelectorAll('.finding')].map(one => ({
                    title: one.querySelector('h3').textContent, about: one.querySelector('.about').textContent,
                    texts: [...one.querySelectorAll(':scope > p')].map(p => p.textContent),
                    evidence: [...one.querySelectorAll('dl > div')].map(row => [row.querySelector('dt').textContent, row.querySelector('dd').textContent,
                        [...row.querySelectorAll('li')].map(item => item.textContent), [...row.querySelectorAll('data')].map(placeOf)])}))""")
                notes = window.run("return [...document.querySelectorAll('#findings > ul > li')].map(one => one.textContent)")
                others = window.run("return [...document.querySelectorAll('#rules tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")
            self.assertEqual(len(shown), len(report["findings"]), name)
            for number, (one, finding) in enumerate(zip(shown, report["findings"])):
                rules.add(finding["rule"])
                self.assertEqual(plain(one["title"]), plain(finding["title"]))
                about = plain(one["about"])
                self.assertIn(f"severity {finding['severity']:.0f} ", about)
                self.assertIn(finding["rule"], about)
                self.assertIn(f"What to do: {plain(finding['recommendation'])}", [plain(text) for text in one["texts"]])
                gain = finding["predicted_gain"]
                [said] = [plain(text) for text in one["texts"] if text.startswith("Gain:")] or [None]
                self.assertEqual(said is None, gain is None)
                if gain:
                    share, less, left, because = re.fullmatch(r"Gain: [a-z ]+? ((?:< )?[\d.]+ %) of [a-z ]+ \((.*?) less, (.*?) left\)(?:: (.*))?\.", said).groups()
                    self.assertTrue(words.says(share, gain["share"]), said)
                    self.assertTrue(words.says(less, gain["saved_ns_per_step"]), said)
                    self.assertTrue(words.says(left, gain["step_time_ns"]), said)
                    self.assertEqual(because, gain["because"] and plain(gain["because"]))
                keys += self.evidence(name, number, one["evidence"], finding["evidence"])
            self.assertEqual([plain(text) for text in notes], [plain(note["text"]) for note in report["notes"]])
            # Rules that say the same stand together.
            found = [(rule, plain(because)) for row, _, because in others for rule in row.split(", ")]
            expected = [(rule["rule"], plain(rule["because"])) for rule in report["detailed_metrics"]["rules"] if rule["because"]]
            self.assertEqual(sorted(found), sorted(expected))
        self.assertLess({"input_bound", "memory_growth", "slower_since"}, rules)
        self.assertGreater(keys, 60)

    def evidence(self, name, number, rows, evidence):
        """Compares the rows below a finding with its evidence; gives how many numbers there were."""
        expected = [(told(key, value), key, value) for key, value in evidence.items() if told(key, value)]
        self.assertEqual([label for label, *_ in rows], [label for label, *_ in expected], (name, number))
        count = 0
        for (label, text, items, places), (_, key, value) in zip(rows, expected):
            context = (name, number, key, text, value)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                self.assertEqual(places, [f"findings/{number}/evidence/{key}"], context)
                self.assertTrue(says(text, key, value), context)
                count += 1
                continue
            parts = value if isinstance(value, list) and len(value) > 1 else [value]
            self.assertEqual(len(items) or 1, len(parts), context)
            for words_, part in zip(items or [text], parts):
                rest = plain(words_)
                names = [leaf for leaf in leaves(part, key) if isinstance(leaf[1], str)]
                numbers = [leaf for leaf in leaves(part, key) if isinstance(leaf[1], (int, float)) and not isinstance(leaf[1], bool)]
                for _, name_ in names:
                    self.assertIn(plain(name_), rest, context)
                    rest = rest.replace(plain(name_), "", 1)
                told_ = NUMBER.findall(rest)
                self.assertEqual(len(told_), len(numbers), (*context, told_))
                for own, number_ in numbers:
                    match = next((one for one in told_ if says(one, own, number_)), None)
                    self.assertIsNotNone(match, (*context, own, number_, told_))
                    told_.remove(match)
                    count += 1
        return count


def strings(value):
    """All words of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def all_steps(row):
    """Time of steps of which some take longer every so often, of each number the longest."""
    periods, usual = row["periods"], row["usual"]
    return usual["total"] + sum(usual["p50"] * period["steps"] + period["above_ns"] for period in periods)


QUANTITY = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?: ?(?:%|ns|µs|ms|s|B|KiB|MiB|GiB)(?!\w))?")
# What stands in the page whatever the report says.
FIXED = ("(load, 1 min)", "about every 40 ms: of calls of 50 ms and more", "two steps or longer")


def figures(value):
    """The numbers of a part of a JSON report, how many there are of each list, and the shares of a number in others beside it."""
    if isinstance(value, dict):
        is_number = lambda one: isinstance(one, (int, float)) and not isinstance(one, bool)
        own = [one for one in value.values() if is_number(one)]
        looks = [[one["looks"] for one in part if isinstance(one, dict) and is_number(one.get("looks"))]
                 for part in value.values() if isinstance(part, list)]
        sums, parts = [sum(one) for one in looks], own + sum(looks, [])
        yield from own + sums
        yield from (one / whole for one in parts for whole in own + sums if 0 <= one <= whole > 0)
        yield from (2 * one for key, one in value.items() if key == "age_steps")
        value = list(value.values())
    elif isinstance(value, list):
        yield len(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    if isinstance(value, list):
        for one in value:
            yield from figures(one)


def follows(text, known):
    """Whether all quantities of a text are among figures."""
    for fixed in FIXED:
        text = text.replace(fixed, "")
    return all(any(words.says(quantity, one) for one in known) for quantity in QUANTITY.findall(text))


def explained(report, part, text, around):
    """Whether a text with numbers in a part of the page says what the JSON report does. Evidence of findings has its own
    test, and so have the labels of columns."""
    details, summary = report["detailed_metrics"], report["summary"]
    if part == "run" and text.startswith("below "):
        # Times are known to buckets of a 64th of an octave: of the nearest two nobody knows.
        time = summary["step_time"]
        return time["mad"] is None and words.says(text.removeprefix("below "), time["p50"] * (2 ** (2 / 64) - 1))
    if part == "run":
        whole = sum(mode["steady_ns"] for mode in details["modes"])
        return any(words.says(text, mode["steady_ns"] / whole) for mode in details["modes"])
    if part == "findings":
        return any(finding["predicted_gain"] and text == f"left): {plain(finding['predicted_gain']['because'] or '')}." for finding in report["findings"])
    if part == "phases":
        return around == text and words.says(text, summary["unattributed_ns"] / summary["whole"]["total_ns"])
    if part == "distribution":
        return text in (", p90", ", p95", ", p99")
    if match := re.search(r"every ([\d,]+)(?:st|nd|rd|th) step$", text.lower()):
        return int(match[1].replace(",", "")) in [period["every"] for row in details["periodic"] for period in row["periods"]]
    if match := re.fullmatch(r"([\d.]+) times as long", text):
        ratios = [period["median_ns"] / row["usual"]["p50"] for row in details["periodic"] for period in row["periods"]]
        return any(abs(float(match[1]) - ratio) <= (0.0501 if "." in match[1] else 0.501) for ratio in ratios)
    if match := re.fullmatch(r"(.* %) of the time of all steps", text):
        shares = [period["above_ns"] / all_steps(row) for row in details["periodic"] for period in row["periods"]]
        return any(words.says(match[1], share) for share in shares)
    if match := re.fullmatch(r"(.* %) (slower|faster)", text):
        changes = [change["after_ns"] / change["before_ns"] - 1 for change in details["changes"]]
        return any(words.says(match[1], abs(change)) and (change > 0) == (match[2] == "slower") for change in changes)
    if part == "waterfall" and (match := re.fullmatch(r"(?:(\w+) )?step ([\d,]+)(?: of rank (\d+))?: ([a-z ]+)(?:, warm-up)?, (.+), (\d+) of (\d+) spans", text)):
        mode, step, rank, roles, time, shown, spans = match.groups()
        return any((mode or summary["mode"], int(step.replace(",", "")), roles.split(" and "), int(shown), int(spans))
                   == (one["mode"], one["step"], one["roles"], len(one["spans"]), one["spans_in_step"])
                   and rank in (None, str(one["rank"])) and words.says(time, one["duration_ns"]) for one in report["exemplars"])
    if part == "waterfall" and (match := re.fullmatch(r"(\d+) more spans are in the JSON report\.", text)):
        return int(match[1]) in [len(one["spans"]) - 40 for one in report["exemplars"]]
    if part == "waterfall":
        lanes = [lane["thread_id"] for one in report["exemplars"] for lane in one["lanes"]]
        return text.removesuffix(" (the step's)") in [str(lane) for lane in lanes]
    if part == "loaders":
        return text in [str(len(loader["workers"])) for loader in details["batches"]["loaders"]]
    if part == "sections":
        return text.startswith(f"{len(report['sections']) - 120:,} more sections need scripts")
    # Sums over a third of the steps are not in the report.
    if text.startswith("From the first third of the steps to the last: "):
        return part == "threads"
    if part in ("threads", "host", "memory"):
        said = {"threads": [report["threads"], [mode["threads"] for mode in details["modes"]]],
                "host": [report["host"], report["ranks"]], "memory": [report["memory"], [row["resident"] for row in report["sections"]]]}[part]
        names = [name for row in report["sections"] for name in row["path"].split("/")]
        return text in names or follows(text, list(figures(said)))
    if part == "footer":
        return text == f"Made by {report['tool']['name']} {report['tool']['version']} · report schema {report['schema_version']}"
    return False


class Rest(unittest.TestCase):
    """Numbers that have no place in the JSON report beside them: each is of its words, or follows from it."""

    NUMBERS = """
        const found = [];
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const [{ data, parentElement }] = [texts.currentNode];
            if (!/\\d/.test(data) || parentElement.closest('data, svg, script, th[scope=col], dt, .finding dl')) continue;
            const around = parentElement.closest('li, p, td, th, figcaption, caption, h1, h2, h3, dd, summary, div');
            const part = around.closest('section, header, footer');
            const name = parentElement.closest('code');
            found.push([part.id || part.localName, name ? name.textContent : data, around.textContent, Boolean(name)]);
        }
        return found;"""

    def test_every_other_number_follows_from_the_json_report(self):
        seen, lies = 0, []
        for name in pages.INPUTS:
            page, report = pages.of(name)
            known = "\n".join(plain(text) for text in strings(report))
            with browser.Browser(scripts=False) as bare:
                bare.open(page, ready=False)
                for part, text, around, is_name in bare.run(self.NUMBERS):
                    text, around = plain(text), plain(around)
                    # Short words are in others by chance; names are cut.
                    is_known = all(half in known for half in text.split("…")) if is_name else len(text) > 8 and text in known
                    if not is_known and not explained(report, part, text, around):
                        lies.append((name, part, text, around))
                    seen += 1
        self.assertEqual(lies, [])
        self.assertGreater(seen, 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
