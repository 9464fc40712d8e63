// Histograms of observed values, in the form of Prometheus's histograms.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smelt::server {

/// A histogram with fixed buckets. Bucket i counts the values above bounds[i - 1] and at most bounds[i].
/// Bucket 0 has no lower bound. A last bucket counts the values above all bounds.
class Histogram {
 public:
  /// Requires: `bounds` increase, and outlive the histogram.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void add(double value);
  /// Adds the values of another histogram. Requires: it has the same bounds.
  Histogram& operator+=(const Histogram& other);
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
