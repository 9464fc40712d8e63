// Rows and flat ranges, and the partial sums that a block keeps while it walks them.
#include <algorithm>

#include "codegen/cuda/cuda_emitter.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// Of a block, beside what reductions exchange.
constexpr int64_t kMostSharedFloats = 11 << 10;

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

}  // namespace

void CudaEmitter::emit_rows() {
  if (W_ > 1) {
    out_.line("const int lane = threadIdx.x % {};", W_);
    row_guard_ = "lane == 0";
  }
  if (W_ > 1 && W_ < 32)
    out_.line("const unsigned mask = {:#x}u << threadIdx.x % 32 / {} * {};", (1u << W_) - 1, W_, W_);
  if (W_ == 32) out_.line("const unsigned mask = 0xffffffffu;");
  if (T_ > 1) out_.line("const int team = threadIdx.x / {};", W_);
  declare_accumulators();
  if (s_.flat)
    emit_flat();
  else
    emit_row_loop();
  finish_accumulators();
}

/// Blocks of a kernel with partial sums walk over their share of the rows; else every team has one row.
void CudaEmitter::emit_row_loop() {
  const std::string team = T_ > 1 ? " + team" : "";
  if (s_.splits == 0) {
    out_.line("const Index row = (Index){} * {}{};", block_, T_, team);
    if (T_ > 1) out_.line("if (row >= range) return;");
    emit_digits("row", shape_.parallel);
    return emit_row_blocks("return");
  }
  if (s_.interleaved) {
    out_.line("const Index begin = (Index)blockIdx.x * {}, end = range;", T_);
  } else {
    out_.line("const Index chunk = (range + {0}) / {1} > 1 ? (range + {0}) / {1} : 1;", s_.splits - 1,
              s_.splits);
    out_.line("const Index begin = blockIdx.x * chunk, end = begin + chunk < range ? begin + chunk : range;");
  }
  if (W_ > 32) {
    uses_turns_ = true;
    out_.line("int turn = 0;");
  }
  begin_fetching("begin" + team);
  out_.open("for (Index row = begin{}; row < end; row += {})", team, rows_at_a_time());
  if (uses_turns_) out_.line("turn ^= 1;");
  fetch_next_row();
  emit_digits("row", shape_.parallel);
  emit_row_blocks("continue");
  out_.close();
}

/// The team is the block; its columns begin where its share of the range does, at a multiple of every vector.
void CudaEmitter::emit_flat() {
  row_guard_ = "blockIdx.x == 0" + std::string(W_ > 1 ? " && lane == 0" : "");
  if (s_.interleaved) {
    out_.line("const Index begin = (Index)blockIdx.x * {}, end = range;", int64_t{W_} * V_ * U_);
  } else {
    if (s_.splits > 0)
      out_.line("const Index chunk = ((range + {}) / {} + 63) / 64 * 64;", s_.splits - 1, s_.splits);
    out_.line("const Index begin = (Index)blockIdx.x * {0}, end = begin + {0} < range ? begin + {0} : range;",
              s_.splits > 0 ? "chunk" : std::to_string(s_.grain));
  }
  emit_row_blocks("return");
}

void CudaEmitter::emit_row_blocks(const std::string& skip) {
  emit_early_loads();
  for (size_t i = 0; i < k_.blocks.size(); ++i) {
    const KernelBlock& block = k_.blocks[i];
    if (block.after_barrier) barrier();
    if (block.scope == Scope::row)
      emit_row_scope(block);
    else
      emit_column_block(block);
    if (i == 0 && k_.row_predicate >= 0)
      out_.line("if (!{}) {};", coerce(value_of(k_.row_predicate), CudaKind::flag), skip);
  }
}

void CudaEmitter::barrier() {
  if (W_ <= 32)
    out_.line("__syncwarp(mask);");
  else if (T_ == 1)
    out_.line("__syncthreads();");
  else
    out_.line("sm_barrier(team + 1, {});", W_);
}

// ---- partial sums

