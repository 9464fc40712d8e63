#include "codegen/cuda/printers/print_function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/printers/print_expression.h"
#include "codegen/cuda/printers/print_statements.h"

namespace smelt {
namespace {

std::string joined(const std::vector<gpu::Parameter>& parameters, const char* separator) {
  std::vector<std::string> texts;
  for (const auto& [type, name] : parameters) texts.push_back(cuda_type(type) + " " + name);
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string names_of(const std::vector<gpu::Parameter>& parameters) {
  std::vector<std::string> names;
  for (const gpu::Parameter& parameter : parameters) names.push_back(parameter.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string conditions_of(const gpu::Function& function) {
  std::vector<std::string> texts;
  for (const gpu::Expr& condition : function.alignment_conditions) texts.push_back(print(condition));
  return fmt::format("{}", fmt::join(texts, " && "));
}

/// Several sets of pointers have a struct that every block indexes.
std::string copies_type(const gpu::Launch& launch) {
  return fmt::format("struct Pointers {{ {}; }};\nstruct Copies {{ Pointers of[{}]; }};\n\n",
                     joined(launch.pointers, "; "), launch.copies);
}

std::string pointers_of(const gpu::Launch& launch) {
  if (launch.copies > 1) return "const __grid_constant__ Copies copies, ";
  return launch.pointers.empty() ? "" : print(launch.pointers) + ", ";
}

}  // namespace

std::string print(const std::vector<gpu::Parameter>& parameters) { return joined(parameters, ", "); }

std::string print(const gpu::Function& function) {
  const std::string parameters = print(function.parameters), code = print(function.code, 1);
  if (function.alignment_conditions.empty())
    return fmt::format("SM void {}({}) {{\n{}}}\n\n", function.name, parameters, code);
  return fmt::format(
      "template <bool aligned>\nSM void {0}_by({1}) {{\n{2}}}\n\n"
      "SM void {0}({1}) {{\n  if ({3})\n    {0}_by<true>({4});\n  else\n    {0}_by<false>({4});\n}}\n\n",
      function.name, parameters, code, conditions_of(function), names_of(function.parameters));
}

std::string print(const gpu::Launch& launch) {
  std::string text = launch.copies > 1 ? copies_type(launch) : "";
  if (launch.has_last_block) text += device::kLastBlock;
  for (const gpu::Function& function : launch.functions) text += print(function);
  return text + fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}{}) {{\n{}{}}}\n",
                            launch.threads, launch.name, pointers_of(launch), print(launch.numbers),
                            print_shared_arrays(launch.shared_floats, launch.shared_ints),
                            print(launch.code, 1));
}

std::string print_shared_arrays(int64_t floats, int64_t ints) {
  return fmt::format(
      "  __shared__ __align__(16) float shared_floats[{}];\n  __shared__ int shared_ints[{}];\n", floats,
      ints);
}

std::string number_of(const gpu::KernelNames& names, const Dim& dim) {
  return print(names.launched_dim(dim));
}

}  // namespace smelt
