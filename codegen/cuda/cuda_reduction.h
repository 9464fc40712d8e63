// CUDA text of the reductions of reduce_ops.def.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/cuda/code_text.h"
#include "codegen/cuda/expressions.h"
#include "ir/kernel/reduction_code.h"

namespace smelt {

/// A reduction of elements of one type. The state of a reduction consists of one or several scalars, such as
/// a sum, or a maximum and its position. Here a state is a list of CUDA expressions, one per scalar.
class CudaReduction {
 public:
  using State = std::vector<std::string>;

  /// `fast`: uses fast approximations of functions such as exp (cuda_apply in expressions.h). `own_forms`: if
  /// the op's row of reduce_ops.def has CUDA text for a function, this text is used. Without such text, or if
  /// own_forms is false, expressions are generated from the definition that all back ends share.
  CudaReduction(ReduceOp op, DType element, bool fast, bool own_forms = true);

  /// Return the number of scalars of a state, and the kind of each.
  size_t size() const { return row_.state.size(); }
  CudaKind kind(size_t scalar) const;
  /// Returns whether `lift` reads the element's position, as for an argmax.
  bool reads_place() const { return code_.reads_place(); }

  /// Returns the state of a reduction of no elements.
  State identity() const;
  /// Returns the state of one element: `x` and `place` are expressions for the element and for its position
  /// among the reduced elements, an int.
  State lift(const std::string& x, const std::string& place) const;
  /// Appends code that combines the state in the variables `to` with another state and assigns the result to
  /// `to`.
  void combine(CodeText& out, const State& to, const State& other) const;
  /// Returns an expression for the result with number `result` (0 unless the reduction has several).
  std::string finish(const State& state, size_t result) const;

  /// Return a statement that reduce_ops.def gives for this op; "" if it gives none. combine_vector: a
  /// statement that combines the state `to` with all elements of the array `vector`. combine_lanes: a
  /// statement that combines the states of `lanes` neighbouring lanes of a warp; `mask` is the mask of its
  /// shuffles.
  std::string combine_vector(const State& to, const std::string& vector) const;
  std::string combine_lanes(const State& to, int lanes, const std::string& mask) const;

 private:
  /// The expressions that replace the variables of a ReductionFunction: the states `left` and `right`, the
  /// element, and its position.
  struct Leaves {
    const State *left = nullptr, *right = nullptr;
    std::string element = {}, place = {};
  };
  /// Returns the expression of one step, which is a variable or a constant.
  CudaValue leaf(const ReductionStep& step, const Leaves& leaves) const;
  State expressions(const ReductionFunction& function, const Leaves& leaves) const;
  /// Returns a pattern of reduce_ops.def with its placeholders replaced by the operands.
  std::string filled(std::string_view pattern, const State& operands) const;

  const ReduceOpInfo& row_;
  const ReductionCode& code_;
  CudaKind element_;
  bool fast_, own_forms_;
};

}  // namespace smelt
