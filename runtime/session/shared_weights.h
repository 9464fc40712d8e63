// Weights shared by several sessions: the states that hold them, and the number of sessions.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Returns for each state of the plan whether it has the role `parameter`: it holds weights, a rounded copy
/// of them, or their scales.
std::vector<bool> weight_states(const Plan& plan);

/// Checks that no entry of the plan writes to weights, because such a run would change the weights of all
/// sessions that share them. Throws Error naming the entry and the state.
void require_unwritten_weights(const Plan& plan);

/// Number of sessions that use the same weights: each session has one copy of this object. If count() returns
/// 1, the caller may write to the weights: all reads by sessions that have ended happened before the call.
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
