#!/usr/bin/env bash
# A small encoder-decoder learns to translate program messages from English to German, byte by byte, from the gettext
# catalogues that Debian installs.
#
# Usage: examples/translate.sh [--run-dir DIR] [--catalogues "A.mo B.mo"] [any option of `smelt train`]
#
# It builds Smelt, installs numpy into runs/venv where python3 has none (SMELT and PYTHON name others), writes
# runs/pairs.safetensors, leaves a run directory (runs/translate), and prints translations of messages that it never
# saw. In a few minutes it learns how German words are spelt and translates frequent ones; that is all to expect of it.
set -euo pipefail
script=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$script")/.."
source examples/common.sh

run_dir=runs/translate
catalogues=()
own_option() { [ "$1" = --catalogues ] && read -ra catalogues <<<"$2"; }
read_options "$script" 2 10 "$@"

build_smelt

echo "== data" >&2
mkdir -p runs
python=$(python_with numpy=numpy)
"$python" examples/data/mo_pairs_to_safetensors.py runs/pairs.safetensors --held-back 0.05 \
  --held-back-text runs/pairs-held-back.tsv ${catalogues[@]+"${catalogues[@]}"}

echo "== train" >&2
rm -rf "$run_dir"
begin=$SECONDS
"$smelt" train examples/translate-bytes/spec.json --data runs/pairs.safetensors --held-back 0.05 --run-dir "$run_dir" \
  --steps 2500 --batch 32 --lr 0.002 --warmup 100 --eval-every 250 --eval-batches 1000 --keep 1 \
  ${options[@]+"${options[@]}"}
echo "== trained in $((SECONDS - begin)) s; messages that were held back:" >&2
"$python" examples/data/translate.py "$smelt" "$run_dir" runs/pairs-held-back.tsv
