// Loads that set out early. Between the blocks of a row that stays in registers stand reductions; what only a
// later block reads does not depend on them, so its vectors are asked for before the first block's.
#include "codegen/cuda/cuda_emitter.h"
#include "codegen/cuda/prelude.h"

namespace smelt {
void CudaEmitter::emit_early_loads() {
  std::vector<int> early;
  for (const int id : shape_.all_of(Instruction::Kind::load))
    if (instruction(id).form == Form::early) early.push_back(id);
  if (early.empty()) return;
  for (int id : early)
    out_.line("alignas(16) {} early{}[{}][{}];",
              cuda_memory_type(k_.params[instruction(id).access.param].dtype), id, K_, V_);
  out_.open_unrolled("k", K_);
  out_.line("const Index c = (k * {} + {}) * {};", W_, W_ > 1 ? "lane" : "0", V_);
  if (!covers_exactly()) out_.open("if (c < {})", columns_end());
  for (int id : early) out_.line("sm_bring(early{}[k], {} + ({} + c));", id, array_of(id), base(id, false));
  if (!covers_exactly()) out_.close();
  out_.close();
}

}  // namespace smelt
