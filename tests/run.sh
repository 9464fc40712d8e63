#!/usr/bin/env bash
# All set-up and all tests, from a clean clone.
#
# Usage: tests/run.sh [--long] [--fast] [--only STAGE]...
#   --fast   leaves out the sanitizers, clang-tidy and the quickstart
#   --long   adds a minute of fuzzing for each of the four parsers
#   --only   runs one stage: format, floors, release, tidy, goldens, embed, quickstart, asan, fuzz
# The last line counts: "N passed, N failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

long=0 fast=0 only=()
while [ $# -gt 0 ]; do
  case "$1" in
    --long) long=1 ;;
    --fast) fast=1 ;;
    --only) only+=("$2"); shift ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "usage: $0 [--long] [--fast] [--only STAGE]..." >&2; exit 2 ;;
  esac
  shift
done

logs=$PWD/build/test-logs
mkdir -p "$logs"
passed=0 failed=0 failures=()
good() { passed=$((passed + ${1:-1})); }
bad() { failed=$((failed + ${2:-1})); failures+=("$1"); }

wanted() {
  [ ${#only[@]} -eq 0 ] && return 0
  local stage
  for stage in "${only[@]}"; do [ "$stage" = "$1" ] && return 0; done
  return 1
}
slow_wanted() { wanted "$1" && { [ $fast -eq 0 ] || [ ${#only[@]} -gt 0 ]; }; }

# check NAME COMMAND...: one test; its output is shown only where it fails.
check() {
  local name=$1 log
  shift
  log="$logs/${name//[^A-Za-z0-9_-]/_}.log"
  local begin=$SECONDS
  if "$@" >"$log" 2>&1; then
    good
    echo "ok      $name ($((SECONDS - begin)) s)"
  else
    bad "$name"
    echo "FAILED  $name ($((SECONDS - begin)) s), $log ends:"
    tail -n 40 "$log" | sed 's/^/    /'
  fi
}

# suite NAME BUILD_DIRECTORY [ctest options]: counts every test of ctest.
suite() {
  local name=$1 directory=$2 log="$logs/$1.log" total bad_count
  shift 2
  if ! (cd "$directory" && ctest --output-on-failure -j "$(nproc)" --timeout 600 "$@") >"$log" 2>&1; then
    grep -E '^\s*[0-9]+ - .*\((Failed|Timeout|SEGFAULT|Subprocess aborted|Not Run|ILLEGAL)' "$log" | sed 's/^/    /'
    grep -E 'error:|Failure|Expected|Actual|ERROR: ' "$log" | head -n 60 | sed 's/^/    /'
  fi
  total=$(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests failed out of ([0-9]+)$/\2/p' "$log")
  bad_count=$(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests failed out of ([0-9]+)$/\1/p' "$log")
  if [ -z "$total" ]; then
    bad "$name did not run"
    tail -n 20 "$log" | sed 's/^/    /'
    return
  fi
  good $((total - bad_count))
  [ "$bad_count" -gt 0 ] && bad "$name: $bad_count of $total" "$bad_count"
  echo "$name: $((total - bad_count)) of $total passed"
}

# binaries NAME DIRECTORY: the same tests with a process a folder, not one a test: starting up costs a sanitizer much.
binaries() {
  local name=$1 binary log ran bad_count
  for binary in "$2"/*_tests; do
    log="$logs/$name-$(basename "$binary").log"
    (cd "$2" && "$binary" --gtest_brief=1) >"$log" 2>&1
    local status=$?
    ran=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' "$log")
    bad_count=$(sed -nE 's/^ ?([0-9]+) FAILED TESTS?$/\1/p' "$log")
    good "${ran:-0}"
    echo "$name $(basename "$binary"): ${ran:-0} passed, ${bad_count:-0} failed"
    [ $status -eq 0 ] && continue
    bad "$name $(basename "$binary")" "${bad_count:-1}"
    grep -E 'error:|Failure|Expected|Actual|ERROR: ' "$log" | head -n 60 | sed 's/^/    /'
    tail -n 20 "$log" | sed 's/^/    /'
  done
}

sources() { git ls-files -- '*.h' '*.cpp' '*.c' | grep -E '^(runtime|ir|passes|frontend|codegen|compiler|tests|examples)/'; }
format_check() { sources | xargs -P 2 -n 20 clang-format-19 --dry-run --Werror; }
tidy_check() {  # a file at a time, without precompiled headers: what is used must be included
  cmake --preset debug -B build-tidy -DCMAKE_CXX_COMPILER=clang++-19 -DSMELT_PCH=OFF -DSMELT_BENCH=OFF || return 1
  sources | grep -E '^(runtime|ir|passes|frontend|codegen|compiler)/.*\.cpp$' |
    xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build-tidy --quiet
}
configure() { cmake --preset "$1" "${@:2}"; }

echo "== packages"
bash scripts/install-packages.sh all || exit 1

echo "== build (release)"
# Warnings are errors in the sanitizer build: at -O3 GCC 12 warns of faults in the standard library that are not there.
check "configure release" configure release -DSMELT_TESTS=ON -DSMELT_BENCH=ON -DSMELT_WERROR=OFF
check "build release" ninja -C build
wanted format && check "format" format_check
wanted floors && check "floors" bash tests/floors_test.sh
wanted release && suite release build
wanted goldens && for golden in tests/goldens/*/; do
  for precision in fp32 bf16 fp16; do
    check "verify $(basename "$golden") $precision" build/smelt verify "$golden" --target cpu --precision $precision
  done
done
wanted embed && check "embed" bash tests/embed_test.sh build
slow_wanted quickstart && check "quickstart, 20 steps" bash examples/quickstart.sh --run-dir build/test-quickstart \
  --steps 20 --warmup 5 --eval-every 10 --eval-batches 2 --sample-every 20 --checkpoint-every 10

if slow_wanted asan; then
  echo "== build (AddressSanitizer, UndefinedBehaviorSanitizer)"
  export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
  export ASAN_OPTIONS="detect_stack_use_after_return=0" UBSAN_OPTIONS="print_stacktrace=1"
  check "configure asan" configure asan -DSMELT_BENCH=OFF -DSMELT_WERROR=ON
  check "build asan" ninja -C build-asan
  binaries asan "$PWD/build-asan"
  unset LSAN_OPTIONS ASAN_OPTIONS UBSAN_OPTIONS
fi
slow_wanted tidy && check "clang-tidy" tidy_check

fuzz() {
  configure fuzz -DSMELT_SANITIZE=ON && ninja -C build-fuzz fuzzers || return 1
  local source name corpus
  for source in tests/fuzz/*_fuzz.cpp; do
    name=$(basename "$source" .cpp)
    corpus=tests/fuzz/corpus/${name%_fuzz}
    mkdir -p "$corpus" "build-fuzz/found/$name"
    "$(find build-fuzz -type f -name "$name" -perm -u+x | head -n 1)" "build-fuzz/found/$name" "$corpus" -max_total_time="$1" \
      -print_final_stats=1 -artifact_prefix="build-fuzz/found/$name-" || return 1
  done
}
if [ $long -eq 1 ] && slow_wanted fuzz; then check "fuzz, a minute each" fuzz 60; fi

for failure in ${failures[@]+"${failures[@]}"}; do echo "FAILED  $failure"; done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
