#include "runtime/ranks/region_layout.h"

#include <algorithm>

namespace smelt {
namespace {

constexpr size_t kAllMail = size_t{8} << 20;  // bytes that the mailboxes of a group have together
constexpr size_t kSmallestMail = size_t{4} << 10;

size_t in_lines(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

}  // namespace

/// Every rank's part of a chunk holds a cache line at least for each member.
RegionLayout::RegionLayout(size_t members, size_t chunk_bytes)
    : members_(members), chunk_(in_lines(std::max(chunk_bytes, members * kCacheLine))) {
  const size_t most = std::max(kSmallestMail, kAllMail / kMailPieces / std::max<size_t>(1, mailboxes()));
  mail_piece_ = in_lines(std::clamp(chunk_ / 4, kCacheLine, most));
  parts_begin_ = sizeof(GroupState) + members_ * sizeof(MemberState);
  mail_begin_ = parts_begin_ + (members_ * kParities + 1) * chunk_;
}

}  // namespace smelt
