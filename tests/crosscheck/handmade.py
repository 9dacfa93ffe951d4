"""A small run made by hand, and the report on it, every figure of it worked out on paper: four steps, of which the
first is warm-up, the second has one part more, and the last has lost its sections, two sections between steps, two batches, and sums that count one
call of the model and one step more than there are spans. Used by the tests of the comparison."""

import math

import findings
from records import Point, Process, Span

PROCESS = Process("run-rank0", 7, 0, "detailed")


def trace(number, *rows):
    """Rows are (id, parent, name, start, end, attributes)."""
    return [
        Span(
            bytes([number]) * 16, bytes([id]) * 8, bytes([parent]) * 8 if parent else b"", name, begin, end, attributes,
            (), PROCESS, name == "part" and number == 2,
        )
        for id, parent, name, begin, end, attributes in rows
    ]


def step(number, start, wait_ns, duration):
    """Root, a wait, and 40 ns of forward in which 10 ns run on another thread; in the second step on two of them."""
    root = {
        "stepscope.section.kind": "step", "stepscope.step": number, "stepscope.trace.spans": 5 if number == 2 else 4, "thread.id": 1,
        "stepscope.samples": 8, "stepscope.tokens": 80, "stepscope.bytes": 640, "stepscope.value.loss": 1.5 * number,
        "stepscope.mem.live_bytes": 100 * number, "stepscope.mem.rss_bytes": 1000 * number, "stepscope.run_queue_ns": 3 * number,
    }
    if number != 2:
        root["stepscope.input_before_ns"] = 4 * number
    wait = {
        "stepscope.phase": "data_wait", "thread.id": 1, "stepscope.batch.produce_ns": 5 * number,
        "stepscope.batch.queue_ns": 3 * number, "stepscope.batch.queue_depth": number - 1,
    }
    if number != 1:
        wait["stepscope.batch.loader"] = "train"
    work = {
        "stepscope.phase": "forward", "thread.id": 1, "stepscope.mem.alloc_bytes": 64 * number,
        "stepscope.mem.free_bytes": 4 * number, "stepscope.mem.alloc_count": number,
        "stepscope.mem.peak_bytes": 7 * number,
        # On thread 1 from the start on for 10 ns, and 3 ns after that for 20.
        "stepscope.polls": [1, 0, 10, 1, 1, 13, 20, 2],
    }
    part = {"thread.id": 2, "stepscope.busy_ns": 8, "stepscope.idle_ns": 2, "stepscope.cpu_ns": 7, "stepscope.flops": 9}
    second = [(5, 3, "part", start + wait_ns + 2, start + wait_ns + 12, {**part, "thread.id": 3, "trace_event.category": "kernel"})] if number == 2 else []
    found = trace(
        number,
        (1, 0, "step", start, start + duration, root),
        (2, 1, "next", start, start + wait_ns, wait),
        (3, 1, "model", start + wait_ns, start + wait_ns + 40, work),
        (4, 3, "part", start + wait_ns + 5, start + wait_ns + 15, part),
        *second,
    )
    if number == 3:
        # To a batch that is made later.
        found[1].links = ((bytes([7]) * 16, bytes([1]) * 8),)
    return found


def spans():
    busy, cpu = "stepscope.busy_ns", "stepscope.cpu_ns"
    thinned = step(4, 3900, 0, 100)[0]
    thinned.attributes["stepscope.value.loss"] = math.nan
    kind, samples, alone = "stepscope.section.kind", "stepscope.samples", {"stepscope.trace.spans": 1}
    named = {"stepscope.batch.loader": "train"}
    loader = {**named, **alone}
    # Waits for a batch of its own loader.
    waiting = (2, 1, "next", 3010, 3050, {"stepscope.phase": "data_wait", "thread.id": 5, **named})
    return [
        *step(1, 1000, 20, 300),
        *step(2, 2000, 20, 120),
        *step(3, 2900, 10, 80),
        thinned,
        *trace(5, (1, 0, "shuffle", 2200, 2230, {"stepscope.phase": "data_loading", "thread.id": 1, **alone})),
        *trace(6, (1, 0, "shuffle", 2250, 2260, {"stepscope.phase": "data_loading", "thread.id": 1, **alone})),
        *trace(7, (1, 0, "batch", 3000, 3100, {kind: "batch", "thread.id": 5, samples: 8, cpu: 60, **loader, "stepscope.trace.spans": 2}), waiting),
        *trace(8, (1, 0, "batch", 3050, 3200, {kind: "batch", "thread.id": 6, samples: 8, busy: 140, "stepscope.batch.slot_wait_ns": 4, **loader})),
    ]


