#!/usr/bin/env python3
"""Freezes the reports on some dozens of runs, and holds those of a changed program against them.

    golden.py write [--only NAME]            writes expected/
    golden.py check [--only NAME] [--list FILE] [--ignore PATTERN] [--tolerance REL]

The program is STEPSCOPE_BIN, else target/release/stepscope. README.md says what the tables hold.
"""

import argparse
import collections
import csv
import difflib
import functools
import gzip
import hashlib
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INPUTS, EXPECTED = HERE / "inputs", HERE / "expected"
SHARED = pathlib.Path(os.environ.get("STEPSCOPE_SHARED_DATA", ROOT.parent / "shared/data"))
IGNORED = ("inputs", "tool", "schema_version")
# Runs of which every format is kept.
IN_ALL_FORMATS = ("demo_slow_loader", "demo_two_ranks", "kineto_ranks")
FORMATS = ("text", "md", "csv", "html")

FOREIGN = {
    "foreign_hta_simple_add": "hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz",
    "foreign_hta_alexnet": "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
    "foreign_hta_amd": "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "foreign_hta_cpu_only": "hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    "foreign_kineto_workers0": "kineto/resnet50_workers0/worker0.1623143089861.pt.trace.json.gz",
    "foreign_kineto_workers4": "kineto/resnet50_workers4/worker0.1623212756351.pt.trace.json.gz",
    "foreign_crisp_10": "crisp/10.json",
    "foreign_crisp_18": "crisp/18.json",
    "foreign_crisp_err1": "crisp/err_pattern1/err1.json",
    "foreign_jaeger_critical1": "jaeger_ui/critical_path/test1.json",
    "foreign_jaeger_self_time": "jaeger_ui/self_time/testTrace.json",
    "foreign_jaeger_links": "jaeger_fixtures/link_attributes_trace.json",
    "foreign_jaeger_otel": "jaeger_fixtures/otel_traces_01.json",
    "foreign_case_gpu_steps": "cases/gpu_annotation_steps.json",
    "foreign_case_lost_quote": "cases/lost_quote.json",
    "foreign_case_negative": "cases/negative_durations.json",
}

# Runs that are made anew each time; the sum of their bytes is kept beside the report.
GENERATED = {
    "generated_100k": "--steps 100000 --seed 33".split(),
    "generated_ranks_20k": "--steps 5000 --ranks 4 --depth 6 --spans-per-step 20 --seed 34".split(),
}

# What tells the rows of a list apart, so that one that is missing does not shift all behind it.
ROW_KEYS = ("id", "path", "rule", "name", "mode", "phase", "reason", "sink", "kind", "process", "rank", "step")


def program():
    found = pathlib.Path(os.environ.get("STEPSCOPE_BIN", ROOT / "target/release/stepscope")).resolve()
    if not found.is_file():
        sys.exit(f"{found} is not there: cargo build --release -p stepscope-cli, or set STEPSCOPE_BIN")
    return str(found)


def generator():
    places = [ROOT / "target" / profile / "generate-run" for profile in ("release", "debug")]
    given = os.environ.get("STEPSCOPE_GENERATE_RUN")
    return next((str(place) for place in [given, *places] if place and pathlib.Path(place).is_file()), None)


def runs(only, scratch):
    """Each run: its name, the folder to call the program in, the input there, and whose bytes it is, if it was made."""
    wanted = lambda name: only is None or re.fullmatch(only.replace("*", ".*"), name)
    for path in sorted(path.name for path in INPUTS.iterdir()):
        if wanted(path.split(".")[0]):
            yield path.split(".")[0], INPUTS, path, None
    for name, path in FOREIGN.items():
        if wanted(name):
            if (SHARED / path).is_file():
                yield name, SHARED, path, None
            else:
                print(f"SKIPPED: {name}: {SHARED / path} is not there (STEPSCOPE_SHARED_DATA)")
    for name, options in GENERATED.items():
        if wanted(name):
            if generator() is None:
                print(f"SKIPPED: {name}: no generator: cargo build -p stepscope-testkit --bin generate-run")
                continue
            file = scratch / f"{name}.otlp"
            subprocess.run([generator(), *options, "--out", file], check=True, stderr=subprocess.DEVNULL)
            yield name, scratch, file.name, hashlib.sha256(file.read_bytes()).hexdigest()
            file.unlink()


