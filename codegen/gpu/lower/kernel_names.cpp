#include "codegen/gpu/lower/kernel_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "codegen/kernel_passes/kernel_indices.h"

namespace smelt::gpu {
namespace {

/// x0, y12, p3: names that the code itself does not make.
bool is_param_name(const std::string& name) {
  return name.size() > 1 && std::string_view("xyp").find(name[0]) != std::string_view::npos &&
         std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// One capital letter, as symbols have: not what the templates of device functions are called within
/// themselves.
bool is_symbol_name(const std::string& name) {
  return name.size() == 1 && std::isupper(static_cast<unsigned char>(name[0])) != 0;
}

std::string name_of_param(const Kernel& kernel, size_t number) {
  const std::string& name = kernel.params[number].name;
  const auto has_name = [&](const KernelParam& p) { return p.name == name; };
  const bool unique = std::count_if(kernel.params.begin(), kernel.params.end(), has_name) == 1;
  return unique && is_param_name(name) ? name : fmt::format("arg{}", number);
}

/// Partial sums are added to where they are; other elements are loaded and stored.
Type type_of_param(const KernelParam& param) {
  const Type element = param.partial ? Type(Scalar::real) : Type::stored(param.dtype);
  return param.output ? element.pointer_to() : element.pointer_to_const();
}

}  // namespace

KernelNames::KernelNames(const Kernel& kernel) : dims_(launch_dims(kernel)) {
  for (size_t i = 0; i < dims_.size(); ++i) {
    const std::string text = dims_[i].str();
    dim_names_.push_back(is_symbol_name(text) ? text : fmt::format("d{}", i));
  }
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    params_.push_back(name_of_param(kernel, i));
    param_types_.push_back(type_of_param(kernel.params[i]));
  }
}

Expr KernelNames::param(int number) const {
  return variable(params_[static_cast<size_t>(number)], param_types_[static_cast<size_t>(number)]);
}

Expr KernelNames::dim(const Dim& dim) const {
  if (const auto constant = dim.constant()) return number(*constant, Scalar::index);
  const auto place = std::find(dims_.begin(), dims_.end(), dim) - dims_.begin();
  return variable(dim_names_[static_cast<size_t>(place)], Scalar::index);
}

Expr KernelNames::launched_dim(const Dim& dim) const {
  const Expr size = this->dim(dim);
  return dim.is_constant() ? size : variable(size->name + "_", Scalar::int64);
}

Expr KernelNames::sum(const Dim& offset, const std::vector<Term>& terms) const {
  Expr sum;
  const auto add = [&](const Expr& term) { sum = sum ? sum + term : term; };
  for (const auto& [value, stride] : terms) {
    if (stride.is_zero() || value.is_zero()) continue;
    add(stride.is_one() ? value : value * dim(stride));
  }
  if (!offset.is_zero()) add(dim(offset));
  return sum ? sum : number(0, Scalar::index);
}

void KernelNames::declare_dims(BodyBuilder& out) const {
  for (size_t i = 0; i < dims_.size(); ++i)
    out.declare(Scalar::index, dim_names_[i], cast(launched_dim(dims_[i]), Scalar::index),
                dim_names_[i] == dims_[i].str() ? "" : dims_[i].str());
}

}  // namespace smelt::gpu