def points():
    histogram = {"count": 4, "sum": 160.0, "scale": 6, "zero_count": 0, "min": 40.0, "max": 40.0, "buckets": {340: 4}}
    of_model = {
        "duration": histogram, "count": 4, "total": 160, "self_busy": 120, "squares.low": 6400, "min": 40, "max": 40,
        "alloc": 512, "free": 30, "alloc_count": 9, "self_alloc": 510, "self_free": 12,
    }
    path, sink, reason = "stepscope.path", "stepscope.sink", "stepscope.loss.reason"
    found = [("stepscope.section." + name, {path: "step/model"}, value) for name, value in of_model.items()]
    # One step more than there are spans, of 100 ns.
    of_step = {
        "count": 5, "total": 700, "self_busy": 400, "squares.low": 130_800, "min": 80, "max": 300,
    }
    found += [("stepscope.section." + name, {path: "step"}, value) for name, value in of_step.items()]
    found += [
        ("stepscope.spans.emitted", {}, 21),
        ("stepscope.spans.exported", {sink: "directory"}, 17),
        ("stepscope.spans.dropped", {sink: "directory", reason: "thinned"}, 3),
        ("stepscope.spans.dropped", {reason: "ring_full"}, 1),
    ]
    of_memory = [Point(PROCESS, "process.memory.usage", {}, time, value) for time, value in ((3, 30), (1, 20), (2, 50))]
    return of_memory + [Point(PROCESS, metric, attributes, 1, value) for metric, attributes, value in found]


def block(count, total, mean, std, least, most, p50, p95, mad, is_exact=True):
    """A block of figures of at most ten values: p90, p95 and p99 are one."""
    return {
        "count": count, "total": total, "mean": mean, "std": std, "min": least, "max": most, "p50": p50, "p90": p95,
        "p95": p95, "p99": p95, "mad": mad, "cv": std / mean if mean and std is not None else None,
        "robust_cv": mad / p50 if p50 else None, "is_exact": is_exact,
    }


# 120, 80 and 100.
STEADY = block(3, 300, 100.0, 20.0, 80, 120, 100, 120, 20)
THROUGHPUT = {
    "elapsed_ns": 2000, "steps_per_second": 3e9 / 2000,
    "samples": 24, "samples_per_step_second": 24e9 / 300, "samples_per_second": 24e9 / 2000,
    "tokens": 240, "tokens_per_step_second": 240e9 / 300, "tokens_per_second": 240e9 / 2000,
    "bytes": 1920, "bytes_per_step_second": 1920e9 / 300, "bytes_per_second": 1920e9 / 2000,
}
# Of the two whole steady steps, 200 ns.
PHASES = [
    {
        "phase": "forward", "exposed_ns": 80, "total_ns": 80, "self_ns": 87, "spans": 5,
        "exposed_share": 0.4, "total_share": 0.4,
    },
    {
        "phase": "data_wait", "exposed_ns": 30, "total_ns": 30, "self_ns": 30, "spans": 2,
        "exposed_share": 0.15, "total_share": 0.15,
    },
]
WHOLE = {"steps": 2, "total_ns": 200}
FIGURES = ("busy_ns", "idle_ns", "cpu_ns", "run_queue_ns", "samples", "tokens", "bytes", "flops")


