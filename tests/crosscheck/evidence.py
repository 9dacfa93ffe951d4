"""What findings say besides severity and gain, from figures of the report that are compared with the spans elsewhere: their
evidence, the share that their title names, the section that they are about, the order in which they stand."""

import re
from fractions import Fraction

import memory
import stats
from ranks import together

SECTIONS = ("section", "micro_step")
# Severity from which a finding stands in the first sentence, and the share of input from which one kind of it is all.
NOTABLE, NEARLY_ALL = 10, 0.9
# How many sections each list of the largest holds, and the calls from which durations can vary.
RANKED, MIN_CALLS = 20, 20
# How near to the growth a section's own balance must be to be named, as a part of it.
MAX_DEVIATION = Fraction(1, 2)


def compare_order(report, compare):
    """Largest severity first, then largest share, then by id."""
    def key(finding):
        gain = finding["predicted_gain"]
        return -finding["severity"], -(gain["direct_share"] if gain else 0), finding["id"].partition("#")[0], finding["title"]

    listed = report["findings"]
    compare.equal("findings", "order", [one["id"] for one in listed], [one["id"] for one in sorted(listed, key=key)])


def compare_rules(report, known, compare):
    """Each of the rules that are known answers once, and those that found something are those of the findings."""
    rules = report["detailed_metrics"]["rules"]
    compare.equal("rules", "answers", sorted(rule["rule"] for rule in rules), sorted(known))
    found = {rule["rule"] for rule in rules if rule["state"] == "found"}
    compare.equal("rules", "found", sorted(found), sorted({finding["rule"] for finding in report["findings"]}))


def compare_evidence(finding, report, steps, compare, **more):
    """`more` is what the rule has computed already."""
    where, rule = f"finding {finding['id']}", OF_RULE.get(finding["rule"])
    if rule is None:
        return
    expected, share, section = rule(finding, report, steps, **more)
    for name, value in expected.items():
        hold = compare.equal if value is None or isinstance(value, (int, str)) else compare.close
        hold(where, f"evidence {name}", finding["evidence"].get(name), value)
    if share is not None:
        compare.equal(where, "share in the title", finding["title"].partition(" of ")[0], percent(share))
    if finding["rule"] in TITLE_PARTS:
        named = re.findall(r"\(([^()]* %)\)", finding["title"])
        compare.equal(where, "parts in the title", named, parts(TITLE_PARTS[finding["rule"]], steps))
    compare.equal(where, "section", finding["section"], section)


# Phases that a title tells apart.
TITLE_PARTS = {"input_bound": ("data_wait", "data_loading"), "slow_preprocessing": ("preprocessing", "augmentation", "collate")}


def parts(phases, steps):
    """Shares of the phases that are worth telling, the largest first; none where one of them is all, as far as anybody sees."""
    listed = sorted((share(steps.exposed((phase,)), steps) for phase in phases), reverse=True)
    named = [percent(one) for one in listed if one >= Fraction(5, 1000)]
    is_all = percent(listed[0]) == percent(share(steps.exposed(phases), steps))
    return named if len(named) > 1 and not is_all else []


def compare_ranked(report, compare):
    """The sections with most time of their own, and those whose durations vary most."""
    rows = [row for row in report["sections"] if row["kind"] in SECTIONS]
    paths = {row["path"] for row in rows}
    own = {row["path"]: row["self_busy_ns"] if row["self_ns"] is None else row["self_ns"] for row in rows}
    varying = {
        row["path"]: (row["robust_cv"] or 0, row["cv"] or 0)
        for row in rows
        if row["count"] >= MIN_CALLS and (row["robust_cv"] or row["cv"])
    }
    for figure, of in (("slowest_sections", own), ("most_variable_sections", varying)):
        listed = report["detailed_metrics"][figure]
        compare.equal(figure, "number", len(listed), min(RANKED, len(of)))
        expected = sorted((of[path] or 0 for path in of), reverse=True) if figure == "slowest_sections" else sorted(of.values(), reverse=True)
        compare.equal(figure, "sections", set(listed) <= paths, True)
        compare.equal(figure, "largest first", [of.get(path) or 0 for path in listed], expected[: len(listed)])


