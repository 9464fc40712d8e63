#include "codegen/kernel_passes/kernel_passes.h"

#include <algorithm>
#include <span>
#include <vector>

#include "codegen/kernel_passes/kernel_shape.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// Words for reductions, and for accumulations, of the 48 KiB of shared memory that every block has; other
/// exchanges take the rest.
constexpr int64_t kReductionWords = 12000, kAccumulationWords = 11 << 10;

/// Words of a state: a scalar of 64 bits takes two.
int64_t words_of(const Instruction& reduce) {
  const int64_t scalars = std::ssize(info(reduce.reduce_op).state);
  return reduce.dtype == DType::i64 ? 2 * scalars : scalars;
}

/// A round that holds one column of everything, and as many more as halving leaves.
void set_round(Kernel& kernel, std::span<const int> ids, int round, int64_t words_of_column) {
  const int width = kernel.schedule.vector_width;
  int columns = width;
  while (columns > 1 && columns * words_of_column > kReductionWords) columns /= 2;
  for (const int id : ids) {
    kernel.instructions[id].exchange_round = round;
    kernel.instructions[id].exchange_columns = columns == width ? 0 : columns;
  }
}

/// One word for each scalar, column and group.
void exchange_reductions(Kernel& kernel, const KernelBlock& block) {
  const int64_t scalar = int64_t{exchanging_groups(kernel.schedule)} * kernel.schedule.team;
  std::vector<int> round_ids;
  int round = 0;
  int64_t words = 0;
  for (const int id : block.instructions) {
    if (kernel.instructions[id].kind != Kind::reduce) continue;
    const int64_t more = words_of(kernel.instructions[id]) * scalar;
    if (!round_ids.empty() && words + more > kReductionWords) {
      set_round(kernel, round_ids, round++, words);
      round_ids.clear(), words = 0;
    }
    round_ids.push_back(id), words += more;
  }
  set_round(kernel, round_ids, round, words);
}

/// One row for each sum and team.
void exchange_accumulations(Kernel& kernel, const KernelShape& shape) {
  const Schedule& s = kernel.schedule;
  const int64_t sums_in_round = kAccumulationWords / (int64_t{s.threads} * s.vectors * s.vector_width);
  int count = 0;
  for (const int id : shape.all_of(Kind::accumulate)) {
    if (shape.accumulation(id) != Accumulation::column) continue;
    Instruction& x = kernel.instructions[id];
    if (sums_in_round == 0)
      x.form = Form::sequential;
    else
      x.exchange_round = static_cast<int>(count++ / sums_in_round);
  }
}

}  // namespace

int exchanging_groups(const Schedule& schedule) {
  return schedule.team < 32 ? std::max(1, schedule.threads / 32) : schedule.threads / schedule.team;
}

void exchange_in_rounds(Kernel& kernel) {
  const Schedule& s = kernel.schedule;
  if (s.threads == s.team) return;
  const KernelShape shape(kernel);
  for (const KernelBlock& block : kernel.blocks)
    if (block.scope == KernelBlock::Scope::reduced && exchanging_groups(s) > 1)
      exchange_reductions(kernel, block);
  if (!shape.is_reduced() && s.vectors > 0) exchange_accumulations(kernel, shape);
}

}  // namespace smelt
