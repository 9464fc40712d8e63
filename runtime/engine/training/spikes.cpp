#include "runtime/engine/training/spikes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "runtime/base/error.h"

namespace smelt {

namespace {

constexpr std::array<std::string_view, 3> kNames = {"ignore", "stop", "skip"};  // by the value of SpikeAction

}  // namespace

std::string_view name(SpikeAction action) { return kNames[static_cast<size_t>(action)]; }

std::optional<SpikeAction> parse_spike_action(std::string_view text) {
  for (const SpikeAction action : {SpikeAction::ignore, SpikeAction::stop, SpikeAction::skip})
    if (text == name(action)) return action;
  return std::nullopt;
}

float SpikeDetector::largest_norm() const {
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (updates_ < kLeastUpdates || norm_.weight == 0) return kLargest;
  return static_cast<float>(std::min<double>(kLargest, factor_ * norm_.value()));
}

std::string SpikeDetector::state() const {
  return fmt::format("{} {} {} {} {}", loss_.sum, loss_.weight, norm_.sum, norm_.weight, updates_);
}

void SpikeDetector::restore(const std::string& state) {
  std::istringstream(state) >> loss_.sum >> loss_.weight >> norm_.sum >> norm_.weight >> updates_;
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