def render(folder, path, form):
    """What the program prints; of the tables' folder, all files one behind the other."""
    settings = ("STEPSCOPE_", "OTEL_")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(settings)}
    command = [program(), "--quiet", "--no-color", "analyze", "--format", form, path]
    with tempfile.TemporaryDirectory() as out:
        if form == "csv":
            command += ["--output", out]
        done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{path}: exit code {done.returncode}: {done.stderr.decode()}")
        if form != "csv":
            return done.stdout
        files = sorted(pathlib.Path(out).iterdir())
        return b"".join(f"== {file.name}\n".encode() + file.read_bytes() for file in files)


def thinned(value):
    """The value with about a thousand rows of each longer list, and the number of all."""
    if isinstance(value, dict):
        return {key: thinned(inner) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    some = value if len(value) < 2_000 else [*value[:: len(value) // 1_000], {"#rows": len(value)}]
    return [thinned(inner) for inner in some]


def expected_file(name, form):
    return EXPECTED / f"{name}.{form}.gz"


def formats(name):
    return ("json", *(FORMATS if name in IN_ALL_FORMATS else ()))


def write(args):
    EXPECTED.mkdir(exist_ok=True)
    kept = read_table("generated.json", {})
    with tempfile.TemporaryDirectory() as scratch:
        for name, folder, path, digest in runs(args.only, pathlib.Path(scratch)):
            for form in formats(name):
                text, file = render(folder, path, form), expected_file(name, form)
                if digest:
                    text = json.dumps(thinned(json.loads(text)), indent=0).encode()
                # What is equal keeps its bytes, whatever this machine's compressor makes of it.
                if not file.is_file() or gzip.decompress(file.read_bytes()) != text:
                    file.write_bytes(gzip.compress(text, 9, mtime=0))
                    print(f"{name}.{form}: written")
            if digest:
                kept[name] = digest
    (HERE / "generated.json").write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def read_table(name, default):
    file = HERE / name
    return json.loads(file.read_text()) if file.is_file() else default


# Trees as paths and leaves.


def leaves(value, path=()):
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def tree(items):
    """The tree of paths and leaves; lists are those whose keys are all numbers, closed up."""
    root = {}
    for path, value in items:
        at = root
        for part in path[:-1]:
            at = at.setdefault(part, {})
        at[path[-1]] = value

    def close(node):
        if not isinstance(node, dict) or not node:
            return node
        inner = {key: close(value) for key, value in node.items()}
        is_list = all(isinstance(key, int) for key in inner)
        return [inner[key] for key in sorted(inner)] if is_list else inner

    return close(root)


class Row(str):
    """What a row of a list is known by."""


def pattern(path, index=lambda part: "[]"):
    return "".join(index(part) if isinstance(part, (int, Row)) else f".{part}" for part in path).lstrip(".")


def shown(path):
    return pattern(path, lambda part: f"[{part}]")


def matches(text, globbed):
    """Whether a path's pattern is the given one or below it; `*` stands for anything."""
    return re.fullmatch(re.escape(globbed).replace(r"\*", ".*") + r"([.\[].*)?", text) is not None


class Renames:
    def __init__(self, table):
        self.keys, self.values = table.get("keys", {}), table.get("values", {})
        self.deleted, self.words = table.get("deleted", []), table.get("words", {})

    def path(self, path):
        indexes = [part for part in path if isinstance(part, int)]
        places = iter(range(len(indexes)))
        kind = tuple(next(places) if isinstance(part, int) else part for part in path)
        return tuple(indexes[part] if isinstance(part, int) else part for part in self.of_kind(kind))

    @functools.cache
    def of_kind(self, path):
        """The new path; indexes are told by their places among the indexes."""
        out = []
        for place, part in enumerate(path):
            new = None
            if isinstance(part, str):
                whole = pattern(path[: place + 1])
                new = self.keys.get(f"$.{whole}", self.keys.get(whole, self.keys.get(part)))
            if new is None:
                out.append(part)
            elif new.startswith("$.") or "." in new:
                indexes = iter([part for part in path[:place] if isinstance(part, int)])
                parts = re.findall(r"\[\]|[^.\[\]]+", new.removeprefix("$."))
                out = [next(indexes) if part == "[]" else part for part in parts]
            else:
                out.append(new)
        return tuple(out)

    def value(self, path, value):
        keys = [part for part in path if isinstance(part, str)]
        for table in (pattern(path), keys[-1] if keys else "", "*"):
            if isinstance(value, str) and value in self.values.get(table, {}):
                return self.values[table][value]
        return value

    @functools.cache
    def is_deleted(self, one):
        return any(matches(one, globbed) for globbed in self.deleted)

    def tree(self, report):
        if not (self.keys or self.values or self.deleted):
            return report
        old = ((path, value) for path, value in leaves(report) if not self.is_deleted(pattern(path)))
        return tree((self.path(path), self.value(path, value)) for path, value in old)

    def text(self, text):
        for old, new in self.words.items():
            text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)
        return text


def rows(value, path=()):
    """Leaves, with rows of lists by what they are known by, and the order of these as a leaf of its own."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from rows(inner, (*path, key))
    elif isinstance(value, list) and value:
        keys = row_keys(value)
        for key, inner in zip(keys or range(len(value)), value):
            yield from rows(inner, (*path, key))
        if keys:
            yield (*path, "#order"), keys
    else:
        yield path, value


def row_keys(value):
    if not all(isinstance(row, dict) for row in value):
        return None
    for key in ROW_KEYS:
        found = [Row(row.get(key)) for row in value if isinstance(row.get(key), (str, int))]
        if len(found) == len(value) == len(set(found)):
            return found
    return None


def differences(old, new, tolerance):
    """Path, old and new, of each leaf that differs, and of each row or object that only one of them has."""
    old, new = dict(rows(old)), dict(rows(new))
    absent, told = "(absent)", set()
    within = [{path[:end] for path in one for end in range(1, len(path) + 1)} for one in (old, new)]
    for path in [*old, *(path for path in new if path not in old)]:
        before, after = old.get(path, absent), new.get(path, absent)
        other = within[0] if before == absent else within[1] if after == absent else None
        top = other and next((path[:end] for end in range(1, len(path)) if path[:end] not in other), None)
        if top:
            if top not in told:
                told.add(top)
                yield (top, absent, "{...}") if before == absent else (top, "{...}", absent)
            continue
        if path[-1:] == ("#order",):
            if absent in (before, after):
                continue
            before, after = ([key for key in one if key in other] for one, other in ((before, after), (after, before)))
        if type(before) is type(after) and before == after:
            continue
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (before, after))
        if numbers and abs(before - after) <= tolerance * max(abs(before), abs(after)):
            continue
        yield path, before, after


class Page(html.parser.HTMLParser):
    """The text of a page, a line a cell or block: no scripts, styles, drawings."""

    HIDDEN = ("script", "style", "svg")

    hidden = 0

    def handle_starttag(self, tag, attributes, change=1):
        self.hidden += change * (tag in self.HIDDEN)
        self.text.append("\n")

    def handle_endtag(self, tag):
        self.handle_starttag(tag, [], -1)

    def handle_data(self, data):
        if not self.hidden:
            self.text.append(data)


def words(text, form):
    """What is compared of a text: its words, or a table's cells."""
    if form == "html":
        page = Page()
        page.text = []
        page.feed(text)
        text = "".join(page.text)
        return [word for word in text.split() if not re.fullmatch(r"[0-9A-Za-z+/=_-]{60,}", word)]
    if form == "csv":
        return [" ".join(cell.split()) for row in csv.reader(text.splitlines()) for cell in row]
    return text.split()


def changed_words(old, new):
    """Spans of words that differ, as paths and texts."""
    start = next((at for at, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    ends = zip(reversed(old[start:]), reversed(new[start:]))
    end = next((at for at, (a, b) in enumerate(ends) if a != b), min(len(old), len(new)) - start)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield (kind,), " ".join(old[a:b]), " ".join(new[c:d])


def compare(name, form, folder, path, renames, tolerance):
    file = expected_file(name, form)
    if not file.is_file():
        return [((form,), "(absent)", "a report that is not kept: golden.py write")]
    old, new = gzip.decompress(file.read_bytes()).decode(), render(folder, path, form).decode()
    if form != "json":
        found = changed_words(words(renames.text(old), form), words(new, form))
        return [((form, *at), before, after) for at, before, after in found]
    old, new = json.loads(old), thinned(json.loads(new)) if name in GENERATED else json.loads(new)
    for report in (old, new):
        for key in IGNORED:
            report.pop(key, None)
    old = renames.tree(old)
    return [] if old == new else list(differences(old, new, tolerance))


def brief(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 70 else f"{text[:67]}..."


def check(args):
    renames, kept = Renames(read_table("renames.json", {})), read_table("generated.json", {})
    allowed = read_table("allowed.json", [])
    allowed += [{"pattern": given, "reason": "--ignore"} for given in args.ignore]
    totals, by_reason, count, listed = collections.defaultdict(list), collections.Counter(), 0, []
    with tempfile.TemporaryDirectory() as scratch:
        for name, folder, path, digest in runs(args.only, pathlib.Path(scratch)):
            count += 1
            groups = collections.defaultdict(list)
            if digest != kept.get(name):
                groups["the generated input"].append(((), kept.get(name), digest))
            for form in formats(name):
                for at, before, after in compare(name, form, folder, path, renames, args.tolerance):
                    one = pattern(at)
                    fits = lambda row: matches(one, row["pattern"]) and name in row.get("runs", [name])
                    reason = next((row["reason"] for row in allowed if fits(row)), None)
                    if reason is None:
                        groups[one].append((at, before, after))
                    else:
                        by_reason[reason] += 1
                    listed.append(f"{name}\t{reason or ''}\t{shown(at)}\t{json.dumps(before)}\t{json.dumps(after)}\n")
            if groups:
                print(f"{name}: {sum(map(len, groups.values()))} differences")
            for one, found in groups.items():
                totals[one].append((name, len(found)))
                at, before, after = found[0]
                print(f"  {len(found):5} x {one}   {brief(shown(at))}: {brief(before)} -> {brief(after)}")
    if len(totals) > 1:
        print("\nOver all runs:")
        for one, found in sorted(totals.items(), key=lambda item: -len(item[1])):
            print(f"  {sum(number for _, number in found):6} in {len(found):2} runs  {one}")
    for reason, number in by_reason.items():
        print(f"allowed: {number} differences: {reason}")
    if args.list:
        pathlib.Path(args.list).write_text("".join(listed))
    print(f"{count} runs, {'DIFFERENT' if totals else 'equal'}")
    return bool(totals) or not count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["write", "check"])
    parser.add_argument("--only", metavar="NAME", help="this run, or those that fit, with *")
    parser.add_argument("--list", metavar="FILE", help="write every difference here, tab-separated")
    parser.add_argument("--ignore", metavar="PATTERN", action="append", default=[], help="as in allowed.json")
    parser.add_argument("--tolerance", type=float, default=0.0, metavar="REL", help="by which numbers may differ (0)")
    args = parser.parse_args()
    sys.exit(write(args) if args.verb == "write" else check(args))


if __name__ == "__main__":
    main()
