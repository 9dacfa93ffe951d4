"""The findings' severities and predicted gains, from figures of the report that are compared with the spans
elsewhere. Definitions: a time finding's severity is 100 x the share of the step time that its cause takes itself; of a
leak it goes by the rate an hour; of lost spans it is their share."""

from collections import defaultdict
from fractions import Fraction

import evidence
import report_steps
import stats
import warmup
from ranks import evaluating, from_step_to_step_of, late_rank, one_evaluating, one_slow_rank, others_wait, slow_ranks, together

WAITING = ("data_wait", "data_loading")
PREPARATION = ("preprocessing", "augmentation", "collate")
INPUT = WAITING + PREPARATION
# What evaluation need not do itself, and the steps from which it is judged.
EVALUATION_STALLS = INPUT + ("io",)
MIN_EVALUATION_STEPS = 20
MIN_SHARE = Fraction(5, 100)
NOT_ENDED = 5
# Growth an hour, GiB, from which a leak without a known limit has this severity.
RATES = ((Fraction(10), 60), (Fraction(1), 45), (Fraction(1, 10), 30), (Fraction(0), 15))


def compare_findings(report, run, compare):
    steps, read = Steps(report), Steps(report, by_sums=False)
    rules = defaultdict(list)
    for finding in report["findings"]:
        rules[finding["rule"]].append(finding)
    for rule, phases in (("input_bound", WAITING), ("slow_preprocessing", PREPARATION)):
        if steps.can_judge(20):
            is_found = Fraction(steps.exposed(phases), steps.total) >= MIN_SHARE
            compare.equal("findings", rule, len(rules[rule]), int(is_found))
    for rule, (phase, least) in WAITS.items():
        if steps.can_judge(20):
            between = 0 if steps.sums else steps.between((phase,))
            exposed = (steps.exposed((phase,)) if steps.sums else steps.inside((phase,))) + between
            is_found = exposed > 0 and Fraction(exposed, steps.total + between) >= least
            compare.equal("findings", rule, len(rules[rule]), int(is_found))
    compare.equal("findings", "memory_growth", len(rules["memory_growth"]), len(report["leaks"]))
    compare.equal("findings", "evaluation_stalls", len(rules["evaluation_stalls"]), int(does_evaluation_stall(report, read)))
    for finding in report["findings"]:
        where = f"finding {finding['id']}"
        compare.equal(where, "rank", finding["rank"], rank_of(finding, report))
        if finding["rule"] not in RULES:
            compare.missing(where, "its rule is not computed here")
            continue
        judged = read if finding["rule"] in BY_SPANS else steps
        if finding["rule"] == "input_bound":
            compare.equal(where, "loader", finding["evidence"].get("loader"), judged_loader(report, judged))
        direct, saved, of, severity = RULES[finding["rule"]](finding, report, judged)
        evidence.compare_evidence(finding, report, judged, compare, **known(finding["rule"], report, judged))
        gain = finding["predicted_gain"]
        if of is None:
            compare.equal(where, "predicted_gain", gain, None)
            compare.close(where, "severity", finding["severity"], whole(severity))
            continue
        saved = min(max(saved, direct), of)
        if finding["rule"] in HOLD_UP_RANKS:
            saved = min(of, saved + others_wait(report, min(direct, of)))
        for figure, expected in (("saved_ns_per_step", saved), ("step_time_ns", of - saved)):
            compare.equal(where, figure, gain[figure], expected)
        for figure, expected in (("share", saved), ("direct_share", min(direct, of))):
            compare.close(where, figure, gain[figure], stats.rounded(Fraction(expected, of), 6))
        most = 100 if severity is None else severity
        compare.close(where, "severity", finding["severity"], min(most, severity_of(direct, of)))


def rank_of(finding, report):
    """The rank that a finding is about: by its rule, or that with half as much again of its phase as all on average."""
    if finding["rule"] in RANK_OF:
        return RANK_OF[finding["rule"]](report)
    if finding["rule"] not in HOLD_UP_RANKS or finding.get("phase") is None:
        return None
    rows = together(report)
    if not rows:
        return None
    times = sorted(((from_step_to_step_of(row, finding["phase"]), -row["resource"]["rank"]) for row in rows), reverse=True)
    most, rank = times[0]
    mean = sum(time for time, _ in times) // len(times)
    return -rank if most > 0 and 2 * most >= 3 * mean else None


def compare_words(report, compare):
    """What the report says around its findings."""
    kinds = (("data_wait",), ("data_loading",), PREPARATION)
    evidence.compare_order(report, compare)
    evidence.compare_rules(report, RULES, compare)
    evidence.compare_ranked(report, compare)
    evidence.compare_verdict(report, Steps(report), kinds, compare)


