// Rows on their way. A block that walks over rows waits for every one of them, since reductions stand between
// its loads and its stores; so it asks for the vectors of the next rows before it works on the row at hand.
// They wait in shared memory, where each thread reads what it has asked for itself: nobody needs to meet.
#include <algorithm>

#include "codegen/cuda/cuda_emitter.h"
#include "codegen/cuda/prelude.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

constexpr int64_t kMostFetchedBytes = 40 << 10;  // of the 48 KiB that a block has without asking

}  // namespace

/// A vector of a row of its own that is there whole and that nobody writes.
bool CudaEmitter::can_be_fetched(const Nest& nest, int id) {
  const Instruction& x = instruction(id);
  if (!nest.outer.empty() || !loads_by_vector(nest, id) || !whole_vectors()) return false;
  if (x.predicate >= 0 || x.access.computed >= 0 || k_.params[x.access.param].output) return false;
  const bool own = std::any_of(shape_.parallel.begin(), shape_.parallel.end(),
                               [&](int axis) { return !x.access.strides[axis].is_zero(); });
  return own && vector_bytes(id) >= 4 && alignment_of(id) == Alignment::always;
}

int64_t CudaEmitter::vector_bytes(int id) const {
  return V_ * size_of(k_.params[instruction(id).access.param].dtype);
}

/// The first loads for which there is room.
void CudaEmitter::find_fetched_loads() {
  if (s_.ahead == 0 || s_.splits == 0 || s_.flat || K_ == 0) return;
  for (const KernelBlock& block : k_.blocks) {
    if (block.scope != Scope::column) continue;
    const Nest nest = nest_of(block);
    for (int id : block.instructions) {
      if (fetched_.count(id) != 0 || !can_be_fetched(nest, id)) continue;
      const int64_t bytes = vector_bytes(id) * K_ * s_.threads;
      if ((fetched_bytes_ + bytes) * (s_.ahead + 1) > kMostFetchedBytes) continue;
      fetched_[id] = fetched_bytes_;
      fetched_bytes_ += bytes;
    }
  }
}

/// In front of the loop over rows: the first rows set out.
void CudaEmitter::begin_fetching(const std::string& first) {
  find_fetched_loads();
  if (fetched_.empty()) return;
  shared_floats_ = fetched_floats_ = fetched_bytes_ * (s_.ahead + 1) / 4;
  out_.line("unsigned char* const fetched = (unsigned char*)shared_floats;");
  for (int ahead = 0; ahead < s_.ahead; ++ahead)
    fetch_row(ahead == 0 ? first : fmt::format("{} + {}", first, ahead * rows_at_a_time()),
              std::to_string(ahead));
  out_.line("int stage = {};", s_.ahead);
}

/// At the top of the loop: one more row sets out, the row at hand has arrived.
void CudaEmitter::fetch_next_row() {
  if (fetched_.empty()) return;
  out_.line("const int stage_ahead = stage;");
  out_.line("stage = stage == {} ? 0 : stage + 1;", s_.ahead);
  fetch_row(fmt::format("row + {}", s_.ahead * rows_at_a_time()), "stage_ahead");
  out_.line("sm_await_fetched<{}>();", s_.ahead);
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
    out_.line("sm_fetch<{}>({}, {} + ({} + c));", vector_bytes(id), fetched_place(id, stage), array_of(id),
              base(id, false));
  if (!covers_exactly()) out_.close();
  out_.close();
  out_.close();
  out_.line("sm_end_fetch();");
  out_.close();
}

/// Vectors of neighbouring threads lie side by side.
std::string CudaEmitter::fetched_place(int id, const std::string& stage) const {
  const int64_t bytes = vector_bytes(id);
  return fmt::format("fetched + ({} * {} + {} + (k * {} + (int)threadIdx.x) * {})", stage, fetched_bytes_,
                     fetched_.at(id), s_.threads, bytes);
}

/// Where emit_loads takes a vector from.
std::string CudaEmitter::fetched_vector(int id) const {
  return fmt::format("(const {}*)({})", cuda_memory_type(k_.params[instruction(id).access.param].dtype),
                     fetched_place(id, "stage"));
}

}  // namespace smelt