def compare_verdict(report, steps, kinds, compare):
    """The first sentence: how far the run is input bound, the share that it names, and the finding that comes first.
    `kinds` are the phases of each kind of input."""
    got, state = report["summary"]["verdict"], report["summary"]["input"]["verdict"]
    worst = next(iter(report["findings"]), None)
    is_notable = worst is not None and worst["severity"] >= NOTABLE
    if steps.mode is None or state == "unknown":
        given, needed = report["summary"]["input"]["steps"], report["summary"]["input"]["min_steps"]
        expected = f"Too few steps to judge: {given} after warm-up, {needed} are needed"
        if steps.mode is None or given >= needed:
            compare.equal("verdict", "is none", "nput bound" in got, False)
        elif is_notable and worst["type"] != "recording":
            expected = f"{clause(worst)}; t{expected[1:]}"
            compare.equal("verdict", "beginning", got[: len(expected)], expected)
        else:
            compare.equal("verdict", "beginning", got[: len(expected)], expected)
        return
    whole = percent(report["summary"]["input"]["share"])
    if state == "no":
        expected = f"Not input bound, but: {lower(worst['title'])}" if is_notable else f"Not input bound: {whole} of "
        # Waiting for batches that are others'.
        expected = worst["title"] if is_notable and worst["type"] == "data_loading" else expected
        compare.equal("verdict", "beginning", got[: len(expected)], expected)
        return
    degree = "Input" if state == "high" else "Moderately input"
    begins = f"{degree} bound: "
    if may_be_chance(report):
        begins = f"{clause(worst)}; " if is_notable else "Perhaps input bound: "
        compare.equal("verdict", "says that it may be chance", got.endswith(", which may be chance."), True)
    elif worst is not None and worst["type"] not in ("data_loading", "preprocessing"):
        begins = f"{clause(worst)}; {degree.lower()} bound, too: "
    costs = [steps.exposed(phases) for phases in kinds]
    most = max(costs)
    is_nearly_all = most >= NEARLY_ALL * sum(costs)
    expected = f"{begins}{percent(share(most, steps)) if is_nearly_all else whole} of "
    compare.equal("verdict", "beginning", got[: len(expected)], expected)
    if not is_nearly_all:
        compare.equal("verdict", "largest part", f" is input, {percent(share(most, steps))} " in got, True)


def may_be_chance(report):
    """Whether by its share a finding about the input would stand in the first sentence, and none does by its severity."""
    about = [one for one in report["findings"] if one["type"] in ("data_loading", "preprocessing")]
    shares = [int(100 * one["predicted_gain"]["direct_share"] + 0.5) for one in about if one["predicted_gain"]]
    return all(one["severity"] < NOTABLE for one in about) and any(share >= NOTABLE for share in shares)


def clause(finding):
    """A title as the first part of a sentence."""
    return finding["title"].removesuffix(".")


def lower(sentence):
    """A sentence as the second part of one."""
    return sentence[:1].lower() + sentence[1:]


def percent(share):
    """As the report writes shares."""
    value = float(six(float(share))) * 100
    if value == 0:
        return "0 %"
    if value < 0.005:
        return "< 0.01 %"
    digits = 2 if value < 0.995 else 1 if value < 9.95 else 0
    return f"{stats.rounded(value, digits):.{digits}f} %"


def six(value):
    return stats.rounded(value, 6)


def share(ns, steps):
    return Fraction(ns, steps.total)


def shares(steps, **phases):
    return {f"{name}_share": six(share(steps.exposed(of), steps)) for name, of in phases.items()}