def section(path, kind, self_ns, figures, in_steps=None, calls=3, warm=(), **more):
    found = {
        "path": path, "name": path.rpartition("/")[2], "depth": path.count("/") + 1, "kind": kind, "source": "spans",
        "self_ns": self_ns, "self_busy_ns": None, "collapsed_calls": 0, "errors": 0, "device_calls": 0, "alloc": None,
        "slow_excess_ns": 0, "in_steps": [],
    }
    if in_steps:
        total_ns, driving_ns, exposed_ns = in_steps
        warm = dict(zip(("warmup_calls", "warmup_total_ns", "warmup_driving_ns", "warmup_exposed_ns", "longest_steady_ns"), warm))
        if warm:
            warm.update(heaviest_steady_calls=1, heaviest_steady_ns=warm["longest_steady_ns"])
            warm.update(longest_slow_ns=0, longest_periodic_ns=0)
        # One in each step; what is more is in one of them.
        part = {"mode": "train", "steps": 3, "calls": calls, "max_calls": calls - 2}
        found["in_steps"] = [{**part, "total_ns": total_ns, "driving_ns": driving_ns, "exposed_ns": exposed_ns, **warm}]
    found.update({figure: None for figure in FIGURES})
    return {**found, **figures, **more}


def summed(spans, sum):
    return {"spans": spans, "sum": sum}


def sections():
    """Steps of 300 (warm-up), 120, 80 and 100 ns; the first three wait 20, 20 and 10 ns, and forward takes 40."""
    alloc = {
        "spans": 3, "alloc_bytes": 512, "free_bytes": 30, "alloc_count": 9, "self_alloc_bytes": 510,
        "self_free_bytes": 12, "self_net_bytes": 498, "peak_bytes": 21,
    }
    # By the sums: 300, 120, 80 and twice 100 ns; deviations from the mean of 140: 160, -20, -60 and twice -40.
    of_steps = block(5, 700, 140.0, math.sqrt(32_800 / 4), 80, 300, 100, 300, 20, False)
    return [
        section(
            "step", "step", None, of_steps, (500, 500, 330), warm=(1, 300, 300, 240, 120), samples=summed(4, 32), tokens=summed(4, 320),
            bytes=summed(4, 2560), self_busy_ns=400, source="aggregates", slow_excess_ns=200, run_queue_ns=summed(4, 30),
        ),
        section("step/next", "section", 50, block(3, 50, 50 / 3, 5.773502691896258, 10, 20, 20, 20, 0), (50, 50, 50), warm=(1, 20, 20, 20, 20), phase="data_wait"),
        section(
            "step/model", "section", None, block(4, 160, 40.0, 0.0, 40, 40, 40, 40, 0, False), (120, 120, 90), warm=(1, 40, 40, 30, 40),
            alloc=alloc, self_busy_ns=120, source="aggregates",
        ),
        section(
            "step/model/part", "section", 40, block(4, 40, 10.0, 0.0, 10, 10, 10, 10, 0), (40, 0, 30), warm=(1, 10, 0, 10, 10), errors=2, device_calls=1, calls=4,
            busy_ns=summed(4, 32), idle_ns=summed(4, 8), cpu_ns=summed(4, 28), flops=summed(4, 36),
        ),
        section("shuffle", "section", 40, block(2, 40, 20.0, math.sqrt(200), 10, 30, 10, 30, 0), slow_excess_ns=20),
        section(
            "batch", "batch", 210, block(2, 250, 125.0, math.sqrt(1250), 100, 150, 100, 150, 0),
            samples=summed(2, 16), busy_ns=summed(1, 140), cpu_ns=summed(1, 60),
        ),
        section("batch/next", "section", 40, block(1, 40, 40.0, None, 40, 40, 40, 40, 0), phase="data_wait"),
    ]


