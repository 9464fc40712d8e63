#!/usr/bin/env bash
# A small ViT learns scikit-learn's 1,797 handwritten digits: more than 95% right of the fifth that it never saw,
# within two minutes on two cores.
#
# Usage: examples/digits.sh [--run-dir DIR] [any option of `smelt train`]
#
# It builds Smelt, installs scikit-learn into runs/venv where python3 has none (SMELT and PYTHON name others), writes
# runs/digits.safetensors and leaves a run directory (runs/digits).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/python_with.sh

run_dir=runs/digits
options=()
while [ $# -gt 0 ]; do
  case "$1" in
    --run-dir) run_dir=$2; shift 2 ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) options+=("$1"); shift ;;
  esac
done

if [ -z "${SMELT:-}" ]; then
  echo "== packages and build" >&2
  bash scripts/install-packages.sh build
  cmake --preset release -DSMELT_TESTS=OFF -DSMELT_BENCH=OFF >/dev/null
  ninja -C build smelt
fi
smelt=${SMELT:-build/smelt}

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
