#!/usr/bin/env bash
# A small ViT learns scikit-learn's 1,797 handwritten digits: more than 95% right of the fifth that it never saw,
# within two minutes on two cores.
#
# Usage: examples/digits.sh [--run-dir DIR] [any option of `smelt train`]
#
# It builds Smelt, installs scikit-learn into runs/venv where python3 has none (SMELT and PYTHON name others), writes
# runs/digits.safetensors and leaves a run directory (runs/digits).
set -euo pipefail
script=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$script")/.."
source examples/common.sh

run_dir=runs/digits
read_options "$script" 2 8 "$@"

build_smelt

echo "== data" >&2
mkdir -p runs
"$(python_with numpy=numpy sklearn=scikit-learn)" examples/data/digits_to_safetensors.py runs/digits.safetensors

echo "== train" >&2
rm -rf "$run_dir"
begin=$SECONDS
"$smelt" train examples/vit-digits/spec.json --data runs/digits.safetensors --held-back 0.2 --run-dir "$run_dir" \
  --steps 1500 --batch 32 --lr 0.002 --warmup 50 --eval-every 300 --eval-batches 1000 ${options[@]+"${options[@]}"}
echo "== trained in $((SECONDS - begin)) s; the trained model on the fifth that was held back:" >&2
result=$("$smelt" evaluate "$run_dir" --data runs/digits.safetensors --held-back 0.2 --split held-back --json)
echo "$result"
python3 -c 'import json, sys
accuracy = json.loads(sys.argv[1])["accuracy"]
sys.exit(0 if accuracy >= 0.95 else f"accuracy {accuracy:.3f}: expected 0.95 or more")' "$result"
