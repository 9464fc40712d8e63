// Reduced kernels: a block takes items of the range one after the other, an item being a tile of columns at
// some indices of the other axes. The lanes of a team lie along the tile's columns, a vector each; the teams
// share the reduced axes and exchange their sums through shared memory.
#include <algorithm>

#include "codegen/cuda/cuda_emitter.h"
#include "runtime/error.h"

namespace smelt {
namespace {

using Scope = KernelBlock::Scope;

/// What teams exchange at a time: of the 48 KiB of static shared memory, what other scopes leave.
constexpr int64_t kExchangeWords = 12000;

}  // namespace

void CudaEmitter::emit_tiles() {
  const bool columns = shape_.inner >= 0;
  out_.line("const int lane = threadIdx.x % {}, team = threadIdx.x / {};", W_, W_);
  out_.line("const Index first = (Index){} * {};", block_, s_.grain);
  out_.open("for (Index item = first; item < first + {} && item < range; ++item)", s_.grain);
  std::vector<int> digits = shape_.parallel;
  if (shape_.columns.size() > 1)
    digits.insert(digits.end(), shape_.columns.begin(), shape_.columns.end() - 1);
  row_guard_ = "threadIdx.x == 0";
  if (columns) {
    out_.line("const Index tiles = ({} + {}) / {};", columns_end(), s_.tile - 1, s_.tile);
    out_.line("const Index c = item % tiles * {} + lane * {};", s_.tile, V_);
    out_.line("const Index others = item / tiles;");
    emit_digits("others", digits);
    row_guard_ += " && item % tiles == 0";
  } else {
    out_.line("const Index c = 0;");
    emit_digits("item", digits);
  }
  for (size_t i = 0; i + 1 < shape_.columns.size(); ++i)
    if (axis_text_[shape_.columns[i]] != "0")
      row_guard_ += fmt::format(" && {} == 0", axis_text_[shape_.columns[i]]);
  for (size_t i = 0; i < k_.blocks.size(); ++i) {
    emit_tile_block(k_.blocks[i]);
    if (i == 0 && k_.row_predicate >= 0)
      out_.line("if (!{}) continue;", coerce(value_of(k_.row_predicate), CudaKind::flag));
  }
  out_.close();
}

void CudaEmitter::emit_tile_block(const KernelBlock& block) {
  if (block.scope == Scope::row) return emit_row_scope(block);
  if (block.scope == Scope::reduced) return emit_reduced_block(block);
  for (int id : block.instructions)
    if (instruction(id).kind == Instruction::Kind::reduce)
      reject(id, "reduces over columns that are cut into tiles");
  emit_tile_columns(block);
}

/// One loop over all reduced indices, shared by the teams.
void CudaEmitter::emit_reduced_block(const KernelBlock& block) {
  const Nest nest = shape_.nest_of(block);
  begin_reductions(nest);
  for (const State& state : states_) {
    const std::vector<std::string> identity = state.reduction.identity();
    for (size_t i = 0; i < identity.size(); ++i)
      out_.line("{} {}[{}];", cuda_type(state.reduction.kind(i)), state.names[i], V_);
    for (size_t i = 0; i < identity.size(); ++i)
      out_.line("for (int j = 0; j < {}; ++j) {}[j] = {};", V_, state.names[i], identity[i]);
  }
  emit_depth(nest, 0);
  emit_reduced_lanes(nest);
  combine_teams(is_last_reduced(block));
  bind_results();
}

void CudaEmitter::emit_reduced_lanes(const Nest& nest) {
  out_.open("");
  loaded_.clear();
  const KernelAxis& first = k_.axes[shape_.reduced.front()];
  std::string begin = "0", end;
  for (int axis : shape_.reduced) end += (end.empty() ? "" : " * ") + dim(k_.axes[axis].extent);
  if (first.begin >= 0) begin = coerce(value_of(first.begin), CudaKind::integer);
  if (first.end >= 0) end = coerce(value_of(first.end), CudaKind::integer);
  if (shape_.reduced.size() > 1 && (first.begin >= 0 || first.end >= 0))
    fail_with(Status::internal, "kernel {}: a segment stands beside another reduced axis", k_.name);
  out_.line("Index i0 = {} + team;", begin);
  const bool rounds = nest.block->loads_first;
  for (int count = U_; rounds && count > 1; count /= 4) emit_rounds(nest, count, end);
  out_.line("#pragma unroll {}", rounds ? 1 : U_);
  out_.open("for (; i0 < {}; i0 += {})", end, T_);
  out_.line("const Index i = i0;");
  emit_reduced_index(nest, [&] {
    declare_loads(nest, "");
    emit_loads(nest, "");
    emit_vector(nest, "");
  });
  out_.close();
  out_.close();
}

/// While so many indices are left that their loads need not ask for the end.
void CudaEmitter::emit_rounds(const Nest& nest, int count, const std::string& end) {
  const auto each = [&](const auto& work) {
    out_.open_unrolled("u", count);
    out_.line("const Index i = i0 + u * {};", T_);
    emit_reduced_index(nest, work);
    out_.close();
  };
  out_.line("#pragma unroll 1");
  out_.open("for (; i0 < {} - {}; i0 += {})", end, T_ * (count - 1), T_ * count);
  declare_loads(nest, fmt::format("[{}]", count));
  each([&] { emit_loads(nest, "u"); });
  each([&] { emit_vector(nest, ""); });
  out_.close();
}

void CudaEmitter::emit_reduced_index(const Nest& nest, const std::function<void()>& work) {
  if (shape_.reduced.size() == 1)
    axis_text_[shape_.reduced.front()] = "i";
  else
    emit_digits("i", shape_.reduced);
  for (int depth = 1; depth < nest.inner; ++depth) emit_depth(nest, depth);
  if (shape_.inner >= 0) out_.open("if (c < {})", columns_end());
  starts_.clear(), start_names_.clear();
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id) && instruction(id).access.param >= 0) starts_[id] = start_of_lanes(id);
  work();
  if (shape_.inner >= 0) out_.close();
}

