// NCCL's communicators of one executor: calls of them come one after the other, and all end together.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl.h"

namespace smelt::cuda {

class NcclComms {
 public:
  /// Made at once by all of `ranks` ranks, one of which has made the id; `rank` is this one's place among
  /// them. Waits for them. `most_blocks`: of the kernels that wait for others; 0: as NCCL chooses.
  NcclComm connect(const Device& device, int64_t ranks, int64_t rank, const NcclId& id,
                   const std::string& what, int most_blocks = 0);

  /// Runs a call while no other one is in progress. If the communicators have been ended, throws the Error of
  /// the reason.
  template <typename Call>
  void call(Call call) {
    const std::unique_lock lock(in_call_);
    check();
    call();
  }

  /// A call that waits for a lost rank does not come back: after a while its communicator is ended all the
  /// same. `ending`: CommAbort or CommDestroy.
  void end(Nccl::Code (*ending)(NcclComm));
  /// Ends them because of a failure, which has this text.
  void fail(const std::string& why);
  void check();

  /// Registers a function that is called when the communicators end, or at once if they have ended, to end
  /// waits outside NCCL. forget() of the returned number removes it.
  int at_end(std::function<void()> call);
  void forget(int number);

 private:
  std::vector<NcclComm> all_;
  std::timed_mutex in_call_;  // held while NCCL is called, but for connections
  std::atomic<bool> ended_ = false;
  std::mutex text_mutex_;
  std::string text_;  // of the failure
  std::mutex calls_mutex_;
  std::map<int, std::function<void()>> calls_;  // of at_end
  int numbered_ = 0;
};

/// An id for a new group of ranks.
NcclId new_nccl_id();

}  // namespace smelt::cuda
