# shellcheck shell=bash disable=SC2154 # `here` and `cache` are those of ../stack
# Starting and stopping the programs, on loopback only. A folder holds all that belongs to one set of them: `env`
# (addresses, to be sourced), NAME.pid, NAME.log, `data`.

# Program, name of the address, usual port.
readonly addresses="
collector COLLECTOR_OTLP_HTTP 4318
collector COLLECTOR_OTLP_GRPC 4317
collector COLLECTOR_HEALTH 13133
collector COLLECTOR_METRICS 8888
collector COLLECTOR_PROMETHEUS 9464
jaeger JAEGER_OTLP_HTTP 14318
jaeger JAEGER_OTLP_GRPC 14317
jaeger JAEGER_QUERY 16686
jaeger JAEGER_QUERY_GRPC 16685
jaeger JAEGER_HEALTH 13134
jaeger JAEGER_METRICS 8889
prometheus PROMETHEUS 9090
"

# Seconds that a program may take until it answers, and to end.
readonly start_limit=60 stop_limit=20

# Whether anything listens on port $1.
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Below the ports that systems give to outgoing connections, so that none of those takes it meanwhile.
free_port() {
  local port
  for _ in {1..200}; do
    port=$((20000 + RANDOM % 12000))
    if ! listens $port && ! grep -qs ":$port\$" "$1"; then
      printf '%s\n' $port
      return
    fi
  done
  fail "no free port"
}

# The value of $1 in the environment, else in the file $2.
known() {
  if [ -n "${!1-}" ]; then
    printf '%s\n' "${!1}"
  else
    sed -n "s/^$1=//p" "$2" 2>/dev/null | tail -n 1
  fi
}

# Completes the file DIR/env.
address_all() {
  local dir=$1 ports=$2 file=$1/env program name port
  touch "$file"
  while read -r program name port; do
    [ -n "$program" ] || continue
    local value
    value=$(known "$name" "$file")
    if [ -z "$value" ]; then
      if [ "$ports" = free ] || listens "$port"; then port=$(free_port "$file"); fi
      value=127.0.0.1:$port
    fi
    grep -qs "^$name=" "$file" || printf '%s=%s\n' "$name" "$value" >>"$file"
  done <<<"$addresses"
  if ! grep -q '^OTEL_EXPORTER_OTLP_ENDPOINT=' "$file"; then
    local otlp collector jaeger store
    otlp=$(known COLLECTOR_OTLP_HTTP "$file")
    collector=$(known COLLECTOR_METRICS "$file")
    jaeger=$(known JAEGER_METRICS "$file")
    store=$(known JAEGER_OTLP_GRPC "$file")
    printf '%s\n' "COLLECTOR_METRICS_HOST=${collector%:*}" "COLLECTOR_METRICS_PORT=${collector##*:}" \
      "JAEGER_METRICS_HOST=${jaeger%:*}" "JAEGER_METRICS_PORT=${jaeger##*:}" \
      "COLLECTOR_DATA=$dir/data" "STORE_OTLP_GRPC=$store" STORE_INSECURE=true \
      "OTEL_EXPORTER_OTLP_ENDPOINT=http://$otlp" >>"$file"
  fi
}

# Whether the process in DIR/NAME.pid is that program still.
is_running() {
  local pid
  pid=$(cat "$1/$2.pid" 2>/dev/null) || return 1
  case $(ps -p "$pid" -o args= 2>/dev/null) in
    */"$2" | */"$2 "*) return 0 ;;
    *) return 1 ;;
  esac
}

# Whether http://$1$2 answers 200.
answers() {
  local reply
  reply=$(
    exec 2>/dev/null 3<>"/dev/tcp/${1%:*}/${1##*:}" || exit 1
    printf 'GET %s HTTP/1.0\r\nHost: %s\r\n\r\n' "$2" "$1" >&3
    IFS= read -r -t 5 line <&3 && printf '%s' "$line"
  ) || return 1
  [[ $reply == HTTP/1.?" 200"* ]]
}

is_ready() {
  case $2 in
    collector) answers "$(known COLLECTOR_HEALTH "$1/env")" / ;;
    jaeger)
      answers "$(known JAEGER_HEALTH "$1/env")" /status && answers "$(known JAEGER_QUERY "$1/env")" /api/v3/services
      ;;
    prometheus) answers "$(known PROMETHEUS "$1/env")" /-/ready ;;
  esac
}

