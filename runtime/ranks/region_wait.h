// Waits between the members of a group in shared memory, and their end when a member can no longer answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "runtime/ranks/failure_flag.h"
#include "runtime/ranks/region_layout.h"

namespace smelt {

class RegionWait {
 public:
  /// `failure`: of the run; it outlives this.
  RegionWait(GroupState& group, size_t members, const FailureFlag& failure);

  /// Returns when every member has called it; their earlier writes are then visible to all. Throws the run's
  /// or the group's failure.
  void barrier();
  /// Returns when `word` differs from `old`. `is_vain` is called now and then, and throws if no rank can
  /// change `word` any more.
  void wait_changed(const std::atomic<uint32_t>& word, uint32_t old,
                    const std::function<void()>& is_vain = {});
  static void wake_all(std::atomic<uint32_t>& word);

  /// Throws the failure of the run or of the group, if there is one.
  void check() const;
  /// Makes all members' calls throw this text from now on, or that of an earlier call by another member;
  /// throws it.
  [[noreturn]] void fail_group(const std::string& text);

 private:
  GroupState& group_;
  uint32_t members_;
  const FailureFlag& failure_;
  int spins_;
};

}  // namespace smelt
