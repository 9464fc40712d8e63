// Threads, shared memory, the grid and early loads of kernels that multiply (codegen/cuda/gemm/,
// codegen/cuda/small_m/, codegen/cuda/byte_gemm/).
#include <algorithm>

#include "codegen/cuda/byte_gemm/byte_gemm_text.h"
#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/cuda/gemm/gemm_text.h"
#include "codegen/cuda/gemm/mma_gemm_text.h"
#include "codegen/cuda/small_m/emit_small_m.h"
#include "codegen/cuda/small_m/small_m_text.h"
#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/scheduling/schedule_gpu.h"

namespace smelt {
namespace {

/// The shared memory of a block of a small-M GEMM, without the exchanges of the prologue.
constexpr int64_t kSharedBytes = 112 << 10;
/// Elements of a row of the kernel before in one lane.
constexpr int64_t kLaneElements = 32;

/// All threads of the block, as teams for as many rows as it has at once.
Schedule for_a_block(const Kernel& kernel, const Symbols& symbols) {
  Schedule s = kernel.schedule;
  if (s.flat) return s;
  const KernelShape shape(kernel);
  Dim rows = 1;
  for (const int axis : shape.parallel) rows *= kernel.axes[static_cast<size_t>(axis)].extent;
  const int64_t columns =
      shape.inner < 0 ? 1 : symbols.upper(kernel.axes[static_cast<size_t>(shape.inner)].extent);
  const int64_t for_rows = kSmallMThreads / pow2_ceil(symbols.upper(rows)),
                for_columns = pow2_ceil(quotient_up(columns, kLaneElements));
  if (!kernel.in_order || shape.all_of(Instruction::Kind::reduce).empty())
    s.team = static_cast<int>(std::clamp<int64_t>(std::max(for_rows, for_columns), 32, kSmallMThreads));
  s.threads = kSmallMThreads, s.grain = kSmallMThreads / s.team;
  s.vectors = static_cast<int>(quotient_up(quotient_up(columns, s.vector_width), s.team));
  s.unroll = std::clamp(s.vectors, 1, 4);
  return s;
}

void schedule_before(Kernel& kernel, const Symbols& symbols, const Target& target) {
  for (Kernel& first : kernel.before) {
    schedule(first, symbols, target);
    Schedule s = for_a_block(first, symbols);
    kernel.schedule.index32 &= s.index32;
    s.index32 = kernel.schedule.index32;
    take_schedule(first, s);
  }
}

/// Schedules a small-M GEMM, with as many pieces in flight as shared memory has space for next to A.
void schedule_small_m(Kernel& kernel, const Symbols& symbols, const Target& target) {
  GemmKernel& gemm = *kernel.gemm;
  Schedule& s = kernel.schedule;
  s.vector_width = s.team = s.vectors = 1;
  s.threads = kSmallMThreads;
  s.index32 = has_32_bit_indices(kernel, symbols);
  schedule_before(kernel, symbols, target);
  const int64_t rows = symbols.upper(gemm.m);
  const int resident = small_m_resident(*gemm.few, small_m_weights(kernel));
  const int64_t most_bytes = kSharedBytes * kSmallMResident / std::max(resident, kSmallMResident);
  while (gemm.few->depth > 2 && small_m_kernel_bytes(kernel, rows) > most_bytes) --gemm.few->depth;
  gemm.shared_bytes = small_m_kernel_bytes(kernel, rows);
  gemm.most_blocks = resident * target.device.multiprocessors;
  kernel.waits = true;
}

void schedule_bytes(Kernel& kernel, const Symbols& symbols, const Target& target) {
  GemmKernel& gemm = *kernel.gemm;
  Schedule& s = kernel.schedule;
  s.vector_width = s.team = s.vectors = 1;
  s.threads = kByteGemmThreads;
  s.index32 = has_32_bit_indices(kernel, symbols);
  gemm.shared_bytes = byte_gemm_bytes(*gemm.few);
  gemm.most_blocks = byte_gemm_blocks(*gemm.few, target.device.multiprocessors);
  kernel.waits = true;
}

void schedule_large(Kernel& kernel, const Symbols& symbols, const Target& target) {
  GemmKernel& gemm = *kernel.gemm;
  Schedule& s = kernel.schedule;
  s.vector_width = kGemmVector, s.team = 1, s.vectors = 1;
  const int sums = static_cast<int>(gemm_sums(kernel).size());
  s.splits = sums == 0 ? 0 : partial_splits(target);
  s.index32 = has_32_bit_indices(kernel, symbols);
  if (gemm.mma) {
    s.threads = gemm.mma->threads();
    gemm.most_blocks = gemm.mma->one_tile() ? 0 : target.device.multiprocessors * gemm.mma->blocks;
    gemm.shared_bytes = mma_shared_bytes(*gemm.mma, sums);
  } else {
    s.threads = gemm_threads();
    gemm.most_blocks = target.device.multiprocessors / gemm.tiles.cluster * gemm.tiles.cluster;
    // As many stages as shared memory has space for.
    while (gemm.tiles.stages > 2 && gemm_shared_bytes(gemm.tiles, sums) > target.device.block_shared_bytes)
      --gemm.tiles.stages;
    gemm.shared_bytes = gemm_shared_bytes(gemm.tiles, sums);
  }
}

}  // namespace

void schedule_gemm(Kernel& kernel, const Symbols& symbols, const Target& target) {
  const bool few = kernel.gemm->few.has_value();
  const auto schedule = kernel.gemm->is_byte_gemm() ? schedule_bytes
                        : few                       ? schedule_small_m
                                                    : schedule_large;
  schedule(kernel, symbols, target);
  store_unrounded(kernel);
  order_comparisons(kernel);
  choose_fast_forms(kernel);
  if (few) return;
  for (const int id : early_gemm_loads(kernel))
    kernel.instructions[static_cast<size_t>(id)].form = Form::early;
}

}  // namespace smelt