# Starts one program with the addresses of DIR/env in its environment.
launch() {
  local dir=$1 program=$2 line=() argument
  local kind=$program
  [ "$program" != collector ] || kind=${STACK_COLLECTOR:-collector}
  line=("$(binary "$kind")")
  [ -x "${line[0]}" ] || fail "$kind is not built: scripts/stack build $kind"
  case $program in
    collector)
      while IFS= read -r argument; do line+=("$argument"); done <"$dir/collector.arguments"
      ;;
    jaeger) line+=(--config "$here/stack.d/jaeger.yaml") ;;
    prometheus)
      # It expands no variables where it needs addresses.
      sed -e "s/COLLECTOR_PROMETHEUS/$(known COLLECTOR_PROMETHEUS "$dir/env")/" -e "s|REPOSITORY|${here%/*}|" \
        "$here/stack.d/prometheus.yml" >"$dir/prometheus.yml"
      line+=(--config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data/prometheus"
        --web.listen-address="$(known PROMETHEUS "$dir/env")" --web.enable-otlp-receiver --enable-feature=exemplar-storage)
      ;;
  esac
  # The programs' own telemetry must not go where the caller's goes.
  (
    for name in $(compgen -e OTEL_ || true); do unset "$name"; done
    set -a
    # shellcheck source=/dev/null
    source "$dir/env"
    set +a
    unset OTEL_EXPORTER_OTLP_ENDPOINT
    cd "$dir" || exit
    exec "${line[@]}" </dev/null >>"$dir/$program.log" 2>&1
  ) &
  printf '%s\n' $! >"$dir/$program.pid"
}

# Writes down where everything is to run, and with what; what was written down before stays.
configure() {
  local dir=$1 ports=$2
  shift 2
  mkdir -p "$dir/data"
  dir=$(cd "$dir" && pwd)
  address_all "$dir" "$ports"
  local laptop has_config='' argument
  laptop=$(cd "$here/.." && pwd)/collector-config/laptop.yaml
  if [ $# -gt 0 ] || [ ! -s "$dir/collector.arguments" ]; then
    for argument in "$@"; do
      [ "$argument" = --config ] && has_config=yes
      # The program runs elsewhere.
      [ -f "$argument" ] && argument=$(cd "$(dirname "$argument")" && pwd)/$(basename "$argument")
      printf '%s\n' "$argument"
    done >"$dir/collector.arguments"
    [ -n "$has_config" ] || printf '%s\n' --config "$laptop" >>"$dir/collector.arguments"
  fi
}

start() {
  local dir program deadline
  dir=$(cd "$1" && pwd)
  shift
  # Jaeger first: the collector sends to it.
  for program in prometheus jaeger collector; do
    [[ " $* " == *" $program "* ]] || continue
    is_running "$dir" "$program" && continue
    launch "$dir" "$program"
    deadline=$((SECONDS + start_limit))
    until is_ready "$dir" "$program"; do
      if ! is_running "$dir" "$program" && ! kill -0 "$(cat "$dir/$program.pid")" 2>/dev/null; then
        tail -n 20 "$dir/$program.log" >&2
        rm -f "$dir/$program.pid"
        fail "$program ended at its start; its log is $dir/$program.log"
      fi
      if [ $SECONDS -ge $deadline ]; then
        tail -n 20 "$dir/$program.log" >&2
        stop "$dir" KILL "$program"
        fail "$program did not answer within $start_limit s; its log is $dir/$program.log"
      fi
      sleep 0.1
    done
  done
  status "$dir" "$@"
  printf '%s\n' "$dir/env"
}

stop() {
  local dir=$1 signal=$2 program pid deadline
  shift 2
  # The collector first: it has something to send.
  for program in collector jaeger prometheus; do
    [[ " $* " == *" $program "* ]] || continue
    if is_running "$dir" "$program"; then
      say "stopping $program in $dir"
      pid=$(cat "$dir/$program.pid")
      kill -s "$signal" "$pid" 2>/dev/null || true
      deadline=$((SECONDS + stop_limit))
      while is_running "$dir" "$program"; do
        if [ $SECONDS -ge $deadline ]; then
          say "$program does not end: killed"
          kill -s KILL "$pid" 2>/dev/null || true
        fi
        sleep 0.05
      done
    fi
    rm -f "$dir/$program.pid"
  done
}

status() {
  local dir=$1 program name port
  shift
  for program in "$@"; do
    if ! is_running "$dir" "$program"; then
      say "$program: not running"
      continue
    fi
    say "$program: process $(cat "$dir/$program.pid")"
    while read -r owner name port; do
      if [ "$owner" = "$program" ]; then say "  $name=$(known "$name" "$dir/env")"; fi
    done <<<"$addresses"
  done
}
