// All reductions of a block of a kernel (KernelBlock in ir/kernel/kernel.h). Each thread reduces its own
// elements. In a row kernel (without reduced axes), the lanes of a warp then exchange states by shuffles, and
// the warps of a thread group ("team") that shares a row exchange them through shared memory. Which of these
// steps are needed, and the order of the additions, depend only on Schedule::team, the number of threads of a
// team. At the end all threads of a team have bitwise equal results. team_exchange.h has the exchange in
// kernels with reduced axes
// ("reduced kernels").
#pragma once

#include <vector>

#include "codegen/gpu/lower/lowering_context.h"
#include "codegen/gpu/lower/state_code.h"

namespace smelt::gpu {

/// A reduction in progress, and the variables of its state, one per scalar.
struct RunningReduction {
  int id;  // number of the reduce instruction
  StateCode code;
  std::vector<Expr> state;

  /// Returns variables that can hold the state of another thread.
  std::vector<Expr> other_state() const;
  /// Returns the state of one column, if the variables are arrays.
  std::vector<Expr> at(const Expr& index) const;
};

class ReductionLowering {
 public:
  explicit ReductionLowering(LoweringContext& context) : c_(context) {}

  /// Appends the variables of the states of a block's reductions. Each reduction has one state in a row
  /// kernel, and one state per column of a vector in a reduced kernel.
  void declare_states(const BlockNest& nest);
  /// Appends the step that combines the current element with the state of reduction `id`.
  void lower_element(int id);
  /// If takes_vectors(id), lower_element stores elements in an array that declare_vector declares, and
  /// lower_vector appends the step that combines the whole array with the state.
  void declare_vector(int id);
  void lower_vector(int id);
  /// Long sums are sums of many f32 terms. The f32 sum of every few terms is added to an f64 sum. Append the
  /// declarations of the f64 sums, the additions of the f32 sums to them, and the final rounding to f32.
  /// Append nothing if Schedule::short_sum is 0.
  void declare_long_sums();
  void add_short_sums();
  void round_long_sums();
  /// Appends the steps that combine the states of a team's threads, then binds the results.
  void finish_in_team();
  /// Sets the values of the reductions' results to expressions of the states. In a reduced kernel, the
  /// expressions use the state of the current column.
  void bind_results();

  const std::vector<RunningReduction>& running() const { return running_; }
  /// Returns whether the reduction combines all elements of a vector with the state in one statement.
  bool takes_vectors(int id) const;

 private:
  /// An array in shared memory, and the index in it of the first warp's scalar.
  struct SharedPlace {
    Expr array, first;
  };
  std::vector<const RunningReduction*> long_sums() const;
  void find_states(const BlockNest& nest);
  void declare_row_state(const RunningReduction& x);
  void declare_column_states(const RunningReduction& x);
  bool keeps_exponentials(int reduce) const;
  const RunningReduction& running_of(int reduce) const;
  void open_sums();
  void close_sums();
  Expr column_of_sums() const;
  Expr wide_sum(const RunningReduction& sum) const;
  Expr short_sum(const RunningReduction& sum) const;
  Expr exponentials(int reduce) const;
  Expr flag_of_fast(int reduce) const;
  Expr place_among_reduced() const;
  Expr guarded(const StateCode& code, const Expr& value) const;
  void combine_element(const RunningReduction& x, const std::vector<Expr>& to, const Expr& element);
  void sum_exponentials(const RunningReduction& x);
  void shuffle();
  void shuffle_state(const RunningReduction& x, const Expr& mask, const Expr& distance);
  void exchange();
  void leave_states(const std::vector<SharedPlace>& places);
  void join_states(const std::vector<SharedPlace>& places);
  SharedPlace shared_place(Scalar type);
  std::vector<SharedPlace> shared_places();
  void bind_results_of(const RunningReduction& x);
  void scale_exponentials(const RunningReduction& x);

  LoweringContext& c_;
  std::vector<RunningReduction> running_;
  int float_places_ = 0, int_places_ = 0;  // positions in shared memory that earlier exchanges use
};

}  // namespace smelt::gpu
