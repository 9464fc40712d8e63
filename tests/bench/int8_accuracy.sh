#!/usr/bin/env bash
# Accuracy after quantisation-aware training: a model learns in fp32, then goes on for as many steps with --qat int8 as
# another copy does in fp32; both are evaluated on data that were held back.
#
# Usage: tests/bench/int8_accuracy.sh [DIRECTORY]     a directory for data and runs, else runs/int8
#
# A BERT of three layers tells twelve languages apart, and an encoder-decoder translates messages from English to German, byte
# by byte; the texts are those of gettext catalogues that Debian installs. SMELT and PYTHON (with numpy and sacrebleu) name
# other programs.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.."
out=${1:-runs/int8}
smelt=${SMELT:-build/smelt}
python=${PYTHON:-python3}
mkdir -p "$out"

# both NAME SPEC DATA HELD STEPS RATE MORE MORE_RATE: trains NAME, and goes on as NAME-fp32 and NAME-int8.
both() {
  local data=(--data "$out/$3" --held-back "$4" --batch 32 --keep 1 --quiet)
  rm -rf "$out/$1" "$out/$1-fp32" "$out/$1-int8"
  "$smelt" train "$2" "${data[@]}" --run-dir "$out/$1" --steps "$5" --lr "$6" --warmup 50
  "$smelt" train "$out/$1/model" "${data[@]}" --run-dir "$out/$1-fp32" --steps "$7" --lr "$8"
  "$smelt" train "$out/$1/model" "${data[@]}" --run-dir "$out/$1-int8" --steps "$7" --lr "$8" --qat int8
  for kind in fp32 int8; do
    echo "== $1 $kind"
    "$smelt" evaluate "$out/$1-$kind" --data "$out/$3" --held-back "$4" --split held-back --batch 32
  done
}

"$python" tests/bench/language_lines.py "$out/languages.tsv"
"$python" examples/data/labelled_text_to_safetensors.py "$out/languages.tsv" "$out/languages.safetensors" --longest 64
"$python" examples/data/mo_pairs_to_safetensors.py "$out/pairs.safetensors" --held-back 0.05 --held-back-text "$out/pairs.tsv"
both languages tests/bench/language_bert.json languages.safetensors 0.1 2400 0.001 600 0.0003
both pairs examples/translate-bytes/spec.json pairs.safetensors 0.05 1600 0.002 300 0.0006
"$python" tests/bench/int8_bleu.py "$smelt" "$out/pairs.tsv" "$out/pairs-fp32" "$out/pairs-int8"
