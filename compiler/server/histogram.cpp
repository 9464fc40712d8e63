#include "compiler/server/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace smelt::server {

void Histogram::add(double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  ++counts_[static_cast<size_t>(bucket)];
  sum_ += value;
}

Histogram& Histogram::operator+=(const Histogram& other) {
  std::ranges::transform(counts_, other.counts_, counts_.begin(), std::plus());
  sum_ += other.sum_;
  return *this;
}

uint64_t Histogram::count() const { return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}); }

std::string Histogram::text(const char* name, const char* help) const {
  std::string text = fmt::format("# HELP smelt_{} {}\n# TYPE smelt_{} histogram\n", name, help, name);
  uint64_t below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    below += counts_[i];
    text += fmt::format("smelt_{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], below);
  }
  return text + fmt::format("smelt_{0}_bucket{{le=\"+Inf\"}} {1}\nsmelt_{0}_sum {2}\nsmelt_{0}_count {1}\n",
                            name, count(), sum_);
}

}  // namespace smelt::server
