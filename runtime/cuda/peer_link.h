// Messages from one GPU of a host to another by copies into its memory: copy engines move them, so that
// neither a message nor a wait for one occupies multiprocessors, as a kernel of NCCL does.
//
// The receiver has slots, which the sender has mapped and fills in turn. Two words count the messages that
// have arrived (in the receiver's memory, written by the sender after each message) and the messages that
// have been taken out of their slots (in the sender's memory, written by the receiver). Streams wait for
// these words; no thread does.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "runtime/cuda/memory.h"
#include "runtime/ranks/communicator.h"

namespace smelt::cuda {

class PeerLink {
 public:
  struct Piece {
    DevicePointer address;
    int64_t bytes;
  };

  /// Made at once by the two members `from` and `to` of the group. `most_bytes`: of a message, with
  /// padded(bytes) for each piece. Null, at both, where they cannot reach each other's memory.
  static std::unique_ptr<PeerLink> connect(const Device& device, Communicator& group, int64_t from,
                                           int64_t to, int64_t most_bytes);
  /// Returns the bytes that a piece takes in a message.
  static int64_t padded(int64_t bytes);

  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;
  ~PeerLink();

  /// Both ends give the same messages, in one order, each on one stream.
  void send(std::span<const Piece> pieces, Stream stream);
  void receive(std::span<const Piece> pieces, Stream stream);
  /// Prepares the end: the stream waits until no message is in progress, so that the memory can be freed.
  void finish(Stream stream) noexcept;
  /// Ends all waits for the other end, of which nothing comes any more, and leaves it this end's memory for
  /// as long as the process lives: it may be writing there. Any thread may call it.
  void give_up() noexcept;

 private:
  struct End;
  PeerLink(const Device& device, int64_t most_bytes);
  bool take_memory(bool slots);
  End end_of_this() const;
  /// Returns whether it worked.
  bool reach(const End& other);
  DevicePointer slot(DevicePointer block) const;
  void require_room(std::span<const Piece> pieces) const;
  void wait_for(uint32_t count, Stream stream);
  void tell(uint32_t count, Stream stream);

  const Device& device_;
  int64_t slot_bytes_;
  bool sends_ = false;
  DeviceBlock block_;        // of this end: the words, and of a receiver the slots
  DevicePointer other_ = 0;  // the other end's block
  bool mapped_ = false;      // by the driver, for this process
  unsigned wait_flags_ = 0;
  StreamOwner giving_up_;
  std::atomic<bool> given_up_ = false;
  std::atomic<uint32_t> done_ = 0;  // messages
};

}  // namespace smelt::cuda
