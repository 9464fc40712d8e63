#include "runtime/cuda/describe.h"

#include <fmt/ranges.h>

#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_pattern.h"

namespace smelt::cuda {
namespace {

class StepText {
 public:
  StepText(const Plan& plan, const ResolvedEntry& resolved, const Step& step)
      : plan_(plan), values_(resolved.values), step_(step) {}

  std::string sources() const {
    return step_.sources.empty() ? "" : fmt::format(" of {}", fmt::join(step_.sources, ", "));
  }

  std::string buffers(const char* verb, const std::vector<int>& indices) const {
    std::vector<std::string> parts;
    for (const int index : indices) {
      const Buffer& buffer = plan_.buffers[static_cast<size_t>(index)];
      parts.push_back(fmt::format("'{}' ({} {})", buffer.name, value(buffer.elements), name(buffer.dtype)));
    }
    return parts.empty() ? "" : fmt::format(", {} {}", verb, fmt::join(parts, ", "));
  }

  std::string what(const KernelStep& step, const Launch& launch) const {
    const KernelCode& kernel = plan_.kernels[static_cast<size_t>(step.kernel)];
    const auto& made = std::get<KernelLaunch>(launch);
    return fmt::format("kernel '{}' in {}{} blocks of {} threads over {}", kernel.name,
                       made.copies > 1 ? fmt::format("{} x ", made.copies) : "", made.blocks, made.threads,
                       value(kernel.range));
  }
  std::string what(const GemmStep& step, const Launch&) const {
    std::string batch;
    for (const auto& axis : step.batch) batch += fmt::format("{} x ", value(axis.extent));
    return fmt::format("matmul {}[{},{}] [{},{}]", batch, value(step.m), value(step.k), value(step.k),
                       value(step.n));
  }
  std::string what(const CopyStep& step, const Launch&) const {
    return fmt::format("copy of {} bytes", value(element_count(step.extents)) * size_of(step.dtype));
  }
  template <typename Kind>
  std::string what(const Kind& step, const Launch&) const {
    return print_pattern(
        StepKind<Kind>::description, step,
        Overloaded{[this](auto, const Dim& size, const auto&) { return std::to_string(value(size)); },
                   [](auto, CollectiveKind kind, const auto&) { return name(kind); },
                   [](auto, const std::string& word, const auto&) { return word; }});
  }

 private:
  int64_t value(const Dim& dim) const { return dim.evaluate(values_); }

  const Plan& plan_;
  const SymbolValues& values_;
  const Step& step_;
};

}  // namespace

std::string describe_run(const ResolvedEntry& resolved) {
  std::vector<std::string> sizes;
  for (const auto& [symbol, value] : resolved.values) sizes.push_back(fmt::format("{} = {}", symbol, value));
  return fmt::format("entry '{}'{}{}", resolved.entry->name, sizes.empty() ? "" : " at ",
                     fmt::join(sizes, ", "));
}

std::string describe_launch(const Plan& plan, const ResolvedEntry& resolved, size_t index) {
  const Step& step = resolved.entry->steps[index];
  const Launch& launch = resolved.launches[index];
  const StepText text(plan, resolved, step);
  const std::string what = std::visit([&](const auto& kind) { return text.what(kind, launch); }, step.what);
  return fmt::format("{}, step {}: {}{}{}{}", describe_run(resolved), index, what, text.sources(),
                     text.buffers("reads", step.reads), text.buffers("writes", step.writes));
}

}  // namespace smelt::cuda
