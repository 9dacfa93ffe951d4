#!/usr/bin/env python3
"""Runs all leaks with several seeds and holds against what was planted what the report's first finding about memory says
(`--stepscope PROGRAM`; pauses come before it where other programs take the processors), or what the profile's messages say, read here
with binutils' addr2line and by no part of stepscope.
`./run.py --program target/release/leaks [--stepscope target/release/stepscope] [--period BYTES] [--bytes A_STEP]`."""
import argparse, collections, glob, json, os, re, subprocess, sys, tempfile


def attributes(point):
    return {entry["key"]: list(entry["value"].values())[0] for entry in point.get("attributes", [])}


def moments(folder):
    """Points of each message by metric."""
    (path,) = glob.glob(f"{folder}/**/memory-*.jsonl", recursive=True)
    data = lambda metric: metric.get("sum") or metric.get("gauge") or {}
    with open(path) as lines:
        for message in map(json.loads, lines):
            (scope,) = message["resourceMetrics"][0]["scopeMetrics"]
            yield {metric["name"]: data(metric).get("dataPoints", []) for metric in scope["metrics"]}


class Lines:
    """Lines of the program's own files, innermost first, by offset."""

    def __init__(self, program):
        self.program, self.known = program, {}

    def look(self, offsets):
        new = [offset for offset in offsets if offset not in self.known]
        if new:
            # A return address is behind its call.
            asked = "\n".join(hex(offset - 1) for offset in new) + "\n"
            call = ["addr2line", "-a", "-f", "-i", "-e", self.program]
            told = subprocess.run(call, input=asked, capture_output=True, text=True, check=True).stdout
            at, function = None, None
            for line in told.splitlines():
                if line.startswith("0x"):
                    at, function = self.known.setdefault(int(line, 16) + 1, []), None
                elif function is None:
                    function = line
                else:
                    file, number = line.split(" ")[0].rsplit(":", 1)
                    # The allocator's shims have the line of the static.
                    if "leaks/src/" in file and not function.startswith(("__r", "__rust")) and "___rust" not in function:
                        at.append((file[file.index("leaks/src/") + len("leaks/"):], int(number)))
                    function = None

    def own(self, frames):
        """The first line of the program's own in a stack."""
        offsets = [int(frame.rsplit("+", 1)[1], 16) for frame in frames.split(" ") if frame.startswith("leaks+")]
        self.look(offsets)
        return next((line for offset in offsets for line in self.known[offset]), None)


def live(points, lines):
    """Live bytes by section and line."""
    frames = {}
    for point in points["stepscope.memory.stack"]:
        told = attributes(point)
        frames[told["stepscope.memory.stack.id"]] = told["stepscope.memory.stack.frames"]
    sums = collections.Counter()
    for point in points["stepscope.memory.live.sampled"]:
        told = attributes(point)
        stack = told.get("stepscope.memory.stack.id")
        if stack in frames:
            sums[told.get("stepscope.path"), lines.own(frames[stack])] += int(point["asInt"])
    return sums


def culprit(folder, lines):
    """Section and line of what has grown most since the first tenth of the run."""
    # Where the run begins, at the end of each epoch, at the end of the run.
    told = [points for points in moments(folder) if points["stepscope.memory.live.sampled"]]
    grown = live(told[-1], lines)
    grown.subtract(live(told[0], lines))
    return grown.most_common(1)[0] if grown else ((None, None), 0)


def first_of_memory(stepscope, folder):
    """Section and line of the first finding about memory that grows, what it says, and what the first of all says."""
    call = [stepscope, "analyze", "--quiet", "--format", "json", folder]
    report = json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
    findings = report["findings"] or [{"rule": None, "title": "no finding"}]
    found = next((finding for finding in findings if finding["rule"] == "memory_growth"), None)
    if found is None:
        return (None, None), f"the verdict is {(report['memory']['course'] or {}).get('verdict')}", findings[0]["title"]
    line = re.search(r"allocated at (\S+?):(\d+)\b", found["title"])
    return (found["section"], line and (line[1], int(line[2]))), found["title"], findings[0]["title"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="target/release/leaks")
    parser.add_argument("--stepscope")
    parser.add_argument("--period", type=int, default=512 << 10)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--bytes", type=int, default=64 << 10)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    told = subprocess.run([program, "-"], capture_output=True, text=True, check=False).stderr
    names = told.split("leaks: ")[1].strip(' "\n').split(", ")
    lines, right, first_of_all, all_runs = Lines(program), 0, 0, 0
    for name in [options.only] if options.only else names:
        for seed in range(1, options.seeds + 1):
            with tempfile.TemporaryDirectory() as folder:
                environment = dict(os.environ, STEPSCOPE_FORMAT="json", STEPSCOPE_MEMORY_SAMPLE_BYTES=str(options.period))
                sizes = ["--steps", str(options.steps), "--bytes", str(options.bytes), "--seed", str(seed)]
                call = [program, name, *sizes, "--epoch", str(options.steps // 10), "--out", folder]
                run = subprocess.run(call, capture_output=True, text=True, check=True, env=environment)
                truth = json.loads(run.stdout)
                if options.stepscope:
                    (section, line), found, first = first_of_memory(options.stepscope, folder)
                else:
                    (section, line), found = culprit(folder, lines)
                    first = found
            is_right = section == truth["section"] and line == (truth["file"], truth["line"])
            all_runs, right = all_runs + 1, right + is_right
            first_of_all += is_right and found == first
            if is_right and found != first:
                print(f"SECOND {name} seed {seed}: first is {first}", flush=True)
            if not is_right:
                print(f"WRONG {name} seed {seed}: {section} {line} ({found}), planted {truth}", flush=True)
    how = f"by the report ({first_of_all} in its first finding)" if options.stepscope else "by the messages"
    told = f"a sample in {options.period} bytes, {options.steps} steps that leak {options.bytes} bytes"
    print(f"{right} of {all_runs} right, {how}: section and line, {told}")
    return right < all_runs * 0.95


if __name__ == "__main__":
    sys.exit(main())
