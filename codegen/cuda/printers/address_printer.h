// Printing of the addresses that instructions access. For each access, the part of the index that does not
// depend on the column (its "start") is computed once per block of instructions. The index of an element is
// the start plus the element's column. `id` is the number of an instruction in Kernel::instructions.
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

  /// Prints variables for the starts of the accesses in the nest's block of instructions. They replace the
  /// variables of the previous such block.
  void declare_starts(const BlockNest& nest);

  /// Return expressions for the element that an instruction accesses, for the array that contains the
  /// element, and for its index in the array.
  std::string element(int id) const;
  std::string array(int id) const;
  std::string index(int id) const { return index(id, true); }
  /// Return the address of the vector at column c (a variable of the text). `vector` uses the variable of the
  /// access's start; vector_without_start computes the start from the current indices.
  std::string vector(int id) const;
  std::string vector_without_start(int id) const;
  /// Returns the address of the thread block's slice of a parameter with partial sums.
  std::string slice(int param) const;

  /// Returns the suffix of the functions sm_load and sm_store for an instruction. It specifies whether
  /// vectors are aligned, and, if it is known, the number of elements of a shorter last vector of a row.
  std::string vector_form(int id);
  /// Returns the conditions on the sizes at a launch under which all vectors that vector_form has been called
  /// for are aligned. Vectors that are always or never aligned add no condition.
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
