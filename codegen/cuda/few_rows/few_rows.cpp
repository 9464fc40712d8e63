#include "codegen/cuda/few_rows/few_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/launches/dependent_launches.h"

namespace smelt {
namespace {

/// The most rows of any kernel.
constexpr int64_t kMostRows = 64;

int state_of(const Program& program, int buffer) {
  return program.buffers[static_cast<size_t>(buffer)].state;
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

std::string FewRows::name() const {
  return fmt::format("smelt_few_rows_{:02}_{}_{}{}", rows, smelt::name(dtype), smelt::name(result_dtype),
                     has_bias ? "_bias" : "");
}

/// More rows want more registers for sums, which leaves fewer for loads in flight; and more weights a block,
/// since each block reads all of A.
std::vector<FewRows> few_rows(DType dtype, DType result_dtype, bool has_bias) {
  std::vector<FewRows> all = {{.rows = 8, .weights = 16, .depth = 6, .blocks_each = 3},
                              {.rows = 16, .weights = 16, .depth = 6, .blocks_each = 2},
                              {.rows = 32, .weights = 32, .depth = 4, .blocks_each = 1, .measured = true},
                              {.rows = 64, .weights = 16, .depth = 4, .blocks_each = 1, .measured = true}};
  for (FewRows& one : all) one.dtype = dtype, one.result_dtype = result_dtype, one.has_bias = has_bias;
  return all;
}

std::vector<FewRows> few_rows(const Program& program, const PlanEntry& entry, const GemmStep& step) {
  const bool few = keeps_tokens(program, entry) || program.symbols.upper(step.m) <= kMostRows;
  if (!few || !has_form(step) || !is_weight(program, entry, step.b.base)) return {};
  return few_rows(step.dtype, step.result_dtype, step.bias.has_value());
}

}  // namespace smelt
