"""Runs whose steps are known: OTLP JSON with a warm-up, a period, a change, phases of the user's own, two ranks."""

import json
import random

BEGIN = 1_700_000_000_000_000_000


def attribute(key, value):
    if isinstance(value, float):
        return {"key": key, "value": {"doubleValue": value}}
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def span(trace, number, parent, name, begin, end, **attributes):
    made = {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "name": name, "kind": 1,
            "startTimeUnixNano": str(BEGIN + begin), "endTimeUnixNano": str(BEGIN + end),
            "attributes": [attribute(key.replace("__", "."), value) for key, value in attributes.items()]}
    return made | ({"parentSpanId": f"{parent:016x}"} if parent else {})


def run(path, times_ms, phases, ranks=1, service="planted", value=lambda step: {}):
    """Writes steps of `times_ms`, in which `phases` (name, phase, share), perhaps of a rank, follow each other; `value` gives attributes
    of a step."""
    resources = []
    for rank in range(ranks):
        spans, now, number = [], 0, rank * 10_000_000
        for step, time in enumerate(times_ms):
            trace, length = rank * 1_000_000 + step + 1, int(time * 1e6)
            number += 1
            root, at = number, now
            spans.append(span(trace, root, None, "step", now, now + length, stepscope__section__kind="step", thread__id=1, stepscope__step=step, **value(step)))
            for name, phase, share in phases(rank) if callable(phases) else phases:
                number += 1
                end = at + int(share * length)
                spans.append(span(trace, number, root, name, at, end, thread__id=1, **({"stepscope__phase": phase} if phase else {})))
                at = end
            now += length + 10_000
        resource = [attribute("service.name", service), attribute("stepscope.rank", rank)]
        resources.append({"resource": {"attributes": resource}, "scopeSpans": [{"scope": {"name": "planted"}, "spans": spans}]})
    path.write_text(json.dumps({"resourceSpans": resources}))


def marked(path, ranks=2):
    """300 steps: the first three are warm-up, every 25th is long, from the 180th on all take 40 % longer."""
    noise = random.Random(7)
    times = [10 * noise.uniform(0.98, 1.02) * (1.4 if step >= 180 else 1) * (4 if step % 25 == 24 else 1) * (8 if step < 3 else 1)
             for step in range(300)]
    run(path, times, (("wait", "data_wait", 0.1), ("tokens", "preprocessing", 0.2), ("own", "my own phase", 0.05), ("fwd", "forward", 0.3), ("bwd", "backward", 0.2), ("sgd", "optimizer", 0.1)), ranks)


def leveled(path):
    """600 steps that take 30 % longer from the 240th on and from the 310th, and are faster again from the 380th and the 450th."""
    noise = random.Random(5)
    times = [10 * noise.uniform(0.98, 1.02) * 1.3 ** ((step >= 240) + (step >= 310) - (step >= 380) - (step >= 450)) for step in range(600)]
    run(path, times, (("fwd", "forward", 0.6), ("bwd", "backward", 0.3)))


def ranked(path):
    """120 steps of four ranks, of which the last works twice as long as the others, which wait for it."""
    noise = random.Random(3)
    own = lambda rank: (("fwd", "forward", 0.6 if rank == 3 else 0.3), ("reduce", "communication", 0.1), *(() if rank == 3 else (("barrier", "synchronization", 0.3),)))
    run(path, [10 * noise.uniform(0.98, 1.02) for _ in range(120)], own, ranks=4)


def staged(path):
    """60 steps that wait for batches of one loader, whose thread waits for those of another."""
    spans = []
    for step in range(60):
        begin, trace = step * 10_000_000, 3 * step + 1
        for at, (name, kind, thread, loader, wait, share) in enumerate((
                ("step", "step", 1, None, "decode", 0.5), ("batch", "batch", 7, "decode", "read", 0.4), ("batch", "batch", 8, "read", None, 0))):
            made = {"stepscope__batch__loader": loader} if loader else {"stepscope__step": step}
            spans.append(span(trace + at, 1, None, name, begin, begin + 9_000_000, stepscope__section__kind=kind, thread__id=thread, **made))
            if wait:
                spans.append(span(trace + at, 2, 1, "wait", begin, begin + int(share * 1e7), thread__id=thread, stepscope__phase="data_wait", stepscope__batch__loader=wait))
    resource = {"attributes": [attribute("service.name", "staged"), attribute("stepscope.rank", 0)]}
    path.write_text(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "planted"}, "spans": spans}]}]}))


