#!/usr/bin/env python3
"""What live memory by sample costs and names beside dhat, jemalloc's profiler and heaptrack (Debian's), on planted leaks.

    cargo build --release --features peers
    ./peers.py --stepscope PROGRAM [LEAK...]

Cost is the CPU time of the process to that of the same program with the system's allocator and without a recorder, run in turn:
the median of the rounds' ratios. What is named is the line of the program that holds most at the end of the run.
"""

import argparse, collections, glob, json, math, os, re, resource, statistics, subprocess, sys, tempfile

from run import Lines, first_of_memory

RATE = 512 << 10
OWN = re.compile(r"\bsrc/(programs/\w+|retainer)\.rs:\d+")
JEMALLOC = "prof:true,prof_final:true,lg_prof_sample:19"


def cpu_s(call, environment, folder):
    """CPU time of a command and all that it starts, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, **environment}
    run = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(after[:2]) - sum(before[:2]), run.stdout


def largest(held):
    return ", ".join(f"{line} {held / 1e6:.1f} MB" for line, held in held.most_common(2))


def of_dhat(folder, _program):
    with open(f"{folder}/dhat-heap.json") as file:
        told = json.load(file)
    held = collections.Counter()
    for point in told["pps"]:
        frames = (OWN.search(told["ftbl"][frame]) for frame in point["fs"])
        held[next((frame[0] for frame in frames if frame), "?")] += point["eb"]
    return largest(held)


def of_jemalloc(folder, program):
    (path,) = glob.glob(f"{folder}/jeprof.*.heap")
    with open(path) as file:
        stacks, maps = file.read().split("MAPPED_LIBRARIES:")
    name = os.path.basename(program)
    base = next(int(line.split("-")[0], 16) for line in maps.splitlines() if line.endswith(name))
    lines, held = Lines(program), collections.Counter()
    for addresses, blocks, size in re.findall(r"@ ([0-9a-fx ]+)\n *t\*: (\d+): (\d+)", stacks):
        if int(blocks):
            mean = int(size) / int(blocks)
            frames = " ".join(f"leaks+{int(address, 16) - base:#x}" for address in addresses.split())
            # As `jeprof` does it.
            held["%s:%s" % (lines.own(frames) or ("?", 0))] += int(size) / (1 - math.exp(-mean / RATE))
    return largest(held)


def of_heaptrack(folder, _program):
    (path,) = glob.glob(f"{folder}/heaptrack.out*")
    call = ["heaptrack_print", "-l1", "-p0", "-a0", "-T0", "-m0", "-f", path]
    told = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    held = collections.Counter()
    for part in re.split(r"^(?=\S+ leaked over )", told, flags=re.M)[1:]:
        size, unit, line = re.match(r"([\d.]+)([KMG]?)", part).groups() + (OWN.search(part),)
        held[line[0] if line else "?"] += float(size) * 1e3 ** " KMG".index(unit or " ")
    return largest(held)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default="target/release")
    parser.add_argument("--stepscope", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("leaks", nargs="*", default=["cache-map", "graph-sum"])
    options = parser.parse_args()
    programs = {name: os.path.abspath(f"{options.folder}/leaks-{name}") for name in ("plain", "dhat", "jemalloc")}
    programs["stepscope"] = os.path.abspath(f"{options.folder}/leaks")
    steps = "--steps 3000 --step-us 0 --bytes 16384".split()
    unrecorded = [*steps, "--unrecorded"]
    sampled = lambda period: {"STEPSCOPE_MEMORY_SAMPLE_BYTES": str(period)}

    for leak in options.leaks:
        of = lambda name, arguments: [programs[name], leak, *arguments]
        heaptrack = ["heaptrack", "-o", "heaptrack.out", *of("plain", unrecorded)]
        report = lambda folder, _: first_of_memory(options.stepscope, f"{folder}/profiles")[1]
        runs = {
            "the system's allocator": (of("plain", unrecorded), {}, None),
            "stepscope counts": (of("stepscope", unrecorded), {}, None),
            "stepscope records, live memory off": (of("stepscope", steps), sampled(0), None),
            "stepscope records, live memory on": (of("stepscope", steps), sampled(RATE), report),
            "the same, one in 64 KiB": (of("stepscope", steps), sampled(64 << 10), report),
            "jemalloc": (of("jemalloc", unrecorded), {}, None),
            "jemalloc, its profiler on": (of("jemalloc", unrecorded), {"_RJEM_MALLOC_CONF": JEMALLOC}, of_jemalloc),
            "dhat": (of("dhat", unrecorded), {}, of_dhat),
            "heaptrack": (heaptrack, {}, of_heaptrack),
        }
        ratios, named = collections.defaultdict(list), {}
        for _ in range(options.rounds):
            base = None
            for what, (call, environment, names) in runs.items():
                with tempfile.TemporaryDirectory() as folder:
                    took, told = cpu_s(call, environment, folder)
                    base = base or took
                    ratios[what].append(took / base)
                    if names and what not in named:
                        named[what] = names(folder, call[0])
        truth = json.loads(next(line for line in told.splitlines() if line.startswith("{")))
        print(f"{leak}: {truth['bytes'] / 1e6:.1f} MB leaked at {truth['file']}:{truth['line']} in {truth['section']}")
        for what, all_ratios in ratios.items():
            print(f"  {what:36} {statistics.median(all_ratios):6.2f}  {named.get(what, '')}")


if __name__ == "__main__":
    sys.exit(main())