def mode():
    forward = {"phase": "forward", "exposed_ns": 40, "total_ns": 40}
    slow = {"step": 2, "rank": 0, "duration_ns": 120, "start_ns": 2000, "trace_id": "02" * 16, "unattributed_ns": 60}
    slow["phases"] = [forward, {"phase": "data_wait", "exposed_ns": 20, "total_ns": 20}]
    bare = {"step": 4, "rank": 0, "duration_ns": 100, "start_ns": 3900, "trace_id": "04" * 16, "unattributed_ns": 0}
    quick = {"step": 3, "rank": 0, "duration_ns": 80, "start_ns": 2900, "trace_id": "03" * 16, "unattributed_ns": 30}
    quick["phases"] = [forward, {"phase": "data_wait", "exposed_ns": 10, "total_ns": 10}]
    return {
        "mode": "train", "step_range": [1, 4], "numbers": "unique",
        "all": block(4, 600, 150.0, math.sqrt(30_800 / 3), 80, 300, 100, 300, 20),
        "steady": STEADY,
        # 2^(404/64) = 79.5 and 2^(405/64) = 80.3; 99.8 and 100.9; 119.95 and 121.3.
        "distribution": [
            {"from_ns": 80, "to_ns": 80, "count": 1}, {"from_ns": 100, "to_ns": 100, "count": 1},
            {"from_ns": 120, "to_ns": 121, "count": 1},
        ],
        "warmup": {"steps": 1, "max_per_instance": 1, "total_ns": 300, "usual_ns": 100, "steady_step": 2},
        "whole_all": {"steps": 3, "total_ns": 500}, "whole_warmup": {"steps": 1, "total_ns": 300}, "whole": WHOLE,
        "phases": PHASES, "unattributed_ns": 90, "steady_ns": 300, "throughput": THROUGHPUT,
        "quick_without_waiting_ns": 70, "quick_without_preparation_ns": 80,
        "input_between_ns": 40,
        "slowest": [slow, {**bare, "phases": []}, quick],
        # From 2980 to 3900, and from 2120 to 2900.
        "pauses": [
            {"step": 3, "step_numbers": 1, "start_ns": 2900, "pause_ns": 920},
            {"step": 2, "step_numbers": 1, "start_ns": 2000, "pause_ns": 780},
        ],
    }


def series():
    found = {"mode": "train", "shift": 0, "points": []}
    for number, duration, wait in ((1, 300, 20), (2, 120, 20), (3, 80, 10), (4, 100, 0)):
        live, rss = ({"count": 1, "min": n, "max": n, "mean": n} for n in (100 * number, 1000 * number))
        found["points"].append(
            {
                "step": number, "count": 1, "duration_sum_ns": duration, "duration_min_ns": duration,
                "duration_max_ns": duration, "samples": 8, "wait_ns": wait, "run_queue_ns": 3 * number, "live_bytes": live, "rss_bytes": rss,
                "input_before_ns": None if number == 2 else 4 * number,
            }
        )
    return found


def phase_series():
    """The three whole steps; what is left of each is the step's own."""
    points = []
    for number, duration, wait in ((1, 300, 20), (2, 120, 20), (3, 80, 10)):
        exposed = [{"phase": "data_wait", "exposed_ns": wait}, {"phase": "forward", "exposed_ns": 40}]
        points.append({
            "step": number, "steps": 1, "total_ns": duration, "unattributed_ns": duration - wait - 40, "exposed": exposed,
            "input_before_ns": None if number == 2 else 4 * number,
        })
    return {"mode": "train", "shift": 0, "points": points}