std::string CudaEmitter::slice(int param) const {
  return fmt::format("{} + (long long)blockIdx.x * {}", param_names_[param],
                     dim(k_.params[param].partial_elements));
}

void CudaEmitter::declare_accumulators() {
  for (int id : shape_.all_of(Kind::accumulate)) {
    if (k_.params[instruction(id).access.param].dtype != DType::f32)
      reject(id, "accumulates into a parameter that is not f32");
    const Accumulation how = shape_.accumulation(id);
    if (how == Accumulation::scalar) out_.line("float sum{} = 0;", id);
    if (how == Accumulation::column && K_ > 0) out_.line("float sum{}[{}][{}] = {{}};", id, K_, V_);
  }
  zero_memory_accumulators();
}

/// Sums that no register holds: every element is added to by one thread, always the same.
void CudaEmitter::zero_memory_accumulators() {
  bool any = false;
  for (size_t i = 0; i < k_.params.size(); ++i) {
    if (!k_.params[i].partial) continue;
    const auto in_memory = [&](int id) {
      return instruction(id).access.param == static_cast<int>(i) &&
             (shape_.accumulation(id) == Accumulation::memory ||
              (shape_.accumulation(id) == Accumulation::column && K_ == 0));
    };
    const std::vector<int> all = shape_.all_of(Kind::accumulate);
    const bool memory = std::any_of(all.begin(), all.end(), in_memory);
    if (!memory && is_written_whole(static_cast<int>(i))) continue;
    if (T_ > 1 && memory)
      fail_with(Status::internal, "kernel {}: sums in memory want one team a block", k_.name);
    out_.line("for (Index i = threadIdx.x; i < {}; i += {}) ({})[i] = 0;", dim(k_.params[i].partial_elements),
              s_.threads, slice(static_cast<int>(i)));
    any = true;
  }
  if (any) out_.line("__syncthreads();");
}

/// Whether what stands in registers at the end is all of a slice.
bool CudaEmitter::is_written_whole(int param) const {
  Dim written = 0;
  for (int id : shape_.all_of(Kind::accumulate)) {
    if (instruction(id).access.param != param || adds_again(id)) continue;
    const bool column = shape_.accumulation(id) == Accumulation::column;
    written += column ? k_.axes[shape_.inner].extent : Dim(1);
  }
  return written == k_.params[param].partial_elements;
}

/// An accumulation before this one has the same places.
bool CudaEmitter::adds_again(int id) const {
  for (int other : shape_.all_of(Kind::accumulate))
    if (other < id && instruction(other).access == instruction(id).access) return true;
  return false;
}

/// Every block writes its slice whole, each element once: accumulations into one parameter follow one
/// another.
void CudaEmitter::finish_accumulators() {
  std::vector<int> columns;
  for (int id : shape_.all_of(Kind::accumulate)) {
    const Accumulation how = shape_.accumulation(id);
    if (how == Accumulation::scalar) finish_scalar_accumulator(id);
    if (how == Accumulation::column && K_ > 0) columns.push_back(id);
  }
  finish_column_accumulators(columns);
}

void CudaEmitter::finish_scalar_accumulator(int id) {
  const Access& access = instruction(id).access;
  const int warps = std::max(1, s_.threads / 32), width = std::min(s_.threads, 32);
  shared_floats_ = std::max<int64_t>(shared_floats_, warps);
  out_.open("");
  out_.line("__syncthreads();");
  if (width > 1) {
    out_.line("for (int d = {}; d > 0; d /= 2) sum{} += __shfl_xor_sync({:#x}u, sum{}, d);", width / 2, id,
              width == 32 ? 0xffffffffu : (1u << width) - 1, id);
  }
  out_.line("if (threadIdx.x % 32 == 0) shared_floats[threadIdx.x / 32] = sum{};", id);
  out_.line("__syncthreads();");
  out_.open("if (threadIdx.x == 0)");
  out_.line("float total = shared_floats[0];");
  out_.line("for (int w = 1; w < {}; ++w) total += shared_floats[w];", warps);
  out_.line("({})[{}] {} total;", slice(access.param), dim(access.offset), adds_again(id) ? "+=" : "=");
  out_.close();
  out_.close();
}

