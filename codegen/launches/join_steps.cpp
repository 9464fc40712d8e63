#include "codegen/launches/join_steps.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// A part may write one buffer in the place of another where the two are that part's alone.
bool keeps_alias(llvm::ArrayRef<Step> parts, const Step& own, const std::pair<int, int>& pair) {
  return llvm::none_of(parts, [&](const Step& part) {
    return &part != &own && (touches(part, pair.first) || touches(part, pair.second));
  });
}

template <typename T>
void append_all(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void append_draws(KernelStep& launch, const KernelStep& part) {
  if (!launch.random_parts.empty() || !part.random_parts.empty()) {
    launch.random_parts.resize(launch.random_ids.size());
    append_all(launch.random_parts, part.random_parts);
    launch.random_parts.resize(launch.random_ids.size() + part.random_ids.size());
  }
  append_all(launch.random_ids, part.random_ids);
}

}  // namespace

bool touches(const Step& step, int buffer) {
  return llvm::is_contained(step.reads, buffer) || llvm::is_contained(step.writes, buffer);
}

Step join_steps(int kernel, llvm::ArrayRef<Step> parts) {
  Step joined{.what = {}, .reads = {}, .writes = {}, .may_alias = {}, .sources = {}, .phase = parts[0].phase};
  KernelStep launch{.kernel = kernel, .arguments = {}, .random_ids = {}};
  for (const Step& part : parts) {
    const auto& own = std::get<KernelStep>(part.what);
    append_all(launch.arguments, own.arguments);
    append_draws(launch, own);
    append_all(joined.reads, part.reads), append_all(joined.writes, part.writes);
    for (const auto& pair : part.may_alias)
      if (keeps_alias(parts, part, pair)) joined.may_alias.push_back(pair);
    for (const std::string& source : part.sources)
      if (!llvm::is_contained(joined.sources, source)) joined.sources.push_back(source);
  }
  joined.what = std::move(launch);
  return joined;
}

int add_kernel(Program& program, Kernel kernel, std::string_view suffix) {
  const size_t number = program.kernels.size();
  for (size_t i = 0; i < number; ++i)
    if (program.kernels[i].same_code(kernel)) return static_cast<int>(i);
  kernel.name += suffix;
  if (llvm::any_of(program.kernels, [&](const Kernel& other) { return other.name == kernel.name; }))
    kernel.name += std::to_string(number);
  program.kernels.push_back(std::move(kernel));
  return static_cast<int>(number);
}

void drop_unused_kernels(Program& program) {
  std::vector<int> numbers(program.kernels.size(), -1);
  std::vector<Kernel> kept;
  for (PlanEntry& entry : program.entries)
    for (Step& step : entry.steps) {
      auto* launch = std::get_if<KernelStep>(&step.what);
      if (launch == nullptr) continue;
      int& number = numbers[launch->kernel];
      if (number < 0) {
        number = static_cast<int>(kept.size());
        kept.push_back(std::move(program.kernels[launch->kernel]));
      }
      launch->kernel = number;
    }
  program.kernels = std::move(kept);
}

}  // namespace smelt
