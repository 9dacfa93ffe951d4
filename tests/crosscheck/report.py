"""The program's JSON report against the figures computed from the spans. Keys are the report schema's."""

from fractions import Fraction

import awaited
import between
import changes
import critical
import early
import findings
import held
import memory
import periods
import names
import report_sections
import report_steps


def against_spans(report, run, sums, assembler, compare):
    """Compares every figure of the report that spans and aggregates determine."""
    the_run(report["run"], report["ranks"], run, compare)
    processes(report["ranks"], run, compare)
    the_losses(report["losses"], run, sums, assembler, compare)
    report_sections.compare_sections(report["sections"], run, sums, compare)
    report_steps.compare_steps(report, run, sums, compare)
    early.compare_early(report, run, compare)
    critical.compare_path(report["critical_path"], report["summary"]["mode"], run, compare)
    pace = report_steps.pace(report, run)
    unused = awaited.unused(run.batches, run.ahead(), *pace)
    waits(report["detailed_metrics"]["waits"], run.waits, unused, compare)
    batches(report["detailed_metrics"]["batches"], run, pace, compare)
    beginnings = report_steps.beginnings(report, run)
    outside(report["detailed_metrics"], run, report_steps.steady_steps(report, run), report["summary"]["mode"], compare)
    disagreements(report["detailed_metrics"]["disagreements"], run, sums, compare)
    memory.compare_memory(report, run, sums, beginnings, compare)
    held.compare_held(report, run, memory.kinds(report), compare)
    changes.compare_changes(report, run, compare)
    periods.compare_periods(report, run, compare)
    findings.compare_findings(report, run, compare)
    findings.compare_words(report, compare)


def the_run(got, processes, run, compare):
    where = "run"
    compare.equal(where, "traces", got["traces"], run.traces)
    compare.equal(where, "spans", got["spans"], run.spans)
    compare.equal(where, "errors", got["errors"], run.errors)
    compare.equal(where, "ranks", got["ranks"], len(run.processes))
    levels = {process.level for process in run.processes if process is not None and process.level}
    if len(levels) == 1:
        compare.equal(where, "level", got["level"], *levels)
    # SIGTERM where processes name several.
    compare.equal(where, "ended_by", got["ended_by"], max(run.signals.values(), default=None))
    # Foreign input says neither that a run began nor that it ended.
    is_known = run.markers["run"] or run.ended
    compare.equal(where, "ended", got["ended"], len(run.ended) >= len(processes) if is_known else None)
    compare.equal(where, "epochs_started", got["epochs_started"], run.markers["epoch"])
    epochs = sum(section.count for section in run.sections.values() if section.kind == "epoch")
    compare.equal(where, "epochs_ended", got["epochs_ended"], epochs)
    compare.equal(where, "started_ns", got["started_ns"], run.first)
    compare.equal(where, "last_ns", got["last_ns"], run.last)
    compare.equal(where, "elapsed_ns", got["elapsed_ns"], run.last - run.first)


def processes(listed, run, compare):
    compare.equal("ranks", "number of processes with spans", sum(item["traces"] > 0 for item in listed), len(run.processes))
    for item in listed:
        mine = run.processes.get(report_steps.process_of(item["resource"]))
        where = f"process {item['resource']['service_instance_id']}"
        if mine is None:
            compare.equal(where, "traces", item["traces"], 0)
            continue
        process = report_steps.process_of(item["resource"])
        compare.equal(where, "ended_by", item["ended_by"], run.signals.get(process))
        compare.equal(where, "ended", item["ended"], process in run.ended)
        for figure, expected in mine.items():
            compare.equal(where, figure, item[figure], expected)


