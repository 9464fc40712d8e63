// Communicator over a region of shared memory that all members of a group have mapped (shared_memory.h).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/rank_link.h"
#include "runtime/ranks/region_layout.h"
#include "runtime/ranks/region_wait.h"

namespace smelt {

class SharedCommunicator final : public Communicator {
 public:
  /// `members` has the numbers that the ranks of the group have in the run, for messages. `rank` is the
  /// position of this process in `members`. `link` outlives this object.
  SharedCommunicator(SharedRegion region, const RegionLayout& layout, std::vector<int64_t> members,
                     size_t rank, RankLink& link);

  int64_t rank() const override { return static_cast<int64_t>(rank_); }
  int64_t size() const override { return static_cast<int64_t>(members_.size()); }

  void all_reduce(std::span<std::byte> data, DType dtype, CollectiveSum sum) override;
  void reduce_scatter(std::span<const std::byte> from, std::span<std::byte> to, DType dtype,
                      CollectiveSum sum) override;
  void all_gather(std::span<const std::byte> from, std::span<std::byte> to) override;
  void all_to_all(std::span<const std::byte> from, std::span<std::byte> to) override;
  void send(std::span<const std::byte> data, int64_t to) override;
  void receive(std::span<std::byte> data, int64_t from) override;

 private:
  class Inside;  // marks for its lifetime that this rank is in a collective (MemberState::inside)
  /// Reports to the link, while this object exists, that this rank is in a collective or sends or receives a
  /// message.
  class Call {
   public:
    Call(RankLink& link, const char* what, uint64_t bytes) : link_(link) { link_.begin_call(what, bytes); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { link_.end_call(); }

   private:
    RankLink& link_;
  };
  /// Function that copies one piece of the caller's data: `count` bytes at `offset`. It copies them to this
  /// rank's part of the shared region, or from the parts of the members.
  using Piece = std::function<void(size_t offset, size_t count)>;

  /// Exchanges `bytes` bytes in pieces of up to `step` bytes. For each piece, each rank writes its part,
  /// waits in a barrier, and reads the parts of the members.
  void exchange(const CallSignature& call, size_t bytes, size_t step, const Piece& write, const Piece& read);
  /// Waits in a barrier. The first barrier of a collective also checks that all members have made the same
  /// call.
  void barrier(const CallSignature& call, bool is_first);
  /// Replaces a chunk by the sum (or maximum) of the chunks of all members.
  void sum_chunk(std::span<std::byte> chunk, const CallSignature& call, bool is_first);
  /// Writes to `to` the elementwise sum (or maximum), over all members, of the `bytes` bytes at `offset` of
  /// their parts.
  void sum_parts(size_t offset, std::byte* to, size_t bytes, const CallSignature& call) const;

  void check_parts(CollectiveKind kind, size_t whole, size_t part);
  void check_elements(CollectiveKind kind, size_t bytes, DType dtype);
  size_t check_peer(int64_t peer, const char* what);
  /// Throws Error if `peer` waits in a collective that this rank has not called, because a wait for a message
  /// of `peer` would never end.
  void check_vain(size_t peer, const char* what, const std::function<bool()>& is_ready);
  std::string describe(size_t member) const;

  struct MailPiece {
    uint64_t message_bytes;  // size of the whole message
    std::vector<std::byte> bytes;
  };
  bool has_mail(size_t from) const;
  /// Reads the next piece of a message from `from` out of the mailbox. Requires: has_mail(from).
  MailPiece take_piece(size_t from);
  /// Moves all pieces that have arrived from the mailboxes of this rank to kept_.
  void keep_mail();
  /// Wakes `peer` (MemberState::bell).
  void ring(size_t peer);
  /// Waits until `is_ready` returns true, and stores incoming messages meanwhile.
  void wait_ready(size_t peer, const char* what, const std::function<bool()>& is_ready);

  std::byte* part(size_t member) const { return layout_.part(region_, member, barriers_ % kParities); }
  /// Returns the number of bytes per member if the memory for a part is divided among all members.
  size_t share() const { return layout_.chunk_bytes() / members_.size() / kCacheLine * kCacheLine; }

  SharedRegion region_;
  RegionLayout layout_;
  std::vector<int64_t> members_;
  size_t rank_;
  RankLink& link_;
  RegionWait wait_;
  uint64_t collectives_ = 0;  // number of collectives that this rank has finished
  size_t barriers_ = 0;       // number of barriers that this rank has passed; selects the memory of a part
  std::vector<std::deque<MailPiece>> kept_;  // for each sender: pieces that were read while this rank waited
};

}  // namespace smelt
