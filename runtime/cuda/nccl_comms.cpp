#include "runtime/cuda/nccl_comms.h"

#include <chrono>
#include <utility>

#include "runtime/base/error.h"

namespace smelt::cuda {

NcclComm NcclComms::connect(const Device& device, int64_t ranks, int64_t rank, const NcclId& id,
                            const std::string& what, int most_blocks) {
  device.make_current();
  NcclConfig config;
  config.most_blocks = most_blocks;
  const auto count = static_cast<int>(ranks), place = static_cast<int>(rank);
  NcclComm made = nullptr;
  check_nccl(most_blocks > 0 ? nccl().CommInitRankConfig(&made, count, id, place, &config)
                             : nccl().CommInitRank(&made, count, id, place),
             "connecting the ranks " + what);
  call([&] { all_.push_back(made); });
  return made;
}

void NcclComms::end(Nccl::Code (*ending)(NcclComm)) {
  const std::unique_lock lock(in_call_, std::chrono::seconds(1));
  if (ended_.exchange(true)) return;
  {
    const std::lock_guard calls(calls_mutex_);
    for (const auto& [number, call] : calls_) call();
  }
  for (NcclComm comm : all_) ending(comm);
}

void NcclComms::fail(const std::string& why) {
  {
    const std::lock_guard lock(text_mutex_);
    text_ = why;
  }
  end(nccl().CommAbort);
}

void NcclComms::check() {
  if (!ended_) return;
  const std::lock_guard lock(text_mutex_);
  fail_with(Status::unavailable, "{}", text_.empty() ? "the ranks' communicators have been ended" : text_);
}

int NcclComms::at_end(std::function<void()> call) {
  const std::lock_guard lock(calls_mutex_);
  if (ended_) call();
  calls_[numbered_] = std::move(call);
  return numbered_++;
}

void NcclComms::forget(int number) {
  const std::lock_guard lock(calls_mutex_);
  calls_.erase(number);
}

NcclId new_nccl_id() {
  NcclId id;
  check_nccl(nccl().GetUniqueId(&id), "making an id for a group of ranks");
  return id;
}

}  // namespace smelt::cuda
