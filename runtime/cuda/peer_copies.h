// Gathers and exchanges between the GPUs of one host by copies: each rank copies its parts into the other
// ranks' memory. Copy engines do it, so neither a copy nor a wait occupies multiprocessors, as a kernel of
// NCCL does, and concurrent matmuls run at full speed.
//
// A rank has two words in its own memory for each other rank: "my destination is free" and "my parts have
// arrived". The other rank sets a word to 1; this rank's stream waits for it and resets it to 0. The values
// are always the same, so a captured graph can be launched repeatedly. No word is set to 1 twice before it is
// reset: a rank reports its destination as free after all arrivals of the previous collective, and it copies,
// and reports its copies, after the report that the destination is free. So ranks only need to issue their
// collectives sequentially in one order.
//
// A rank may also send part by part, as parts are made, report to each other rank separately, and have each
// arriving part reported. The words are the same ones, set and reset equally often, so each rank decides that
// for itself. Waits have no cycle: the i-th wait of a rank for a part needs the other rank's copies up to its
// i-th, and those need only earlier waits.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/cuda/collective_launch.h"
#include "runtime/cuda/peer_memory.h"

namespace smelt::cuda {

class PeerCopies {
 public:
  /// The least bytes of all ranks' parts together. For fewer bytes NCCL takes less time than the two meetings
  /// of the ranks here (on two H100, 11 us in place of 19 for 1 MiB, and 27 in place of 23 for 4 MiB).
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

  /// Returns whether it is done by copies, which all ranks answer alike.
  bool takes(const CollectiveLaunch& launch) const;
  /// This rank's own part. It needs no other rank.
  void copy_own(const CollectiveLaunch& launch, Stream stream) const;
  /// Sends this rank's parts to the others; all others' parts have arrived for later work on the stream.
  void exchange(const CollectiveLaunch& launch, Stream stream) const;

  /// Callbacks of an exchange in parts, called while it is given to the stream; ranks are places along the
  /// axis.
  struct PartEvents {
    std::function<void(int64_t to)> before_copy;    // of the part for that rank
    std::function<void(int64_t from)> has_arrived;  // after the wait for that rank's part
  };
  /// Exchanges part by part, in the order of `sent`.
  void exchange_in_parts(const CollectiveLaunch& launch, const PartEvents& events, Stream stream) const;
  /// Products that are computed in parts concurrently with copies (SMELT_GATHERS).
  enum class Parts : uint8_t { never, where_faster, always };
  Parts parts() const { return parts_; }
  /// The other ranks in the order in which parts are sent to them, and in which theirs arrive; this rank last
  /// or first.
  std::vector<int64_t> sent() const;
  std::vector<int64_t> arriving() const;

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
  void tell_and_wait_for_part(int64_t to, int64_t from, Stream stream) const;
  size_t among_others(int64_t rank) const;
  void copy(const CollectiveLaunch& launch, int64_t to_rank, DevicePointer to, Stream stream) const;
  void end_waits();

  const Device& device_;
  int64_t ranks_, rank_;
  int64_t least_bytes_ = 0;  // of a collective that is done by copies
  Parts parts_ = Parts::where_faster;
  SharedBlock words_;
  std::unique_ptr<PeerMemory> memory_;
  std::array<std::vector<WordOperation>, kKindsOfNews> tell_, wait_;
  StreamOwner own_stream_;  // not after any work
  std::atomic<bool> given_up_ = false;
  std::jthread ending_;
};

}  // namespace smelt::cuda
