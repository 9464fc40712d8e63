// Sessions that read the same weights: which states these are, and how many sessions there are.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// By state of the plan: whether it holds weights, or a rounded copy of them.
std::vector<bool> weight_states(const Plan& plan);

/// Throws Error with the entry and the state where an entry writes to weights: sessions that share them would
/// change each other's.
void require_unwritten_weights(const Plan& plan);

/// Counts the sessions that use the same weights. What one of them has read is read before another that finds
/// itself alone writes.
class WeightUsers {
 public:
  WeightUsers() : count_(std::make_shared<std::atomic<int>>(1)) {}
  WeightUsers(const WeightUsers& other) : count_(other.count_) {
    if (count_) count_->fetch_add(1, std::memory_order_relaxed);
  }
  WeightUsers(WeightUsers&&) noexcept = default;
  WeightUsers& operator=(WeightUsers other) noexcept {
    count_.swap(other.count_);
    return *this;
  }
  ~WeightUsers() {
    if (count_) count_->fetch_sub(1, std::memory_order_acq_rel);
  }
  int count() const { return count_ ? count_->load(std::memory_order_acquire) : 0; }

 private:
  std::shared_ptr<std::atomic<int>> count_;
};

}  // namespace smelt
