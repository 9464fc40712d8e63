// The rows of reduce_ops.def as CUDA text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/cuda/expressions.h"
#include "ir/kernel/reduction_code.h"

namespace smelt {

/// A reduction of elements of one type. A state is a list of CUDA expressions, one per scalar.
class CudaReduction {
 public:
  using State = std::vector<std::string>;

  /// `fast`: as in cuda_apply. `own_forms`: where a row of reduce_ops.def has CUDA text for a function, that
  /// text is used instead of expressions that are made from the row's generic function.
  CudaReduction(ReduceOp op, DType element, bool fast, bool own_forms = true);

  /// Return the number of scalars of a state, and the kind of each.
  size_t size() const { return row_.state.size(); }
  CudaKind kind(size_t scalar) const;
  bool reads_place() const { return code_.reads_place(); }

  State identity() const;
  /// Returns the state of the element x at a position, an int.
  State lift(const std::string& x, const std::string& place) const;
  /// A statement that joins another state to the one in the variables `to`.
  std::string combine(const State& to, const State& other) const;
  std::string finish(const State& state, size_t result) const;

  /// Return the statements that reduce_ops.def has, or "" if it has none. combine_vector combines a vector of
  /// elements with a state. combine_lanes combines the states of all lanes of a mask.
  std::string combine_vector(const State& to, const std::string& vector) const;
  std::string combine_lanes(const State& to, int lanes, const std::string& mask) const;

 private:
  struct Leaves {
    const State *left = nullptr, *right = nullptr;
    std::string element = {}, place = {};
  };
  CudaValue leaf(const ReductionStep& step, const Leaves& leaves) const;
  State expressions(const ReductionFunction& function, const Leaves& leaves) const;
  std::string filled(std::string_view pattern, const State& operands) const;

  const ReduceOpInfo& row_;
  const ReductionCode& code_;
  CudaKind element_;
  bool fast_, own_forms_;
};

}  // namespace smelt
