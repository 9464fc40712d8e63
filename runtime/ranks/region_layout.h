// Layout of the memory that a group of ranks shares: a barrier, space for each rank's part of a collective,
// and mailboxes between every two ranks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/shared_region.h"

namespace smelt {

constexpr size_t kCacheLine = 64;
constexpr size_t kParities = 2;  // a rank may write its next part while others still read the last one

/// Description of a rank's call, which must be the same at all ranks.
struct CallSignature {
  CollectiveKind kind = CollectiveKind::all_reduce;
  uint32_t dtype = 0, sum = 0;
  uint64_t bytes = 0;
  bool operator==(const CallSignature&) const = default;
};

/// State of a group. An unused region is all zeros.
struct alignas(kCacheLine) GroupState {
  alignas(kCacheLine) std::atomic<uint32_t> arrived;     // at the next barrier
  alignas(kCacheLine) std::atomic<uint32_t> generation;  // barriers so far; a futex
  alignas(kCacheLine) std::atomic<uint32_t> failed;      // 0, or a FailureStage
  std::array<char, 2048> failure;                        // why, ending in zero
};

struct alignas(kCacheLine) MemberState {
  std::array<CallSignature, kParities> signatures;
  alignas(kCacheLine) std::atomic<uint32_t> bell;  // rung at what it may wait for in a mailbox; a futex
  std::atomic<uint64_t> inside;  // the number of the collective that it is in, counted from 1; 0: none
};

constexpr size_t kMailPieces = 2;
struct alignas(kCacheLine) MailboxState {
  alignas(kCacheLine) std::atomic<uint32_t> written;  // pieces so far
  alignas(kCacheLine) std::atomic<uint32_t> read;
  alignas(kCacheLine) std::array<uint64_t, kMailPieces> message_bytes;  // of the message that a piece is of
  std::array<uint64_t, kMailPieces> piece_bytes;
};

/// Offsets within the region; the same at all members.
class RegionLayout {
 public:
  /// `chunk_bytes`: about how much of a rank's data is there at a time.
  RegionLayout(size_t members, size_t chunk_bytes);

  size_t bytes() const { return mail_begin_ + mailboxes() * mailbox_stride(); }
  size_t chunk_bytes() const { return chunk_; }
  size_t mail_piece_bytes() const { return mail_piece_; }

  GroupState& group(const SharedRegion& region) const { return at<GroupState>(region, 0); }
  MemberState& member(const SharedRegion& region, size_t member) const {
    return at<MemberState>(region, sizeof(GroupState) + member * sizeof(MemberState));
  }
  std::byte* part(const SharedRegion& region, size_t member, size_t parity) const {
    return region.data() + parts_begin_ + (member * kParities + parity) * chunk_;
  }
  /// Returns the result of one chunk.
  std::byte* result(const SharedRegion& region) const {
    return region.data() + parts_begin_ + members_ * kParities * chunk_;
  }
  MailboxState& mailbox(const SharedRegion& region, size_t from, size_t to) const {
    return at<MailboxState>(region, mailbox_offset(from, to));
  }
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
