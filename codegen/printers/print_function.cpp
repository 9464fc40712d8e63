#include "codegen/printers/print_function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/printers/device_text.h"
#include "codegen/printers/print_expression.h"
#include "codegen/printers/print_statements.h"

namespace smelt {
namespace {

std::string joined(const std::vector<gpu::Parameter>& parameters, const char* separator) {
  std::vector<std::string> texts;
  for (const auto& [type, name] : parameters) texts.push_back(type_text(type) + " " + name);
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string names_of(const std::vector<gpu::Parameter>& parameters) {
  std::vector<std::string> names;
  for (const gpu::Parameter& parameter : parameters) names.push_back(parameter.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string conditions_of(const Language& language, const gpu::Function& function) {
  std::vector<std::string> texts;
  for (const gpu::Expr& condition : function.alignment_conditions)
    texts.push_back(print(language, condition));
  return fmt::format("{}", fmt::join(texts, " && "));
}

/// Several sets of pointers have a struct that every block indexes.
std::string copies_type(const gpu::Launch& launch) {
  return fmt::format("struct Pointers {{ {}; }};\nstruct Copies {{ Pointers of[{}]; }};\n\n",
                     joined(launch.pointers, "; "), launch.copies);
}

std::string pointers_of(const Language& language, const gpu::Launch& launch) {
  if (launch.copies > 1) return fmt::format("{} Copies copies, ", language.by_value);
  return launch.pointers.empty() ? "" : print(launch.pointers) + ", ";
}

}  // namespace

std::string print(const std::vector<gpu::Parameter>& parameters) { return joined(parameters, ", "); }

std::string print(const Language& language, const gpu::Function& function) {
  const std::string parameters = print(function.parameters), code = print(language, function.code, 1);
  if (function.alignment_conditions.empty())
    return fmt::format("SM void {}({}) {{\n{}}}\n\n", function.name, parameters, code);
  return fmt::format(
      "template <bool aligned>\nSM void {0}_by({1}) {{\n{2}}}\n\n"
      "SM void {0}({1}) {{\n  if ({3})\n    {0}_by<true>({4});\n  else\n    {0}_by<false>({4});\n}}\n\n",
      function.name, parameters, code, conditions_of(language, function), names_of(function.parameters));
}

std::string print(const Language& language, const gpu::Launch& launch) {
  std::string text = launch.copies > 1 ? copies_type(launch) : "";
  if (launch.has_last_block) text += shared_device::kLastBlock;
  for (const gpu::Function& function : launch.functions) text += print(language, function);
  return text + fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}{}) {{\n{}{}}}\n",
                            launch.threads, launch.name, pointers_of(language, launch), print(launch.numbers),
                            print_shared_arrays(language, launch.shared_floats, launch.shared_ints),
                            print(language, launch.code, 1));
}

std::string print_shared_arrays(const Language& language, int64_t floats, int64_t ints) {
  return fmt::format("  __shared__ {} float shared_floats[{}];\n  __shared__ int shared_ints[{}];\n",
                     language.aligned, floats, ints);
}

}  // namespace smelt
