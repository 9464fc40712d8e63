// Exchange of the states of reductions between the thread groups ("teams") of a thread block, in kernels with
// reduced axes. Each thread has one state per column of its vector. If a team is smaller than a warp, the
// teams of each warp first exchange states by shuffles. Then the groups (warps, or teams if these are at
// least as large) exchange states through shared memory. Schedule::team and Schedule::threads determine which
// of the two steps are needed, and the number of groups.
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
  /// A state and, for each of its scalars, the first part of the expression for an element in shared memory,
  /// such as "shared_floats[0 + ". The rest of the expression is the index of a column of a group, and "]".
  struct SharedState {
    const CudaReductionState* state;
    std::vector<std::string> arrays;
  };
  /// States that are exchanged together, `columns` columns of a vector at a time.
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
