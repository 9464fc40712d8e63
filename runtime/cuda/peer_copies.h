// All-gathers ("gathers") and all-to-alls ("exchanges") between the GPUs of one host by copies. A rank is a
// GPU, and a part is the data that one rank sends to one other rank. Each rank copies its parts into the
// other ranks' memory by copy engines. Unlike a kernel of NCCL, these copies occupy no multiprocessors, so
// concurrent matmuls run at full speed.
//
// For each other rank, a rank has two 32-bit words in its own memory. The other rank sets the first word to 1
// when its destination, the memory that receives this rank's part, is free. It sets the second word to 1 when
// its part has arrived at this rank. This rank's stream waits for a word and resets it to 0. Every collective
// consists of the same actions. A rank reports to all others that its destination is free, and waits for the
// same report from each of them. Then it copies its parts, reports that they have arrived, and waits for the
// parts of all others. Requires: all ranks issue their collectives one after the other in the same order.
//
// A rank may also exchange part by part. It sends each part when it has been computed, sets the word of the
// receiver after each copy, and enqueues work after the arrival of each part. Each rank may decide
// independently to exchange part by part.
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
  /// Smallest collective that uses copies, in bytes: the parts of all ranks together. Smaller collectives are
  /// faster with NCCL. For example, on two H100, 1 MiB takes 11 us with NCCL and 19 us with copies; 4 MiB
  /// takes 27 us with NCCL and 23 us with copies.
  static constexpr int64_t kLeastBytes = 2 << 20;

  /// Creates the object. All ranks of the group call it together. `blocks` are the blocks of memory that the
  /// group's collectives write to, in the same order at all ranks. Returns null at all ranks if they cannot
  /// write to each other's memory; if the environment variable SMELT_GATHERS is "copies", throws Error
  /// instead. Also returns null if SMELT_GATHERS selects NCCL (peer_choice.h).
  static std::unique_ptr<PeerCopies> connect(const Device& device, Communicator& group,
                                             std::vector<SharedBlock> blocks);
  PeerCopies(const PeerCopies&) = delete;
  PeerCopies& operator=(const PeerCopies&) = delete;
  /// Requires: no stream has unfinished work of this object.
  ~PeerCopies();

  /// Returns whether this object can execute the collective: a gather or an exchange that is large enough and
  /// writes to the blocks of connect(). All ranks return the same.
  bool takes(const CollectiveLaunch& launch) const;
  /// Enqueues the copy of this rank's own part from `launch.from` to `launch.to`. It waits for no other rank.
  void copy_own(const CollectiveLaunch& launch, Stream stream) const;
  /// Enqueues the copies of this rank's parts to the other ranks, and a wait for their parts: later work of
  /// the stream begins when all of them have arrived.
  void exchange(const CollectiveLaunch& launch, Stream stream) const;

  /// Callbacks of exchange_in_parts, which may enqueue work. They are called while the exchange is enqueued,
  /// not when the data move. Ranks are numbers in the group. An empty function is not called.
  struct PartEvents {
    std::function<void(int64_t to)> before_copy;    // before the copy of the part for rank `to`
    std::function<void(int64_t from)> has_arrived;  // after the wait for the part of rank `from`
  };
  /// Does the same as `exchange`, but part by part, in the order that sent() returns.
  void exchange_in_parts(const CollectiveLaunch& launch, const PartEvents& events, Stream stream) const;
  /// A matmul can be computed in parts, concurrently with copies. `never`: no matmul is. `where_faster`:
  /// those whose estimated time becomes shorter. `always`: all matmuls. The environment variable
  /// SMELT_GATHERS determines the value.
  enum class Parts : uint8_t { never, where_faster, always };
  Parts parts() const { return parts_; }
  /// Return all ranks of the group. sent(): in the order in which parts are sent to them, this rank last.
  /// arriving(): in the order in which their parts arrive, this rank first.
  std::vector<int64_t> sent() const;
  std::vector<int64_t> arriving() const;

  /// Ends all waits for other ranks, present and later ones, after a rank has failed. Any thread may call it.
  void give_up() noexcept;

 private:
  /// Kinds of the words that ranks set in each other's memory.
  enum class News : uint8_t { destination_is_free, parts_have_arrived };
  static constexpr size_t kKindsOfNews = 2;

  PeerCopies(const Device& device, int64_t ranks, int64_t rank);
  /// Returns whether the driver can set words in memory and wait for them, also in a captured graph.
  bool can_meet() const;
  bool reach(Communicator& group, std::vector<SharedBlock> blocks);
  /// Tests the words: each rank sets them at all others. Returns whether all of them arrive.
  bool hears_all(Communicator& group);
  void make_operations();
  /// Returns the address of this rank's word that rank `of_rank` sets.
  DevicePointer word(News news, int64_t of_rank) const;
  void signal_and_wait(News news, Stream stream) const;
  void tell_and_wait_for_part(int64_t to, int64_t from, Stream stream) const;
  /// Returns the number of a rank among the other ranks, an index into tell_.
  size_t among_others(int64_t rank) const;
  void copy(const CollectiveLaunch& launch, int64_t to_rank, DevicePointer to, Stream stream) const;
  void end_waits();

  const Device& device_;
  int64_t ranks_, rank_;
  int64_t least_bytes_ = 0;  // of all ranks' parts together; kLeastBytes by default
  Parts parts_ = Parts::where_faster;
  SharedBlock words_;
  std::unique_ptr<PeerMemory> memory_;
  /// Operations on the words; the indices are the kind of word and the other rank (among_others). tell_ sets
  /// the word in the other rank's memory. wait_ waits for the word in this rank's memory and resets it.
  std::array<std::vector<WordOperation>, kKindsOfNews> tell_, wait_;
  StreamOwner own_stream_;  // not ordered with any other stream
  std::atomic<bool> given_up_ = false;
  std::jthread ending_;  // ends waits after give_up()
};

}  // namespace smelt::cuda
