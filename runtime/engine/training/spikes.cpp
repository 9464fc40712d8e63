#include "runtime/engine/training/spikes.h"

#include <cmath>

#include "runtime/base/error.h"

namespace smelt {

std::string_view name(SpikeAction action) { return action == SpikeAction::stop ? "stop" : "ignore"; }

std::optional<SpikeAction> parse_spike_action(std::string_view text) {
  for (const SpikeAction action : {SpikeAction::ignore, SpikeAction::stop})
    if (text == name(action)) return action;
  return std::nullopt;
}

void SpikeDetector::Mean::add(double value) {
  constexpr double kKept = 0.98;  // a mean over about the last 50 updates
  sum = kKept * sum + (1 - kKept) * value;
  weight = kKept * weight + (1 - kKept);
}

std::string SpikeDetector::problem(const char* name, double value, const Mean& mean) const {
  if (!std::isfinite(value)) return fmt::format("the {} is {}", name, value);
  if (updates_ < kLeastUpdates || value <= factor_ * mean.value()) return "";
  return fmt::format("the {} {:.4g} is {:.3g} times its running mean of {:.4g}", name, value,
                     value / mean.value(), mean.value());
}

std::string SpikeDetector::add(double loss, std::optional<double> gradient_norm) {
  std::string found = problem("loss", loss, loss_);
  if (found.empty() && gradient_norm) found = problem("gradient norm", *gradient_norm, norm_);
  if (!found.empty()) return found;
  loss_.add(loss);
  if (gradient_norm) norm_.add(*gradient_norm);
  ++updates_;
  return "";
}

}  // namespace smelt
