// Counts of observed values by size, in the form of Prometheus's histograms.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smelt::server {

/// A histogram with fixed buckets. Bucket i counts the values that are at most bounds[i] and that no earlier
/// bucket counts; one more bucket counts larger values.
class Histogram {
 public:
  /// Requires: `bounds` increase, and outlive the histogram.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void add(double value);
  uint64_t count() const;
  /// Returns the metric smelt_NAME in the text format of Prometheus, where each bucket's count includes the
  /// buckets before it. `help` describes the metric in one line.
  std::string text(const char* name, const char* help) const;

 private:
  std::span<const double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

}  // namespace smelt::server
