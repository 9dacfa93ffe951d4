"""What a panel has to show, worked out from its queries' answers and its place in the board alone: names of series, last values
in their units, colours by thresholds, columns. Grafana's libraries are not asked."""

import json
import math
import re

# The colours that boards name, filled in with Grafana's values for them.
NAMES = ["green", "orange", "red", "blue", "yellow", "purple"]
COLORS = {}

# What a number is divided by for each unit, from the smallest up, and what is written behind it.
SCALES = {
    "s": [(1e-9, " ns"), (1e-6, " µs"), (1e-3, " ms"), (1, " s"), (60, " mins"), (3600, " hours")],
    "ns": [(1, " ns"), (1e3, " µs"), (1e6, " ms"), (1e9, " s"), (6e10, " min")],
    "bytes": [(1, " B"), (2**10, " KiB"), (2**20, " MiB"), (2**30, " GiB"), (2**40, " TiB")],
    "Bps": [(1, " B/s"), (1e3, " kB/s"), (1e6, " MB/s"), (1e9, " GB/s")],
    "short": [(1, ""), (1e3, " K"), (1e6, " Mil"), (1e9, " Bil")],
    "joule": [(1, " J"), (1e3, " kJ"), (1e6, " MJ")],
    "watt": [(1, " W"), (1e3, " kW")],
    "ops": [(1, " ops/s"), (1e3, "K ops/s")],
}


def amount(text, unit):
    """The number that a shown value stands for, and how far it may be off; None for what is no number."""
    for size, suffix in sorted(SCALES.get(unit, [(1, "")]), key=lambda scale: -len(scale[1])):
        match = re.fullmatch(r"(-?[\d.]+)" + re.escape(suffix), text)
        if match:
            digits = match.group(1)
            decimals = len(digits.partition(".")[2])
            return float(digits) * size, 0.51 * size * 10**-decimals
    match = re.fullmatch(r"(-?[\d.]+)%", text)
    if match and unit == "percentunit":
        decimals = len(match.group(1).partition(".")[2])
        return float(match.group(1)) / 100, 0.0051 * 10**-decimals
    return None


def last(series):
    """The last value that is a number."""
    values = [float(value) for _, value in series.get("values") or [series["value"]]]
    return next((value for value in reversed(values) if not math.isnan(value)), None)


def legend(target, labels):
    """As Grafana fills it in: a label that a series has not is shown by its own name."""
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda match: labels.get(match.group(1), match.group(1)), target["legendFormat"])


def nameless(target, labels):
    """Labels of the legend that the series lacks."""
    return [name for name in re.findall(r"\{\{\s*(\w+)\s*\}\}", target["legendFormat"]) if name not in labels]


def step_color(panel, value):
    """The colour of the highest threshold that the value reaches."""
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    return COLORS[[step["color"] for step in steps if step["value"] is None or value >= step["value"]][-1]]


def problems(panel, results, told, sight):
    """Sentences on what is not as it has to be."""
    if sight["failed"]:
        return [sight["failed"][:500]]
    if panel["title"] not in sight["text"]:
        return [f"its title is not there: {sight['text'][:80]!r}"]
    check = {"timeseries": plot, "trend": trend, "stat": figures, "bargauge": figures, "table": table, "text": text,
             "flamegraph": flames}[panel["type"]]
    return list(check(panel, results, told, sight))


def series_of(panel, results):
    return [(target, series) for target in panel.get("targets", []) if target["refId"] in results
            for series in results[target["refId"]]["result"]]


def is_empty(panel, sight):
    """Whether the panel says what to switch on, as it has to without data."""
    return panel["fieldConfig"]["defaults"]["noValue"] in sight["text"]


def plot(panel, results, _, sight):
    series = series_of(panel, results)
    if not series:
        if not is_empty(panel, sight):
            yield "no data, and no word of what to switch on"
        return
    if not sight["ink"]:
        yield "nothing is drawn"
    for target, one in series:
        if not math.isfinite(float(one["values"][0][1])):
            yield f"it begins with {one['values'][0][1]}, so that nothing is drawn: {target['expr']}"
        for name in nameless(target, one["metric"]):
            yield f"a series has no label {name!r}, whose name is shown instead"
    # A legend that is too long is scrolled.
    for target, one in series[:3]:
        name = legend(target, one["metric"]).strip()
        if panel["options"]["legend"]["showLegend"] and name not in sight["text"]:
            yield f"{name!r} is not in the legend"


