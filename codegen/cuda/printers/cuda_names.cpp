#include "codegen/cuda/printers/cuda_names.h"

#include <algorithm>
#include <cctype>

#include "codegen/cuda/expressions.h"
#include "codegen/kernel_passes/kernel_indices.h"

namespace smelt {
namespace {

/// x0, y12, p3: names that the printers themselves do not make.
bool is_param_name(const std::string& name) {
  return name.size() > 1 && std::string_view("xyp").find(name[0]) != std::string_view::npos &&
         std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// One capital letter, as symbols have: not what the prelude's templates are called within themselves.
bool is_symbol_name(const std::string& name) {
  return name.size() == 1 && std::isupper(static_cast<unsigned char>(name[0])) != 0;
}

std::string name_of_param(const Kernel& kernel, size_t number) {
  const std::string& name = kernel.params[number].name;
  const auto has_name = [&](const KernelParam& p) { return p.name == name; };
  const bool unique = std::count_if(kernel.params.begin(), kernel.params.end(), has_name) == 1;
  return unique && is_param_name(name) ? name : fmt::format("arg{}", number);
}

}  // namespace

CudaNames::CudaNames(const Kernel& kernel) : dims_(launch_dims(kernel)) {
  for (size_t i = 0; i < dims_.size(); ++i) {
    const std::string text = dims_[i].str();
    dim_names_.push_back(is_symbol_name(text) ? text : fmt::format("d{}", i));
  }
  for (size_t i = 0; i < kernel.params.size(); ++i) params_.push_back(name_of_param(kernel, i));
}

std::string CudaNames::dim(const Dim& dim) const {
  if (const auto number = dim.constant()) {
    const bool wide = *number > INT32_MAX || *number < -INT32_MAX;
    return *number < 0 ? fmt::format("({}{})", *number, wide ? "ll" : "")
                       : fmt::format("{}{}", *number, wide ? "ll" : "");
  }
  return dim_names_[static_cast<size_t>(std::find(dims_.begin(), dims_.end(), dim) - dims_.begin())];
}

std::string CudaNames::sum(const Dim& offset, const std::vector<Term>& terms) const {
  std::string text;
  for (const auto& [name, stride] : terms) {
    if (stride.is_zero() || name == "0") continue;
    const std::string factor = text.empty() && stride.is_one() ? name : operand_text(name);
    text += (text.empty() ? "" : " + ") + (stride.is_one() ? factor : factor + " * " + dim(stride));
  }
  if (!offset.is_zero()) text += (text.empty() ? "" : " + ") + dim(offset);
  return text.empty() ? "0" : text;
}

void CudaNames::declare_dims(CodeText& out) const {
  for (size_t i = 0; i < dims_.size(); ++i)
    out.line("const Index {0} = (Index){0}_;{1}", dim_names_[i],
             dim_names_[i] == dims_[i].str() ? "" : "  // " + dims_[i].str());
}

}  // namespace smelt
