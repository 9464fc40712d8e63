// Pairs of tokens that merge: (left, right) -> rank and token.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace smelt {

struct Merge {
  uint32_t rank;
  int32_t id;
};

class MergeTable {
 public:
  explicit MergeTable(size_t merges)
      : slots_(std::bit_ceil(2 * merges + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

  /// Adds a merge, whose rank is the number of earlier calls. A pair that was added before gets the new rank
  /// and token.
  void add(int32_t left, int32_t right, int32_t id) {
    Slot& slot = slots_[place(key_of(left, right))];
    slot = {key_of(left, right), {static_cast<uint32_t>(ids_.size()), id}};
    ids_.push_back(id);
  }

  /// Null if the pair does not merge.
  const Merge* find(int32_t left, int32_t right) const {
    const Slot& slot = slots_[place(key_of(left, right))];
    return slot.key == kFree ? nullptr : &slot.merge;
  }

  int32_t id(uint32_t rank) const { return ids_[rank]; }
  size_t size() const { return ids_.size(); }

 private:
  static constexpr uint64_t kFree = ~0ull;
  struct Slot {
    uint64_t key = kFree;
    Merge merge{};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t place(uint64_t key) const {
    size_t at = key * 0x9E3779B97F4A7C15u >> shift_;
    while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  int shift_;
  std::vector<int32_t> ids_;
};

}  // namespace smelt
