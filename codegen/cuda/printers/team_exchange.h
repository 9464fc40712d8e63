// Sums over the teams of a block in reduced kernels, column by column. The teams of a warp are joined by
// shuffles, then the warps through shared memory. The schedule's team and threads determine which of the two
// steps there are, and the number of thread groups that exchange.
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

  /// The sums of the current block. The first team reads the result, or all of them do.
  void print(bool for_first_team);

 private:
  using States = std::span<const CudaReductionState>;
  /// A state and, for each of its scalars, the array up to the index that groups leave it in.
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
