"""Steps that the report shows with their spans, and phases over step numbers, from the spans. Which steps a sample holds
is the program's own choice; that what is shown of them is so, and that the one called median is the nearest of them,
is checked."""

import critical
import names
import numbering
import warmup

# Whole steps whose spans are kept for the comparison.
KEPT = 20_000
FIRST, SLOWEST = 2, 4
# Spans listed of a step, at most.
SPANS = 256


def compare_examples(report, run, warmups, compare):
    """`warmups` holds by mode how many steps of each process are warm-up."""
    for mode in {step.mode for step in run.steps} | {example["mode"] for example in report["examples"]}:
        steps = [step for step in run.steps_of(mode) if step.is_whole]
        listed = [example for example in report["examples"] if example["mode"] == mode]
        median = next((row["steady"]["p50"] for row in report["detailed_metrics"]["modes"] if row["mode"] == mode), None)
        which(report, mode, listed, steps, run, warmups.get(mode, {}), median, compare)
    by_trace = {(step.trace.hex(), step.id.hex()): step for step in run.steps if step.is_whole}
    for example in report["examples"]:
        where = f"{example['mode']} step {example['step']} with its spans"
        step = by_trace.get((example["trace_id"], example["span_id"]))
        if step is None:
            compare.missing(where, "no such step")
            continue
        expected = {"step": step.number, "rank": step.instance and step.instance.rank, "start_ns": step.start, "duration_ns": step.duration}
        for figure, value in expected.items():
            compare.equal(where, figure, example[figure], value)
        phases = {phase["phase"]: (phase["exposed_ns"], phase["total_ns"]) for phase in example["phases"]}
        compare.equal(where, "phases", phases, {phase: figures[:2] for phase, figures in step.phases.items()})
        compare.equal(where, "unattributed_ns", example["unattributed_ns"], step.unattributed)
        if step.root is not None:
            compare_spans(where, example, step.root, compare)


def which(report, mode, listed, steps, run, warmups, median, compare):
    """Whether the first and the slowest are those, and the median one is the nearest of those shown."""
    where = f"{mode} steps with their spans"
    of_role = lambda role: [row["trace_id"] for row in listed if role in row["roles"]]
    compare.equal(where, "first", of_role("first"), [step.trace.hex() for step in sorted(steps, key=warmup.order)[:FIRST]])
    excluded = [step for process, of in warmup.by_process(run.steps_of(mode)).items() for step in of[: warmups.get(process, 0)]]
    warm = {(step.trace.hex(), step.id.hex()) for step in excluded}
    for row in listed:
        compare.equal(where, f"is_warmup of {row['step']}", row["is_warmup"], (row["trace_id"], row["span_id"]) in warm)
    key = lambda step: (step.trace.hex(), step.id.hex())
    slowest = sorted(steps, key=lambda step: (-step.duration, warmup.order(step)))
    steady = [step for step in slowest if key(step) not in warm]
    of_slowest = sorted((row for row in listed if "slowest" in row["roles"]), key=lambda row: -row["duration_ns"])
    got = [row["trace_id"] for row in of_slowest]
    # A step that is shown for another reason too stands where that one comes.
    only = [row["duration_ns"] for row in listed if row["roles"] == ["slowest"]]
    # Where warm-up is slower, fewer of those after it may be known to be the slowest.
    expected = [step.trace.hex() for step in (steady if any(not row["is_warmup"] for row in of_slowest) else slowest)]
    compare.equal(where, "order of the slowest", only, sorted(only, reverse=True))
    # Of those that are listed, where some take longer every so often.
    periods = next((row["periods"] for row in report["detailed_metrics"]["periodic"] if row["mode"] == mode), [])
    if periods:
        tell = warmup.period_of(run.steps_of(mode), periods)
        table = next(row["slowest"] for row in report["detailed_metrics"]["modes"] if row["mode"] == mode)
        by_trace = {step.trace.hex(): step for step in run.steps_of(mode)}
        of = {row["trace_id"]: tell(by_trace[row["trace_id"]]) for row in table if row["trace_id"] in by_trace}
        expected = [trace for trace in of if of[trace] is None and trace in got]
        of_periodic = of_role("periodic")
        compare.equal(where, "slowest periodic", of_periodic, [trace for trace in of if of[trace] is not None][: len(of_periodic)])
    compare.equal(where, "slowest are the slowest", got, [trace for trace in expected if trace in got or len(got) >= SLOWEST][: len(got)])
    near = [abs(row["duration_ns"] - median) for row in listed if not row["is_warmup"]] if median is not None else []
    chosen = [abs(row["duration_ns"] - median) for row in listed if "median" in row["roles"]] if near else []
    compare.equal(where, "median is the nearest", chosen, [min(near)] if near else [])


