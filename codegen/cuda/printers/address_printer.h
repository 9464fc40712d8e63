// Expressions for the addresses that instructions access. The part of an index that is the same for all
// vectors of a block, called their start, is computed once. Each element adds its column to it. `id` is the
// number of an instruction in Kernel::instructions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/cuda/printers/cuda_context.h"
#include "codegen/kernel_passes/vector_alignment.h"

namespace smelt {

class AddressPrinter {
 public:
  explicit AddressPrinter(CudaContext& context) : c_(context) {}

  /// Prints variables for the starts of a block's vectors; the starts of the previous block are no longer
  /// used.
  void declare_starts(const BlockNest& nest);

  /// Return the element that an instruction accesses, the array that it is in, and its index in the array.
  std::string element(int id) const;
  std::string array(int id) const;
  std::string index(int id) const { return index(id, true); }
  /// Return the address of the vector at column c. `vector` uses the variable of its start;
  /// vector_without_start computes the start from the current indices.
  std::string vector(int id) const;
  std::string vector_without_start(int id) const;
  /// Returns the address of the thread block's slice of a parameter with partial sums.
  std::string slice(int param) const;

  /// Returns the suffix of the functions sm_load and sm_store for an instruction. It specifies whether
  /// vectors are aligned, and, if it is known, the number of elements of a shorter last vector of a row.
  std::string vector_form(int id);
  /// Returns the conditions on the sizes at a launch under which vectors are aligned. Vectors that are always
  /// or never aligned add no condition.
  const std::vector<std::string>& alignment_conditions() const { return alignment_conditions_; }

 private:
  std::string index(int id, bool with_inner) const;
  std::string start_of_lanes(int id);
  VectorAlignment::When alignment(int id);

  CudaContext& c_;
  std::map<int, std::string> starts_;               // variable of each instruction's start; "": it is 0
  std::map<std::string, std::string> start_names_;  // variable of each expression for a start
  std::vector<std::string> alignment_conditions_;
};

}  // namespace smelt
