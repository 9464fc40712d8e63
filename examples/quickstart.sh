#!/usr/bin/env bash
# The main job from a clean clone: set-up, build, and a small GPT-2 trained on bytes of real text.
#
# Usage: examples/quickstart.sh [--data FILE...] [--run-dir DIR] [--ranks N] [any option of `smelt train`]
#
# With --ranks, N processes train the model together (docs/ranks.md).
# Without --data it trains on this repository's own text and source. It leaves a run directory (runs/quickstart) with
# the fused graph (graph.ir, graph.svg), metrics.jsonl, loss.svg, checkpoints and the trained model. With SMELT it runs
# that program and builds none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/common.sh
root=$PWD
caller=${OLDPWD:-$root}

run_dir=runs/quickstart
data=()
options=()
ranks=1
while [ $# -gt 0 ]; do
  case "$1" in
    --data)
      shift
      while [ $# -gt 0 ] && [[ "$1" != --* ]]; do
        file=$1
        [[ "$file" = /* ]] || file="$caller/$file"
        data+=("$file")
        shift
      done ;;
    --run-dir) run_dir=$2; shift 2 ;;
    --ranks) ranks=$2; shift 2 ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) options+=("$1"); shift ;;
  esac
done

build_smelt

# Text of this repository in one file, in the order of names: the last twentieth is held back.
if [ ${#data[@]} -eq 0 ]; then
  mkdir -p runs
  { git ls-files 2>/dev/null || find . -type f -not -path './.git/*' -not -path './build*' -not -path './runs/*'; } |
    grep -E '\.(h|cpp|def|md|sh|py|ir|txt|cmake|json)$' | LC_ALL=C sort |
    while IFS= read -r file; do [ -f "$file" ] && grep -Iq . "$file" && cat "$file"; done > runs/repository.txt || true
  data=(runs/repository.txt)
fi

if [ -d "$run_dir/checkpoints" ] && [ -n "$(ls -A "$run_dir/checkpoints" 2>/dev/null)" ]; then
  echo "== $run_dir holds a run: it is moved to $run_dir.old" >&2
  rm -rf "$run_dir.old"
  mv "$run_dir" "$run_dir.old"
fi

echo "== train on ${data[*]} ($(cat "${data[@]}" | wc -c) bytes)" >&2
train=("$smelt" train examples/gpt2-small-bytes --config examples/quickstart.json --run-dir "$run_dir"
  --data "${data[@]}" ${options[@]+"${options[@]}"})
[ "$ranks" = 1 ] || train=("$smelt" launch -n "$ranks" -- "${train[@]}")
"${train[@]}"

echo "== a sample of the trained model" >&2
"$smelt" generate "$run_dir/model" --prompt $'// ' --max-new-tokens 200 --do-sample --temperature 0.7 --top-k 0 \
  --sliding-window 2>/dev/null
echo "== see $run_dir: graph.ir, graph.svg, metrics.jsonl, loss.svg, checkpoints/, model/" >&2
