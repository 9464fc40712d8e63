// Names of a kernel's parameters and sizes in its thread IR, and sums of such names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/gpu/thread_ir/body_builder.h"
#include "ir/kernel/kernel.h"

namespace smelt::gpu {

/// The names that the code of one kernel uses.
class KernelNames {
 public:
  /// A value times a stride.
  using Term = std::pair<Expr, Dim>;

  explicit KernelNames(const Kernel& kernel);

  /// Return the names of the parameters, in the order of Kernel::params, and of the sizes that are known at
  /// launch, in the order of launch_dims(kernel).
  const std::vector<std::string>& params() const { return params_; }
  const std::vector<std::string>& dims() const { return dim_names_; }

  /// Returns the pointer to a parameter's elements.
  Expr param(int number) const;
  /// Returns a constant, or the variable of a size that is known at launch.
  Expr dim(const Dim& dim) const;
  /// Returns the launch argument of a size: a constant, or the parameter NAME_ of the variable NAME.
  Expr launched_dim(const Dim& dim) const;
  /// Returns offset + the sum of the terms, without terms that are zero; the number 0 if no term is left.
  Expr sum(const Dim& offset, const std::vector<Term>& terms) const;

  /// Appends declarations of a variable of type `index` for each size in dims().
  void declare_dims(BodyBuilder& out) const;

 private:
  std::vector<Dim> dims_;
  std::vector<std::string> dim_names_, params_;
  std::vector<Type> param_types_;
};

}  // namespace smelt::gpu
