// Measures the token rate while prompts are continued.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "runtime/plan/plan.h"

namespace smelt::cli {

/// Counts new tokens, and measures the time since its construction.
class GenerationClock {
 public:
  /// Counts one token, which has been generated now.
  void token();
  /// Counts tokens of a result that is complete, such as a beam search's. The time of the first one is
  /// unknown.
  void tokens_at_once(size_t count) { count_ += count; }
  /// Records the tokens of drafts that were read, and those of them that were kept.
  void drafts(size_t read, size_t kept) { drafts_ = {read, kept}; }
  /// Returns a text such as "64 new tokens in 1.23 s, 52.0 tokens/s, the first after 45.6 ms; caches 72.0
  /// MiB". `plan` gives the size of the caches. After drafts(), the
  /// text has ", 30 of 40 drafted tokens kept" before the caches.
  /// `draft` is the plan of the model that makes drafts, whose caches are added; null: none.
  std::string text(const Plan& plan, const Plan* draft = nullptr) const;

 private:
  double seconds() const;

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  size_t count_ = 0;
  std::optional<double> first_;  // seconds to the first token()
  std::optional<std::pair<size_t, size_t>> drafts_;
};

}  // namespace smelt::cli
