#include "runtime/cuda/algorithm_choice.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_values.h"
#include "runtime/system/file.h"

namespace smelt::cuda {
namespace {

class ChoiceKey {
 public:
  ChoiceKey(const Plan& plan, const SymbolValues& values) : plan_(plan), values_(values) {}

  void add(const Step& step) {
    add_text(fmt::format("{} {}", step.alternative, kind_name(step)));
    visit_step(
        step, [&](const KernelStep& launch) { add(plan_.kernels[static_cast<size_t>(launch.kernel)]); },
        [&](const auto&) {
          for (const auto& [name, size] : values_of(step).integers) add_text(name), add(size);
        });
    for (const int kernel : step.kernels) add(plan_.kernels[static_cast<size_t>(kernel)]);
  }

  std::string str(const std::vector<std::string>& names) const {
    return fmt::format("{} at {} of {}", fmt::join(names, " | "), fmt::join(sizes_, " "), code_.hex());
  }

 private:
  /// The source, since machine code may be made anew from it; that where there is none.
  void add(const KernelCode& kernel) {
    add_text(kernel.source);
    if (kernel.source.empty()) code_.add(kernel.binary);
    add_text(fmt::format("{} {} {} {}", kernel.threads, kernel.shared_bytes, kernel.grain, kernel.splits));
    for (const Dim& dim : kernel.dims) add(dim);
    add(kernel.range);
  }
  void add_text(std::string_view text) { code_.add(std::as_bytes(std::span(text))); }

  void add(const Dim& size) {
    const int64_t rounded = size_bucket(size.evaluate(values_));
    if (std::ranges::find(sizes_, rounded) == sizes_.end()) sizes_.push_back(rounded);
    add_text(fmt::format("{} ", rounded));
  }

  const Plan& plan_;
  const SymbolValues& values_;
  Checksum code_;
  std::vector<int64_t> sizes_;  // each once, for people
};

}  // namespace

std::string choice_key(const Plan& plan, const PlanEntry& entry, const StepSpan& choice,
                       const SymbolValues& values) {
  ChoiceKey key(plan, values);
  for (size_t i = choice.begin; i < choice.end; ++i) key.add(entry.steps[i]);
  return key.str(entry.choices[static_cast<size_t>(entry.steps[choice.begin].choice)].alternatives);
}

}  // namespace smelt::cuda
