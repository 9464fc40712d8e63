// Gathers and exchanges between the GPUs of one host by copies: each rank copies its parts into the other
// ranks' memory. Copy engines do it, so that neither a copy nor a wait for one occupies multiprocessors, as
// a kernel of NCCL does, and matmuls go on beside them at their full speed.
//
// Of each other rank a rank has two words in its own memory, which the other makes 1 and this rank's stream
// waits for and makes 0 again: "my destination is free" and "my parts have arrived". The values are always
// the same, so a captured graph can be launched again and again. No word is made 1 twice before it was made
// 0: a rank says that its destination is free behind all arrivals of the collective before, and copies, and
// tells so, behind the news that the destination is free. So all that ranks need is to give their
// collectives in one order, one behind the other.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/cuda/collective_launch.h"
#include "runtime/cuda/peer_memory.h"

namespace smelt::cuda {

class PeerCopies {
 public:
  /// Of all ranks' parts: what is smaller takes NCCL less time than the two meetings of the ranks take here
  /// (on two H100, 11 us in place of 19 for 1 MiB, and 27 in place of 23 for 4).
  static constexpr int64_t kLeastBytes = 2 << 20;

  /// Made at once by all ranks of the group, with the blocks that collectives along it write to, in the same
  /// order. Null, at all of them, where they cannot reach each other's memory or a user wants NCCL
  /// (SMELT_GATHERS).
  static std::unique_ptr<PeerCopies> connect(const Device& device, Communicator& group,
                                             std::vector<SharedBlock> blocks);
  PeerCopies(const PeerCopies&) = delete;
  PeerCopies& operator=(const PeerCopies&) = delete;
  /// No stream works on it any more.
  ~PeerCopies();

  /// Whether it is done by copies, which all ranks answer alike.
  bool takes(const CollectiveLaunch& launch) const;
  /// This rank's own part. It needs no other rank.
  void copy_own(const CollectiveLaunch& launch, Stream stream) const;
  /// Sends this rank's parts to the others; behind it those of all others are there.
  void exchange(const CollectiveLaunch& launch, Stream stream) const;

  /// Ends all waits for other ranks, of which nothing comes any more, those that follow too. Any thread may
  /// call it.
  void give_up() noexcept;

 private:
  enum class News : uint8_t { destination_is_free, parts_have_arrived };
  static constexpr size_t kKindsOfNews = 2;

  PeerCopies(const Device& device, int64_t ranks, int64_t rank);
  bool can_meet() const;
  bool reach(Communicator& group, std::vector<SharedBlock> blocks);
  bool hears_all(Communicator& group);
  void make_operations();
  DevicePointer word(News news, int64_t of_rank) const;
  void signal_and_wait(News news, Stream stream) const;
  void copy(const CollectiveLaunch& launch, int64_t to_rank, DevicePointer to, Stream stream) const;
  void end_waits();

  const Device& device_;
  int64_t ranks_, rank_;
  int64_t least_bytes_ = 0;  // of a collective that is done by copies
  SharedBlock words_;
  std::unique_ptr<PeerMemory> memory_;
  std::array<std::vector<WordOperation>, kKindsOfNews> tell_, wait_;
  StreamOwner own_stream_;  // not behind any work
  std::atomic<bool> given_up_ = false;
  std::jthread ending_;
};

}  // namespace smelt::cuda
