#include "codegen/cuda/printers/print_body.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/print_expression.h"

namespace smelt {
namespace {

std::string device_parameters(const CudaBody& body) {
  return pointer_parameters(body, "") + number_parameters(body) +
         ", unsigned block_, float* shared_floats, int* shared_ints";
}

}  // namespace

std::string pointer_parameters(const CudaBody& body, const std::string& prefix) {
  std::string text;
  for (size_t i = 0; i < body.kernel->params.size(); ++i) {
    const KernelParam& param = body.kernel->params[i];
    text += fmt::format("{}{}* {}{}, ", param.output ? "" : "const ", cuda_memory_type(param.dtype), prefix,
                        body.names.params()[i]);
  }
  return text;
}

std::string number_parameters(const CudaBody& body) {
  std::string text = "const unsigned* random";
  for (const std::string& name : body.names.dims()) text += fmt::format(", long long {}_", name);
  for (int i = 0; i < body.kernel->random_slots; ++i) text += fmt::format(", unsigned id{}", i);
  return text + ", long long range_";
}

std::string number_of(const gpu::KernelNames& names, const Dim& dim) {
  return print(names.launched_dim(dim));
}

bool has_two_forms(const CudaBody& body) { return !body.alignment_conditions.empty(); }

/// Returns the function of a body. If the body runs by vectors only for some sizes, which are known at
/// launch, it becomes a template that is instantiated twice, and a function with the same arguments chooses
/// between the two.
std::string function_of(const CudaBody& body, const std::string& name) {
  const std::string parameters = device_parameters(body);
  if (!has_two_forms(body)) return fmt::format("SM void {}({}) {{\n{}}}\n\n", name, parameters, body.text);
  return fmt::format(
      "template <bool aligned>\nSM void {0}_by({1}) {{\n{2}}}\n\n"
      "SM void {0}({1}) {{\n  if ({3})\n    {0}_by<true>({4});\n  else\n    {0}_by<false>({4});\n}}\n\n",
      name, parameters, body.text, fmt::join(body.alignment_conditions, " && "),
      function_arguments(body, "block_"));
}

std::string function_arguments(const CudaBody& body, const std::string& block) {
  std::string text;
  for (const std::string& name : body.names.params()) text += name + ", ";
  text += "random";
  for (const std::string& name : body.names.dims()) text += fmt::format(", {}_", name);
  for (int i = 0; i < body.kernel->random_slots; ++i) text += fmt::format(", id{}", i);
  return text + ", range_, " + block + ", shared_floats, shared_ints";
}

}  // namespace smelt
