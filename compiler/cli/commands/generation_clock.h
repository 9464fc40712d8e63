// Measures the token rate while prompts are continued.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace smelt::cli {

/// Runs from its construction on.
class GenerationClock {
 public:
  /// One more token, now.
  void token();
  /// Tokens of which only the last one's time is known, such as those of a beam search.
  void tokens_at_once(size_t count) { count_ += count; }
  /// "64 new tokens in 1.23 s, 52.0 tokens/s, the first after 45.6 ms; caches 72.0 MiB"
  std::string text(const Plan& plan) const;

 private:
  double seconds() const;

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  size_t count_ = 0;
  std::optional<double> first_;
};

}  // namespace smelt::cli