/// What follows is columns, the first team's work, and rows, its first thread's.
bool CudaEmitter::is_last_reduced(const KernelBlock& block) const {
  return std::none_of(&block + 1, k_.blocks.data() + k_.blocks.size(),
                      [](const KernelBlock& later) { return later.scope == Scope::reduced; });
}

/// The teams of a warp first, by shuffles, then warps through shared memory. The first team reads the result,
/// or all of them do.
void CudaEmitter::combine_teams(bool for_first) {
  if (T_ == 1) return;
  if (W_ < 32) shuffle_teams();
  const int groups = W_ < 32 ? s_.threads / 32 : T_;
  if (groups > 1) exchange_teams(groups, for_first);
}

void CudaEmitter::shuffle_teams() {
  const int width = std::min(32, s_.threads);
  const std::string mask = fmt::format("{:#x}u", width == 32 ? 0xffffffffu : (1u << width) - 1);
  out_.pragma_unroll();
  out_.open("for (int d = {}; d >= {}; d /= 2)", width / 2, W_);
  out_.open_unrolled("j", V_);
  for (const State& state : states_) {
    const auto other = [&](const std::string& name) {
      return fmt::format("__shfl_xor_sync({}, {}[j], d)", mask, name);
    };
    std::vector<std::string> others;
    for (size_t i = 0; i < state.names.size(); ++i) {
      others.push_back(other_name(state.id, i));
      out_.line("const {} {} = {};", cuda_type(state.reduction.kind(i)), others[i], other(state.names[i]));
    }
    out_.line("{}", state.reduction.combine(elements(state, "[j]"), others));
  }
  out_.close();
  out_.close();
}

