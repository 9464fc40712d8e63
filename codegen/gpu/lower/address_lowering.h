// Addresses that instructions access. For each access, the part of the index that does not depend on the
// column (its "start") is computed once per block of instructions. The index of an element is the start plus
// the element's column. `id` is the number of an instruction in Kernel::instructions.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "codegen/gpu/lower/lowering_context.h"
#include "codegen/kernel_passes/vector_alignment.h"

namespace smelt::gpu {

class AddressLowering {
 public:
  explicit AddressLowering(LoweringContext& context) : c_(context) {}

  /// Appends variables for the starts of the accesses in the nest's block of instructions. They replace the
  /// variables of the previous such block.
  void declare_starts(const BlockNest& nest);

  /// Return the element that an instruction accesses, the array that contains the element, and its index in
  /// the array.
  Expr element(int id) const;
  Expr array(int id) const;
  Expr index(int id) const { return index(id, true); }
  /// Return the address of the vector at column c (a variable of the code). `vector` uses the variable of the
  /// access's start; vector_without_start computes the start from the current indices.
  Expr vector(int id) const;
  Expr vector_without_start(int id) const;
  /// Returns the address of the thread block's slice of a parameter with partial sums.
  Expr slice(int param) const;

  /// Returns the access of an instruction to the vector at column c, between memory and `registers`.
  VectorAccess vector_access(int id, const Expr& address, const Expr& registers);
  /// Returns the conditions on the launch arguments under which all vectors that vector_access has been
  /// called for are aligned. Vectors that are always or never aligned add no condition.
  const std::vector<Expr>& alignment_conditions() const { return alignment_conditions_; }

 private:
  Expr index(int id, bool with_inner) const;
  Expr start_of_lanes(int id);
  VectorAccess::Aligned alignment(int id);
  bool can_shift(int id) const;

  LoweringContext& c_;
  std::map<int, Expr> starts_;                          // each instruction's start; nothing: it is 0
  std::vector<std::pair<Expr, Expr>> start_variables_;  // starts, and the variables that have them
  std::vector<Expr> alignment_conditions_;
};

}  // namespace smelt::gpu
