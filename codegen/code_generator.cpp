#include "codegen/code_generator.h"

#include <set>

namespace smelt {

namespace {

/// The back ends in the order of BackEnd.
constexpr const CodeGenerator& (*kGenerators[])() = {cpu_code_generator, cuda_code_generator};

}  // namespace

const CodeGenerator& code_generator(BackEnd back_end) { return kGenerators[static_cast<size_t>(back_end)](); }

const CodeGenerator* find_code_generator(std::string_view level) {
  for (const auto& generator : kGenerators)
    if (generator().level() == level) return &generator();
  return nullptr;
}

std::vector<ListedKernel> listed_kernels(const Program& program) {
  std::vector<ListedKernel> listed;
  for (const Kernel& kernel : program.kernels) listed.push_back({&kernel, {}});
  std::vector<std::set<std::string>> seen(listed.size());
  for (const PlanEntry& entry : program.entries)
    for (const Step& step : entry.steps) {
      const auto* launch = std::get_if<KernelStep>(&step.what);
      if (launch == nullptr) continue;
      const auto kernel = static_cast<size_t>(launch->kernel);
      for (const std::string& source : step.sources)
        if (seen[kernel].insert(source).second) listed[kernel].sources.push_back(source);
    }
  return listed;
}

}  // namespace smelt
