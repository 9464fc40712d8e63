// Kernels written by hand, with the calling convention of generated ones.
#include "runtime/plan/plan.h"

extern "C" {

/// out[r, c] = x[r, c] + 1; dims: columns.
void add_one(const smelt::KernelArgs* args, int64_t begin, int64_t end) {
  const auto* x = static_cast<const float*>(args->buffers[0]);
  auto* out = static_cast<float*>(args->buffers[1]);
  for (int64_t i = begin * args->dims[0]; i < end * args->dims[0]; ++i) out[i] = x[i] + 1;
}

/// partial[chunk] = the sum of x over the chunk.
void partial_sum(const smelt::KernelArgs* args, int64_t begin, int64_t end) {
  const auto* x = static_cast<const float*>(args->buffers[0]);
  auto* partial = static_cast<float*>(args->buffers[1]);
  partial[begin / args->chunk] = 0;
  for (int64_t i = begin; i < end; ++i) partial[begin / args->chunk] += x[i];
}

/// out[0..5] = seed, step, micro step, first random id, begin, end.
void record_arguments(const smelt::KernelArgs* args, int64_t begin, int64_t end) {
  auto* out = static_cast<int32_t*>(args->buffers[0]);
  const int64_t values[] = {args->seed, args->step, args->micro_step, args->random_ids[0], begin, end};
  for (int i = 0; i < 6; ++i) out[i] = static_cast<int32_t>(values[i]);
}

/// counter[0] += 1.
void count_up(const smelt::KernelArgs* args, int64_t, int64_t) {
  static_cast<float*>(args->buffers[0])[0] += 1;
}
}
