// NCCL communicators of one executor. Calls of NCCL are serialized, and all communicators end together.
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
  /// Creates the communicator of a group of `ranks` ranks, and returns it; this object owns it. All ranks of
  /// the group make this call with the same id, and each call waits for the others. `rank` is the number of
  /// this rank, from 0. `what` describes the ranks in messages. `most_blocks` limits the thread blocks of
  /// each NCCL kernel; 0: NCCL chooses.
  NcclComm connect(const Device& device, int64_t ranks, int64_t rank, const NcclId& id,
                   const std::string& what, int most_blocks = 0);

  /// Runs `call` while no other call is in progress. If the communicators have been ended, throws Error with
  /// the reason.
  template <typename Call>
  void call(Call call) {
    const std::unique_lock lock(in_call_);
    check();
    call();
  }

  /// Ends all communicators by `ending`, which is CommAbort or CommDestroy. A call in progress may wait for a
  /// lost rank and never return, so this function waits at most one second for it. Only the first call of
  /// this function has an effect.
  void end(Nccl::Code (*ending)(NcclComm));
  /// Ends all communicators by CommAbort because of a failure. Later Errors contain the text `why`.
  void fail(const std::string& why);
  /// Throws Error with the reason if the communicators have been ended.
  void check();

  /// Registers `call`, which is called when the communicators end, or immediately if they have ended. It can
  /// end other waits for ranks, such as those in copies between GPUs. Returns a number; forget() with this
  /// number removes the function.
  int at_end(std::function<void()> call);
  void forget(int number);

 private:
  std::vector<NcclComm> all_;
  std::timed_mutex in_call_;  // held during calls of NCCL, except in connect()
  std::atomic<bool> ended_ = false;
  std::mutex text_mutex_;  // guards text_
  std::string text_;       // text of the failure; empty: no failure
  std::mutex calls_mutex_;
  std::map<int, std::function<void()>> calls_;  // functions of at_end; the key is the number
  int numbered_ = 0;                            // the next number
};

/// Makes an id for a new group of ranks.
NcclId new_nccl_id();

}  // namespace smelt::cuda
