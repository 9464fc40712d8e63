#!/usr/bin/env bash
# A floor includes only what stands below it, and the ground floor knows no LLVM.
#   tests/floors_test.sh [SOURCE_DIRECTORY]
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

declare -A below=(
  [runtime]="runtime" [ir]="ir runtime" [passes]="passes ir runtime" [frontend]="frontend ir runtime"
  [codegen]="codegen ir runtime" [compiler]="compiler codegen passes frontend ir runtime"
)
faults=0
fault() { echo "$1" >&2; faults=$((faults + 1)); }

for floor in "${!below[@]}"; do
  while IFS=: read -r file line text; do
    path=$(sed -nE 's/^#include "([^"]+)".*/\1/p' <<<"$text")
    first=${path%%/*}
    [[ -d $first && -n ${below[$first]+x} ]] || continue
    [[ " ${below[$floor]} " == *" $first "* ]] || fault "$file:$line: $floor includes $path, which does not stand below it"
  done < <(grep -rnE --include='*.h' --include='*.cpp' --include='*.def' '^#include "' "$floor" || true)
done

while IFS=: read -r file line _; do fault "$file:$line: an LLVM header in runtime/"; done \
  < <(grep -rnE '^#include [<"](llvm|lld|clang)/' runtime || true)
while IFS=: read -r file line _; do fault "$file:$line: code generation belongs to codegen/"; done \
  < <(grep -rnE '^#include [<"](lld/|llvm/(IR|CodeGen|Target|MC|Passes)/)' ir passes frontend || true)
# Passes and emitters work on operations, never on models.
while IFS=: read -r file line _; do fault "$file:$line: a model's name in a pass or an emitter"; done \
  < <(grep -rniwE 'gpt2?|bert|llama|vit|t5|bart|marian' passes codegen || true)
# What graphs and the engine of generation agree on is runtime/plan/decode_contract.def.
while IFS=: read -r file line _; do fault "$file:$line: the engine of generation: read runtime/plan/decode_contract.h"; done \
  < <(grep -rnE '^#include "runtime/engine/(generation|serving)/' ir passes frontend codegen || true)
# A target is asked for what it can do, never for its name or its back end.
while IFS=: read -r file line _; do fault "$file:$line: asks for a target by name: ask Target::can or device_kind"; done \
  < <(grep -rnE 'is_cuda\(\)|starts_with\("(sm_|cpu)|back_end [!=]= BackEnd|compute_capability [!=]= [0-9k]' --include='*.h' --include='*.cpp' \
        ir passes frontend codegen runtime compiler | grep -vE '^(codegen|runtime)/cuda/|^ir/target\.cpp' || true)
# The thread IR of GPUs knows no language that it is printed in.
while IFS=: read -r file line text; do
  path=$(sed -nE 's/^#include "([^"]+)".*/\1/p' <<<"$text")
  [[ "$path" =~ ^(codegen/(gpu|kernel_passes)|ir|runtime|llvm)/ ]] || fault "$file:$line: codegen/gpu includes $path"
done < <(grep -rnE --include='*.h' --include='*.cpp' '^#include "' codegen/gpu || true)
while IFS=: read -r file line _; do fault "$file:$line: syntax of CUDA in codegen/gpu: that is for codegen/printers"; done \
  < <(grep -rnE '\b__[a-z]|threadIdx|blockIdx|#pragma unroll|"[^"]*;"' --include='*.h' --include='*.cpp' codegen/gpu || true)
# The driver runs rows of the tables of passes: it calls no function that changes a graph, module, program or kernel itself.
passes=$(grep -rhoE "^(bool|void) \w+\((Graph|Module|Program|Kernel)& " --include='*.h' passes codegen | sed -E 's/^\w+ (\w+).*/\1/' | sort -u | paste -sd'|')
while IFS=: read -r file line _; do fault "$file:$line: the driver calls a pass: give it a row and a place in pass_pipeline.cpp"; done \
  < <(grep -nE "(^|[^:.>_a-zA-Z0-9])($passes)\(" compiler/driver/*.cpp || true)
# The library neither prints nor ends the process: the command line does.
while IFS=: read -r file line _; do fault "$file:$line: output or exit in the library"; done \
  < <(grep -rnE '\b(std::cout|std::cerr|printf|fmt::print|puts|std::exit|abort|std::terminate)\b *[(<;]' \
        --include='*.h' --include='*.cpp' runtime ir passes frontend codegen | grep -vE '//.*(printf|abort|exit)|snprintf' || true)
# One file reads the environment, by the table of its variables (runtime/system/environment.def).
while IFS=: read -r file line _; do fault "$file:$line: the environment is read by runtime/system/environment.cpp"; done \
  < <(grep -rnE '\b(secure_)?getenv *\(' --include='*.h' --include='*.cpp' runtime ir passes frontend codegen compiler |
        grep -v '^runtime/system/environment.cpp:' || true)

# CUDA code is in .cuh files (docs/dev/extending.md): of raw strings in C++, the constants of two kernels are left.
most_raw_lines=21
raw_lines=$(find codegen/cuda runtime/cuda -name '*.cpp' -exec cat {} + | awk '/R"\(/ { inside = 1 } inside { n++ } /\)"/ { inside = 0 } END { print n + 0 }')
[ "$raw_lines" -le $most_raw_lines ] || fault "codegen/cuda, runtime/cuda: $raw_lines lines of raw strings, at most $most_raw_lines may be"

if [ "$faults" -gt 0 ]; then echo "$faults faults" >&2; exit 1; fi
echo "floors: no fault in $(git ls-files '*.h' '*.cpp' 2>/dev/null | wc -l) files"