def the_losses(got, run, sums, assembler, compare):
    where = "losses"
    exported = {(item["sink"], None): item["spans"] for item in got["exported"] if item["spans"]}
    compare.equal(where, "exported", exported, sums.spans_by(names.SPANS_EXPORTED))
    dropped = {(item["sink"] or None, item["reason"]): item["spans"] for item in got["dropped"]}
    expected = sums.spans_by(names.SPANS_DROPPED)
    compare.equal(where, "dropped", dropped, expected)
    compare.equal(where, "dropped_total", got["dropped_total"], sum(expected.values()))
    absent = [absent_of(process, run, sums) for process in sums.processes()]
    compare.equal(where, "absent", got["absent"], sum(absent) if absent else None)
    compare.equal(where, "lost", got["lost"], lost(expected, sum(absent) if absent else None, run))
    compare.equal(where, "missing_spans", got["missing_spans"], run.missing)
    compare.equal(where, "unplaced", got["unplaced"], run.homeless)
    compare.equal(where, "emitted", got["emitted"], sums.latest(names.SPANS_EMITTED))
    compare.equal(where, "incomplete_traces", got["incomplete_traces"], assembler.incomplete)


def absent_of(process, run, sums):
    """Spans of a process that ended and were not read. One that was killed has not sent its last count: what it
    counted as lost is missing all the same, at the least what the best of its sinks has lost."""
    read, emitted = run.spans_of.get(process, 0), sums.latest(names.SPANS_EMITTED, process)
    if process in run.ended and emitted is not None and emitted >= read:
        return emitted - read
    before, by_sink = of_sinks(sums.spans_by(names.SPANS_DROPPED, process))
    for sink, _ in sums.spans_by(names.SPANS_EXPORTED, process):
        by_sink.setdefault(sink, 0)
    return max((emitted or 0) - read, before + min(by_sink.values(), default=0))


def of_sinks(dropped):
    """Spans lost before any sink, and {sink: spans lost on the way there}."""
    by_sink = {}
    for (sink, _), spans in dropped.items():
        by_sink[sink] = by_sink.get(sink, 0) + spans
    return by_sink.pop(None, 0), by_sink


def lost(dropped, absent, run):
    """Lost spans that are not among those read, without those that were left out on purpose: lost before any
    sink, or by the sink whose losses come closest to what is absent. No fewer than traces themselves lack."""
    before, by_sink = of_sinks(dropped)
    after = max(0, (absent or 0) - before)
    source = min(sorted(by_sink), key=lambda sink: abs(by_sink[sink] - after), default=None) if after else None
    lacking = {key: spans for key, spans in dropped.items() if key[0] in (None, source)}
    left_out = sum(spans for (_, reason), spans in lacking.items() if reason in names.ON_PURPOSE)
    counted = sum(lacking.values()) - left_out
    at_most = counted if absent is None else max(0, absent - left_out)
    return max(min(counted, at_most), run.missing, run.dropped - left_out)


def waits(got, found, unused, compare, where="waits"):
    compare.equal(where, "unused", got["unused"], unused)
    for position, key in enumerate(("wait", "produce", "queue", "depth")):
        values = [wait[position] for wait in found if wait[position] is not None]
        compare.stats(f"{where}, {key}", got[key], values)


