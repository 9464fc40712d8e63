#!/usr/bin/env bash
# Smelt and PyTorch on the CPU in the same run, with the same threads: training speed and peak memory of three GPT-2.
#
# Usage: tests/bench/beside_pytorch.sh [--threads N] [--python PYTHON]      writes bench/cpu.md and prints it
# Without --python, PyTorch is installed from the Python registry into .peer/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
threads=$(nproc) python=
while [ $# -gt 0 ]; do
  case "$1" in
    --threads) threads=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    *) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
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
  build/smelt bench "${arguments[@]}" --json | head -n 1
  "$python" tests/bench/pytorch_peer.py "${arguments[@]}"
done | tee build/bench/cpu.jsonl
"$python" - build/bench/cpu.jsonl <<'P' | tee build/bench/cpu.md
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
print("| GPT-2 | Smelt, tokens/s | PyTorch, tokens/s | faster | Smelt, MiB* | PyTorch, MiB* | memory |")
print("|---|---:|---:|---:|---:|---:|---:|")
for ours, theirs in zip(lines[0::2], lines[1::2]):
    fixed = 16 * theirs["parameters"] / 2**20
    mine = ours["peak_mib"] - fixed
    peer = theirs["peak_mib"] - fixed - theirs["imported_mib"]
    print(f"| {ours['layers']} layers, {ours['width']} wide, V {ours['vocabulary']}, T {ours['length']}, B {ours['batch']} "
          f"| {ours['tokens_per_s']:,} (± {50 * ours['spread']:.0f}%) | {theirs['tokens_per_s']:,} (± {50 * theirs['spread']:.0f}%) "
          f"| {ours['tokens_per_s'] / theirs['tokens_per_s']:.2f} x | {mine:.0f} | {peer:.0f} | {100 * mine / peer:.0f}% |")
print(f"\n*Peak resident memory beyond 16 bytes a parameter; of PyTorch also beyond its import. torch "
      f"{lines[1]['torch']}, {lines[0]['threads']} threads, dropout {lines[0]['dropout']}, AdamW, fp32, median of 6 steps.")
P
