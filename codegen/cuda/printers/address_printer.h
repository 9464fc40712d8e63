// The addresses of instructions. Lanes add their own column to an index that is computed once for all of
// them: the start of their vectors.
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

  /// Names the starts of a block's vectors, and forgets those of the last block.
  void declare_starts(const BlockNest& nest);

  /// The element that an instruction reads or writes; the array that it is in, and its index there.
  std::string element(int id) const;
  std::string array(int id) const;
  std::string index(int id) const { return index(id, true); }
  /// Returns the address of the vector at column c, from its start or from the current indices.
  std::string vector(int id) const;
  std::string vector_without_start(int id) const;
  /// Returns the slice of a parameter with partial sums that the block of threads has.
  std::string slice(int param) const;

  /// Returns the suffix of sm_load and sm_store: whether vectors are aligned, and the elements of the last
  /// vector of a row where that is known.
  std::string vector_form(int id);
  /// The conditions of a launch under which vectors are aligned, where they are aligned only for some sizes.
  const std::vector<std::string>& alignment_conditions() const { return alignment_conditions_; }

 private:
  std::string index(int id, bool with_inner) const;
  std::string start_of_lanes(int id);
  VectorAlignment::When alignment(int id);

  CudaContext& c_;
  std::map<int, std::string> starts_;               // by instruction
  std::map<std::string, std::string> start_names_;  // by index
  std::vector<std::string> alignment_conditions_;
};

}  // namespace smelt