def batches(got, run, pace, compare):
    compare.equal("batches", "count", got["count"], len(run.batches))
    loaders = {}
    for batch in run.batches:
        loaders.setdefault(batch.loader, []).append(batch)
    listed = {loader["name"]: loader for loader in got["loaders"]}
    known = set(loaders) | set(run.named_waits)
    for name in sorted(known | set(listed)):
        where = f"loader {name}"
        loader, made = listed.get(name), loaders.get(name, [])
        if loader is None or name not in known:
            compare.missing(where, "not in the report" if loader is None else "only in the report")
            continue
        unused = awaited.unused(made, run.ahead_named.get(name, []), *pace)
        waits(loader["waits"], run.named_waits.get(name, []), unused, compare, f"{where}, waits")
        held = {(item["mode"], item["waits"], item["total_ns"]) for item in loader["held_up"]}
        compare.equal(where, "held_up", held, {(mode, *sums) for mode, sums in run.held_up.get(name, {}).items()})
        waited_by = {(item["loader"], item["waits"], item["total_ns"]) for item in loader["waited_by"]}
        compare.equal(where, "waited_by", waited_by, {(maker, *sums) for maker, sums in run.waited_by.get(name, {}).items()})
        elapsed = max((batch.end for batch in made), default=0) - min((batch.start for batch in made), default=0)
        compare.stats(where, loader["produce"], [batch.duration for batch in made])
        compare.equal(where, "elapsed_ns", loader["elapsed_ns"], elapsed)
        samples = [batch.samples for batch in made if batch.samples is not None]
        compare.equal(where, "samples", loader["samples"], sum(samples) if samples else None)
        workers = {}
        for batch in made:
            workers.setdefault((batch.instance, batch.thread), []).append(batch)
        busy = sum(working(batches, "busy") for batches in workers.values())
        computing = sum(working(batches, "computing") for batches in workers.values() if not drives(run, batches[0]))
        compare.equal(where, "busy_ns", loader["busy_ns"], busy)
        compare.equal(where, "waiting_ns", loader["waiting_ns"], sum(waiting(batches) for batches in workers.values()))
        compare.equal(where, "computing_ns", loader["computing_ns"], computing)
        processes = {}
        for (instance, _), own in workers.items():
            processes.setdefault(instance, []).append(own)
        times = {instance: awaited.lifetimes(own) for instance, own in processes.items()}
        possible = sum(time for time, _ in times.values())
        compare.close(where, "utilisation", loader["utilisation"], Fraction(busy, possible) if possible else None)
        at_once = awaited.at_once(possible, sum(covered for _, covered in times.values())) if workers else None
        compare.equal(where, "workers_at_once", loader["workers_at_once"], at_once)
        expected = awaited.slowest(processes, times, pace[0])
        got_slowest = loader["slowest"]
        compare.equal(where, "slowest, is there", got_slowest is not None, expected is not None)
        if expected and got_slowest:
            rank, at_once, after = expected
            compare.equal(where, "slowest, rank", got_slowest["rank"], rank)
            compare.equal(where, "slowest, workers_at_once", got_slowest["workers_at_once"], at_once)
            then = got_slowest["after_warmup"]
            compare.equal(where, "slowest, produce_mean_ns", then["produce_mean_ns"], after[0])
            compare.close(where, "slowest, utilisation", then["utilisation"], after[1])
            compare.close(where, "slowest, slot_wait_share", then["slot_wait_share"], after[2])
        said = [waited(batches) for batches in workers.values() if waited(batches) is not None]
        slots, times = sum(slot for slot, _, _ in said), sum(time for _, _, time in said)
        compare.equal(where, "slot_wait_ns", loader["slot_wait_ns"], slots if said else None)
        compare.close(where, "slot_wait_share", loader["slot_wait_share"], Fraction(slots, times) if times else None)
        when = run.when_named.get(name) if name in run.named_waits else run.when_waited() if len(known) == 1 else None
        steady = awaited.Steady(made, pace[0])
        after, got_after = steady.figures(), loader["after_warmup"]
        compare.equal(where, "after_warmup, is there", got_after is not None, after is not None)
        if after and got_after:
            compare.equal(where, "after_warmup, produce_mean_ns", got_after["produce_mean_ns"], after[0])
            compare.close(where, "after_warmup, utilisation", got_after["utilisation"], after[1])
            compare.close(where, "after_warmup, slot_wait_share", got_after["slot_wait_share"], after[2])
        then, got_then = steady.while_awaited(when or []) if made else None, loader["while_awaited"]
        compare.equal(where, "while_awaited, is there", got_then is not None, then is not None)
        if then and got_then:
            compare.close(where, "while_awaited, utilisation", got_then["utilisation"], then[0])
            compare.equal(where, "while_awaited, produce_mean_ns", got_then["produce_mean_ns"], then[1])
            compare.equal(where, "while_awaited, at_once_ns", got_then["at_once_ns"], then[2])
        expected = sorted((worker(batches, drives(run, batches[0])) for batches in workers.values()), key=str)
        compare.equal(where, "workers", sorted(loader["workers"], key=str), expected)


def drives(run, batch):
    """Whether the batch was made on a thread that drives steps."""
    return batch.thread is not None and (batch.instance, batch.thread) in run.drivers()