def compare_spans(where, example, root, compare):
    nodes, work = [], [root]
    while work:
        node = work.pop()
        nodes.append(node)
        work += node.children
    compare.equal(where, "spans_in_step", example["spans_in_step"], len(nodes))
    in_time = lambda node: (node.span.start, -max(node.span.end, node.span.start), node.span.id)
    inside = sorted((node for node in nodes if node is not root), key=in_time)
    # Of equally long ones the earlier; long names leave room for fewer.
    longest = sorted(inside, key=lambda node: (-node.span.duration, in_time(node)))
    room = min(SPANS, max(len(example["spans"]), 1)) if len(example["spans"]) < len(nodes) else len(nodes)
    chosen = set(longest[: room - 1])
    kept = [root] + [node for node in inside if node in chosen]
    compare.equal(where, "number of spans", len(example["spans"]), min(len(kept), SPANS))
    place = {node: number for number, node in enumerate(kept)}

    def nearest(node):
        while node not in place:
            node = node.parent
        return place[node]

    on_path = []
    times, _ = critical.path(root, on_path)
    held = [0] * len(kept)
    for node, time in times.items():
        held[nearest(node)] += time
    for number, (span, node) in enumerate(zip(example["spans"], kept)):
        of = f"{where}, span {number}"
        batch = span["batch"] or {}
        lane = example["lanes"][span["lane"]] if span["lane"] < len(example["lanes"]) else {}
        expected = {
            "name": (span["name"], node.span.name),
            "parent": (span["parent"], None if node is root else nearest(node.parent)),
            "phase": (span["phase"], node.phase),
            "offset_ns": (span["offset_ns"], node.span.start - root.span.start),
            "duration_ns": (span["duration_ns"], node.span.duration),
            "critical_ns": (span["critical_ns"], held[number]),
            "is_error": (span["is_error"], node.span.is_error),
            "thread_id": (lane.get("thread_id"), node.thread),
            "thread_name": (lane.get("thread_name"), thread_name(kept, node.thread)),
            "batch produce_ns": (batch.get("produce_ns"), None if node is root else node.span.get(names.BATCH_PRODUCE_NS)),
            "batch queue_ns": (batch.get("queue_ns"), None if node is root else node.span.get(names.BATCH_QUEUE_NS)),
            "batch trace_id": (batch.get("trace_id"), linked(node) if batch else None),
        }
        for figure, (got, value) in expected.items():
            compare.equal(of, figure, got, value)
        ran = [(run.start - root.span.start, run.end - run.start) for run in critical.runs_of(node)]
        compare.equal(of, "running", [(run["offset_ns"], run["duration_ns"]) for run in span["running"]], ran)
    on_path = [(start - root.span.start, end - start, nearest(node)) for node, start, end in on_path if start < end]
    pieces(where, example, held, joined(sorted(on_path)), compare)


def joined(pieces):
    """Neighbours of the same span as one."""
    found = []
    for begin, length, span in pieces:
        if found and found[-1][2] == span and sum(found[-1][:2]) == begin:
            begin, length = found[-1][0], found.pop()[1] + length
        found.append((begin, length, span))
    return found


def pieces(where, example, held, on_path, compare):
    """One after the other, together what each span held up."""
    compare.equal(where, "pieces", [piece["offset_ns"] for piece in example["critical_path"]], ends(example)[:-1])
    compare.equal(where, "end of the pieces", ends(example)[-1], example["duration_ns"])
    sums = [0] * len(held)
    for piece in example["critical_path"]:
        if piece["span"] < len(sums):
            sums[piece["span"]] += piece["duration_ns"]
    compare.equal(where, "pieces by span", sums, held)
    listed = [(piece["offset_ns"], piece["duration_ns"], piece["span"]) for piece in example["critical_path"]]
    compare.equal(where, "pieces of the path", joined(listed), on_path)


def ends(example):
    """Where the pieces must begin, and the last must end."""
    found = [0]
    for piece in example["critical_path"]:
        found.append(found[-1] + piece["duration_ns"])
    return found


def thread_name(nodes, thread):
    """The first name that spans on a thread give it."""
    return next((node.span.get(names.THREAD_NAME) for node in nodes if node.thread == thread and node.span.get(names.THREAD_NAME)), None)


def linked(node):
    return min((trace.hex() for trace, _ in node.span.links), default=None)


def compare_phase_series(listed, run, compare):
    by_mode = {series["mode"]: series for series in listed}
    for mode in sorted({step.mode for step in run.steps} | set(by_mode)):
        where, steps = f"phases over {mode} steps", [step for step in run.steps_of(mode) if step.is_whole and step.number is not None]
        series = by_mode.get(mode, {"shift": 0, "points": []})
        shift, points = series["shift"], {}
        begins = numbering.beginnings(steps, 1_024) if shift == 63 else {}
        for step in steps:
            points.setdefault(begins.get(step.epoch or 0, numbering.point(step, shift)), []).append(step)
        compare.equal(where, "points", [point["step"] for point in series["points"]], sorted(points))
        places = {(step.epoch, step.number) for step in steps}
        compare.equal(where, "smallest shift", numbering.is_least(places, shift, 1_024), True)
        for point in series["points"]:
            mine = points.get(point["step"])
            if mine is None:
                continue
            exposed = {}
            for step in mine:
                for phase, figures in step.phases.items():
                    if figures[0]:
                        exposed[phase] = exposed.get(phase, 0) + figures[0]
            of = f"{where}, point {point['step']}"
            compare.equal(of, "steps", point["steps"], len(mine))
            compare.equal(of, "total_ns", point["total_ns"], sum(step.duration for step in mine))
            compare.equal(of, "unattributed_ns", point["unattributed_ns"], sum(step.unattributed for step in mine))
            said = [step.input_before for step in mine if step.input_before is not None]
            compare.equal(of, "input_before_ns", point["input_before_ns"], sum(said) if said else None)
            compare.equal(of, "exposed", {row["phase"]: row["exposed_ns"] for row in point["exposed"]}, exposed)
