#include "codegen/cuda/small_m/small_m.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/launches/launch_passes.h"

namespace smelt {
namespace {

/// Long sums of few columns have fewer weights a block, so that all multiprocessors have some; others more,
/// since a block reads A for each of its tiles.
constexpr int64_t kFewColumns = 2113, kLongSums = 4096, kManyColumns = 5000;
/// The most columns of a tile of packed weights, with at most 8 rows.
constexpr int kMostPackedWeights = 16;
/// For chains: columns up to which each of 132 multiprocessors has at most 2, 5 or 8 tiles of 8 columns.
constexpr int64_t kTwoTiles = 2113, kFiveTiles = 5281, kEightTiles = 8449;

int state_of(const Program& program, int buffer) {
  const auto index = static_cast<size_t>(buffer);
  return index < program.buffers.size() ? program.buffers[index].state : -1;
}

bool writes_state(const Program& program, const PlanEntry& entry, int state) {
  return std::ranges::any_of(entry.steps, [&](const Step& step) {
    return std::ranges::any_of(step.writes, [&](int written) { return state_of(program, written) == state; });
  });
}

bool has_form(const GemmStep& step) {
  const bool half = step.dtype == DType::bf16 || step.dtype == DType::f16;
  return half && step.batch.empty() && step.beta == 0 && step.a.column_stride.is_one() &&
         step.b.row_stride.is_one() && step.c.column_stride.is_one();
}

bool is_weight(const Program& program, const PlanEntry& entry, const BufferRef& operand) {
  const int state = state_of(program, operand.buffer);
  return state >= 0 && !writes_state(program, entry, state);
}

}  // namespace

std::string SmallM::name() const {
  if (warps > 0)
    return fmt::format("smelt_chain_few_{:02}_{:02}_{}_{}_{}", rows, weights, warps, smelt::name(dtype),
                       smelt::name(result_dtype));
  return fmt::format("smelt_small_m_{:02}_{:02}_{}_{}{}", rows, weights, smelt::name(dtype),
                     smelt::name(result_dtype), has_bias ? "_bias" : "");
}

/// The library is as fast with more than 16 rows.
std::vector<SmallM> small_m(DType dtype, DType result_dtype, bool has_bias) {
  std::vector<SmallM> all;
  for (const int rows : {8, 16}) {
    all.push_back(
        {.rows = rows, .weights = 8, .depth = 22, .columns_below = kFewColumns, .least_sums = kLongSums});
    all.push_back({.rows = rows, .weights = 16, .depth = rows == 8 ? 11 : 8, .columns_below = kManyColumns});
    all.push_back({.rows = rows, .weights = 32, .depth = 5});
  }
  for (SmallM& one : all) one.dtype = dtype, one.result_dtype = result_dtype, one.has_bias = has_bias;
  return all;
}

/// The products of a chain wait for one another, so few columns are divided among more warps. All kernels
/// have 40 to 70 KiB of weights in flight on a multiprocessor. A block has at most 99 KiB of shared memory,
/// as much as every GPU since sm_80 gives it.
std::vector<SmallM> small_m_chains(DType dtype, DType result_dtype) {
  std::vector<SmallM> all;
  for (const int rows : {8, 16}) {
    const bool few = rows == 8;
    all.push_back(
        {.rows = rows, .weights = 8, .depth = few ? 14 : 10, .columns_below = kTwoTiles, .warps = 2});
    all.push_back(
        {.rows = rows, .weights = 8, .depth = few ? 7 : 6, .columns_below = kFiveTiles, .warps = 5});
    all.push_back({.rows = rows, .weights = 16, .depth = 4, .columns_below = kEightTiles, .warps = 4});
    all.push_back({.rows = rows, .weights = 32, .depth = few ? 4 : 3, .warps = 4});
  }
  for (SmallM& one : all) one.dtype = dtype, one.result_dtype = result_dtype;
  return all;
}

SmallMTiles small_m_tiles(int64_t rows, int64_t n, int64_t k, int parts, bool in_order, bool packed) {
  SmallMTiles tiles{.parts = parts};
  for (const SmallM& few :
       in_order ? small_m_chains(DType::bf16, DType::bf16) : small_m(DType::bf16, DType::bf16, false)) {
    const bool takes = rows <= few.rows && n < few.columns_below && k >= few.least_sums;
    if (packed && few.rows == 8 && few.weights > kMostPackedWeights && tiles.weights % (8 * parts) == 0 &&
        rows <= few.rows)
      break;
    tiles.rows = few.rows, tiles.weights = few.weights, tiles.depth = few.depth, tiles.warps = few.warps;
    if (takes && few.weights % (8 * parts) == 0) break;
  }
  return tiles;
}

bool multiplies_weights(const Program& program, const PlanEntry& entry, const GemmStep& step) {
  return has_form(step) && is_weight(program, entry, step.b.base);
}

bool multiplies_packed(const Program& program, const PlanEntry& entry, const GemmStep& step,
                       const DequantizeStep& packed) {
  const bool whole = packed.y == step.b.base && packed.rows == step.n && packed.columns == step.k &&
                     step.b.column_stride == step.k && packed.dtype == step.dtype;
  const bool reads_states = is_weight(program, entry, packed.codes) &&
                            is_weight(program, entry, packed.scales) &&
                            (!packed.zeros || is_weight(program, entry, *packed.zeros));
  return has_form(step) && whole && reads_states;
}

bool has_small_m(const Program& program, const PlanEntry& entry, const GemmStep& step) {
  const bool few = keeps_tokens(program, entry) || program.symbols.upper(step.m) <= kMostSmallM;
  return few && multiplies_weights(program, entry, step);
}

std::vector<SmallM> small_m(const Program& program, const PlanEntry& entry, const GemmStep& step) {
  if (step.b_i8 || !has_small_m(program, entry, step)) return {};
  if (step.in_order) return small_m_chains(step.dtype, step.result_dtype);
  return small_m(step.dtype, step.result_dtype, step.bias.has_value());
}

}  // namespace smelt
