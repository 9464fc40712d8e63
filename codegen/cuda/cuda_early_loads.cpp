// Loads that set out early. Between the blocks of a row that stays in registers stand reductions; what only a
// later block reads does not depend on them, so its vectors are asked for before the first block's.
#include <utility>

#include "codegen/cuda/cuda_emitter.h"
#include "codegen/cuda/prelude.h"

namespace smelt {
namespace {

constexpr int64_t kMostEarlyRegisters = 32;

}  // namespace

/// Those for which there is room, in order, where all loads of a row are under way at a time; not what comes
/// from rows sent for ahead.
void CudaEmitter::find_early_loads() {
  if (s_.flat || K_ == 0 || U_ < K_) return;
  int64_t registers = 0;
  bool first = true;
  for (const KernelBlock& block : k_.blocks) {
    if (block.scope != KernelBlock::Scope::column || std::exchange(first, false)) continue;
    const Nest nest = nest_of(block);
    for (int id : block.instructions) {
      if (fetched_.count(id) != 0 || !can_be_fetched(nest, id)) continue;
      const int64_t own = vector_bytes(id) * K_ / 4;
      if (registers + own > kMostEarlyRegisters) continue;
      registers += own;
      early_.insert(id);
    }
  }
}

void CudaEmitter::emit_early_loads() {
  find_early_loads();
  if (early_.empty()) return;
  for (int id : early_)
    out_.line("alignas(16) {} early{}[{}][{}];",
              cuda_memory_type(k_.params[instruction(id).access.param].dtype), id, K_, V_);
  out_.open_unrolled("k", K_);
  out_.line("const Index c = (k * {} + {}) * {};", W_, W_ > 1 ? "lane" : "0", V_);
  if (!covers_exactly()) out_.open("if (c < {})", columns_end());
  for (int id : early_) out_.line("sm_bring(early{}[k], {} + ({} + c));", id, array_of(id), base(id, false));
  if (!covers_exactly()) out_.close();
  out_.close();
}

}  // namespace smelt
