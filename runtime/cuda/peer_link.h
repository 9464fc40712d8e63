// One-way link from one GPU of a host to another. Messages are copies into the receiver's memory by copy
// engines. So neither a message nor a wait for one occupies multiprocessors; a kernel of NCCL would.
//
// The receiver has two slots in its memory, which the sender maps and fills alternately. There are two
// counters. One is in the receiver's memory: the sender writes the number of sent messages to it after each
// message. The other is in the sender's memory: the receiver writes the number of messages that it has copied
// out of their slots. Streams wait for these counters; host threads do not wait.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "runtime/cuda/memory.h"
#include "runtime/ranks/communicator.h"

namespace smelt::cuda {

class PeerLink {
 public:
  /// A contiguous range of device memory that is a part of a message.
  struct Piece {
    DevicePointer address;
    int64_t bytes;
  };

  /// Creates a link. The members `from` and `to` of the group call it together. `most_bytes` is the size of
  /// the largest message, the sum of padded(bytes) over its pieces. Returns null at both if they cannot map
  /// each other's memory, or if there is not enough memory for the slots.
  static std::unique_ptr<PeerLink> connect(const Device& device, Communicator& group, int64_t from,
                                           int64_t to, int64_t most_bytes);
  /// Returns the bytes that a piece of `bytes` bytes occupies in a slot.
  static int64_t padded(int64_t bytes);

  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;
  ~PeerLink();

  /// Enqueue a message. Requires: both ends enqueue the same messages (equal bytes of all pieces) in the same
  /// order, and each end always uses one stream. Throws Error if the message is larger than `most_bytes`.
  void send(std::span<const Piece> pieces, Stream stream);
  void receive(std::span<const Piece> pieces, Stream stream);
  /// Makes the stream wait until no message is in progress. When the stream is idle afterwards, the memory
  /// can be freed.
  void finish(Stream stream) noexcept;
  /// Called after the other end has failed: stops all waits for it. This end's memory stays allocated until
  /// the process ends, because the other end may still write to this memory. Any thread may call this
  /// function.
  void give_up() noexcept;

 private:
  struct End;  // data about an end that the two ends send each other
  PeerLink(const Device& device, int64_t most_bytes);
  /// Allocates block_, with slots if `slots`. Returns whether this was possible.
  bool take_memory(bool slots);
  End end_of_this() const;
  /// Maps the block of the other end. Returns whether this was possible.
  bool reach(const End& other);
  DevicePointer slot(DevicePointer block) const;
  void require_room(std::span<const Piece> pieces) const;
  /// Makes the stream wait until this end's counter is at least `count`.
  void wait_for(uint32_t count, Stream stream);
  /// Enqueues a write of `count` to the other end's counter.
  void tell(uint32_t count, Stream stream);

  const Device& device_;
  int64_t slot_bytes_;
  bool sends_ = false;
  DeviceBlock block_;        // of this end: its counter, and at the receiver also the slots
  DevicePointer other_ = 0;  // the other end's block, as mapped in this process
  bool mapped_ = false;      // whether `other_` is mapped
  unsigned wait_flags_ = 0;
  StreamOwner giving_up_;  // on which give_up() writes the counter
  std::atomic<bool> given_up_ = false;
  std::atomic<uint32_t> done_ = 0;  // messages that this end has enqueued
};

}  // namespace smelt::cuda
