#!/usr/bin/env bash
# All set-up and all checks, from a clean clone.
#
# Usage: tests/run.sh [--long] [--fast] [--only STAGE]...
#        tests/run.sh --changed [COMMIT]     what was changed since a commit, in minutes (tests/changed.sh)
#   --fast   leaves out the sanitizers, clang-tidy, the includes and the quickstart
#   --long   checks the includes of all files, adds clang-tidy file by file, builds with all checks of the sanitizers and
#            runs all tests with them, fuzzes each parser for a minute, edits plans 12,000 times, compares
#            2,000 random graphs with the evaluator, and installs the packages in a clean Debian
# The sanitizers and clang-tidy examine what was changed since main (on main: in three hours) and a part of the
# rest, by folders (tests/sanitized_folders.py); of a change of more than 400 files, a third. The part changes from day to day;
# SMELT_TURN=N repeats that of another day (the first line prints N).
#   --only   runs one stage: format, floors, tests, goldens, embed, docs, python, quickstart, asan, tsan, tidy, includes, fuzz,
#            edits, graphs, installs
# At the end stands a table of stages with their seconds. The last line counts: "N passed, N failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ "${1:-}" = --changed ] && { shift; exec bash tests/changed.sh "$@"; }
long=0 fast=0 only=()
while [ $# -gt 0 ]; do
  case "$1" in
    --long) long=1 ;;
    --fast) fast=1 ;;
    --only) only+=("$2"); shift ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "usage: $0 [--long] [--fast] [--only STAGE]..." >&2; exit 2 ;;
  esac
  shift
done

cores=$(nproc)
turn=${SMELT_TURN:-$(($(date +%s) / 86400))}
# Tests in C++ have the kernels of OpenBLAS that the command line and the package take (runtime/cpu/blas_core.h).
if grep -q avx512vl /proc/cpuinfo 2>/dev/null; then
  export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-SkylakeX}
fi
logs=$PWD/build/test-logs
mkdir -p "$logs"
passed=0 failed=0 failures=() table=() sampled=0
good() { passed=$((passed + ${1:-1})); }
bad() { failed=$((failed + ${2:-1})); failures+=("$1"); }

# Sets `used` to the seconds of processor time that ended processes have taken so far.
processor_seconds() {
  local file=$logs/times-$BASHPID
  times >"$file"
  used=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' "$file")
  rm "$file"
}

