#!/usr/bin/env bash
# Records the runs in inputs/ anew. This is how they were made, once: recorded again, every report is another.
# Needs: cargo build --release -p stepscope-cli; cargo build -p stepscope --examples; cargo build -p stepscope-testkit
# --bin generate-run; cargo build --manifest-path examples/pipeline/Cargo.toml. `record.sh NAME...` records these alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
bin=${STEPSCOPE_BIN:-$root/target/release/stepscope}
debug=${STEPSCOPE_DEBUG:-$root/target/debug}
only=" $* "
for name in $(compgen -e | grep -E '^(STEPSCOPE|OTEL)_' || true); do unset "$name"; done
unset TRACEPARENT TRACESTATE BAGGAGE
export STEPSCOPE_RING_BYTES=16777216

# run NAME COMMAND...: calls it in an empty folder, whose profiles/, or the file run.*, is the run.
run() {
  local name=$1 folder
  shift
  [[ $only = "  " || $only = *" $name "* ]] || return 0
  folder=$(mktemp -d)
  (cd "$folder" && "$@") >/dev/null || { echo "$name failed" >&2; return 1; }
  rm -rf "$here/inputs/$name" "$here/inputs/$name".*
  mkdir -p "$here/inputs"
  find "$folder" -type f \( -path '*/profiles/*' -o -name 'run*' \) -exec gzip -n9 {} +
  if [ -d "$folder/profiles" ]; then
    mv "$folder/profiles" "$here/inputs/$name"
  else
    local file=("$folder"/run*)
    mv "${file[0]}" "$here/inputs/$name.${file[0]##*/run.}"
  fi
  chmod -R u+rwX,go+rX "$here/inputs/$name"*
  rm -rf "$folder"
  echo "$name $(du -sk "$here/inputs/$name"* | cut -f1) KiB"
}
demo() { "$bin" --quiet demo --out profiles "$@"; }
programs() { "$debug/examples/programs" "$@"; }
generate() { "$debug/generate-run" --out run.otlp "$@"; }
two_ranks() {
  for rank in 0 1; do
    STEPSCOPE_RANK=$rank STEPSCOPE_WORLD_SIZE=2 STEPSCOPE_RUN_ID=two demo --steps 100
  done
}
# ended SIGNAL: a demo that is ended after a while.
ended() {
  "$bin" --quiet demo --epochs 10000 --out profiles & local demo=$!
  until [ -n "$(find profiles -type f -size +0 2>/dev/null)" ]; do sleep 0.05; done
  sleep 1.2
  kill "-$1" $demo
  wait $demo || true
}
# ranks PLANT STEPS: three processes that meet at a socket.
ranks() {
  python3 - "$debug/examples/programs" "$@" <<'PY'
import os, socket, subprocess, sys
program, plant, steps = sys.argv[1:]
place = socket.socket(socket.AF_UNIX)
place.bind("meeting.socket")
place.listen()
told = dict(os.environ, WORLD_SIZE="3", STEPSCOPE_RUN_ID="ranks")
ranks = [subprocess.Popen([program, "ranks", plant, steps], env=dict(told, RANK=str(rank))) for rank in range(3)]
seats = [place.accept()[0] for _ in ranks]
while all(seat.recv(1) for seat in seats):
    for seat in seats:
        seat.send(b"1")
assert [rank.wait() for rank in ranks] == [0, 0, 0]
PY
}
# written KIND: runs of other programs, as text.
written() {
  python3 - "$1" <<'PY'
import json, os, sys
def line(trace, spans):
    spans = [{"traceId": f"{trace:032x}", "spanId": f"{at + 1:016x}", "parentSpanId": f"{1:016x}" if at else "",
              "name": name, "startTimeUnixNano": str(begin), "endTimeUnixNano": str(end), "attributes":
              [{"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
               for key, value in more.items()]} for at, (name, begin, end, more) in enumerate(spans)]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}) + "\n"
def phaseless(number):
    at = 1_700_000_000_000_000_000 + number * 1_000_000
    step = {"stepscope.section.kind": "step", "stepscope.step": number}
    return line(number, [("step", at, at + 1_000_000, step), ("alpha", at + 100_000, at + 800_000, {})])
