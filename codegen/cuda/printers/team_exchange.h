// Exchange of the states of reductions between the teams of a thread block, in kernels with reduced axes. A
// team is the group of threads along the columns of a tile (Schedule::team). Each thread has one state per
// column of its vector. If a team is smaller than a warp, the teams of a warp first exchange their states by
// shuffles. Then the warps exchange states through shared memory. If a team has one or several warps, there
// are no shuffles, and the teams exchange states through shared memory. `groups` below is the number of warps
// in the first case, and the number of teams in the second.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/cuda/printers/cuda_context.h"
#include "codegen/cuda/printers/reduction_printer.h"

namespace smelt {

class TeamExchange {
 public:
  TeamExchange(CudaContext& context, const ReductionPrinter& reductions)
      : c_(context), reductions_(reductions) {}

  /// Prints the exchange of the states of the current block. `for_first_team`: only the first team gets the
  /// results; otherwise all teams do.
  void print(bool for_first_team);

 private:
  using States = std::span<const CudaReductionState>;
  /// A state, and the arrays in shared memory for its scalars. Each array is the beginning of an expression,
  /// such as "shared_floats[0 + ". An index and "]" are appended to it.
  struct SharedState {
    const CudaReductionState* state;
    std::vector<std::string> arrays;
  };
  /// States that are exchanged together. `columns`: the number of columns of a vector that shared memory can
  /// hold at a time.
  struct Round {
    std::vector<SharedState> states;
    int groups, columns;
    bool for_first_team;
  };
  void print_shuffles();
  void print_shuffle(const CudaReductionState& state, const std::string& mask);
  void print_exchange(int groups, bool for_first_team);
  void print_round(States states, int groups, bool for_first_team);
  std::vector<SharedState> place_in_shared_memory(States states, int64_t words);
  void print_columns(const Round& round, const std::string& j);
  void write_columns(const Round& round, const std::string& j);
  void join_columns(const Round& round, const std::string& j);
  std::string index_of(const Round& round, const std::string& group) const;

  CudaContext& c_;
  const ReductionPrinter& reductions_;
};

}  // namespace smelt
