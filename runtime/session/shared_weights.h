// Weights shared by several sessions: the states that hold them, and the number of sessions.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Returns for each state of the plan whether it holds weights or a rounded copy of them.
std::vector<bool> weight_states(const Plan& plan);

/// Throws Error with the entry and the state if an entry writes to weights, because sessions that share them
/// would change each other's.
void require_unwritten_weights(const Plan& plan);

/// Counts the sessions that use the same weights. The reads of a session that ends happen before the writes
/// of a session that then finds itself alone.
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