/// The states' variables and where in shared memory a group of threads leaves one, `words` for each.
std::vector<CudaEmitter::Exchanged> CudaEmitter::exchanged(std::span<const State> states, int64_t words) {
  std::vector<Exchanged> variables;
  int64_t floats = 0, ints = 0;
  for (const State& state : states) {
    variables.push_back({&state, {}});
    for (size_t i = 0; i < state.names.size(); ++i) {
      const bool real = state.reduction.kind(i) == CudaKind::real;
      int64_t& used = real ? floats : ints;
      variables.back().arrays.push_back(fmt::format("shared_{}[{} + ", real ? "floats" : "ints", used));
      used += words;
    }
  }
  shared_floats_ = std::max(shared_floats_, floats), shared_ints_ = std::max(shared_ints_, ints);
  return variables;
}

/// What `groups` of threads have, each for the columns of a team, is joined in their order: of all states at
/// once, or of as many as shared memory has room for.
void CudaEmitter::exchange_teams(int groups, bool for_first) {
  const int64_t column = int64_t{groups} * W_;
  const std::span<const State> all(states_);
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    int64_t variables = 0;
    const auto fits = [&](const State& state) {
      const int64_t more = variables + std::ssize(state.names);
      return (variables == 0 || more * column <= kExchangeWords) && (variables = more) > 0;
    };
    while (end < all.size() && fits(all[end])) ++end;
    exchange_vectors(all.subspan(begin, end - begin), variables, groups, for_first);
  }
}

/// All of a vector's columns at a time, or as many as there is room for.
void CudaEmitter::exchange_vectors(std::span<const State> states, int64_t variables, int groups,
                                   bool for_first) {
  const int64_t column = int64_t{groups} * W_;
  int columns = V_;
  while (columns > 1 && variables * columns * column > kExchangeWords) columns /= 2;
  const std::vector<Exchanged> places = exchanged(states, columns * column);
  if (columns == V_) return exchange_columns(places, groups, "j", columns, for_first);
  out_.pragma_unroll();
  out_.open("for (int j0 = 0; j0 < {}; j0 += {})", V_, columns);
  exchange_columns(places, groups, "j0 + j", columns, for_first);
  out_.close();
}

void CudaEmitter::exchange_columns(const std::vector<Exchanged>& places, int groups, const std::string& j,
                                   int columns, bool for_first) {
  const auto at = [&](const std::string& group) {
    return fmt::format("(j * {} + {}) * {} + lane]", groups, group, W_);
  };
  out_.line("__syncthreads();");
  out_.open("{}", W_ < 32 ? fmt::format("if (threadIdx.x % 32 < {})", W_) : "");
  out_.open_unrolled("j", columns);
  const auto scalars = [&](auto&& what) {
    for (const Exchanged& p : places)
      for (size_t i = 0; i < p.arrays.size(); ++i) what(p.arrays[i], p.state->names[i]);
  };
  scalars([&](const std::string& array, const std::string& name) {
    out_.line("{}{} = {}[{}];", array, at(W_ < 32 ? "threadIdx.x / 32" : "team"), name, j);
  });
  out_.close(), out_.close();
  out_.line("__syncthreads();");
  out_.open("{}", for_first ? "if (team == 0)" : "");
  out_.open_unrolled("j", columns);
  scalars([&](const std::string& array, const std::string& name) {
    out_.line("{}[{}] = {}{};", name, j, array, at("0"));
  });
  out_.pragma_unroll();
  out_.open("for (int g = 1; g < {}; ++g)", groups);
  for (const Exchanged& p : places) {
    std::vector<std::string> others;
    for (const std::string& array : p.arrays) others.push_back(array + at("g"));
    out_.line("{}", p.state->reduction.combine(elements(*p.state, "[" + j + "]"), others));
  }
  out_.close(), out_.close(), out_.close();
}

/// What becomes of the columns: the first team's work.
void CudaEmitter::emit_tile_columns(const KernelBlock& block) {
  const Nest nest = shape_.nest_of(block);
  emit_depth(nest, 0);
  out_.open("if (team == 0 && c < {})", columns_end());
  starts_.clear(), start_names_.clear(), loaded_.clear();
  for (int id : block.instructions)
    if (nest.in_vectors(id) && instruction(id).access.param >= 0) starts_[id] = start_of_lanes(id);
  declare_loads(nest, "");
  emit_loads(nest, "");
  emit_vector(nest, "");
  out_.close();
}

}  // namespace smelt
