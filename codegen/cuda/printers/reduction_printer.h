// Printing of all reductions of a block of a kernel (KernelBlock in ir/kernel/kernel.h). Each thread reduces
// its own elements. In a row kernel (without reduced axes), the lanes of a warp then exchange states by
// shuffles, and the warps of a thread group ("team") that shares a row exchange them through shared memory.
// Which of these steps are needed, and the order of the additions, depend only on Schedule::team, the number
// of threads of a team. At the end all threads of a team have bitwise equal results. team_exchange.h has the
// exchange in kernels with reduced axes ("reduced kernels").
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/cuda_reduction.h"
#include "codegen/cuda/printers/cuda_context.h"

namespace smelt {

/// A reduction in progress: the names of its state, one per scalar.
struct CudaReductionState {
  int id;  // number of the reduce instruction
  CudaReduction reduction;
  std::vector<std::string> names;

  /// Returns names of variables that can hold the state of another thread.
  std::vector<std::string> other_names() const;
  /// Returns the names followed by `index`, such as "[j]": the state of one column, if the names are those of
  /// arrays.
  std::vector<std::string> at(const std::string& index) const;
};

class ReductionPrinter {
 public:
  explicit ReductionPrinter(CudaContext& context) : c_(context) {}

  /// Prints the variables of the states of a block's reductions. Each reduction has one state in a row
  /// kernel, and one state per column of a vector in a reduced kernel.
  void declare_states(const BlockNest& nest);
  /// Prints the step that combines the current element with the state of reduction `id`.
  void print_element(int id);
  /// If takes_vectors(id), print_element stores elements in an array that declare_vector declares, and
  /// print_vector prints the step that combines the whole array with the state.
  void declare_vector(int id);
  void print_vector(int id);
  /// Long sums are sums of many f32 terms. The f32 sum of every few terms is added to an f64 sum. Print the
  /// declarations of the f64 sums, the additions of the f32 sums to them, and the final rounding to f32.
  /// Print nothing if Schedule::short_sum is 0.
  void declare_long_sums();
  void add_short_sums();
  void round_long_sums();
  /// Prints the steps that combine the states of a team's threads, then binds the results.
  void finish_in_team();
  /// Sets the values of the reductions' results to expressions of the states. In a reduced kernel, the
  /// expressions use the state of the current column.
  void bind_results();

  const std::vector<CudaReductionState>& states() const { return states_; }
  /// Returns whether the reduction combines all elements of a vector with the state in one statement. This
  /// requires that reduce_ops.def has such a statement for the operation.
  bool takes_vectors(int id) const;

 private:
  std::vector<const CudaReductionState*> long_sums() const;
  void open_sums();
  void close_sums();
  const char* place_of_sum() const { return c_.shape.is_reduced() ? "j" : "0"; }
  std::string sum_of_thread(const CudaReductionState& sum) const;
  void find_states(const BlockNest& nest);
  void declare_row_state(const CudaReductionState& state);
  void declare_column_states(const CudaReductionState& state);
  bool keeps_exponentials(int reduce) const;
  const CudaReductionState& state_of(int reduce) const;
  std::string place_among_reduced() const;
  std::string guarded(const CudaReduction& reduction, const std::string& text) const;
  void sum_exponentials(const CudaReductionState& state);
  void shuffle();
  void shuffle_state(const CudaReductionState& state, const std::string& mask);
  void exchange();
  std::vector<std::string> shared_places();
  void bind_results_of(const CudaReductionState& state);

  CudaContext& c_;
  std::vector<CudaReductionState> states_;
  int float_places_ = 0, int_places_ = 0;  // positions in shared memory that earlier exchanges use
};

}  // namespace smelt
