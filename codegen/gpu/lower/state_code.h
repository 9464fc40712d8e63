// Thread IR of the reductions of reduce_ops.def.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/thread_ir/body_builder.h"
#include "ir/kernel/reduction_code.h"

namespace smelt::gpu {

/// A reduction of elements of one type. The state of a reduction consists of one or several scalars, such as
/// a sum, or a maximum and its position. Here a state is a list of expressions, one per scalar.
class StateCode {
 public:
  using State = std::vector<Expr>;

  /// `fast`: uses fast approximations of functions such as exp. `own_forms`: if the op's row of
  /// reduce_ops.def names a device function, it is called. Otherwise, or if own_forms is false, the code is
  /// made from the definition that all back ends share.
  StateCode(ReduceOp op, DType element, bool fast, bool own_forms = true);

  /// Return the number of scalars of a state, and the type of each.
  size_t size() const { return row_.state.size(); }
  Scalar type(size_t scalar) const;
  /// Returns whether `lift` reads the element's position, as for an argmax.
  bool reads_place() const { return code_.reads_place(); }

  /// Returns the state of a reduction of no elements.
  State identity() const;
  /// Returns the state of one element `x` at `place`, its position among the reduced elements, an int32.
  State lift(const Expr& x, const Expr& place) const;
  /// Appends code that combines the state in the variables `to` with another state and assigns the result to
  /// `to`.
  void combine(BodyBuilder& out, const State& to, const State& other) const;
  /// Returns the result with number `result` (0 unless the reduction has several).
  Expr finish(const State& state, size_t result) const;

  /// Return whether the op's row names a device function that combines a state with all elements of an array,
  /// and one that combines the states of neighbouring lanes of a warp.
  bool takes_vectors() const { return own_forms_ && !row_.cuda_combine_vector.empty(); }
  bool combines_lanes() const { return own_forms_ && !row_.cuda_combine_lanes.empty(); }
  void combine_vector(BodyBuilder& out, const State& to, const Expr& vector) const;
  void combine_lanes(BodyBuilder& out, const State& to, int lanes, const Expr& mask) const;

 private:
  /// The expressions that replace the variables of a ReductionFunction: the states `left` and `right`, the
  /// element, and its position.
  struct Leaves {
    const State *left = nullptr, *right = nullptr;
    Expr element = {}, place = {};
  };
  Expr leaf(const ReductionStep& step, const Leaves& leaves) const;
  Expr extreme(bool highest) const;
  Precision precision() const { return fast_ ? Precision::fast : Precision::exact; }
  State expressions(const ReductionFunction& function, const Leaves& leaves) const;
  void combine_by_parts(BodyBuilder& out, const State& to, const State& other) const;

  ReduceOp op_;
  const ReduceOpInfo& row_;
  const ReductionCode& code_;
  Scalar element_;
  bool fast_, own_forms_;
};

}  // namespace smelt::gpu
