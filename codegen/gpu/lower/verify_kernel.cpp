#include "codegen/gpu/lower/verify_kernel.h"

#include <fmt/format.h>

#include "codegen/gpu/lower/lower_function.h"
#include "codegen/gpu/lower/lower_launch.h"
#include "codegen/gpu/thread_ir/verify.h"

namespace smelt::gpu {
namespace {

/// Returns the functions around a template that are made from Kernel IR: its prologue.
Launch functions_of_template(const Kernel& kernel) {
  Launch launch;
  for (const Kernel& first : kernel.before)
    launch.functions.push_back(function_of(first, first.name, lower_body(first, block_parameter())));
  return launch;
}

}  // namespace

std::vector<std::string> verify_kernel(const Kernel& kernel) {
  std::vector<std::string> faults;
  for (const std::string& fault :
       verify(kernel.has_template() ? functions_of_template(kernel) : lower_launch(kernel)))
    faults.push_back(fmt::format("kernel {}: {}", kernel.name, fault));
  return faults;
}

}  // namespace smelt::gpu