def input_bound(finding, report, steps, waiting, loader, computing_ns, sharing_ns):
    exposed = steps.exposed(waiting)
    rest = steps.mean - exposed // steps.count
    batches = report["detailed_metrics"]["batches"]["loaders"]
    row = next((one for one in batches if loader in (None, one["name"])), None)
    waits = report["detailed_metrics"]["waits"] if loader is None or row is None else row["waits"]
    mean = (row and row["produce"]["mean"]) or waits["produce"]["mean"]
    steady = (row and row["after_warmup"]) or None
    produce = steady["produce_mean_ns"] if steady else None if mean is None else int(stats.rounded(mean, 0))
    steady = steady or row or {"utilisation": None, "slot_wait_share": None}
    waits_for = waited_for(row, batches) if row else None
    # Whose workers are slowest together is judged by itself.
    slowest = row and row["slowest"]
    workers = slowest["workers_at_once"] if slowest else row and row["workers_at_once"]
    if slowest:
        steady, produce = slowest["after_warmup"], slowest["after_warmup"]["produce_mean_ns"]
    taken = batches_per_step(row, report, steps)
    every = int(Fraction(max(0, rest - waits_for_ranks(report, steps)[1])) / taken)
    then = too_slow_while_awaited(row, workers, steady["utilisation"], every) if row else None
    places = places_needed(workers, then, produce, every) if then else None
    then = None if places else then
    needed = produce if then is None else then["produce_mean_ns"]
    expected = shares(steps, waiting=waiting, data_wait=("data_wait",), data_loading=("data_loading",)) | {
        "waiting_per_step_ns": exposed // steps.count,
        "step_without_waiting_ns": rest,
        "loaders_compute_per_step_ns": computing_ns or None,
        "cpu_contention_share": six(Fraction(sharing_ns, max(1, steps.mean))),
        "wait_p50_ns": waits["wait"]["p50"],
        "wait_p95_ns": waits["wait"]["p95"],
        "produce_mean_ns": produce,
        "queue_time_p50_ns": waits["queue"]["p50"],
        "queue_depth_p50": waits["depth"]["p50"],
        "batches_per_step": None if taken == 1 else six(taken),
        "loader_rank": slowest and slowest["rank"],
        "workers": workers,
        "workers_slot_wait_share": None if steady["slot_wait_share"] is None else six(steady["slot_wait_share"]),
        "workers_busy_share": None if steady["utilisation"] is None else six(steady["utilisation"]),
        "queue_places_needed": places,
        "produce_mean_while_awaited_ns": then and then["produce_mean_ns"],
        "workers_busy_while_awaited_share": then and six(then["utilisation"]),
        "workers_needed": max(1, -(-needed // every)) if needed is not None and every and waits_for is None else None,
        "waits_for_loader": waits_for and waits_for[0]["name"],
        "waits_for_loader_share": waits_for and six(waits_for[1]),
        "limiting_loader": waits_for and limiting(row, batches),
    }
    # Waiting, unless the step reads more itself.
    phase = "data_loading" if steps.exposed(("data_loading",)) > steps.exposed(("data_wait",)) else "data_wait"
    return expected, share(exposed, steps), worst(report, steps, (phase,))


def waits_for_ranks(report, steps):
    """(ranks that do steps together, what one waits for others in a step at most): exposed communication and synchronization,
    less as many of the shortest calls."""
    rows = together(report)
    if not rows or steps.sums:
        return 0, 0
    waited = 0
    for section in report["sections"]:
        if section.get("phase") not in ("communication", "synchronization"):
            continue
        for part in section["in_steps"]:
            if part["mode"] == steps.mode["mode"]:
                exposed = part["exposed_ns"] - part["warmup_exposed_ns"]
                waited += max(0, exposed - (section["min"] or 0) * (part["calls"] - part["warmup_calls"]))
    whole, warm = steps.mode["whole_all"]["steps"], steps.mode["whole_warmup"]["steps"]
    return len(rows), waited // max(1, whole - warm)


def batches_per_step(row, report, steps):
    """Of a loader: by the waits for it in steps of this mode and the steps that have waits, else by those between steps; a
    whole number where it is that by a tenth."""
    held = {item["mode"]: item["waits"] for item in row["held_up"]} if row else {}
    mode = steps.mode["mode"]
    of = [part["steps"] for section in report["sections"] if section.get("phase") == "data_wait"
          for part in section.get("in_steps", ()) if part["mode"] == mode]
    taken = Fraction(held[mode], max(of)) if held.get(mode) and of else Fraction(0)
    if not held.get(mode) and steps.mode["all"]["count"]:
        taken = Fraction(held.get(None, 0), steps.mode["all"]["count"])
    whole = max(1, int(taken + Fraction(1, 2)))
    return whole if not taken or 10 * abs(taken - whole) <= whole else taken


def places_needed(workers, then, produce, every):
    """By how many places the queue would have to be deeper to bridge what was waited without a break, where that is feasible
    and the loader keeps up on average."""
    if not every or then["at_once_ns"] is None or max(1, -(-produce // every)) > workers:
        return None
    places = -(-then["at_once_ns"] // every)
    return places if places <= 64 else None


def too_slow_while_awaited(row, workers, utilisation, every):
    """What a loader did while it was waited for, where it was busy all the time then and not in all of its time, and had
    too few workers."""
    then = row["while_awaited"]
    if then is None or utilisation is None or utilisation >= 0.85 or then["utilisation"] < 0.85:
        return None
    return then if every and -(-then["produce_mean_ns"] // every) > workers else None


def waited_for(row, loaders):
    """The other loader that the batches of this one wait for longest, and the share of the time in which these are made
    that goes into such waits, where it is half or more. Where no wait is part of a batch: the one other loader whose
    batches others than threads that drive steps wait for, for that long."""
    others = [one for one in loaders if one is not row]
    made = max(1, row["produce"]["total"])
    if any(one["waited_by"] for one in loaders):
        waits = {one["name"]: sum(item["total_ns"] for item in one["waited_by"] if item["loader"] == row["name"]) for one in others}
        share = Fraction(sum(waits.values()), made)
        longest = min(others, key=lambda one: (-waits[one["name"]], one["name"]), default=None)
        return (longest, min(1, share)) if longest and share >= Fraction(1, 2) else None
    others = [one for one in others if 2 * waited_elsewhere(one) >= made]
    if len(others) != 1 or not row["produce"]["count"]:
        return None
    return others[0], min(1, Fraction(waited_elsewhere(others[0]), made))


def limiting(row, loaders):
    """The last of the loaders that wait for each other, each once."""
    seen = []
    while row is not None and row["name"] not in seen:
        seen.append(row["name"])
        following = waited_for(row, loaders)
        row = following and following[0]
    return seen[-1]


def waited_elsewhere(row):
    return max(0, row["waits"]["wait"]["total"] - sum(item["total_ns"] for item in row["held_up"]))


def slow_preprocessing(finding, report, steps, preparation):
    exposed = steps.exposed(preparation)
    samples = steps.mode["throughput"]["samples"]
    section = worst(report, steps, preparation)
    row = next((one for one in report["sections"] if one["path"] == section), None)
    part = next((part for part in row["in_steps"] if part["mode"] == steps.mode["mode"]), None) if row else None
    expected = shares(steps, preparation=preparation, **{phase: (phase,) for phase in preparation}) | {
        "preparation_per_step_ns": exposed // steps.count,
        "step_without_preparation_ns": steps.mean - exposed // steps.count,
        "per_sample_ns": exposed // samples if samples and not steps.sums else None,
        "section_per_step_ns": part and part["exposed_ns"] // max(1, steps.mode["whole_all"]["steps"]),
        "section_calls_per_step": part and part["calls"] // max(1, part["steps"]),
        "section_p50_ns": row and row["p50"],
    }
    # Renamed by the report.
    expected["preprocessing_share"] = six(share(steps.exposed(("preprocessing",)), steps))
    return expected, share(exposed, steps), section


def slow_section(finding, report, steps):
    row = next((one for one in report["sections"] if one["path"] == finding["section"]), None)
    if row is None:
        return {}, None, "a section of the report"
    if steps.sums:
        exposed, calls, whole, count = row["self_busy_ns"], row["count"], steps.sums["steps_ns"], steps.count
    else:
        part = next(part for part in row["in_steps"] if part["mode"] == steps.mode["mode"])
        of, warm = steps.mode["whole_all"], steps.mode["whole_warmup"]
        exposed, calls = part["exposed_ns"] - part["warmup_exposed_ns"], part["calls"] - part["warmup_calls"]
        whole, count = of["total_ns"] - warm["total_ns"], of["steps"] - warm["steps"]
    steady = steps.sums["steps_ns"] if steps.sums else steps.mode["steady_ns"]
    own = min(1.0, exposed / max(1, whole)) * (steady / steps.total)
    expected = {
        "exposed_share": six(own),
        "exposed_per_step_ns": finding["predicted_gain"]["saved_ns_per_step"],
        "exposed_per_call_ns": exposed // max(1, calls),
        "calls": max(1, calls),
        "steps": max(1, count),
        "call_p50_ns": row["p50"],
        "call_p95_ns": row["p95"],
    }
    return expected, own, row["path"]


def checkpoint_stalls(finding, report, steps):
    phases = ("checkpoint",)
    between = steps.between(phases)
    exposed = steps.inside(phases) + between
    section = worst(report, steps, phases)
    between_all = next((row["stats"] for row in steps.outside if row["phase"] == "checkpoint" and row["stats"]["count"]), None)
    inside = whole_checkpoints(report, steps)
    count = sum(part["calls"] - part["warmup_calls"] for _, part in inside)
    # By its calls, the kind that takes most: that around the section, or what is between steps.
    kinds = [(between_all["total"], between_all["p50"])] if between_all else []
    kinds += [
        (part["driving_ns"] - part["warmup_driving_ns"], row["p50"]) for row, part in inside if f"{section}/".startswith(f"{row['path']}/")
    ]
    longest = [row["max"] for row, _ in inside] + ([between_all["max"]] if between_all else [])
    calls = count + (between_all["count"] if between_all else 0)
    of = Fraction(exposed, max(1, steps.total + between))
    expected = {
        "checkpoint_share": six(of),
        "checkpoint_total_ns": exposed,
        "checkpoint_between_steps_ns": between,
        "steps": steps.count,
        "checkpoints": calls or None,
        "checkpoints_between_steps": between_all["count"] if between_all and count else None,
        "checkpoint_p50_ns": max(kinds)[1] if kinds else None,
        "checkpoint_max_ns": max(longest, default=None),
    }
    return expected, of, section


def whole_checkpoints(report, steps):
    """Checkpoints on threads that drive steps, after warm-up, each with its part in these: without what is inside of one."""
    rows = [row for row in report["sections"] if row.get("phase") == "checkpoint"]
    paths = [row["path"] for row in rows]
    outermost = [row for row in rows if not any(row["path"].startswith(f"{path}/") for path in paths)]
    parts = [(row, part) for row in outermost for part in row["in_steps"] if part["mode"] == steps.mode["mode"]]
    return [(row, part) for row, part in parts if part["driving_ns"] > part["warmup_driving_ns"]]


def deep_prefetch(finding, report, steps):
    """Of several loaders by the waits that name this one, if any do."""
    batches, waits = report["detailed_metrics"]["batches"]["loaders"], report["detailed_metrics"]["waits"]
    named = [one for one in batches if one["waits"]["depth"]["p50"] is not None] if len(batches) > 1 else []
    its_own = [one for one in named if one["name"] == finding["evidence"].get("loader")]
    workers = max((one["workers_at_once"] or 0 for one in its_own or batches), default=0)
    waits = its_own[0]["waits"] if its_own else waits
    expected = {
        "loader": its_own[0]["name"] if named else None,
        "queue_depth_p50": waits["depth"]["p50"],
        "queue_time_p50_ns": waits["queue"]["p50"],
        "unused_batches": min(waits["unused"], waits["depth"]["p50"] - 1),
        "workers": workers or None,
    }
    made = [row for row in report["sections"] if row["kind"] == "batch"]
    rows = [row for row in made if not named or row["name"] == its_own[0]["name"]]
    # One section may make the batches of all.
    rows = rows or (made if len(made) == 1 else [])
    section = min(rows, key=lambda row: (-row["count"], row["path"]), default={"path": None})["path"]
    return expected, None, section


def evaluation_stalls(finding, report, steps, evaluation, stalls, trained):
    """`evaluation` are the steps of that, which `stalls` hold up, beside so much training in so many steps."""
    between = evaluation.mode["input_between_ns"]
    held_up, whole = evaluation.inside(stalls) + between, evaluation.mode["steady_ns"] + between
    of = Fraction(held_up, max(1, trained[0] + whole))
    expected = {
        "evaluation_stalled_share": six(of),
        "evaluation_stalled_ns": held_up,
        "evaluation_total_ns": whole,
        "evaluation_input_between_ns": between,
        "evaluation_steps": evaluation.count,
        "steps": trained[1],
    }
    return expected, of, worst(report, evaluation, stalls)


def memory_growth(finding, report, steps, hourly):
    """`hourly` steps an hour."""
    leak = report["leaks"][0]
    figure = "live" if leak["verdict"] == "growing" else "rss"
    pair = report["memory"][figure]
    line, tail = memory.growth(pair, figure) or (pair["whole"], pair["tail"])
    slope, numbers = line["slope_per_step"], numbers_of(report, steps)
    of = line["to_step"] - line["from_step"] + 1
    # Growth that began late is what was left in all steps.
    share = 1 if line == pair["whole"] else of / numbers
    candidates = leaving_behind(report, steps.mode["all"]["count"], numbers * max(1, len(report["ranks"])), share, slope)
    section, net = candidates[0] if candidates else (None, None)
    if leak["verdict"] != "growing" or section is None or abs(net - Fraction(slope)) > MAX_DEVIATION * Fraction(slope):
        section = net = None
    expected = {
        "growth_per_step_bytes": stats.rounded(slope, 3),
        "slope_low_bytes": stats.rounded(line["confidence_interval"][0], 3),
        "slope_high_bytes": stats.rounded(line["confidence_interval"][1], 3),
        "p_value": line["p_value"],
        "last_third_per_step_bytes": stats.rounded(tail["slope_per_step"], 3),
        "from_step": line["from_step"],
        "steps": of,
        "growth_bytes": memory.grown(line),
        "first_bytes": line["first_bytes"],
        "last_bytes": line["last_bytes"],
        "growth_per_hour_bytes": int(stats.rounded(Fraction(slope) * hourly, 0)) if hourly else None,
        "section_net_per_step_bytes": net,
    }
    return expected, None, section


def numbers_of(report, steps):
    """Steps of the run, by their numbers; where these begin anew in each epoch, counted on by the points of the series."""
    first, last = steps.mode["step_range"]
    if steps.mode.get("numbers") == "by_epoch":
        points = next(one["points"] for one in report["detailed_metrics"]["series"] if one["mode"] == steps.mode["mode"])
        first, last = points[0]["step"], points[-1]["step"]
    return last - first + 1


def leaving_behind(report, steps, numbers, share, slope):
    """(section, bytes a step) of those that keep memory, nearest to the growth first, then by path: of a `share` of the
    steps. Sums are about all steps that there were, by their `numbers` where not all of them were read."""
    coverage, found = report["summary"]["coverage"], []
    for row in report["sections"]:
        net = (row["alloc"] or {}).get("self_net_bytes")
        of = "recorded_steps" if row["source"] == "aggregates" else "whole_steps" if row["kind"] in SECTIONS else "read_steps"
        about = coverage["read_steps"] if coverage[of] is None else coverage[of]
        behind = steps * about // max(1, coverage["read_steps"])
        if row["source"] == "aggregates" and (coverage["recorded_steps"] or 0) > coverage["read_steps"]:
            behind = numbers
        if net is not None and net // max(1, behind) > 0:
            found.append((row["path"], int(net // max(1, behind) / share)))
    return sorted(found, key=lambda one: (abs(one[1] - slope), one[0]))


def worst(report, steps, phases):
    """The section of the phases that holds most of the steps' exposed time; of those outside of steps the longest."""
    def cost(row):
        parts = [part["exposed_ns"] for part in row["in_steps"] if part["mode"] == steps.mode["mode"]]
        if steps.sums:
            inside = row["total"] if tuple(row["path"].split("/")) in steps.inside_paths else 0
        else:
            inside = parts[0] if parts else 0
        return inside, row["total"] if row["self_ns"] is None else row["self_ns"]

    rows = [row for row in report["sections"] if row["kind"] in SECTIONS and row.get("phase") in phases and cost(row) > (0, 0)]
    return min(rows, key=lambda row: (*(-part for part in cost(row)), row["path"]), default={"path": None})["path"]


OF_RULE = {
    rule.__name__: rule
    for rule in (input_bound, slow_preprocessing, slow_section, checkpoint_stalls, deep_prefetch, evaluation_stalls, memory_growth)
}