def epochs(path):
    """9,300 epochs of two steps, whose numbers begin anew: more than series over steps have points for."""
    spans = []
    for epoch in range(9_300):
        for step in range(2):
            trace = 2 * epoch + step + 1
            begin = trace * 10_000_000
            spans.append(span(trace, trace, None, "step", begin, begin + 9_000_000 + epoch % 7, stepscope__section__kind="step",
                              stepscope__step=step, stepscope__epoch=epoch, thread__id=1))
    resource = {"attributes": [attribute("service.name", "epochs"), attribute("stepscope.rank", 0)]}
    path.write_text(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "planted"}, "spans": spans}]}]}))


def outlier(path):
    """300 steps of 10 ms, one of which takes 6 s."""
    noise = random.Random(5)
    times = [6_000 if step == 200 else 10 * noise.uniform(0.9, 1.1) for step in range(300)]
    run(path, times, (("wait", "data_wait", 0.3), ("fwd", "forward", 0.5)))


def long(path):
    """2,200 steps, so that a point of the plot of phases holds four of them, and a loss that is told every 50 steps."""
    noise = random.Random(11)
    times = [40 if step == 1_502 else 10 * noise.uniform(0.98, 1.02) for step in range(2_200)]
    run(path, times, (("wait", "data_wait", 0.3), ("fwd", "forward", 0.5)),
        value=lambda step: {"stepscope.value.loss": 3 - step / 1_000} if step % 50 == 0 else {})


def many(path):
    """10 steps of 600 sections, of which four take most of the time and all others as long as each other."""
    parts = tuple((f"part_{number:03}", "forward", 0.1 if number < 4 else 0.001) for number in range(600))
    run(path, [10 + step % 3 for step in range(10)], parts)


def stepless(path):
    """One trace of a service: nothing in it is a step."""
    spans = [span(1, 1, None, "request", 0, 9_000_000), span(1, 2, 1, "query", 1_000_000, 6_000_000)]
    resource = {"attributes": [attribute("service.name", "shop")]}
    path.write_text(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "planted"}, "spans": spans}]}]}))


def named(path):
    """40 steps of a program whose name, and that of a phase, are long, in 300 sections with names of 50 letters."""
    long = [(f"{number:03}_".ljust(50, "x"), "forward", 0.002) for number in range(299)]
    own = ("own", "what one calls a phase where nobody counts letters..", 0.2)
    run(path, [10 + step % 3 for step in range(40)], (*long, own), service="program " * 375)


# Joined of several characters, one of them coloured, and marked: each is seen as one letter.
WORKER = "\U0001f469\U0001f3fd\u200d\U0001f4bb"
ACCENT = "e\u0301"
# 79 letters in 249 bytes.
LONG = WORKER + 78 * ACCENT
HEBREW = "\u05d8\u05e2\u05d9\u05e0\u05d4 7"


def strange(path):
    """80 steps with names that are empty, from right to left, and of letters that are several characters, long ones too."""
    names = (HEBREW, f"{WORKER}.load", LONG, "<b>&amp;\u202e", "a\\b", "tab\there\nline")
    parts = (("", None, 0.4), *((name, "forward", 0.1) for name in names))
    run(path, [10 + step % 3 for step in range(80)], parts)


def evaluating(path):
    """200 steps of training, of two hours each, and 20 of evaluation."""
    spans, now, number = [], 0, 0
    for step in range(220):
        mode, hours = ("train", 2) if step < 200 else ("eval", 1)
        length = int((hours + 0.01 * (step % 5)) * 3_600e9)
        number += 2
        spans.append(span(step + 1, number - 1, None, "step", now, now + length, stepscope__section__kind="step", stepscope__mode=mode,
                          stepscope__step=step if mode == "train" else step - 200, thread__id=1))
        spans.append(span(step + 1, number, number - 1, "forward", now, now + length // 2, thread__id=1, stepscope__phase="forward"))
        now += length + 1_000
    resource = {"attributes": [attribute("service.name", "slow"), attribute("stepscope.rank", 0)]}
    path.write_text(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "planted"}, "spans": spans}]}]}))