def trend(panel, _, told, sight):
    if sum(told["rows"]) == 0:
        return
    if not sight["ink"]:
        yield "nothing is drawn"
    for name in told["names"][1:]:
        if name not in sight["text"]:
            yield f"{name!r} is not in the legend"


def figures(panel, results, told, sight):
    series = series_of(panel, results)
    if not results:
        shown = told["figures"]
        if not shown or any(one["text"] not in sight["text"] for one in shown):
            yield f"{[one['text'] for one in shown]} are not all seen"
        return
    if not series:
        if not is_empty(panel, sight):
            yield "no data, and no word of what to switch on"
        return
    defaults = panel["fieldConfig"]["defaults"]
    words = {word.get("text") for mapping in defaults.get("mappings", []) for word in mapping["options"].values() if isinstance(word, dict)}
    for (_, one), figure in zip(series, told["figures"]):
        value, said = last(one), amount(figure["text"], defaults.get("unit"))
        if value is None or figure["text"] in words or re.match(r"\d{4}-", figure["text"]):
            continue
        if said is None:
            yield f"{figure['text']!r} is no value in {defaults.get('unit')!r}"
        elif abs(said[0] - value) > said[1] + 1e-9 * abs(value):
            yield f"{figure['text']!r} is shown for {value}"
        if defaults["color"]["mode"] == "thresholds" and figure["color"] != step_color(panel, value):
            yield f"{value} has the colour {figure['color']} instead of {step_color(panel, value)}"
        # As many as have room are seen.
        if len(series) < 4 and figure["text"].split(" ")[0].rstrip("%") not in sight["text"]:
            yield f"{figure['text']!r} is not seen: {sight['text'][:120]!r}"


def table(panel, results, told, sight):
    if not sum(told["rows"]):
        if panel["targets"] and results and not is_empty(panel, sight):
            yield "no data, and no word of what to switch on"
        return
    if is_empty(panel, sight):
        yield "a row says what a panel without data says"
    renamed = {override["matcher"]["options"]: entry["value"] for override in panel["fieldConfig"]["overrides"]
               for entry in override["properties"] if entry["id"] == "displayName"}
    hidden = {name for change in panel.get("transformations", []) if change["id"] == "organize"
              for name in change["options"].get("excludeByName", {})}
    # Those on the left have room.
    for name in [name for name in told["names"] if name][:3]:
        if name not in sight["text"]:
            yield f"the column {name!r} is not seen"
    columns = {name for target in panel["targets"] for series in results.get(target["refId"], {}).get("result", [])
               for name in series["metric"]}
    for name in columns - hidden:
        if renamed.get(name, name) not in told["names"]:
            yield f"the column {renamed.get(name, name)!r} is missing among {told['names']}"
    for name in hidden & set(told["names"]):
        yield f"the column {name!r} is hidden in the board"
    places = {renamed.get(name, name): place for change in panel.get("transformations", []) if change["id"] == "organize"
              for name, place in change["options"]["indexByName"].items()}
    shown = [name for name in told["names"] if name in places]
    if shown != sorted(shown, key=places.get):
        yield f"the columns stand as {shown}"
    yield from unsorted(panel["options"]["sortBy"], sight)


def unsorted(by, sight):
    """Of rows that are equal in the first of two sorted columns, those whose second grows."""
    if len(by) < 2:
        return
    missing = [one["displayName"] for one in by if one["displayName"] not in sight["heads"]]
    if missing:
        yield f"it is sorted by {missing}, of {sight['heads']}"
        return
    first, second = (sight["heads"].index(one["displayName"]) for one in by)
    rows = [row for row in sight["rows"] if row]
    for above, below in zip(rows, rows[1:]):
        if above[first] == below[first] and float(above[second]) < float(below[second]):
            yield f"{above} stands above {below}"


def text(panel, _, __, sight):
    words = re.sub(r"[`*_#\[\]]|\(.*?\)", "", panel["options"]["content"]).split()
    if words and words[0] not in sight["text"]:
        yield f"its text is not seen: {json.dumps(sight['text'][:80])}"


def flames(panel, _, told, sight):
    if sum(told["rows"]) and not sight["ink"]:
        yield "nothing is drawn"
