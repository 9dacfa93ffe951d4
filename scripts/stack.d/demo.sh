# shellcheck shell=bash disable=SC2154 # `here` and `cache` are those of ../stack
# `scripts/stack demo`: collector, Jaeger and Prometheus, and runs of stepscope's demo sent to them, to look at in Grafana
# or by hand. What the programs are and how they start is in build.sh and run.sh.

# Passes over the demo's data: so many that every figure is read a few times while a run goes on.
readonly demo_epochs=${STACK_DEMO_EPOCHS:-20}

# What runs beside the programs.
demo_pids=()

# The program: the one that STEPSCOPE_BIN names, else this repository's, else the one that is installed.
demo_program() {
  if [ -n "${STEPSCOPE_BIN-}" ]; then
    program=$STEPSCOPE_BIN
  elif command -v cargo >/dev/null; then
    say "building stepscope, a release: two to six minutes on 2 cores the first time (STEPSCOPE_BIN names a built one) …"
    (cd "$here/.." && cargo build --quiet --release -p stepscope-cli) || fail "failed to build stepscope"
    program=${CARGO_TARGET_DIR:-$here/../target}/release/stepscope
  else
    program=$(command -v stepscope) || fail "there is neither cargo nor stepscope: set STEPSCOPE_BIN"
  fi
  [ -x "$program" ] || fail "$program is no program"
}

# Becomes it, hence is called in a shell of its own: with the settings of this stack, and none of the caller's. The first
# arguments are further ones, up to `--`.
demo_call() {
  local dir=$1 settings=() name
  shift
  while [ "$1" != -- ]; do
    settings+=("$1")
    shift
  done
  shift
  for name in $(compgen -e OTEL_ || true) $(compgen -e STEPSCOPE_ || true); do settings=(-u "$name" "${settings[@]}"); done
  exec env ${settings[@]+"${settings[@]}"} OTEL_EXPORTER_OTLP_ENDPOINT="$(known OTEL_EXPORTER_OTLP_ENDPOINT "$dir/env")" \
    OTEL_METRIC_EXPORT_INTERVAL=1000 "$program" --quiet "$@"
}

# Trains as run $2 on $3 ranks with further arguments for the demo, and pushes what the analysis finds.
demo_run() {
  local dir=$1 run=$2 ranks=$3 rank pid
  shift 3
  say "run $run …"
  for ((rank = 0; rank < ranks; rank++)); do
    demo_call "$dir" STEPSCOPE_RUN_ID="$run" RANK=$rank WORLD_SIZE="$ranks" -- \
      demo --out "$dir/runs/$run" --format json --output /dev/null "$@" &
    demo_pids+=($!)
  done
  for pid in "${demo_pids[@]}"; do wait "$pid" || fail "the demo failed"; done
  demo_pids=()
  (demo_call "$dir" -- analyze "$dir/runs/$run" --push --format html --output "$dir/reports/$run.html") ||
    fail "failed to push what was found in $run"
}

# Waits until Prometheus has what the last run pushed.
demo_arrived() {
  local dir=$1 deadline=$((SECONDS + start_limit)) query
  query="$(binary prometheus)"
  query=${query%/*}/promtool
  until [ -n "$("$query" query instant "http://$(known PROMETHEUS "$dir/env")" \
    "stepscope_run_findings{stepscope_run_id=\"$2\"}" 2>/dev/null)" ]; do
    [ $SECONDS -lt $deadline ] || fail "Prometheus has no findings of $2; its log is $dir/prometheus.log"
    sleep 0.2
  done
  say "found, as Prometheus has it (rule, severity):"
  "$query" query instant "http://$(known PROMETHEUS "$dir/env")" \
    'sort_desc(max by (stepscope_run_id, stepscope_finding_rule) (stepscope_finding_severity))' |
    sed -n 's/^{stepscope_finding_rule="\([^"]*\)", stepscope_run_id="\([^"]*\)"} => \([0-9.]*\).*/  \2: \1 \3/p' >&2
}

# Ends what runs here.
demo_end() {
  trap '' INT TERM
  kill ${demo_pids[@]+"${demo_pids[@]}"} 2>/dev/null || true
  stop "$1" TERM "${all[@]}"
  say stopped
}

demo() {
  local dir=$1 ports=$2 program name began=$SECONDS now
  for name in "${all[@]}"; do
    ! is_running "$dir" "$name" || fail "$name runs in $dir already: scripts/stack stop --dir $dir, or another --dir"
  done
  demo_program
  for name in "${all[@]}"; do build "$name"; done
  configure "$dir" "$ports" --config "$here/../collector-config/laptop.yaml" --config "$here/../collector-config/prometheus.yaml"
  dir=$(cd "$dir" && pwd)
  mkdir -p "$dir/runs" "$dir/reports"
  trap 'exit 0' INT TERM
  # shellcheck disable=SC2064 # the folder of now
  trap "demo_end '$dir'" EXIT
  say "starting collector, Jaeger and Prometheus …"
  # Their addresses are told at the end, and only those that are of use.
  start "$dir" "${all[@]}" >/dev/null 2> >(sed '/: process /d; /^  [A-Z_]*=/d' >&2)
  now=$(date +%H%M%S)
  demo_run "$dir" "healthy-$now" 1 --epochs "$demo_epochs"
  # Its steps take twice as long.
  demo_run "$dir" "slow-loader-$now" 1 --epochs $((demo_epochs / 2)) --slow loader
  demo_run "$dir" "leak-$now" 2 --epochs "$demo_epochs" --leak
  demo_arrived "$dir" "leak-$now"
  demo_said "$dir" "$now" $((SECONDS - began))
  # Until others stop them. Waiting for it, the shell takes signals at once.
  while is_running "$dir" collector || is_running "$dir" jaeger || is_running "$dir" prometheus; do
    sleep 2 &
    demo_pids=($!)
    wait $! || true
  done
}

# What is where, and what to do with it.
demo_said() {
  local dir=$1 now=$2 file=$1/env
  cat <<TEXT

Ready after $3 s. Until Ctrl-C there are

  Prometheus  http://$(known PROMETHEUS "$file")
  Jaeger      http://$(known JAEGER_QUERY "$file")
  collector   $(known OTEL_EXPORTER_OTLP_ENDPOINT "$file")

and the runs healthy-$now, slow-loader-$now and leak-$now (two ranks). Built here, Prometheus and Jaeger have no
pages: they answer Grafana, and whoever asks their APIs.

Look at
  the boards   in your Grafana: add both addresses above as data sources, import grafana/dashboards (grafana/README.md);
               or all of it in containers: docker compose -f grafana/compose.yaml up
  a report     $dir/reports/leak-$now.html, in a browser
  the findings curl 'http://$(known PROMETHEUS "$file")/api/v1/query?query=last_over_time(stepscope_finding_severity%5B1d%5D)'
               and their sentences in $dir/data/findings/findings.jsonl
  a step       curl 'http://$(known JAEGER_QUERY "$file")/api/traces?service=stepscope-demo&limit=1&tags=%7B%22stepscope.step%22%3A%22100%22%7D'

Send your own program here: OTEL_EXPORTER_OTLP_ENDPOINT=$(known OTEL_EXPORTER_OTLP_ENDPOINT "$file") your-program
TEXT
}