def waiting(number):
    at, wait = 1_700_000_000_000_000_000 + number * 401_000_000, 10_000
    wait = 390_000_000 if number == 1 else 190_000_000 if number % 40 == 1 else wait
    step = {"thread.id": 1, "stepscope.section.kind": "step", "stepscope.epoch": number // 41}
    step["stepscope.step"] = number % 40
    return line(number, [("step", at, at + wait + 10_000_000, step), ("data_wait", at, at + wait, {"thread.id": 1}),
                         ("forward", at + wait, at + wait + 9_900_000, {"thread.id": 1})])
def kineto(rank):
    events = [{"ph": "M", "name": "process_name", "pid": 100 + rank, "tid": 0, "args": {"name": "python"}}]
    for number in range(40):
        start, forward = 1_000 + number * (5_600 + 10 * rank), 2_000 if rank == 2 else 1_000
        cpu = lambda kind, name, at, dur: {"ph": "X", "cat": kind, "name": name, "ts": start + at, "dur": dur,
                                           "pid": 100 + rank, "tid": 1}
        wait = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        events += [cpu("user_annotation", f"ProfilerStep#{10 + number}", 0, 5_500 + 10 * rank),
                   cpu("cpu_op", wait, 0, 500),
                   cpu("cpu_op", "aten::conv2d", 500, forward),
                   cpu("cpu_op", "autograd::engine::evaluate_function: Backward0", 500 + forward, 1_000),
                   cpu("user_annotation", "Optimizer.step#SGD.step", 5_000, 400),
                   cpu("cuda_runtime", "cudaLaunchKernel", 1_500 + forward, 10) | {"args": {"correlation": number + 1}},
                   {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": start + 1_520 + forward,
                    "dur": 3_400 - forward, "pid": 0, "tid": 7, "args": {"correlation": number + 1}},
                   {"ph": "C", "name": "memory", "ts": start, "pid": 100 + rank, "args": {"bytes": number}}]
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4},
                       "traceEvents": events, "baseTimeNanoseconds": 1_700_000_000_000_000_000})
if sys.argv[1] == "kineto":
    os.mkdir("profiles")
    for rank in range(4):
        open(f"profiles/worker{rank}.pt.trace.json", "w").write(kineto(rank))
else:
    one, steps = {"phaseless": (phaseless, 60), "waiting": (waiting, 200)}[sys.argv[1]]
    open("run.jsonl", "w").writelines(one(number) for number in range(1, steps + 1))
PY
}
pipeline() { "$root/examples/pipeline/target/debug/pipeline" "$@"; }

run demo_plain demo --steps 150
run demo_slow_loader demo --slow loader --steps 150
run demo_slow_preprocessing demo --slow preprocessing --steps 150
run demo_busy_loaders demo --busy-loaders --steps 150
run demo_leak demo --leak --steps 200
run demo_basic env STEPSCOPE_LEVEL=basic "$bin" --quiet demo --out profiles --steps 150
run demo_two_ranks two_ranks
run demo_killed ended KILL
run demo_terminated ended TERM
for plant in none serial shallow communication sync io host section checkpoint calls warmup jitter prefetch slower; do
  run "planted_$plant" programs planted $plant 1 200
done
run planted_tiny programs planted tiny 1 22
run planted_lost env STEPSCOPE_RING_BYTES=65536 "$debug/examples/programs" planted tiny 1 40
run between programs between 3000 200
run fed programs fed 3000 200
run evaluated programs evaluated 5000 200
for plant in slow late starved turns; do run "ranks_$plant" ranks $plant 100; done
run pool programs pool 4 7 60
run iterate programs iterate 100
run loader programs loader 40
run family programs family 3
run runs programs runs
run storm programs storm 3 1000
run smoke "$debug/examples/smoke" 60
run thinned env STEPSCOPE_DIR_BYTES=1000000 "$debug/examples/programs" budget 1500
run epochs programs epochs
run everything programs everything 60
run pipeline pipeline --steps 200
run pipeline_flush pipeline --steps 200 --plant flush
run phaseless written phaseless
run waiting written waiting
run kineto_ranks written kineto
run generated_deep generate --steps 60 --spans-per-step 30 --depth 6 --seed 11
run generated_ranks generate --steps 60 --ranks 4 --seed 7
run generated_torn generate --steps 60 --seed 8 --unfinished --cut 250000
