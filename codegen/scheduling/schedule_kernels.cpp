#include "codegen/scheduling/schedule_kernels.h"

#include <fmt/format.h>

#include "codegen/scheduling/schedule.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// The number of an equal kernel that is already there, else of this one.
int number_of(Kernel kernel, std::vector<Kernel>& kernels) {
  const auto same = llvm::find_if(kernels, [&](const Kernel& other) { return other.same_code(kernel); });
  const size_t number = static_cast<size_t>(same - kernels.begin());
  if (same != kernels.end()) return static_cast<int>(number);
  kernel.name = fmt::format("k{}_{}", number, kernel.name);
  kernels.push_back(std::move(kernel));
  return static_cast<int>(number);
}

}  // namespace

void schedule_kernels(Program& program, const Target& target) {
  for (Kernel& kernel : program.kernels) choose_schedule(kernel, program.symbols, target);
}

void merge_kernels(Program& program) {
  std::vector<Kernel> scheduled;
  std::vector<int> numbers;
  for (Kernel& kernel : program.kernels) numbers.push_back(number_of(std::move(kernel), scheduled));
  program.kernels = std::move(scheduled);
  for (PlanEntry& entry : program.entries)
    for (Step& step : entry.steps)
      if (auto* launch = std::get_if<KernelStep>(&step.what)) launch->kernel = numbers[launch->kernel];
}

}  // namespace smelt