def waited(batches):
    """(time for which a thread waited for places in its queue, time between its batches besides, time from its first to
    its last); none where no batch says it."""
    said = [batch.slot_wait for batch in batches if batch.slot_wait is not None]
    if not said:
        return None
    time = max(batch.end for batch in batches) - min(batch.start for batch in batches)
    between = max(0, time - sum(batch.duration for batch in batches))
    slots = min(sum(said), between)
    return slots, between - slots, time


def waiting(batches):
    """For how long a thread waited inside of its batches for those of others."""
    return min(sum(batch.waiting for batch in batches), sum(batch.duration for batch in batches))


def working(batches, figure):
    """A thread's time of that kind: not while it waited."""
    return min(sum(getattr(batch, figure) for batch in batches), sum(batch.duration for batch in batches) - waiting(batches))


def worker(batches, drives_steps):
    """The report's figures of one thread's batches."""
    slots, idle, _ = waited(batches) or (None, None, None)
    return {
        "rank": batches[0].instance.rank,
        "thread": batches[0].thread,
        "drives_steps": drives_steps,
        "batches": len(batches),
        "busy_ns": working(batches, "busy"),
        "waiting_ns": waiting(batches),
        "slot_wait_ns": slots,
        "idle_ns": idle,
        "first_ns": min(batch.start for batch in batches),
        "last_ns": max(batch.end for batch in batches),
    }


def outside(detailed, run, steady, mode, compare):
    """Traces of driving threads that are no steps, by the phase of their root: between the first step after warm-up and the
    last one."""
    sums, are_estimated = between.Sums(), []
    for process in run.processes:
        of, is_estimated = between.of_process(run, process, steady.get(process, []), mode)
        sums.merge(of)
        are_estimated.append(is_estimated)
    limits = {limit["limit"] for limit in detailed.get("limits", [])}
    compare.equal("limits", "between_steps_estimated", "between_steps_estimated" in limits, any(are_estimated))
    for row in detailed["modes"]:
        of_mode = [one.exposed for phase, one in sums.items() if phase in names.INPUTS]
        expected = sum(of_mode) if row["mode"] == mode else sums.given[row["mode"]]
        compare.equal(f"{row['mode']} steps", "input_between_ns", row["input_between_ns"], expected)
    sums = {phase: one for phase, one in sums.items() if one.calls or one.exposed}
    reported = {item["phase"]: item for item in detailed["outside"]}
    for phase in sorted(set(sums) | set(reported), key=str):
        where = f"between steps, phase {phase}"
        if phase not in reported or phase not in sums:
            compare.missing(where, "not in the report" if phase not in reported else "only in the report")
            continue
        one, got = sums[phase], reported[phase]["stats"]
        compare.equal(where, "calls", got["count"], one.calls)
        compare.equal(where, "time of the calls", got["total"], one.total)
        # All other figures are of all that may be there.
        compare.stats(where, got | {"count": len(one.durations), "total": sum(one.durations)}, one.durations)
        compare.equal(where, "exposed_ns", reported[phase]["exposed_ns"], one.exposed)


def disagreements(got, run, sums, compare):
    """What the report says that spans and aggregates disagree on must be so."""
    merged = sums.sections()
    for item in got:
        where = f"disagreement on {item['path']}"
        section = run.sections.get(item["path"])
        if section is not None:
            mine = {
                "count": section.count,
                "total_ns": section.total,
                "min_ns": min(section.durations),
                "max_ns": max(section.durations),
            }
            compare.equal(where, item["figure"], item["spans"], mine[item["figure"]])
        metric = {
            "count": names.SECTION_COUNT,
            "total_ns": names.SECTION_TOTAL,
            "min_ns": names.SECTION_MIN,
            "max_ns": names.SECTION_MAX,
        }[item["figure"]]
        aggregate = merged.get(item["path"], {}).get(metric)
        if aggregate is not None:
            compare.equal(where, f"{item['figure']} of the aggregates", item["aggregates"], aggregate)
