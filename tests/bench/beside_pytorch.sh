#!/usr/bin/env bash
# Smelt and PyTorch on the CPU in the same run, with the same threads: training speed and peak memory of three GPT-2.
#
# Usage: tests/bench/beside_pytorch.sh [--threads N] [--rounds N] [--python PYTHON]
# Writes build/bench/cpu.md and prints it. Rounds (3) take turns, since machines are shared: medians count. Without --python, PyTorch is installed from the Python registry into .peer/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
threads=$(nproc) rounds=3 python=
while [ $# -gt 0 ]; do
  case "$1" in
    --threads) threads=$2; shift 2 ;;
    --rounds) rounds=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
  esac
done
if [ -z "$python" ]; then
  [ -x .peer/bin/python ] || python3 -m venv .peer
  .peer/bin/python -c 'import torch' 2>/dev/null || .peer/bin/pip install -q torch numpy
  python=.peer/bin/python
fi
export OMP_NUM_THREADS=$threads SMELT_NUM_THREADS=$threads
mkdir -p build/bench
#       layers width heads vocabulary length batch
shapes=("4 128 4 256 128 16" "6 384 6 256 256 8" "12 768 12 50257 256 2")
for shape in "${shapes[@]}"; do
  read -r layers width heads vocabulary length batch <<<"$shape"
  arguments=(--layers "$layers" --width "$width" --heads "$heads" --vocabulary "$vocabulary" --length "$length"
             --batch "$batch" --threads "$threads")
  for ((round = 0; round < rounds; ++round)); do
    build/smelt bench "${arguments[@]}" --json | head -n 1
    "$python" tests/bench/pytorch_peer.py "${arguments[@]}"
  done
done | tee build/bench/cpu.jsonl
"$python" - build/bench/cpu.jsonl "$rounds" <<'P' | tee build/bench/cpu.md
import json, statistics, sys

lines = [json.loads(line) for line in open(sys.argv[1])]
rounds = int(sys.argv[2])


def speed(runs):
    speeds = [run["tokens_per_s"] for run in runs]
    return f"{statistics.median(speeds):,.0f} ({min(speeds):,} to {max(speeds):,})"


print("| GPT-2 | Smelt, tokens/s | PyTorch, tokens/s | faster, by round | Smelt, MiB* | PyTorch, MiB* | memory |")
print("|---|---:|---:|---:|---:|---:|---:|")
for i in range(0, len(lines), 2 * rounds):
    ours, theirs = lines[i:i + 2 * rounds:2], lines[i + 1:i + 2 * rounds:2]
    fixed = 16 * theirs[0]["parameters"] / 2**20
    mine = max(run["peak_mib"] for run in ours) - fixed
    peer = max(run["peak_mib"] - run["imported_mib"] for run in theirs) - fixed
    ratios = ", ".join(f"{a['tokens_per_s'] / b['tokens_per_s']:.2f}" for a, b in zip(ours, theirs))
    o = ours[0]
    print(f"| {o['layers']} layers, {o['width']} wide, V {o['vocabulary']}, T {o['length']}, B {o['batch']} "
          f"| {speed(ours)} | {speed(theirs)} | {ratios} | {mine:.0f} | {peer:.0f} | {100 * mine / peer:.0f}% |")
print(f"\n*Peak resident memory beyond 16 bytes a parameter; of PyTorch also beyond its import. torch "
      f"{lines[1]['torch']}, {lines[0]['threads']} threads, dropout {lines[0]['dropout']}, AdamW, fp32; each round the "
      f"median of 6 steps.")
P
