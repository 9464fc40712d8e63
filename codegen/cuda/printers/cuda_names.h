// Names of a kernel's sizes and parameters in its text, and sums of such names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/code_text.h"
#include "ir/kernel/kernel.h"

namespace smelt {

class CudaNames {
 public:
  /// A name times a stride.
  using Term = std::pair<std::string, Dim>;

  explicit CudaNames(const Kernel& kernel);

  /// Return the names in the order of Kernel::params, and of launch_dims().
  const std::vector<std::string>& params() const { return params_; }
  const std::vector<std::string>& dims() const { return dim_names_; }

  /// A number, or the name of a size that is known at launch.
  std::string dim(const Dim& dim) const;
  /// offset + term + ..., "0" where nothing is left of it.
  std::string sum(const Dim& offset, const std::vector<Term>& terms) const;

  /// Declares the sizes as indices, from the arguments that carry them.
  void declare_dims(CodeText& out) const;

 private:
  std::vector<Dim> dims_;
  std::vector<std::string> dim_names_, params_;
};

}  // namespace smelt
