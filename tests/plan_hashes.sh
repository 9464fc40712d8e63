#!/usr/bin/env bash
# Prints a hash of the plan of each case below: two builds that compile alike print the same lines.
#   tests/plan_hashes.sh [SMELT] > before.txt
# A plan holds the manifest (steps, buffers, symbols), the text of CUDA kernels as machine code and the code for the CPU.
# Schedules are not tuned, and no plan is taken from the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
smelt=$(realpath "${1:-build/smelt}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# hash_plan MODEL OPTION...: one line. A case that is refused is hashed with its message.
hash_plan() {
  local plan=$work/${BASHPID}.plan
  if ! "$smelt" compile "$@" --no-plan-cache -o "$plan" >"$plan.out" 2>&1; then
    sed "s|$work[^ ]*||" "$plan.out" >"$plan"
  fi
  printf '%s  %s\n' "$(sha256sum <"$plan" | cut -c1-16)" "$*"
  rm -f "$plan" "$plan.out"
}
export -f hash_plan
export smelt work

cases() {
  local golden workload
  for golden in tests/goldens/*/; do
    golden=${golden%/}
    echo "$golden --target cpu"
    echo "$golden --target sm_90 --precision bf16"
    echo "$golden --target sm_90 --precision fp16 --mode infer"
  done
  for workload in bert-base gpt2-124m llama-1b mt-big-6e6d vit-b32; do
    workload=examples/workloads/$workload.json
    echo "$workload --target cpu"
    echo "$workload --target sm_80 --precision tf32"
    echo "$workload --target sm_90"
    echo "$workload --target sm_90 --precision bf16 --attention=unfused"
    echo "$workload --target sm_90 --precision bf16 --gemm-epilogues=only"
    echo "$workload --target sm_90 --precision bf16 --recompute layers"
    echo "$workload --target sm_90 --precision bf16 --masters none"
    echo "$workload --target sm_90 --precision bf16 --mesh data=4 --zero 1"
    echo "$workload --target sm_90 --precision bf16 --mode infer --weight-type int8"
  done
  local llama=examples/workloads/llama-1b.json
  echo "$llama --target sm_90 --precision bf16 --mesh model=4 --sequence-parallel --no-attention-mask"
  echo "$llama --target sm_90 --precision bf16 --mesh data=2,model=2 --zero 3 --no-attention-mask"
  echo "$llama --target sm_90 --precision bf16 --mesh stage=2 --no-attention-mask"
  echo "$llama --target sm_90 --precision bf16 --mesh model=2 --mode infer"
  echo "$llama --target sm_90 --precision bf16 --mode infer --cache-pages 1024"
}
cases | xargs -P "$(nproc)" -I{} bash -c 'hash_plan {}' | sort -k2
