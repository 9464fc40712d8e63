// Layout of the shared memory of a group of ranks. It has the state of a barrier, memory for each rank's part
// of a collective, and a mailbox for messages from each rank to each other rank.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/shared_region.h"

namespace smelt {

constexpr size_t kCacheLine = 64;
/// Each rank has this number of buffers for its part of a collective. It uses them alternately, so that it
/// can write its next part while other ranks still read the part before.
constexpr size_t kParities = 2;

/// Description of a collective call, by which ranks check that all have made the same call.
struct CallSignature {
  CollectiveKind kind = CollectiveKind::all_reduce;
  uint32_t dtype = 0, sum = 0;
  uint64_t bytes = 0;
  bool operator==(const CallSignature&) const = default;
};

/// State of a group. Initially, all bytes of a region are zero.
struct alignas(kCacheLine) GroupState {
  alignas(kCacheLine) std::atomic<uint32_t> arrived;     // number of members that wait in the current barrier
  alignas(kCacheLine) std::atomic<uint32_t> generation;  // number of completed barriers; a futex
  alignas(kCacheLine) std::atomic<uint32_t> failed;      // 0, or a FailureStage (region_wait.cpp)
  std::array<char, 2048> failure;                        // the reason, with a zero at the end
};

/// State of one member of a group.
struct alignas(kCacheLine) MemberState {
  /// By parity: the collective call to which the member's part belongs.
  std::array<CallSignature, kParities> signatures;
  /// A futex that other members increase when they have written to, or read from, a mailbox of this member.
  alignas(kCacheLine) std::atomic<uint32_t> bell;
  std::atomic<uint64_t> inside;  // number, from 1 on, of the collective that the member is in; 0: none
};

/// A message is sent in pieces. A mailbox has memory for this number of pieces.
constexpr size_t kMailPieces = 2;
/// State of the mailbox for messages from one member to another.
struct alignas(kCacheLine) MailboxState {
  alignas(kCacheLine) std::atomic<uint32_t> written;  // number of pieces that were written
  alignas(kCacheLine) std::atomic<uint32_t> read;     // number of pieces that were read
  /// Size in bytes, for each piece, of the whole message that it belongs to, and of the piece itself.
  alignas(kCacheLine) std::array<uint64_t, kMailPieces> message_bytes;
  std::array<uint64_t, kMailPieces> piece_bytes;
};

/// Offsets within the region, which are the same at all members. The functions with a `region` return the
/// address of an object in it. `member`, `from` and `to` are positions in the group.
class RegionLayout {
 public:
  /// `chunk_bytes` is the size of the memory for a part of a collective. It is rounded up to whole cache
  /// lines, at least one per member.
  RegionLayout(size_t members, size_t chunk_bytes);

  size_t bytes() const { return mail_begin_ + mailboxes() * mailbox_stride(); }
  size_t chunk_bytes() const { return chunk_; }
  size_t mail_piece_bytes() const { return mail_piece_; }

  GroupState& group(const SharedRegion& region) const { return at<GroupState>(region, 0); }
  MemberState& member(const SharedRegion& region, size_t member) const {
    return at<MemberState>(region, sizeof(GroupState) + member * sizeof(MemberState));
  }
  /// Returns a member's memory for a part of a collective; `parity` selects one of kParities.
  std::byte* part(const SharedRegion& region, size_t member, size_t parity) const {
    return region.data() + parts_begin_ + (member * kParities + parity) * chunk_;
  }
  /// Returns the memory for the sum of the members' parts.
  std::byte* result(const SharedRegion& region) const {
    return region.data() + parts_begin_ + members_ * kParities * chunk_;
  }
  MailboxState& mailbox(const SharedRegion& region, size_t from, size_t to) const {
    return at<MailboxState>(region, mailbox_offset(from, to));
  }
  /// Returns the memory for piece number `piece` (below kMailPieces) in the mailbox from `from` to `to`.
  std::byte* mail(const SharedRegion& region, size_t from, size_t to, size_t piece) const {
    return region.data() + mailbox_offset(from, to) + sizeof(MailboxState) + piece * mail_piece_;
  }

 private:
  template <typename State>
  static State& at(const SharedRegion& region, size_t offset) {
    return *reinterpret_cast<State*>(region.data() + offset);
  }
  size_t mailboxes() const { return members_ * (members_ - 1); }
  size_t mailbox_stride() const { return sizeof(MailboxState) + kMailPieces * mail_piece_; }
  size_t mailbox_offset(size_t from, size_t to) const {
    return mail_begin_ + (from * (members_ - 1) + (to < from ? to : to - 1)) * mailbox_stride();
  }

  size_t members_, chunk_, mail_piece_ = 0, parts_begin_ = 0, mail_begin_ = 0;
};

}  // namespace smelt
