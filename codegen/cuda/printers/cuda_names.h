// Names of a kernel's parameters and sizes in its CUDA text, and sums of such names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/code_text.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// The names that the text of one kernel uses.
class CudaNames {
 public:
  /// A name times a stride.
  using Term = std::pair<std::string, Dim>;

  explicit CudaNames(const Kernel& kernel);

  /// Return the names of the parameters, in the order of Kernel::params, and of the sizes that are known at
  /// launch, in the order of launch_dims(kernel).
  const std::vector<std::string>& params() const { return params_; }
  const std::vector<std::string>& dims() const { return dim_names_; }

  /// Returns a literal for a constant, or the name of a size that is known at launch.
  std::string dim(const Dim& dim) const;
  /// Returns an expression for offset + the sum of the terms, without terms that are zero; "0" if no term is
  /// left.
  std::string sum(const Dim& offset, const std::vector<Term>& terms) const;

  /// Prints a variable of type Index for each size in dims(). The variable NAME is initialized from the
  /// launch argument NAME_.
  void declare_dims(CodeText& out) const;

 private:
  std::vector<Dim> dims_;
  std::vector<std::string> dim_names_, params_;
};

}  // namespace smelt