def examples():
    """The first two, the one nearest to the median of 100 ns (of 120 and 80 ns, both as near, the earlier), and the
    slowest. The part that ends last is on the path."""
    found = []
    for number, roles, start, duration, wait in (
        (1, ["first"], 1000, 300, 20), (2, ["first", "median", "slowest"], 2000, 120, 20), (3, ["slowest"], 2900, 80, 10)
    ):
        span = {"batch": None, "is_error": False, "running": []}
        forward = {**span, "phase": "forward"}
        batch = {"trace_id": "07" * 16 if number == 3 else None, "produce_ns": 5 * number, "queue_ns": 3 * number}
        spans = [
            {**span, "name": "step", "parent": None, "phase": None, "lane": 0, "offset_ns": 0, "duration_ns": duration, "critical_ns": duration - wait - 40},
            {**span, "name": "next", "parent": 0, "phase": "data_wait", "lane": 0, "offset_ns": 0, "duration_ns": wait, "critical_ns": wait, "batch": batch},
            {**forward, "name": "model", "parent": 0, "lane": 0, "offset_ns": wait, "duration_ns": 40, "critical_ns": 30, "running": [{"offset_ns": wait, "duration_ns": 10}, {"offset_ns": wait + 13, "duration_ns": 20}]},
            {**forward, "name": "part", "parent": 2, "lane": 1, "offset_ns": wait + 5, "duration_ns": 10, "critical_ns": 10},
        ]
        lanes = [{"thread_id": 1, "thread_name": None}, {"thread_id": 2, "thread_name": None}]
        last = 3
        if number == 2:
            # The second part begins, and ends, 3 ns before the first, and has an error as that has.
            early = {**spans[3], "lane": 1, "offset_ns": wait + 2, "critical_ns": 0, "is_error": True}
            spans[3:] = [early, {**spans[3], "lane": 2, "is_error": True}]
            lanes[1:] = [{"thread_id": 3, "thread_name": None}, {"thread_id": 2, "thread_name": None}]
            last = 4
        path = [(1, 0, wait), (2, wait, 5), (last, wait + 5, 10), (2, wait + 15, 25), (0, wait + 40, duration - wait - 40)]
        phases = [{"phase": "forward", "exposed_ns": 40, "total_ns": 40}, {"phase": "data_wait", "exposed_ns": wait, "total_ns": wait}]
        found.append({
            "mode": "train", "roles": roles, "is_warmup": number == 1, "step": number, "rank": 0, "duration_ns": duration,
            "start_ns": start, "trace_id": f"{number:02x}" * 16, "span_id": "01" * 8, "unattributed_ns": duration - wait - 40,
            "phases": phases, "spans_in_step": len(spans), "lanes": lanes, "spans": spans,
            "critical_path": [{"span": at, "offset_ns": offset, "duration_ns": length} for at, offset, length in path],
        })
    return found


def critical_path():
    """Of the three whole steps, 500 ns: 240, 60 and 30 ns are the steps' own, the rest nests. The waits of 20, 20 and
    10 ns end 3, 6 and 9 ns after their batch was made, in 5, 10 and 15 ns. The second part ends 3 ns before the first."""
    own = {"step/model": (90, 0.18), "step/next": (50, 0.1), "step/model/part": (30, 0.06)}
    beside = {"on_path_calls": 3, "beside_calls": 0, "slack_mean_ns": None, "slack_min_ns": None}
    sections = [{"path": path, "on_path_ns": ns, "share": share, **beside} for path, (ns, share) in own.items()]
    sections[-1].update(beside_calls=1, slack_mean_ns=3, slack_min_ns=3)
    return {
        "window": "step", "mode": "train", "windows": 3, "total_ns": 500, "other_ns": 330, "warmup_other_ns": 240, "explained_share": 0.34,
        "sections": sections,
        "waits": {"waits": 3, "behind_ns": 16, "making_ns": 16, "handover_ns": 18},
        "through_batches": {"linked_ns": 10, "making_ns": 0, "is_exact": True},
    }


def held():
    """The model keeps 60 bytes, 120 and 180; the last step says nothing of memory."""
    model = {"first_bytes": 60, "last_bytes": 360, "peak_bytes": 360, "peak_step": 3}
    point = lambda step, net, held: {"step": step, "net_bytes": net, "held_bytes": held, "sections": [held], "other_bytes": 0}
    return {
        "mode": "train", "shift": 0, "sections": [{"path": "step/model", "with_inside": False, **model}],
        "other": {"first_bytes": 0, "last_bytes": 0, "peak_bytes": 0, "peak_step": 1}, "total": model, "untold": [],
        "points": [point(1, 60, 60), point(2, 120, 180), point(3, 180, 360)],
    }