class Steps:
    """The steady steps of the primary mode, or of another one, and the input between them."""

    def __init__(self, report, by_sums=True, mode=None):
        modes = {mode["mode"]: mode for mode in report["detailed_metrics"]["modes"]}
        self.mode = modes.get(mode or report["summary"]["mode"])
        self.outside = report["detailed_metrics"]["outside"]
        if self.mode is None:
            return
        # Compared with the sections' sums elsewhere.
        self.sums = report["summary"].get("input") if by_sums else None
        if self.sums and self.sums["source"] == "aggregates":
            self.phase_sums = {item["phase"]: item["total_ns"] for item in report["summary"]["phase_sums"]}
            self.inside_paths = report_steps.Sums(report["sections"]).inside()
            self.count = self.sums["steps"]
            self.total = self.sums["steps_ns"] + self.sums["between_ns"]
            self.mean = self.total // self.count
            return
        self.sums = None
        self.count = self.mode["steady"]["count"]
        self.total = self.mode["steady_ns"] + self.between(INPUT)
        self.mean = self.total // max(self.count, 1)

    def can_judge(self, least):
        """Whether enough steps were read, some of them whole, and a section names a phase."""
        if self.mode is None or self.count < least or not self.total:
            return False
        if self.sums:
            return True
        if not self.mode["whole"]["steps"]:
            return False
        return bool(self.mode["phases"]) or any(item["phase"] for item in self.outside)

    def between(self, phases):
        return sum(item["exposed_ns"] for item in self.outside if item["phase"] in phases)

    def inside(self, phases):
        """Whole steps are taken to be typical of all."""
        exposed = sum(phase["exposed_ns"] for phase in self.mode["phases"] if phase["phase"] in phases)
        whole = self.mode["whole"]["total_ns"]
        return exposed * self.mode["steady_ns"] // whole if whole else exposed

    def exposed(self, phases):
        if self.sums:
            inside = sum(self.phase_sums.get(phase, 0) for phase in phases)
            return min(inside, self.sums["steps_ns"]) + (self.sums["between_ns"] if "data_wait" in phases else 0)
        return self.inside(phases) + self.between(phases)

    def without(self, phases, quick):
        """What a step takes at least without these phases: as long as the quicker ones without them, and no less than
        the rest of the mean step, less the phases' share of that."""
        taken = self.exposed(phases)
        rest = max(0, self.mean - taken // self.count)
        least = int(rest * (1.0 - taken / self.total))
        return min(max(rest if quick is None else quick, least), rest)


def input_bound(finding, report, steps):
    quick = steps.without(WAITING, steps.mode["quick_without_waiting_ns"])
    saved = steps.mean - (quick - sharing(report, steps, quick))
    direct = steps.exposed(WAITING) // steps.count
    return direct, saved, steps.mean, beside_event(finding, report, steps, steps.exposed(WAITING), Fraction(direct, steps.mean))


def loader_bound(_finding, report, steps):
    own = steps.exposed(WAITING) // steps.count
    ranks, others = evidence.waits_for_ranks(report, steps)
    both = own + min((ranks - 1) * own, others)
    return both, both, steps.mean, None


def beside_event(finding, report, steps, exposed, direct):
    """The most where the calls of one step number are more than a quarter of the time, by what they take above usual ones: what
    the rest is worth, and 9 at least."""
    path = finding and finding.get("section")
    row = next((row for row in report["sections"] if row["path"] == path), None)
    if row is None or steps.sums:
        return None
    parts = [part for part in row["in_steps"] if part["mode"] == steps.mode["mode"] and part["longest_steady_ns"] is not None]
    between = [longer_than_usual(item["stats"]) for item in steps.outside if item["phase"] is not None and item["phase"] == row.get("phase")]
    return beside(exposed, direct, [event_of(row, part) for part in parts] + between)


def beside(exposed, direct, events):
    """The most where one of these events is more than a quarter of the time, and no more than all of it."""
    event = max((event for event in events if event <= exposed), default=0)
    if FEW * event <= exposed:
        return None
    return max(9, whole(100 * stats.rounded(min(1, direct), 6) * (1 - Fraction(event, exposed))))


def longer_than_usual(block):
    """What the longest of some durations is above their median; all of an only one, and of a few nobody knows what is usual."""
    if block["count"] == 1:
        return block["max"]
    return 0 if block["count"] < FEW else block["max"] - block["p50"]


def untagged_event(steps):
    """What one of the slowest step numbers has in no phase above the mean, on all processes."""
    usual = steps.mode["unattributed_ns"] // max(1, steps.mode["whole"]["steps"])
    events = defaultdict(int)
    for step in steps.mode["slowest"]:
        if step["step"] is not None:
            events[step["step"]] += max(0, step["unattributed_ns"] - usual)
    return max(events.values(), default=0)


def event_of(section, part):
    """What the calls of one step number take above usual ones, on all processes."""
    if part["heaviest_steady_ns"] is not None:
        return max(0, part["heaviest_steady_ns"] - part["heaviest_steady_calls"] * section["p50"])
    longest = section["max"] if part["longest_steady_ns"] is None else part["longest_steady_ns"]
    return max(0, longest - section["p50"])


def known(rule, report, steps):
    """What the evidence of a rule rests on and is computed here."""
    if rule == "input_bound":
        quick = steps.without(WAITING, steps.mode["quick_without_waiting_ns"])
        computing = computing_of(report, steps) * crowd(report)[2]
        loader = judged_loader(report, steps)
        return {"waiting": WAITING, "loader": loader, "computing_ns": computing, "sharing_ns": sharing(report, steps, quick)}
    if rule == "slow_preprocessing":
        return {"preparation": PREPARATION}
    if rule == "evaluation_stalls":
        return {"evaluation": evaluation_of(report), "stalls": EVALUATION_STALLS, "trained": trained(report, steps)}
    return {"hourly": steps_an_hour(report, steps)} if rule == "memory_growth" else {}


def judged_loader(report, steps):
    """Of several loaders the one that steps of the mode, and what is between steps, wait for most."""
    loaders = report["detailed_metrics"]["batches"]["loaders"]
    if len(loaders) < 2:
        return None
    modes = (None, steps.mode["mode"])

    def order(loader):
        return -sum(item["total_ns"] for item in loader["held_up"] if item["mode"] in modes), -loader["busy_ns"], loader["name"]

    return min(loaders, key=order)["name"]


def sharing(report, steps, step_ns):
    """What loaders that compute beside a step of `step_ns` may cost it: half of a processor for as long as they
    compute, and more only where threads outnumber processors."""
    threads, processors, ranks = crowd(report)
    overlap = min(step_ns, computing_of(report, steps) * ranks)
    return overlap - overlap * processors // (2 * max(threads, processors))


def crowd(report):
    """Threads, processors and ranks of the host on which most threads share a processor."""
    hosts = {}
    for rank in report["ranks"]:
        resource = rank["resource"]
        ranks, cpus = hosts.setdefault(resource["host_name"], ([], []))
        ranks.append(resource["rank"])
        cpus.append(resource["cpus"] or 0)
    loaders = report["detailed_metrics"]["batches"]["loaders"]
    # A thread that drives steps makes its batches between them, not beside.
    workers = [worker["rank"] for loader in loaders for worker in loader["workers"] if not worker["drives_steps"]]
    crowds = []
    for ranks, cpus in hosts.values():
        threads = len(ranks) + sum(rank in ranks for rank in workers)
        crowds.append((Fraction(threads, max(cpus) or threads), threads, max(cpus) or threads, len(ranks)))
    return max(crowds, default=(1, 1, 1, 1))[1:]


def computing_of(report, steps):
    """What loaders compute a step: of batches that were made without a trace, as of those with one. What nobody recorded
    is taken to be made in the wait itself."""
    detailed = report["detailed_metrics"]
    batches, produced = detailed["batches"], detailed["waits"]["produce"]
    if batches["count"]:
        made = max(batches["count"], produced["count"])
        all_ns = sum(loader["computing_ns"] for loader in batches["loaders"]) * made // batches["count"]
    else:
        all_ns = produced["total"]
    return all_ns // max(1, steps.mode["all"]["count"])


def slow_rank(finding, report, steps):
    slow, gap = slow_ranks(report)
    return gap, gap, slow[0]["steps"]["p50"], None


def slow_preprocessing(finding, report, steps):
    """What remains may besides be quicker by a tenth of the share that is gone, which leaves the caches to it."""
    quick = steps.without(PREPARATION, steps.mode["quick_without_preparation_ns"])
    share = min(1.0, steps.exposed(PREPARATION) / steps.total)
    saved = steps.mean - (quick - int(float(quick) * share * 0.1))
    exposed = steps.exposed(PREPARATION)
    direct = exposed // steps.count
    return direct, saved, steps.mean, beside_event(finding, report, steps, exposed, Fraction(direct, steps.mean))


def slow_section(finding, report, steps):
    """The section's own exposed time in whole steps after warm-up; by the sums its own time on any thread."""
    section = section_of(finding, report)
    if steps.sums:
        share = min(1, Fraction(section["self_busy_ns"], steps.sums["steps_ns"])) * Fraction(steps.sums["steps_ns"], steps.total)
        saved = round(share * steps.mean)
        return saved, saved, steps.mean, None
    part = next(part for part in section["in_steps"] if part["mode"] == steps.mode["mode"])
    saved = int(whole(Fraction(after_warmup(part, "exposed_ns"), whole_steady(steps)) * steps.mean))
    return saved, saved, steps.mean, None


def queued(report, steps, first, last):
    """What steps from one number to another waited for a processor, in points that lie between; None where none says it."""
    listed = report["detailed_metrics"].get("series", [])
    series = next((row for row in listed if row["mode"] == steps.mode["mode"]), None)
    if series is None or all(point["run_queue_ns"] is None for point in series.get("points", [])):
        return None
    width = 2 ** series["shift"]
    inside = [p for p in series["points"] if first <= p["step"] and (last is None or p["step"] + width - 1 <= last)]
    return sum(p["run_queue_ns"] or 0 for p in inside), sum(p["count"] for p in inside)


def most_by_others(finding, ns, excess):
    """At most 9 where waiting for a processor makes up half."""
    is_most = ns is not None and 2 * ns >= max(1, excess)
    share = finding["evidence"].get("taken_by_others_share") if finding else None
    if is_most != (share is not None) or (share is not None and abs(share - min(1, ns / max(1, excess))) > 0.0006):
        raise AssertionError(f"{finding['id']}: {share} of {ns} in {excess}")
    return 9 if is_most else None


def mean_queued(report, steps, first, last):
    found = queued(report, steps, first, last)
    return found[0] // found[1] if found and found[1] else None


# Slow steps that are fewer than this may be chance.
FEW = 4


def step_jitter(finding, report, steps):
    """What steps take above their median, or above their levels where the run changed; where some are periodic, the
    others, as a part of all."""
    mean = int(whole(steps.mode["steady"]["mean"]))
    row = next((row for row in report["detailed_metrics"]["periodic"] if row["mode"] == steps.mode["mode"]), None)
    if row is None:
        saved = above = mean - level_of(report, steps, steps.mode["steady"]["p50"])
    else:
        usual = row["usual"]
        numbers = usual["count"] + sum(period["steps"] for period in row["periods"])
        # The usual ones are the longest of all ranks.
        above = max(0, int(whole(usual["mean"])) - level_of(report, steps, usual["p50"], is_of_longest=True))
        saved = above * usual["count"] // numbers
    begins = steps.mode.get("warmup", {}).get("steady_step") or 0
    most = most_by_others(finding, mean_queued(report, steps, begins, None), above)
    rare = rare_steps(finding["evidence"], row, steps, begins) if finding else None
    return saved, saved, mean, 9 if rare is not None and rare < FEW else most


def rare_steps(shown, periodic, steps, begins):
    """How many of the slowest steps are beyond three times the usual one, where percentiles see no tail."""
    stats_of = periodic["usual"] if periodic else steps.mode["steady"]
    usual = max(stats_of["p50"], shown.get("longest_level_ns", 0))
    if stats_of["p95"] >= 2 * usual or stats_of["p99"] >= 3 * usual:
        if "rare_steps" in shown:
            raise AssertionError("percentiles see a tail, and rare steps are told")
        return None
    periods = periodic["periods"] if periodic else []
    rare = sum(
        step["duration_ns"] >= 3 * usual
        for step in steps.mode["slowest"]
        if step["step"] is None
        or (step["step"] >= begins and not any(warmup.is_of(step["step"], period) for period in periods))
    )
    if shown.get("rare_steps") != rare:
        raise AssertionError(f"{shown.get('rare_steps')} rare steps instead of {rare}")
    return rare


def level_of(report, steps, median, is_of_longest=False):
    """That median, which may be one of the longest of all ranks, as levels are then by what it is above that of all; where the run changed, the mean of the medians between the changes, over their steps; where it did not,
    and a rank is slow, that of the ranks' medians."""
    changes = [change for change in report["detailed_metrics"].get("changes", []) if change["mode"] == steps.mode["mode"]]
    changes = [alone for alone in map(of_steps_alone, changes) if alone and alone["in_every"] is None]
    if not changes:
        if is_of_longest or all(finding["rule"] != "slow_rank" for finding in report.get("findings", [])):
            return median
        ranks = [row["steps"] for row in report["ranks"] if row["steps"]["count"]]
        return sum(row["count"] * row["p50"] for row in ranks) // sum(row["count"] for row in ranks)
    first = changes[0]
    begins = steps.mode.get("warmup", {}).get("steady_step") or 0
    before = first["steps_before"] + steps_within(report, steps, begins, first["from_step"])
    levels = [(before, first["before_ns"])] + levels_since(report, steps, changes)
    longer = max(0, median - steps.mode["steady"]["p50"]) if is_of_longest else 0
    return sum(count * level for count, level in levels) // max(1, sum(count for count, _ in levels)) + longer


def of_steps_alone(change):
    """A change without the input before the steps; None where the steps alone differ by less than 3 %."""
    before, after = change["duration_before_ns"], change["duration_after_ns"]
    if before is None:
        return change
    by = abs(after - before)
    return {**change, "before_ns": before, "after_ns": after} if by and 100 * by >= 3 * min(before, after) else None


def mean_taken(report, steps):
    """What a step takes on average after warm-up, with the input before it where some say how long that took."""
    begins = steps.mode.get("warmup", {}).get("steady_step") or 0
    listed = [row for row in report["detailed_metrics"].get("series", []) if row["mode"] == steps.mode["mode"]]
    points = [point for row in listed for point in row.get("points", []) if point["step"] >= begins]
    inputs, count = sum(point["input_before_ns"] or 0 for point in points), sum(point["count"] for point in points)
    return steps.mode["steady_ns"] // steps.mode["steady"]["count"] + (inputs // count if count else 0)


def levels_since(report, steps, changes):
    """Of each change its own steps, a drift's halfway between its ends; and those after it, up to the next, which take
    what it led to."""
    levels = []
    for change, following in zip(changes, changes[1:] + [None]):
        middle = (change["before_ns"] + change["after_ns"]) // 2
        levels.append((change["steps_after"], middle if change["kind"] == "gradual" else change["after_ns"]))
        rest = steps_within(report, steps, change["to_step"] + 1, following and following["step"])
        levels.append((rest, change["after_ns"]))
    return levels


def steps_within(report, steps, first, end):
    """How many steps have these numbers, by points that begin there."""
    listed = [row for row in report["detailed_metrics"].get("series", []) if row["mode"] == steps.mode["mode"]]
    points = [point for row in listed for point in row.get("points", [])]
    return sum(point["count"] for point in points if first <= point["step"] and (end is None or point["step"] < end))


def slower_since(finding, report, steps):
    """What each later level takes more than the one before the change, for as many steps as it has, but no more than what
    the change led to, nor than any level since; a drift is halfway between its ends. At most 9 where phases are known, none explains it, and it is less than a quarter."""
    changes = [change for change in report["detailed_metrics"]["changes"] if change["mode"] == steps.mode["mode"]]
    at = next(at for at, change in enumerate(changes) if change["step"] == finding["evidence"]["since_step"])
    change = changes[at]
    more = min(change["after_ns"] for change in changes[at:]) - change["before_ns"]
    levels = levels_since(report, steps, changes[at:])
    times = [level for _, level in levels]
    its_own = [min([change["after_ns"], level, *times[1:place]]) for place, level in enumerate(times)]
    mine = sum(count * max(0, level - change["before_ns"]) for (count, _), level in zip(levels, its_own))
    saved = mine // steps.mode["steady"]["count"]
    # A slower clock makes all steps longer, not only periodic ones.
    is_large = 4 * more >= change["before_ns"] or change["in_every"] is not None
    most = None if is_large or change["cause"] is None or explains(change["cause"]) else 9
    third = (change["to_step"] - change["from_step"]) // 3
    ends = (change["step"] - 1, change["step"])
    if change["kind"] == "gradual":
        ends = (change["from_step"] + third, change["to_step"] - third)
    taken = [mean_queued(report, steps, change["from_step"], ends[0]), mean_queued(report, steps, ends[1], change["to_step"])]
    grown = None if None in taken or taken[1] < taken[0] else taken[1] - taken[0]
    most = most_by_others(finding, grown, change["after_ns"] - change["before_ns"]) or most
    return saved, saved, mean_taken(report, steps), most


def explains(cause):
    """Whether a phase makes up half of a change, and changed by half as large a share again as the rest of the step."""
    before, after = cause["before_ns"], cause["after_ns"]
    step_before, step_after = cause["step_before_ns"], cause["step_after_ns"]
    moved = step_after - step_before
    if moved == 0:
        return False
    rest_before, rest_after = max(0, step_before - before), max(0, step_after - after)
    rest = Fraction(rest_after - rest_before, max(1, rest_before))
    is_half = Fraction(after - before, moved) >= Fraction(1, 2)
    sign = 1 if moved > 0 else -1
    return is_half and sign * Fraction(after - before, max(1, before)) >= sign * Fraction(3, 2) * rest


def checkpoint_stalls(finding, report, steps):
    between = steps.between(("checkpoint",))
    exposed, mean = steps.inside(("checkpoint",)) + between, (steps.total + between) // steps.count
    saved = exposed // steps.count
    return saved, saved, mean, beside_event(finding, report, steps, exposed, Fraction(saved, mean))


def evaluation_of(report):
    """The evaluation steps beside the training."""
    return Steps(report, by_sums=False, mode="eval")


def does_evaluation_stall(report, steps):
    """Whether enough evaluation steps were read, and what holds them up is enough of the time of training and evaluation."""
    beside = evaluation_of(report)
    if steps.mode is None or not steps.count or beside.mode in (None, steps.mode) or not beside.can_judge(MIN_EVALUATION_STEPS):
        return False
    between = beside.mode["input_between_ns"]
    whole = trained(report, steps)[0] + beside.mode["steady_ns"] + between
    return Fraction(beside.inside(EVALUATION_STALLS) + between, whole) >= MIN_SHARE


def trained(report, steps):
    """Time of the training steps, and of the input between them, and how many they are: of the ranks that evaluate, where
    the others do not."""
    rows = evaluating(report)
    if not rows:
        return steps.total, steps.count
    of = lambda row: sum(time["exposed_ns"] for time in row["phases_between_steps"] if time["phase"] in INPUT)
    return sum(row["steps"]["total"] + of(row) * row["steps"]["count"] for row in rows), sum(row["steps"]["count"] for row in rows)


def evaluation_stalls(finding, report, steps):
    beside = evaluation_of(report)
    total, count = trained(report, steps)
    between = beside.mode["input_between_ns"]
    saved = (beside.inside(EVALUATION_STALLS) + between) // count
    return saved, saved, (total + beside.mode["steady_ns"] + between) // count, None


# Phases whose time between steps other rules judge, or that are the model's own work.
JUDGED = {
    "data_loading", "data_wait", "preprocessing", "augmentation", "collate", "forward", "backward", "gradient", "optimizer",
    "communication", "synchronization", "evaluation", "inference", "checkpoint", "io",
}


def between_steps(finding, report, steps):
    elapsed, unnamed, unrecorded = between(report, steps)
    mean = elapsed // steps.count
    if "nothing is recorded" not in finding["title"]:
        saved, section = unnamed // steps.count, finding["section"] and section_of(finding, report)
        return saved, saved, mean, beside(unnamed, Fraction(saved, mean), [longer_than_usual(section)] if section else [])
    saved, rows = unrecorded // steps.count, [rank for rank in report["ranks"] if rank["steps"]["count"]]
    recorded = sum(row["stats"]["total"] for row in steps.outside)
    gaps = [rank["usual_gap_ns"] for rank in report["ranks"]]
    usual = 0 if None in gaps else max(gaps)
    longest = [max(0, pause["pause_ns"] - usual) * len(rows) - recorded for pause in steps.mode["pauses"][:1]]
    most = beside(unrecorded, Fraction(saved, mean), longest)
    if steps.mode["mode"] == "inference":
        # They may wait for requests.
        most = 9 if most is None else min(9, most)
    return saved, saved, mean, most


def between(report, steps):
    """From first steps to last ones, and what of it is in sections that no other rule judges, and in none."""
    elapsed = sum(rank["throughput"]["elapsed_ns"] for rank in report["ranks"])
    others = sum(rank["other_steps_ns"] for rank in report["ranks"])
    named, unnamed = (
        sum(row["stats"]["total"] for row in steps.outside if (row["phase"] not in JUDGED) == is_unnamed)
        for is_unnamed in (False, True)
    )
    left = max(0, elapsed - steps.mode["steady_ns"] - others - named)
    return elapsed, min(unnamed, left), max(0, left - unnamed)


def wait(phase):
    """A phase that holds up the training thread, inside steps and between them."""

    def rule(finding, report, steps):
        between = 0 if steps.sums else steps.between((phase,))
        inside = steps.exposed((phase,)) if steps.sums else steps.inside((phase,))
        saved = (inside + between) // steps.count
        most = saved
        late = late_rank(report) if phase == "communication" else None
        if late is not None:
            # A step of all ranks is shorter by what the others wait.
            others = [row["communication_per_step_ns"] for row in report["ranks"] if row["resource"]["rank"] != late]
            most = max(saved, sum(others) // len(others))
        mean = (steps.total + between) // steps.count
        severity = beside_event(finding, report, steps, inside + between, Fraction(saved, mean))
        if phase == "communication" and any(one["rule"] == "loader_bound" for one in report["findings"]):
            # What ranks wait for batches meanwhile is the matter of that one.
            own, both = steps.exposed(WAITING) // steps.count, loader_bound(None, report, steps)[0]
            rest = severity_of(max(0, saved - (both - own)), mean)
            severity = rest if severity is None else min(severity, rest)
        return saved, most, mean, severity

    return rule


def share_of_mean(share, steps):
    saved = int(whole(share * steps.mean))
    return saved, saved, steps.mean, None


def inside(ns, whole_ns, steps):
    """A time inside whole steps as a share of the steps' and the input's between them."""
    return min(1, Fraction(ns, whole_ns)) * Fraction(steps.mode["steady_ns"], steps.total)


def host_bound(finding, report, steps):
    """The step's own time on the critical path, after warm-up."""
    path = report["critical_path"]
    own = path["other_ns"] - path["warmup_other_ns"]
    direct, saved, mean, _ = share_of_mean(inside(own, path["total_ns"] - steps.mode["whole_warmup"]["total_ns"], steps), steps)
    return direct, saved, mean, beside(own, Fraction(direct, mean), [untagged_event(steps)])


def slow_calls(finding, report, steps):
    """What the slow calls of the section take above the median, less what its calls in warm-up do, and periodic steps or what
    is seldom inside it; where steps of several modes call it, no more than those of this one do."""
    section = section_of(finding, report)
    part = next(part for part in section["in_steps"] if part["mode"] == steps.mode["mode"])
    total, usual = max(0, section["total"] - part["warmup_total_ns"]), section["p50"]
    own = max(0, part["warmup_total_ns"] - usual * part["warmup_calls"])
    above = max(0, section["slow_excess_ns"] - (own if steps.mode["whole_warmup"]["steps"] else warmup_excess(steps)))
    if len(section["in_steps"]) > 1:
        total = after_warmup(part, "total_ns")
        above = min(above, max(0, total - usual * after_warmup(part, "calls")))
    # What the model itself does every so often no other rule tells.
    periodic = 0 if section["phase"] in ("forward", "backward") else periodic_excess(section, part, above, report, steps)
    above = max(0, above - max(periodic, seldom_inside(section, report, steps)))
    share = inside(after_warmup(part, "driving_ns"), whole_steady(steps), steps)
    direct, saved, mean, _ = share_of_mean(share * min(1, Fraction(above, max(1, total))), steps)
    taken = queued(report, steps, 0, None)
    # The slow calls of one of fewer than four steps, or of one that is unlike the others.
    is_chance = 4 * event_of(section, part) > above
    return direct, saved, mean, 9 if is_chance else most_by_others(finding, taken and taken[0], above)


def periodic_excess(section, part, above, report, steps):
    """What periodic steps take above the others, of those of which the section's phase is the cause; or the part of what the
    section's calls take above the median that such steps have in the longest of them, as far as the steps take that, and without what no other rule tells."""
    periodic = [item for item in report["detailed_metrics"]["periodic"] if item["mode"] == steps.mode["mode"]]
    found = [period for item in periodic for period in item["periods"]]
    own = sum(
        period["above_ns"] for period in found if period["cause"] is None or period["cause"]["phase"] == section["phase"]
    )
    slow = part["longest_slow_ns"]
    in_longest = above * part["longest_periodic_ns"] // slow if slow else 0
    in_longest = min(in_longest, sum(period["above_ns"] for period in found))
    return max(own, in_longest - seldom_inside(section, report, steps, True))


def warmup_excess(steps):
    warmup = steps.mode["warmup"]
    return max(0, warmup["total_ns"] - warmup["usual_ns"])


def whole_steady(steps):
    """Time of the whole steps after warm-up."""
    return max(0, steps.mode["whole_all"]["total_ns"] - steps.mode["whole_warmup"]["total_ns"])


def after_warmup(part, figure):
    return max(0, part[figure] - part[f"warmup_{figure}"])


# Phases of the host's own work, of which no rule but that of slow calls tells when they are rare.
UNTOLD = ("forward", "backward", "gradient", "optimizer", "evaluation", "inference", "compile")


def seldom_inside(section, report, steps, is_untold=False):
    """What sections inside it take, on the steps' thread and after warm-up, that run in a tenth of its steps or fewer; of those
    inside each other the outermost. Either of those that no other rule tells, or of the others."""
    phases = {row["path"]: row["phase"] for row in report["sections"]}
    parts = {
        row["path"]: part for row in report["sections"] for part in row["in_steps"] if part["mode"] == steps.mode["mode"]
    }
    most = parts[section["path"]]["steps"]
    names_of = {path: tuple(names_in(path)) for path in parts}
    within = lambda path, around: len(names_of[path]) > len(names_of[around]) and names_of[path][: len(names_of[around])] == names_of[around]
    seldom = [path for path in parts if within(path, section["path"]) and 10 * parts[path]["steps"] <= most]
    seldom = [path for path in seldom if (phases[path] in UNTOLD) is is_untold]
    return sum(after_warmup(parts[path], "driving_ns") for path in seldom if not any(within(path, other) for other in seldom))


def names_in(path):
    """The names of a path, in which a backslash keeps the next letter from parting them."""
    name, letters = "", iter(path)
    for letter in letters:
        if letter == "/":
            yield name
            name = ""
        else:
            name += next(letters, "") if letter == "\\" else letter
    yield name


def long_warmup(finding, report, steps):
    count = steps.mode["all"]["count"]
    saved = warmup_excess(steps) // count
    steady = steps.mode["warmup"].get("steady_step")
    taken = queued(report, steps, 0, steady - 1) if steady else None
    most = most_by_others(finding, taken and taken[0], warmup_excess(steps))
    return saved, saved, steps.mode["all"]["total"] // count, most


def tiny_sections(finding, report, steps):
    """Calls of at most a microsecond: 200 ns each of those on the training thread, and a microsecond of all at most."""
    own = calls = 0
    for section in report["sections"]:
        if section["kind"] not in ("section", "micro_step"):
            continue
        for number, total, driving in calls_of(section, steps):
            if number and total <= 1000 * number:
                own, calls = own + driving, calls + number
    if steps.sums:
        steps_ns, share = steps.sums["steps_ns"], Fraction(steps.sums["steps_ns"], steps.total)
    else:
        steps_ns, share = whole_steady(steps), Fraction(steps.mode["steady_ns"], steps.total)
    direct, most = (int(whole(min(1, Fraction(ns, steps_ns)) * share * steps.mean)) for ns in (200 * own, 1000 * calls))
    return direct, most, steps.mean, None


def calls_of(section, steps):
    """Calls inside steps, their time, and how many are on driving threads, by the part of their time there: in whole steps
    after warm-up, or by the sums, which know threads only as far as spans were read."""
    part = next((part for part in section["in_steps"] if part["mode"] == steps.mode["mode"]), None)
    if part is not None:
        number, total, driving = (after_warmup(part, figure) for figure in ("calls", "total_ns", "driving_ns"))
    if steps.sums:
        if section["source"] == "aggregates" and "step" in section["path"].split("/")[:-1]:
            here = section["count"] if part is None else section["count"] * driving // total if total else 0
            yield section["count"], section["total"], here
        return
    if part is not None:
        yield number, total, number * driving // total if total else 0


def deep_prefetch(finding, report, steps):
    return None, None, None, 3


def section_of(finding, report):
    return next(item for item in report["sections"] if item["path"] == finding["section"])


def steps_an_hour(report, steps):
    """Of the run as it went; of sampled steps the numbers say how many there were."""
    throughput, coverage = steps.mode["throughput"], report["summary"]["coverage"]
    rate = throughput["steps_per_second"]
    if (coverage["recorded_steps"] or 0) > coverage["read_steps"] and throughput["elapsed_ns"]:
        first, last = steps.mode["step_range"]
        rate = Fraction((last - first + 1) * 10**9, throughput["elapsed_ns"])
    else:
        rates = [row["throughput"]["steps_per_second"] for row in report["ranks"]]
        rates = [Fraction(rate) for rate in rates if rate is not None]
        rate = sum(rates) / len(rates) if rates else None
    return Fraction(rate or 0) * 3600


def memory_growth(finding, report, steps):
    """By the rate an hour; half of that where only resident memory is known to grow."""
    leak = report["leaks"][0]
    an_hour = Fraction(leak["bytes_per_step"]) * steps_an_hour(report, steps) / 2**30
    severity = next(severity for least, severity in RATES if an_hour >= least)
    return None, None, None, Fraction(severity, 1 if leak["verdict"] == "growing" else 2)


def severity_of(direct, of):
    """Of a cause that takes so much of a time: of its share as that is told, with six decimals."""
    return whole(100 * stats.rounded(Fraction(min(direct, of), of), 6))


def whole(severity):
    """As the report rounds to whole numbers, halves up."""
    return stats.rounded(severity, 0)


def spans_lost(finding, report, steps):
    if "not_ended" in finding["evidence"]:
        return None, None, None, NOT_ENDED
    losses, spans = report["losses"], report["run"]["spans"]
    recorded = max(losses["emitted"] or 0, spans + losses["missing_spans"], 1)
    return None, None, None, 100 * min(1, Fraction(losses["lost"], recorded))


# What only single steps tell.
BY_SPANS = (
    "step_jitter", "slow_rank", "slower_since", "between_steps", "checkpoint_stalls", "memory_growth", "spans_lost", "host_bound", "slow_calls",
    "long_warmup", "evaluation_stalls", "loader_bound",
)

RULES = {
    rule.__name__: rule
    for rule in (
        input_bound, slow_preprocessing, slow_section, step_jitter, slow_rank, slower_since, between_steps, checkpoint_stalls,
        memory_growth, spans_lost, host_bound, slow_calls, long_warmup, tiny_sections, deep_prefetch,
        evaluation_stalls, loader_bound,
    )
}
# The phases that a rule of their own judges, and from which share on.
WAITS = {
    "communication_waits": ("communication", Fraction(10, 100)),
    "sync_waits": ("synchronization", Fraction(10, 100)),
    "io_stalls": ("io", Fraction(5, 100)),
}
# Whose findings are time of a rank that others may wait for.
HOLD_UP_RANKS = (
    "input_bound", "slow_preprocessing", "slow_section", "host_bound", "io_stalls", "slow_calls", "between_steps", "checkpoint_stalls",
    "tiny_sections",
)
# Which rank a finding is about.
RANK_OF = {"communication_waits": late_rank, "slow_rank": one_slow_rank, "evaluation_stalls": one_evaluating}
RULES |= {name: wait(phase) for name, (phase, _) in WAITS.items()}