# stage NAME COMMAND...: runs it where it is wanted, and writes a row of the table.
stage() {
  local name=$1 begin=$SECONDS used before
  shift
  processor_seconds
  before=$used
  echo "== $name"
  "$@"
  processor_seconds
  table+=("$(printf '%-12s %7d %10d' "$name" $((SECONDS - begin)) $((used - before)))")
}
# beside NAME: runs the stages of the function NAME while others run; `join` waits for all of these, prints what they printed and
# counts their checks.
lanes=()
beside() {
  lanes+=("$1")
  (
    passed=0 failed=0 failures=() table=()
    "$1"
    {
      echo "passed=\$((passed + $passed)) failed=\$((failed + $failed))"
      for each in ${failures[@]+"${failures[@]}"}; do printf 'failures+=(%q)\n' "$each"; done
      for each in ${table[@]+"${table[@]}"}; do printf 'table+=(%q)\n' "$each"; done
    } >"$logs/$1.counts"
  ) >"$logs/$1.lane" 2>&1 &
}
join() {
  local each
  wait
  for each in "${lanes[@]}"; do
    cat "$logs/$each.lane"
    source "$logs/$each.counts"
  done
}
wanted() {
  [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $1 "* ]]
}
wanted_slow() { wanted "$1" && { [ $fast -eq 0 ] || [ ${#only[@]} -gt 0 ]; }; }

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

# changed: files that differ by more than comments from where this branch left main, or, on main, from the commit three hours
# before the last.
changed() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
  [ "$base" = "$(git rev-parse HEAD)" ] && base=$(git rev-list -1 --before=$(($(git show -s --format=%ct) - 10800)) HEAD)
  python3 tests/changed_code.py "${base:-$(git hash-object -t tree /dev/null)}"
}
changed >"$logs/changed"
# What the sanitizers and clang-tidy examine of it, and which part of the other folders they examine: one of eight. Of a change of more
# than 400 files a third is examined, by turns, as if nothing was changed.
part=8
cp "$logs/changed" "$logs/examined"
[ "$(wc -l <"$logs/changed")" -le 400 ] || { part=3; : >"$logs/examined"; }

# ---- test programs: neighbouring suites in a process, as many processes at a time as there are cores

# parts PROGRAM PREFIX: writes files PREFIX-N.flags, each with the filter of some suites: at most 16 parts of at least 40 tests.
# If `sampled`, each suite that has parameters leaves out four of five of its cases, by turns.
parts() {
  "$1" --gtest_list_tests | awk -v turn="$turn" -v sampled="$sampled" -v prefix="$2" '
    function write_part() {
      if (count) printf "--gtest_filter=%s%s\n", suites, out == "" ? "" : "-" out >(prefix "-" sprintf("%02d", part++) ".flags")
      suites = out = ""; count = 0
    }
    FNR == 1 && !/^[^ ]+\.( |$)/ { next }  # a line of gtest_main
    { line[++lines] = $1; is_suite[lines] = /^[^ ]/; tests += !is_suite[lines] }
    END {
      enough = tests / 16 < 40 ? 40 : tests / 16
      for (i = 1; i <= lines; ++i)
        if (is_suite[i]) {
          if (count >= enough) write_part()
          suite = line[i]; number = length(suite) + turn; suites = suites (suites == "" ? "" : ":") suite "*"
        } else if (sampled && suite ~ /\// && number++ % 5) out = out (out == "" ? "" : ":") suite line[i]
        else ++count
      write_part()
    }'
}

# run_part PROGRAM PART: the tests of PART.flags.
run_part() {
  (cd "$(dirname "$1")" && timeout 1800 "$1" --gtest_flagfile="$2.flags") >"$2.log" 2>&1
  echo $? >"$2.status"
}
export -f run_part

# count LOG PATTERN: the sum of the numbers that lines of the log have where the pattern has its group.
count() { sed -nE "s/^$2.*$/\1/p" "$1" | awk '{ n += $1 } END { print n + 0 }'; }

# told LOG STATUS: what to look at where a share of the tests failed.
told() {
  grep -E 'error:|Failure$|^  (Expected|Actual|Which)|ERROR: ' "$1" | head -n 60 | sed 's/^/    /'
  grep -qE '^\[==========\] .* ran\.' "$1" && return
  echo "    ended early with status $2 (124: out of time), in $(grep -E '^\[ RUN' "$1" | tail -n 1)"
  tail -n 20 "$1" | sed 's/^/    /'
}

# suite NAME DIRECTORY PROGRAM...: all tests of these programs.
suite() {
  local name=$1 directory=$2 program part
  shift 2
  rm -f "$logs/$name-"*
  for program in "$@"; do parts "$directory/$program" "$logs/$name-$program"; done
  for program in "$@"; do
    for part in "$logs/$name-$program-"*.flags; do echo "$directory/$program ${part%.flags}"; done
  done | xargs -P "$cores" -n 2 bash -c 'run_part "$@"' run_part
  for program in "$@"; do counted "$name" "$program"; done
}

# counted NAME PROGRAM: counts the tests of its parts, and says what to look at in those that failed.
counted() {
  local part status ran=0 skipped=0 bad_count
  for part in "$logs/$1-$2-"*.flags; do
    part=${part%.flags} status=$(cat "${part%.flags}.status")
    ran=$((ran + $(count "$part.log" '\[  PASSED  \] ([0-9]+) tests?\.')))
    skipped=$((skipped + $(count "$part.log" '\[  SKIPPED \] ([0-9]+) tests?, listed')))
    [ "$status" -eq 0 ] && grep -qE '^\[==========\] .* ran\.' "$part.log" && continue
    bad_count=$(count "$part.log" '\[  FAILED  \] ([0-9]+) tests?, listed')
    bad "$1 $2" $((bad_count > 0 ? bad_count : 1))
    grep -E '^\[  FAILED  \] [^ ]+ \(' "$part.log" | sed 's/^/    /'
    told "$part.log" "$status"
  done
  good $ran
  echo "$1 $2: $ran passed, $skipped skipped"
  [ $((ran + skipped)) -gt 0 ] || bad "$1 $2: no test ran"
}

# ---- sources

# Not *.cuh: plans store the text of these files, which formatting would change.
sources() { git ls-files -co --exclude-standard -- '*.h' '*.cpp' '*.c' | grep -E '^(runtime|ir|passes|frontend|codegen|compiler|tests|examples)/'; }
# Those of the Python package are built where nanobind is.
library_sources() { sources | grep -E '^(runtime|ir|passes|frontend|codegen|compiler)/.*\.cpp$' | grep -v '^compiler/python/'; }
format_check() { sources | xargs -P "$cores" -n 20 clang-format-19 --dry-run --Werror; }

# for_clang DIRECTORY [options]: compile commands for clang.
for_clang() {
  cmake --preset debug -B "$1" -DCMAKE_CXX_COMPILER=clang++-19 -DSMELT_PCH=OFF -DSMELT_BENCH=OFF -DSMELT_TESTS=OFF "${@:2}"
}
# tidy_units: the folders' sources with changes, and one of `part` of the others.
tidy_units() {
  local source number=$turn folder
  while IFS= read -r source; do
    number=$((number + 1)) folder=$(basename "$source" _cxx.cxx)
    folder=${folder#unity_}
    if [ $long -eq 1 ] || [ $((number % part)) -eq 0 ] || grep -qx "$folder" "$logs/tidy-folders"; then
      echo "$source"
    fi
  done
}
# A folder at a time: reading headers is most of the work. Folders that nothing has changed for are known to be clean.
tidy_check() {
  for_clang build-tidy -DCMAKE_UNITY_BUILD=ON || return 1
  grep -E '\.(h|cpp|def|inc)$' "$logs/examined" | xargs -r -n 1 dirname | tr -c 'A-Za-z0-9\n' _ | sort -u >"$logs/tidy-folders"
  sed -nE 's/^  "file": "(.*)",?$/\1/p' build-tidy/compile_commands.json | tidy_units |
    xargs -P "$cores" -I SOURCE python3 tests/tidy_unit.py build-tidy SOURCE clang-tidy-19 \
      --header-filter='/(runtime|ir|passes|frontend|codegen|compiler)/[a-z0-9_/]*\.(h|cpp)$'
}
tidy_files_check() {
  for_clang build-includes || return 1
  library_sources | xargs -P "$cores" -n 4 clang-tidy-19 -p build-includes --quiet
}

# At most 100 of the sources that were changed, or whose own header was; --long looks at all sources.
touched_sources() {
  sed 's/\.h$/.cpp/' "$logs/changed" | sort -u | comm -12 - <(library_sources | sort) | shuf -n 100 --random-source=<(yes "$turn")
}
# A file at a time and without precompiled headers: what is used must be included.
includes_check() {
  for_clang build-includes || return 1
  if [ $long -eq 1 ]; then library_sources; else touched_sources; fi |
    xargs -r -P "$cores" -n 1 python3 tests/compile_alone.py build-includes/compile_commands.json
}

# ---- stages

# A Python that has what the package's tests need; empty where there is none.
python_with_packages() {
  local each has="import nanobind, numpy, os, pytest, sys, sysconfig
assert os.path.exists(sysconfig.get_path('include') + '/Python.h')
print(sys.executable)"
  for each in "$PWD/build/python-venv/bin/python" python3 /usr/bin/python3; do "$each" -c "$has" 2>/dev/null && return; done
}
# python_suite NAME FOLDER MODULE...: the tests of tests/python/FOLDER, where the Python has the modules.
python_suite() {
  local name=$1 folder=$2 module
  shift 2
  for module in "$@"; do
    "$python" -c "import $module" 2>/dev/null || { echo "skipped: $name, whose tests need $*"; return; }
  done
  local processes=()
  "$python" -c "import xdist" 2>/dev/null && processes=(-n "$cores")
  check "$name" env PYTHONPATH="$PWD/build/python" PYTHONDONTWRITEBYTECODE=1 \
    "$python" -m pytest -q -p no:cacheprovider ${processes[@]+"${processes[@]}"} "tests/python/$folder"
}
python_tests() {
  [ -n "$python" ] || { echo "skipped: no Python with its headers, nanobind, numpy and pytest"; return; }
  python_suite "python package" package
  python_suite "the command line against transformers" commands torch transformers
  python_suite "ONNX models" onnx onnx ml_dtypes
  python_suite "modules of PyTorch" torch torch transformers
  structured_output
}
# Texts that random schemas allow, against the package jsonschema.
structured_output() {
  "$python" -c "import jsonschema" 2>/dev/null || { echo "skipped: structured output, whose tests need jsonschema"; return; }
  check "structured output against jsonschema" \
    "$python" tests/python/check_structured_output.py build/structured_output_driver --schemas 500 --walks 4 --expressions 60
}
# The site, and the commands of README.md and the tutorial. Blocks in Python are run if the package is built.
docs() {
  local importing=""
  PYTHONPATH=$PWD/build/python "${python:-false}" -c "import smelt" 2>/dev/null && importing=$python
  check "site" bash scripts/docs.sh build/smelt
  check "commands of the pages" env PYTHONPATH="$PWD/build/python" PYTHONDONTWRITEBYTECODE=1 \
    python3 tests/docs_test.py build/smelt ${importing:+--python "$importing"}
}
build() {
  # Warnings are errors in the sanitizer build: at -O2 GCC 12 warns of faults in the standard library that are not there.
  check "configure" cmake --preset release -DSMELT_TESTS=ON -DSMELT_BENCH=ON -DSMELT_WERROR=OFF \
    -DSMELT_PYTHON="$([ -n "$python" ] && echo ON || echo OFF)" ${python:+"-DPython_EXECUTABLE=$python"}
  check "build" ninja -C build
}
tests() {
  mapfile -t programs < <(cd build && ls -S ./*_tests | sed 's#^\./##')  # the longest first
  suite tests "$PWD/build" "${programs[@]}"
}
goldens() {
  local golden precision
  for golden in tests/goldens/*/; do
    for precision in fp32 bf16 fp16; do
      check "verify $(basename "$golden") $precision" build/smelt verify "$golden" --target cpu --precision $precision
    done
  done
  for golden in gpt2 gemma2 llama-packed t5-gated; do
    check "verify $golden by blocks" build/smelt verify tests/goldens/$golden --target cpu --attention=fused
  done
}
quickstart() {
  check "configure as the quickstart does" cmake --preset release -B build/quickstart -DSMELT_TESTS=OFF -DSMELT_BENCH=OFF
  SMELT=build/smelt check "quickstart, 20 steps" bash examples/quickstart.sh --run-dir build/test-quickstart \
    --steps 20 --warmup 5 --eval-every 10 --eval-batches 2 --sample-every 20 --checkpoint-every 10
}
# Only some folders are compiled with the sanitizers (tests/sanitized_folders.py); the others have the objects of the stage build.
asan_build() {
  local all=OFF folders=""
  if [ $long -eq 1 ]; then
    all=ON
  else
    folders=$(python3 tests/sanitized_folders.py "$turn" "$part" <"$logs/examined")
    echo "with the sanitizers:" $folders
  fi
  check "configure asan" cmake --preset asan -DSMELT_BENCH=OFF -DSMELT_WERROR=ON -DSMELT_SANITIZE_ALL=$all \
    -DSMELT_FOLDERS="${folders//$'\n'/;}" -DSMELT_OBJECTS="$PWD/build"
  check "build asan" ninja -C build-asan $(asan_programs)
}
asan_programs() { ninja -C build-asan -t targets all | sed -nE 's/^([a-z_]+_tests): CXX_EXECUTABLE.*/\1/p' | grep -v gpu_tests; }
asan_tests() {
  local -x LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
  local -x ASAN_OPTIONS="detect_stack_use_after_return=0" UBSAN_OPTIONS="print_stacktrace=1"
  local sampled=$((1 - long))  # all cases run without the sanitizers, four times as fast
  suite asan "$PWD/build-asan" $(asan_programs)
}
# What threads do at the same time: sessions, the continuous batch, the server. OpenMP's library is not built for
# ThreadSanitizer, which would call its threads' work a race: hence one thread of it. The test that is left out measures the
# memory of the process, most of which is ThreadSanitizer's.
tsan() {
  local placed=()  # GCC 12's library does not know the addresses that some systems draw
  setarch -R true 2>/dev/null && placed=(setarch -R)
  check "configure tsan" cmake --preset tsan
  check "build tsan" ninja -C build-tsan thread_tests
  check "threads" env OMP_THREAD_LIMIT=1 TSAN_OPTIONS="second_deadlock_stack=1 suppressions=$PWD/tests/tsan.supp" timeout 600 \
    ${placed[@]+"${placed[@]}"} build-tsan/thread_tests --gtest_filter='-*HoldThemOnce'
}
fuzz() {
  cmake --preset fuzz -DSMELT_SANITIZE=ON && ninja -C build-fuzz fuzzers || return 1
  local source name corpus
  for source in tests/fuzz/*_fuzz.cpp; do
    name=$(basename "$source" .cpp)
    corpus=tests/fuzz/corpus/${name%_fuzz}
    mkdir -p "$corpus" "build-fuzz/found/$name"
    "$(find build-fuzz -type f -name "$name" -perm -u+x | head -n 1)" "build-fuzz/found/$name" "$corpus" -max_total_time="$1" \
      -print_final_stats=1 -artifact_prefix="build-fuzz/found/$name-" || return 1
  done
}
# Plans of all goldens, edited as by hand: none ends the process or does not end.
edits() {
  local golden plans=() work=build/plan-edits
  mkdir -p "$work"
  for golden in tests/goldens/*/; do
    plans+=("$work/$(basename "$golden").plan")
    build/smelt compile "$golden" --mode=train --target cpu -o "${plans[-1]}" || return 1
  done
  build/plan_edits "${plans[@]}" --edits "$1" --seed "$RANDOM"
}
# Random graphs that return what they change in place, against the evaluator.
graphs() {
  build/graph_differences --graphs "$1" --seed "$RANDOM"
}
# The packages are built, and installed where there is nothing else.
installs() {
  check "wheel" bash scripts/wheel.sh /usr/bin/python3
  check "SDK" bash scripts/sdk.sh
  check "packages in a clean system" bash tests/packages_test.sh
}

echo "turn $turn"
export OMP_WAIT_POLICY=passive  # threads that wait leave the cores to other processes
# The sanitizers' tests find the cubins that the tests before them have compiled; NVRTC itself is not built by us.
export SMELT_CACHE_DIR=$PWD/build/test-cache
rm -rf "$SMELT_CACHE_DIR"
# PyTorch and others, gigabytes that no build needs, come while compilers run.
packages() { bash scripts/install-packages.sh first; }
stage packages packages
if wanted python; then
  bash scripts/install-packages.sh wheels >"$logs/wheels.log" 2>&1 &
  wheels=$!
fi
python=$(python_with_packages)
needs_build=0
for each in tests goldens embed docs python quickstart asan edits graphs; do wanted $each && needs_build=1; done
# Threads share the session, the batch, the server and what they stand on; other changes are checked every third turn.
threads_concerned() {
  [ ${#only[@]} -gt 0 ] || [ $long -eq 1 ] || [ $((turn % 3)) -eq 0 ] || [ "$part" -eq 3 ] ||
    grep -qE '^(tests/)?(runtime/(base|c_api|session|system|cpu|engine)|compiler/server|tests/(CMake|run|tsan))|^CMake' "$logs/changed"
}
floors() {
  check "floors" bash tests/floors_test.sh
  check "words" bash tests/words.sh
  check "changes of code" python3 tests/changed_code_test.py
  check "folders of the sanitizers" python3 tests/sanitized_folders_test.py
}
wheels() { wait "$wheels"; cat "$logs/wheels.log"; }
# Stages often leave a core idle: links, the last test, a process at a time. Hence three rows of stages, each beside the others.
# These need no build of ours:
sources_alone() {
  wanted format && stage format check "format" format_check
  wanted floors && stage floors floors
  wanted_slow tidy && stage tidy check "clang-tidy" tidy_check
  wanted_slow includes && stage includes check "includes" includes_check
  wanted_slow tsan && threads_concerned && stage tsan tsan
}
sanitized() {
  wanted_slow asan && stage asan-build asan_build
}
beside sources_alone
[ $needs_build -eq 1 ] && stage build build
beside sanitized
wanted tests && stage tests tests
wanted goldens && stage goldens goldens
wanted python && stage wheels wheels
wanted python && stage python python_tests
wanted embed && stage embed check "embed" bash tests/embed_test.sh build
wanted docs && stage docs docs
wanted_slow quickstart && stage quickstart quickstart
join
wanted_slow asan && stage asan-tests asan_tests
if [ $long -eq 1 ]; then
  wanted_slow tidy && stage tidy-files check "clang-tidy, file by file" tidy_files_check
  wanted_slow fuzz && stage fuzz check "fuzz, a minute each" fuzz 60
  wanted_slow edits && stage edits check "12,000 edited plans" edits 12000
  wanted_slow graphs && stage graphs check "2,000 random graphs" graphs 2000
  wanted_slow installs && stage installs installs
fi

# Each failure with the first lines of its log that tell of one, because what is printed above may be long.
for failure in ${failures[@]+"${failures[@]}"}; do
  echo "FAILED  $failure"
  log="$logs/${failure//[^A-Za-z0-9_-]/_}.log"
  [ ! -f "$log" ] || grep -m 5 -E 'error:|warning: .*\[|Error|exited with' "$log" | cut -c 1-240 | sed 's/^/    /' || true
done
processor_seconds
printf '%-12s %7s %10s\n' stage seconds processor
printf '%s\n' "${table[@]}" "$(printf '%-12s %7d %10d' all $SECONDS "$used")"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
