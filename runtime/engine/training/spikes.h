// Detection of spikes: a loss or a gradient norm that is far above its running mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smelt {

/// Reaction to a spike: nothing; the run ends with an Error; or, if the gradient norm is the spike, the
/// update is skipped, so that all states stay as they were before.
enum class SpikeAction : uint8_t { ignore, stop, skip };
std::string_view name(SpikeAction action);
std::optional<SpikeAction> parse_spike_action(std::string_view name);

class SpikeDetector {
 public:
  /// `factor`: a value is a spike if it is above `factor` times the running mean of its kind, or not finite.
  explicit SpikeDetector(double factor = 3) : factor_(factor) {}

  /// Adds the loss and the gradient norm of an update; nothing: the plan does not compute the norm. Returns a
  /// text about the spike, "the loss 9.1 is 3.2 times its running mean of 2.8"; empty if there is none. Of
  /// the first kLeastUpdates updates only values that are not finite are spikes. Spikes are not part of the
  /// means.
  std::string add(double loss, std::optional<double> gradient_norm);

  /// Returns the largest gradient norm that is no spike.
  float largest_norm() const;

  /// Returns the means as text, for restore() of a detector at another rank.
  std::string state() const;
  void restore(const std::string& state);

  static constexpr int64_t kLeastUpdates = 20;

 private:
  /// Exponential running mean, without a bias towards 0.
  struct Mean {
    double sum = 0, weight = 0;
    void add(double value);
    double value() const { return sum / weight; }
  };
  std::string problem(const char* name, double value, const Mean& mean) const;

  double factor_;
  Mean loss_, norm_;
  int64_t updates_ = 0;
};

}  // namespace smelt