/// Teams put their columns side by side into shared memory, of as many sums at a time as there is room for,
/// or add to them one after the other; both sum in the order of the teams.
void CudaEmitter::finish_column_accumulators(const std::vector<int>& ids) {
  if (ids.empty()) return;
  const auto room = static_cast<size_t>(kMostSharedFloats / (int64_t{T_} * K_ * W_ * V_));
  if (T_ == 1)
    for (int id : ids) write_own_columns(id);
  else if (room == 0)
    for (int id : ids) add_columns_in_turn(id);
  else
    for (size_t i = 0; i < ids.size(); i += room)
      add_columns_side_by_side({ids.begin() + i, ids.begin() + std::min(ids.size(), i + room)});
}

/// What a thread has of a row: k, j, and the column c.
void CudaEmitter::open_own_columns() {
  out_.open_unrolled("k", K_);
  out_.open_unrolled("j", V_);
  out_.line("const int c = (k * {} + {}) * {} + j;", W_, W_ > 1 ? "lane" : "0", V_);
}
void CudaEmitter::close_own_columns() { out_.close(), out_.close(); }

/// to[c] = value, or +=, of a block's slice.
void CudaEmitter::write_column(int id, const std::string& value) {
  const Access& access = instruction(id).access;
  out_.line("({} + {})[c * {}] {} {};", slice(access.param), dim(access.offset),
            dim(access.strides[shape_.inner]), adds_again(id) ? "+=" : "=", value);
}

void CudaEmitter::write_own_columns(int id) {
  open_own_columns();
  if (!covers_exactly()) out_.open("if (c < {})", columns_end());
  write_column(id, fmt::format("sum{}[k][j]", id));
  if (!covers_exactly()) out_.close();
  close_own_columns();
}

void CudaEmitter::add_columns_side_by_side(const std::vector<int>& ids) {
  const int64_t columns = K_ * W_ * V_;
  shared_floats_ = std::max(shared_floats_, static_cast<int64_t>(ids.size()) * T_ * columns);
  out_.line("__syncthreads();");
  out_.open_unrolled("k", K_);
  for (size_t i = 0; i < ids.size(); ++i)
    out_.line("sm_store<true>(shared_floats + {} + team * {} + (k * {} + {}) * {}, sum{}[k], {});",
              static_cast<int64_t>(i) * T_ * columns, columns, W_, W_ > 1 ? "lane" : "0", V_, ids[i], V_);
  out_.close();
  out_.line("__syncthreads();");
  out_.open("for (int c = threadIdx.x; c < {}; c += {})", columns_end(), s_.threads);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t place = static_cast<int64_t>(i) * T_ * columns;
    out_.line("float total{} = shared_floats[{} + c];", i, place);
    out_.pragma_unroll();
    out_.line("for (int t = 1; t < {}; ++t) total{} += shared_floats[{} + t * {} + c];", T_, i, place,
              columns);
    write_column(ids[i], fmt::format("total{}", i));
  }
  out_.close();
}

void CudaEmitter::add_columns_in_turn(int id) {
  shared_floats_ = std::max(shared_floats_, int64_t{K_} * W_ * V_);
  out_.open("for (int t = 0; t < {}; ++t)", T_);
  out_.line("__syncthreads();");
  out_.open("if (team == t)");
  open_own_columns();
  out_.line("shared_floats[c] = t == 0 ? sum{0}[k][j] : shared_floats[c] + sum{0}[k][j];", id);
  close_own_columns();
  out_.close(), out_.close();
  out_.line("__syncthreads();");
  out_.open("for (int c = threadIdx.x; c < {}; c += {})", columns_end(), s_.threads);
  write_column(id, "shared_floats[c]");
  out_.close();
}

}  // namespace smelt
