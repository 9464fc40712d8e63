// Reductions of a block, all at once: each thread's own share, then across the lanes of a warp by shuffles,
// then across the warps of a team through shared memory. The schedule's team alone determines which of these
// steps there are, and the order of the additions; all lanes end with the same bits.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/cuda_reduction.h"
#include "codegen/cuda/printers/cuda_context.h"

namespace smelt {

/// A reduction in progress: the names of its state, one per scalar.
struct CudaReductionState {
  int id;
  CudaReduction reduction;
  std::vector<std::string> names;

  /// The names of another thread's state.
  std::vector<std::string> other_names() const;
  /// Returns the names of one element's state, where every name is the name of an array.
  std::vector<std::string> at(const std::string& index) const;
};

class ReductionPrinter {
 public:
  explicit ReductionPrinter(CudaContext& context) : c_(context) {}

  /// The reductions of a block: of a row kernel one state each, of a reduced kernel one a column.
  void declare_states(const BlockNest& nest);
  /// One element joins its reduction's state.
  void print_element(int id);
  /// The elements of a vector that print_vector takes at once: their array, and their joining the state.
  void declare_vector(int id);
  void print_vector(int id);
  /// Print long sums: declare their f64 sums, add the short sums to these, and round them at the end.
  void declare_long_sums();
  void add_short_sums();
  void round_long_sums();
  /// Joins the states of a team's threads and binds the results.
  void finish_in_team();
  /// The names that later code reads; in reduced kernels those of one column.
  void bind_results();

  const std::vector<CudaReductionState>& states() const { return states_; }
  /// The table has a statement for a vector's elements at once.
  bool takes_vectors(int id) const;

 private:
  std::vector<const CudaReductionState*> long_sums() const;
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
  int float_places_ = 0, int_places_ = 0;  // that the kernel's exchanges have taken so far
};

}  // namespace smelt
