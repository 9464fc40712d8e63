#!/usr/bin/env bash
# The main job from a clean clone: set-up, build, and a small Llama trained on the bytes of a book.
#
# Usage: examples/quickstart.sh [--data FILE...] [--run-dir DIR] [--ranks N] [any option of `smelt train`]
#
# Without --data the book is the King James Bible, of Debian's package bible-kjv (where it cannot be installed: this
# repository's own text). With --ranks, N processes train the model together (docs/guides/distributed.md). It leaves a run
# directory (runs/quickstart) with a report (report.html), the fused graph (graph.ir, graph.svg), metrics.jsonl, loss.svg,
# checkpoints and the trained model. With SMELT it runs that program and builds none.
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
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) options+=("$1"); shift ;;
  esac
done

build_smelt

# book FILE: a verse per line, without the references before them. Fails if the package is not there and cannot be installed.
book() {
  command -v bible >/dev/null || bash scripts/install-packages.sh book || return 1
  bible -f gen1:1-rev22:21 2>/dev/null | sed 's/^[^ ]* //' >"$1" && [ -s "$1" ]
}
# repository FILE: the text of this repository, in the order of names.
repository() {
  { git ls-files 2>/dev/null || find . -type f -not -path './.git/*' -not -path './build*' -not -path './runs/*'; } |
    grep -E '\.(h|cpp|def|md|sh|py|ir|txt|cmake|json)$' | LC_ALL=C sort |
    while IFS= read -r file; do [ -f "$file" ] && grep -Iq . "$file" && cat "$file"; done >"$1" || true
}
# The last twentieth of the text is held back.
prompt=$'And '
if [ ${#data[@]} -eq 0 ]; then
  mkdir -p runs
  if book runs/bible.txt; then
    data=(runs/bible.txt)
  else
    echo "note: bible-kjv is not available: the text is this repository's" >&2
    repository runs/repository.txt
    data=(runs/repository.txt)
  fi
fi

if [ -d "$run_dir/checkpoints" ] && [ -n "$(ls -A "$run_dir/checkpoints" 2>/dev/null)" ]; then
  echo "== $run_dir holds a run: it is moved to $run_dir.old" >&2
  rm -rf "$run_dir.old"
  mv "$run_dir" "$run_dir.old"
fi

echo "== train on ${data[*]} ($(cat "${data[@]}" | wc -c) bytes)" >&2
train=("$smelt" train examples/llama-small-bytes --config examples/quickstart.json --run-dir "$run_dir"
  --data "${data[@]}" ${options[@]+"${options[@]}"})
[ "$ranks" = 1 ] || train=("$smelt" launch -n "$ranks" -- "${train[@]}")
"${train[@]}"

echo "== a sample of the trained model" >&2
"$smelt" generate "$run_dir/model" --prompt "$prompt" --max-new-tokens 300 --do-sample --temperature 0.5 --top-k 0 \
  --sliding-window 2>/dev/null
"$smelt" report "$run_dir" -o "$run_dir/report.html"
echo "== open $run_dir/report.html; also there: graph.ir, graph.svg, metrics.jsonl, loss.svg, checkpoints/, model/" >&2
