// Waits of the members of a group for each other, by futexes in shared memory. A group consists of ranks of
// one host that communicate through a region of shared memory. A wait ends with an Error if the run or the
// group fails.
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
  /// `failure` is the flag of the run, and outlives this object.
  RegionWait(GroupState& group, size_t members, const FailureFlag& failure);

  /// Returns when every member has called it. Writes that members made before their calls are then visible to
  /// all members. Throws the failure of the run or of the group if there is one.
  void barrier();
  /// Returns when `word` differs from `old`. Throws the failure of the run or of the group if there is one.
  /// `is_vain` is called from time to time, and throws if no other rank will ever change `word`; it may be
  /// empty.
  void wait_changed(const std::atomic<uint32_t>& word, uint32_t old,
                    const std::function<void()>& is_vain = {});
  /// Wakes all members that wait for a change of `word`.
  static void wake_all(std::atomic<uint32_t>& word);

  /// Throws the failure of the run or of the group if there is one.
  void check() const;
  /// Fails the group with this text, unless another member has failed it before. Throws the group's failure,
  /// as all later calls of all members do.
  [[noreturn]] void fail_group(const std::string& text);

 private:
  GroupState& group_;
  uint32_t members_;
  const FailureFlag& failure_;
  int spins_;
};

}  // namespace smelt