def report():
    """What a right report says, without what is not computed here."""
    loss = [{"step": n, **dict.fromkeys(("min", "max", "mean", "last"), 1.5 * n), "count": 1} for n in (1, 2, 3)]
    # What a thread that made one batch says of the time before it lies outside of what is known of it.
    workers = [
        {"rank": 0, "thread": 5, "drives_steps": False, "batches": 1, "busy_ns": 60, "waiting_ns": 40, "slot_wait_ns": None, "idle_ns": None, "first_ns": 3000, "last_ns": 3100},
        {"rank": 0, "thread": 6, "drives_steps": False, "batches": 1, "busy_ns": 140, "waiting_ns": 0, "slot_wait_ns": 0, "idle_ns": 0, "first_ns": 3050, "last_ns": 3200},
    ]
    loader = {
        "name": "train", "produce": block(2, 250, 125.0, math.sqrt(1250), 100, 150, 100, 150, 0), "busy_ns": 200, "waiting_ns": 40,
        "computing_ns": 200, "elapsed_ns": 200, "samples": 16,
        # 200 of 250 ns.
        "utilisation": 0.8, "workers_at_once": 1, "slowest": None, "slot_wait_ns": 0, "slot_wait_share": 0.0, "workers": workers,
        # Stretches of 128 ns are so long that both batches are in one: 210 ns of work in the 94 ns of theirs in it.
        "while_awaited": {"utilisation": 1.0, "produce_mean_ns": 100, "at_once_ns": None},
        # 60 of the 100 + 150 ns of both threads without the longer batch.
        "after_warmup": {"produce_mean_ns": 100, "utilisation": 0.6, "slot_wait_share": None},
        # The first step's wait names no loader.
        "waits": {
            "wait": block(3, 70, 70 / 3, math.sqrt(700 / 3), 10, 40, 20, 40, 10),
            "produce": block(2, 25, 12.5, math.sqrt(12.5), 10, 15, 10, 15, 0),
            "queue": block(2, 15, 7.5, math.sqrt(4.5), 6, 9, 6, 9, 0), "unused": 0,
            "depth": block(2, 3, 1.5, math.sqrt(0.5), 1, 2, 1, 2, 0),
        },
        "held_up": [{"mode": "train", "waits": 2, "total_ns": 30}],
        "waited_by": [{"loader": "train", "waits": 1, "total_ns": 40}],
    }
    # Waits of 30 ns in 200 ns of whole steps are 45 ns in all 300 ns; 40 ns are between the steps.
    wait = {
        "verdict": "high", "source": "spans", "share": 85 / 340, "in_steps_ns": 45, "between_ns": 40, "steps_ns": 300, "steps": 3,
        "min_steps": 3,
    }
    process = {
        "resource": {
            "host_name": "h", "cpus": 2, "service_instance_id": PROCESS.id, "pid": PROCESS.pid, "rank": 0, "level": "detailed"},
        "ended": False, "ended_by": None, "traces": 8, "first_ns": 1000, "last_ns": 4000, "warmup_steps": 1, "steps": STEADY,
        # 120 and 80.
        "works": block(2, 200, 100.0, math.sqrt(800), 80, 120, 80, 120, 0), "throughput": THROUGHPUT,
        "communication_per_step_ns": 0, "phases_per_step": [{"phase": "forward", "exposed_ns": 40}, {"phase": "data_wait", "exposed_ns": 15}],
        # 40 ns between three steps.
        "phases_between_steps": [{"phase": "data_loading", "exposed_ns": 13}],
        "other_steps_ns": 0, "usual_gap_ns": 780, "steps_overlap": False,
    }
    disagreements = [
        {"path": "step/model", "figure": "count", "spans": 3, "aggregates": 4},
        {"path": "step/model", "figure": "total_ns", "spans": 120, "aggregates": 160},
    ]
    # Of the waits 28 ns a step; the quicker steps take 70 ns without, of which two loader threads beside the step on two
    # processors may cost 47 ns (they compute 75 ns a step, and two processors of three threads keep a third of it).
    waiting = {"saved_ns_per_step": 90, "step_time_ns": 23, "share": 0.79646, "direct_share": 0.247788}
    # 85 of 340 ns, 45 of them waiting, leave 85 of 113 ns a step. Two of three steps wait for the loader, so that it has 127 ns
    # for a batch; two threads for 250 of 200 ns are one at once.
    evidence = {
        "waiting_share": 0.25, "data_wait_share": 0.132353, "data_loading_share": 0.117647, "waiting_per_step_ns": 28,
        "step_without_waiting_ns": 85, "loaders_compute_per_step_ns": 75, "cpu_contention_share": 0.415929,
        "wait_p50_ns": 20, "wait_p95_ns": 20, "produce_mean_ns": 100, "queue_time_p50_ns": 6, "queue_depth_p50": 1,
        "batches_per_step": 0.666667, "workers": 1, "workers_busy_share": 0.6, "workers_needed": 1,
    }
    findings = [
        {
            "id": "input_bound", "rule": "input_bound", "type": "data_loading", "severity": 25.0, "predicted_gain": waiting,
            "title": "25 % of the time of the steps and the input between them is spent waiting for batches (13 %) and loading data (12 %).",
            "section": "step/next", "rank": None, "evidence": evidence,
        },
        {
            "id": "spans_lost", "rule": "spans_lost", "type": "recording", "severity": 14.0, "predicted_gain": None,
            "title": "3 spans are missing.", "section": None, "rank": None, "evidence": {},
        },
    ]
    rules = [{"rule": rule, "state": "found" if rule in ("input_bound", "spans_lost") else "fine"} for rule in findings.RULES]
    # Three points after warm-up have no trend.
    few = {"whole": None, "tail": None, "late": None}
    memory = {
        "live": {"first_bytes": 100, "last_bytes": 400, "max_bytes": 400, **few},
        "rss": {"first_bytes": 1000, "last_bytes": 4000, "max_bytes": 4000, **few},
        "processes": [
            {"rank": 0, "rss_last_bytes": 30, "rss_max_bytes": 4000, "live_last_bytes": None, "live_max_bytes": None}
        ],
        "by_section": held(),
    }
    return {
        "findings": findings, "memory": memory, "leaks": [],
        "run": {
            "traces": 8, "spans": 19, "ranks": 1, "errors": 2, "epochs_started": 0, "epochs_ended": 0,
            "started_ns": 1000, "last_ns": 4000, "elapsed_ns": 3000, "ended": None, "ended_by": None, "level": "detailed",
        },
        "losses": {
            "emitted": 21, "incomplete_traces": 1, "missing_spans": 3, "unplaced": 0, "dropped_total": 4,
            # Of the four three were left out on purpose; a root misses three all the same.
            "absent": 4, "lost": 3,
            "exported": [{"sink": "directory", "spans": 17}],
            "dropped": [
                {"sink": None, "reason": "ring_full", "spans": 1},
                {"sink": "directory", "reason": "thinned", "spans": 3},
            ],
        },
        "sections": sections(),
        "summary": {
            "verdict": "Input bound: 25 % of the time is input, 13 % waiting for batches.",
            "mode": "train", "steps": 3, "warmup_steps": 1, "step_time": STEADY,
            "throughput": THROUGHPUT, "coverage": {"recorded_steps": 5, "read_steps": 4, "whole_steps": 3},
            "whole": WHOLE, "phases": PHASES, "unattributed_ns": 90, "steps_ns": 300,
            "input": wait, "phase_sums": [],
        },
        "critical_path": critical_path(),
        "examples": examples(),
        "ranks": [process],
        "detailed_metrics": {
            "modes": [mode()],
            "series": [series()],
            "changes": [],
            "rules": rules,
            # None has the 20 calls from which durations can vary.
            "slowest_sections": ["step/model", "step/next", "batch/next", "shuffle", "step/model/part"],
            "most_variable_sections": [],
            "periodic": [],
            "phase_series": [phase_series()],
            "values": [{"name": "loss", "shift": 0, "not_finite": 1, "points": loss}],
            "waits": {
                "wait": block(3, 50, 50 / 3, math.sqrt(100 / 3), 10, 20, 20, 20, 0),
                "produce": block(3, 30, 10.0, 5.0, 5, 15, 10, 15, 5),
                "queue": block(3, 18, 6.0, 3.0, 3, 9, 6, 9, 3),
                "unused": 0,
                "depth": block(3, 3, 1.0, 1.0, 0, 2, 1, 2, 1),
            },
            "batches": {"count": 2, "loaders": [loader]},
            "outside": [
                {
                    "phase": "data_loading", "exposed_ns": 40,
                    "stats": block(2, 40, 20.0, math.sqrt(200), 10, 30, 10, 30, 0),
                }
            ],
            "disagreements": disagreements,
        },
    }
