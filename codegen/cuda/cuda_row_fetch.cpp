// Rows on their way. A block that walks over rows waits for every one of them, since reductions stand between
// its loads and its stores; so it asks for the vectors of the next rows before it works on the row at hand.
// They wait in shared memory, where each thread reads what it has asked for itself: no barrier is needed.
#include <algorithm>

#include "codegen/cuda/cuda_emitter.h"
#include "codegen/cuda/prelude.h"
#include "codegen/kernel_passes/prefetch_rows.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

}  // namespace

/// Where a stage has the vectors of each prefetched load.
void CudaEmitter::find_fetched_loads() {
  for (const KernelBlock& block : k_.blocks)
    for (int id : block.instructions)
      if (instruction(id).form == Form::prefetched && fetched_.try_emplace(id, fetched_bytes_).second)
        fetched_bytes_ += vector_bytes(k_, id) * K_ * s_.threads;
}

/// In front of the loop over rows: the first rows set out.
void CudaEmitter::begin_fetching(const std::string& first) {
  find_fetched_loads();
  if (fetched_.empty()) return;
  shared_floats_ = fetched_floats_ = fetched_bytes_ * (s_.prefetch_distance + 1) / 4;
  out_.line("unsigned char* const fetched = (unsigned char*)shared_floats;");
  for (int ahead = 0; ahead < s_.prefetch_distance; ++ahead)
    fetch_row(ahead == 0 ? first : fmt::format("{} + {}", first, ahead * rows_at_a_time()),
              std::to_string(ahead));
  out_.line("int stage = {};", s_.prefetch_distance);
}

/// At the top of the loop: one more row sets out, the row at hand has arrived.
void CudaEmitter::fetch_next_row() {
  if (fetched_.empty()) return;
  out_.line("const int stage_ahead = stage;");
  out_.line("stage = stage == {} ? 0 : stage + 1;", s_.prefetch_distance);
  fetch_row(fmt::format("row + {}", s_.prefetch_distance * rows_at_a_time()), "stage_ahead");
  out_.line("sm_await_fetched<{}>();", s_.prefetch_distance);
}

void CudaEmitter::fetch_row(const std::string& row, const std::string& stage) {
  out_.open("");
  out_.line("const Index ahead = {};", row);
  out_.open("if (ahead < end)");
  emit_digits("ahead", shape_.parallel);
  out_.open_unrolled("k", K_);
  out_.line("const Index c = (k * {} + {}) * {};", W_, W_ > 1 ? "lane" : "0", V_);
  if (!covers_exactly()) out_.open("if (c < {})", columns_end());
  for (const auto& [id, offset] : fetched_)
    out_.line("sm_fetch<{}>({}, {} + ({} + c));", vector_bytes(k_, id), fetched_place(id, stage),
              array_of(id), base(id, false));
  if (!covers_exactly()) out_.close();
  out_.close();
  out_.close();
  out_.line("sm_end_fetch();");
  out_.close();
}

/// Vectors of neighbouring threads lie side by side.
std::string CudaEmitter::fetched_place(int id, const std::string& stage) const {
  const int64_t bytes = vector_bytes(k_, id);
  return fmt::format("fetched + ({} * {} + {} + (k * {} + (int)threadIdx.x) * {})", stage, fetched_bytes_,
                     fetched_.at(id), s_.threads, bytes);
}

/// Where emit_loads takes a vector from.
std::string CudaEmitter::fetched_vector(int id) const {
  return fmt::format("(const {}*)({})", cuda_memory_type(k_.params[instruction(id).access.param].dtype),
                     fetched_place(id, "stage"));
}

}  // namespace smelt
