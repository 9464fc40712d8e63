// How the members of a group wait for each other in shared memory, and how a wait ends that is in vain.
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

  /// Returns when every member has called it, and what they wrote before is seen by all. Throws the run's or
  /// the group's failure.
  void barrier();
  /// Returns when `word` is no more `old`. `is_vain` is asked now and then and throws where nobody will ever
  /// change it.
  void wait_changed(const std::atomic<uint32_t>& word, uint32_t old,
                    const std::function<void()>& is_vain = {});
  static void wake_all(std::atomic<uint32_t>& word);

  /// Throws the failure of the run or of the group, if there is one.
  void check() const;
  /// All members' calls throw this text from now on, or what another member has said before; throws it.
  [[noreturn]] void fail_group(const std::string& text);

 private:
  GroupState& group_;
  uint32_t members_;
  const FailureFlag& failure_;
  int spins_;
};

}  // namespace smelt
