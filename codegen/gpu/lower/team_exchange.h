// Exchange of the states of reductions between the teams of a thread block, in kernels with reduced axes. A
// team is the group of threads along the columns of a tile (Schedule::team). Each thread has one state per
// column of its vector. If a team is smaller than a warp, the teams of a warp first exchange their states by
// shuffles. Then the warps exchange states through shared memory. If a team has one or several warps, there
// are no shuffles, and the teams exchange states through shared memory. `groups` below is the number of warps
// in the first case, and the number of teams in the second.
#pragma once

#include <span>
#include <vector>

#include "codegen/gpu/lower/lowering_context.h"
#include "codegen/gpu/lower/reduction_lowering.h"

namespace smelt::gpu {

class TeamExchange {
 public:
  TeamExchange(LoweringContext& context, const ReductionLowering& reductions)
      : c_(context), reductions_(reductions) {}

  /// Appends the exchange of the states of the current block. `for_first_team`: only the first team gets the
  /// results; otherwise all teams do.
  void lower(bool for_first_team);

 private:
  using Reductions = std::span<const RunningReduction>;
  /// An array in shared memory, and the index of its first scalar; nothing: 0.
  struct SharedArray {
    Expr array, first;
  };
  /// A reduction, and the arrays in shared memory for the scalars of its state.
  struct SharedState {
    const RunningReduction* running;
    std::vector<SharedArray> arrays;
  };
  /// States that are exchanged together. `columns`: the number of columns of a vector that shared memory can
  /// hold at a time.
  struct Round {
    std::vector<SharedState> states;
    int groups, columns;
    bool for_first_team;
  };
  void shuffle_all();
  void shuffle(const RunningReduction& x, const Expr& mask, const Expr& distance, const Expr& j);
  void exchange(int groups, bool for_first_team);
  void lower_round(Reductions reductions, int groups, bool for_first_team);
  std::vector<SharedState> place_in_shared_memory(Reductions reductions, int64_t words);
  void lower_columns(const Round& round, const Expr& first);
  void write_columns(const Round& round, const Expr& first);
  void join_columns(const Round& round, const Expr& first);
  void read_first_group(const Round& round, const Expr& j, const Expr& column);
  Expr place_of(const Round& round, const SharedArray& array, const Expr& group, const Expr& j) const;

  LoweringContext& c_;
  const ReductionLowering& reductions_;
};

}  // namespace smelt::gpu
