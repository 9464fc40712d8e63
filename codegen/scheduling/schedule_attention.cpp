// Tiles, widths of accesses and shared memory of the kernels of attention.
#include <numeric>

#include "codegen/cuda/attention/attention_mma.h"
#include "codegen/kernel_passes/fast_forms.h"
#include "codegen/scheduling/schedule_targets.h"
#include "runtime/dtype.h"

namespace smelt {
namespace {

constexpr int64_t kWidestAccess = 8;

/// The largest power of two up to 8 that divides every multiple of a size known at launch.
int64_t common_width(const Dim& stride, int64_t width) {
  for (const Dim::Term& term : stride.terms()) width = std::gcd(width, term.coefficient);
  return width;
}

/// Elements of one access to any of the matrices.
int64_t access_width(const Kernel& kernel) {
  const AttentionKernel& attention = *kernel.attention;
  int64_t width = std::gcd(attention.width, kWidestAccess);
  for (const AttentionKernel::Matrix& matrix : attention.matrices) {
    const KernelParam& param = kernel.params[static_cast<size_t>(matrix.param)];
    width = std::gcd(width, std::max<int64_t>(1, param.alignment / size_of(param.dtype)));
    for (const Dim& stride : {matrix.batch_stride, matrix.place_stride, matrix.head_stride})
      width = common_width(stride, width);
  }
  return width;
}

}  // namespace

void schedule_attention(Kernel& kernel, const Symbols& symbols, const Target& target) {
  AttentionKernel& attention = *kernel.attention;
  const Dim& rows = attention.part == AttentionPart::key_gradients ? attention.keys : attention.queries;
  attention.lighter =
      mma_tiles(attention.part, attention.width, target.compute_capability, symbols.upper(rows));
  attention.vector = static_cast<int>(access_width(kernel));
  take_lighter_tiles(kernel);
  choose_fast_forms(kernel);
}

bool take_lighter_tiles(Kernel& kernel) {
  AttentionKernel& attention = *kernel.attention;
  if (attention.lighter.empty()) return false;
  attention.tiles = attention.lighter.front();
  attention.lighter.erase(attention.lighter.begin());
  attention.shared_bytes = attention_mma_shared_bytes(attention.part, attention.width, attention.tiles);
  kernel.schedule = {};
  kernel.schedule.vector_width = kernel.schedule.team = 1;
  kernel.schedule.threads = 32 * attention.tiles.warps;
  return true;
}

}  // namespace smelt
