#include "runtime/cuda/algorithm_choice.h"

#include "runtime/cuda/capture.h"

namespace smelt::cuda {
namespace {

/// Returns whether this GPU has the instructions of all kernels.
bool can_run(const ResolvedEntry& resolved, const StepSpan& steps) {
  for (size_t i = steps.begin; i < steps.end; ++i)
    if (const auto* kernel = std::get_if<KernelLaunch>(&resolved.launches[i]); kernel && !*kernel)
      return false;
  return true;
}

/// Measures each alternative as a part of a graph, as it will run. The chosen alternative overwrites the
/// results of the others.
size_t measure(const std::vector<StepSpan>& ways, const Measuring& measuring) {
  const auto launch = [&](size_t way, bool waits) {
    for (size_t i = ways[way].begin; i < ways[way].end; ++i) measuring.launch(i, waits);
  };
  for (size_t way = 0; way < ways.size(); ++way) launch(way, true);
  return fastest(measuring.device, measuring.stream, ways.size(), [&](size_t way, int times) {
    return captured(measuring.stream, [&] {
      for (int run = 0; run < times; ++run) launch(way, false);
    });
  });
}

}  // namespace

int choose_alternative(const Plan& plan, const ResolvedEntry& resolved, size_t step, StepChoices& choices,
                       const Measuring& measuring) {
  const std::vector<Step>& steps = resolved.entry->steps;
  const StepSpan all = together_with(steps, step);
  const Choice& choice = resolved.entry->choices[static_cast<size_t>(steps[step].choice)];
  std::vector<StepSpan> ways;
  StepChoices::Names names_of_ways;
  for (const StepSpan& way : alternatives_of(steps, all)) {
    const int alternative = steps[way.begin].alternative;
    if (!can_run(resolved, way) || !may_run(choice, alternative, resolved.values)) continue;
    ways.push_back(way);
    names_of_ways.push_back(choice.alternatives[static_cast<size_t>(alternative)]);
  }
  size_t best = 0;
  if (ways.size() > 1) {
    const std::string key = choice_key(plan, *resolved.entry, all, resolved.values);
    const auto known = choices.find(key, names_of_ways);
    best = known ? *known : choices.settle(key, names_of_ways, measure(ways, measuring));
  }
  return steps[ways[best].begin].alternative;
}

}  // namespace smelt::cuda
