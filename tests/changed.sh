#!/usr/bin/env bash
# The inner loop: checks what was changed since a commit, in minutes. `tests/run.sh --changed [COMMIT]` calls it.
#
# Usage: tests/changed.sh [COMMIT]      COMMIT: HEAD if it is not given; untracked files count as changed
#
# Format, include rules and words; a build of the command line and of the test programs concerned; the tests of the folder
# that mirrors each changed source, and those that include a changed header; one golden; clang-tidy on at most four sources;
# the site if a page changed; the Python tests that name a changed module. Everything else is left to tests/run.sh.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

base=${1:-HEAD}
cores=$(nproc)
logs=$PWD/build/test-logs
mkdir -p "$logs"
passed=0 failed=0
export OMP_WAIT_POLICY=passive

# check NAME COMMAND...: one check; its output is shown only if it fails.
check() {
  local name=$1 log="$logs/changed-${1//[^A-Za-z0-9_-]/_}.log" begin=$SECONDS
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok      $name ($((SECONDS - begin)) s)"
  else
    failed=$((failed + 1))
    echo "FAILED  $name ($((SECONDS - begin)) s), $log ends:"
    tail -n 40 "$log" | sed 's/^/    /'
  fi
}

mapfile -t files < <({ git diff --name-only --diff-filter=d "$base"; git ls-files -o --exclude-standard; } | sort -u)
matching() { printf '%s\n' ${files[@]+"${files[@]}"} | grep -E "$1"; }
mapfile -t cpp < <(matching '\.(h|cpp|c)$')

# tests_of FILE: the test files of the folder that mirrors the file's folder (below its top-level folder), and those that
# include the header of the same name.
tests_of() {
  local folder=${1#tests/}
  [[ $1 == tests/*_test.cpp ]] && { echo "$1"; return; }
  grep -rlF "\"${1%.*}.h\"" tests --include='*_test.cpp'
  folder=$(dirname "$folder")
  while [[ $folder == */* ]]; do
    [ -d "tests/$folder" ] && { find "tests/$folder" -name '*_test.cpp'; return; }
    folder=$(dirname "$folder")
  done
}
# filter_of FILE...: the suites of these test files, as --gtest_filter takes them.
filter_of() {
  sed -nE 's/^(TYPED_)?TEST(_F|_P)?\((\w+),.*/\3/p' "$@" | sort -u | awk '{ printf "%s%s.*:*/%s.*:%s/*.*", s, $1, $1, $1; s = ":" }'
}
# program_of FILE: the test program that has the file's tests.
program_of() {
  case "$1" in
    tests/codegen/cuda/on_host/*) echo cuda_kernel_tests ;;
    tests/codegen/hip/on_host/*) echo hip_kernel_tests ;;
    tests/gpu/*) ;;  # need a GPU
    *) cut -d/ -f2 <<<"$1" | sed 's/$/_tests/' ;;
  esac
}

check "words" bash tests/words.sh
check "floors" bash tests/floors_test.sh
[ ${#cpp[@]} -eq 0 ] || check "format" clang-format-19 --dry-run --Werror "${cpp[@]}"

mapfile -t tests < <(for file in $(matching '^(runtime|ir|passes|frontend|codegen|compiler|tests)/.*\.(h|cpp|def|cuh|inc)$'); do
  tests_of "$file"
done | sort -u)
programs=$(for file in ${tests[@]+"${tests[@]}"}; do program_of "$file"; done | sort -u)
python_files=$(matching '^(compiler/python|tests/python)/.*\.(py|cpp|h)$')
compiled=$(matching '\.(h|cpp|c|def|cuh|inc|txt|cmake)$|^cmake/')

if [ -n "$compiled" ] || { [ -n "$python_files" ] && [ ! -d build/python ]; }; then
  python=$(for each in build/python-venv/bin/python python3; do "$each" -c 'import nanobind, numpy' 2>/dev/null && command -v "$each" && break; done)
  [ -f build/build.ninja ] || check "configure" cmake --preset release -DSMELT_TESTS=ON -DSMELT_BENCH=ON -DSMELT_WERROR=OFF \
    -DSMELT_PYTHON="$([ -n "$python" ] && echo ON || echo OFF)" ${python:+"-DPython_EXECUTABLE=$PWD/${python#"$PWD/"}"}
  # shellcheck disable=SC2086
  check "build" ninja -C build smelt $programs $([ -n "$python_files" ] && ninja -C build -t targets all | sed -nE 's/^(_native): .*/\1/p')
fi
for program in $programs; do
  mapfile -t own < <(for file in "${tests[@]}"; do [ "$(program_of "$file")" = "$program" ] && echo "$file"; done)
  filter=$(filter_of "${own[@]}")
  shards() {
    local index pids=() status=0
    for ((index = 0; index < cores; ++index)); do
      GTEST_TOTAL_SHARDS=$cores GTEST_SHARD_INDEX=$index "build/$program" --gtest_brief=1 --gtest_filter="$filter" &
      pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || status=1; done
    return $status
  }
  check "$program, ${#own[@]} files" shards
done
[ -z "$(matching '^(runtime|ir|passes|frontend|codegen|compiler/driver)/')" ] ||
  check "verify gpt2" build/smelt verify tests/goldens/gpt2 --target cpu

[ -z "$(matching '^docs/')" ] || [ ! -x build/smelt ] || check "site" bash scripts/docs.sh

modules=$(matching '^compiler/python/smelt/.*\.py$' | xargs -r -n 1 basename -s .py | grep -v '^__init__$' | paste -sd'|')
if [ -n "$python_files" ] && [ -x build/python-venv/bin/python ]; then
  mapfile -t selected < <({ matching '^tests/python/.*test_.*\.py$'; [ -z "$modules" ] || grep -rlwE "$modules" tests/python --include='test_*.py'; } | sort -u)
  [ ${#selected[@]} -gt 0 ] || echo "note    no Python test names a changed module: tests/run.sh --only python"
  # Each folder has a conftest of its own, so each is a run of its own.
  for folder in $(printf '%s\n' ${selected[@]+"${selected[@]}"} | xargs -r -n 1 dirname | sort -u); do
    mapfile -t own < <(printf '%s\n' "${selected[@]}" | grep "^$folder/[^/]*$")
    check "python $(basename "$folder"), ${#own[@]} files" env PYTHONPATH=build/python PYTHONDONTWRITEBYTECODE=1 timeout 150 \
      build/python-venv/bin/python -m pytest -q -x -n "$cores" -p no:cacheprovider "${own[@]}"
  done
fi

mapfile -t tidy < <(matching '^(runtime|ir|passes|frontend|codegen|compiler)/.*\.cpp$' | grep -v '^compiler/python/' | head -n 4)
tidy_changed() {
  cmake --preset debug -B build-includes -DCMAKE_CXX_COMPILER=clang++-19 -DSMELT_PCH=OFF -DSMELT_BENCH=OFF -DSMELT_TESTS=OFF >/dev/null &&
    printf '%s\n' "${tidy[@]}" | xargs -P "$cores" -n 1 clang-tidy-19 -p build-includes --quiet
}
[ ${#tidy[@]} -eq 0 ] || check "clang-tidy, ${#tidy[@]} files" tidy_changed

echo "$SECONDS s: $passed passed, $failed failed; ${#files[@]} changed files, ${#tests[@]} test files"
[ $failed -eq 0 ]
